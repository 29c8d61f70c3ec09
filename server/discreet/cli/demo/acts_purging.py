"""The act in which a copy is deleted: the holder's part of the purge order, what may not come back, and a freeze."""

from collections.abc import Iterator

from discreet.cli.demo import cast
from discreet.cli.demo.acts_publishing import replayed_by_ana
from discreet.cli.demo.play import Play
from discreet.cli.demo.teller import Row
from discreet.cli.demo.transcripts import holding, patiently
from discreet.cli.peps import LABEL, TENANT, to_line


def purge(play: Play) -> None:
    """A revoke makes an order; whoever keeps copies deletes them and says so, item by item."""
    teller, office, kept = play.teller, play.office, play.transcripts
    before = kept.texts()
    teller.act(
        "6  Purged: the copies go, and it is on record that they went",
        f"Ana's answers are stored: {len(before)} rows, one of them about PEP 401, which was revoked under LEGAL-7.",
    )
    with holding(play.server.settings.address("holder"), TENANT, kept):
        teller.did("holder", "says that it keeps committed segments; the order that was open before is its own, too")
        done = patiently(_done(play))
    teller.expect("the order is done", "True", str(done))
    order = office.orders()[0]
    counts = [(part.holder, part.purged, part.not_found) for part in order.parts]
    teller.say(f"Order {order.order_id[:8]} ({order.ticket}): " + ", ".join(f"{n} purged {p}" for n, p, _ in counts))
    after = kept.texts()
    teller.expect("rows left", str([text for text in before if "401" not in text]), str(after))
    teller.did("collector", "registers the revoked text again, under another name")
    copied = to_line(play.shelf.versions[cast.JOKE][-1]) | {"record_id": "pep-0401-again", "version": "1"}
    copied.pop("supersedes_version", None)
    teller.expect("records that came in", "0", str(office.register_line(copied)))
    teller.say("Refused: TOMBSTONED. What was revoked does not come back under another name.")
    _freeze(play)


def _done(play: Play) -> Iterator[bool]:
    while True:
        orders = play.office.orders()
        yield bool(orders) and all(order.done and order.parts for order in orders)


def _freeze(play: Play) -> None:
    """In doubt, everything of a source can be held back at once; that deletes nothing."""
    freeze = play.office.freeze(LABEL)
    play.teller.did("operator", "is not sure about the whole source, and freezes it for an hour")
    frozen = replayed_by_ana(play)
    play.teller.table([Row("the segment on PEP 8", frozen["style"], "WITHHOLD", "FROZEN")])
    play.office.unfreeze(freeze)
    play.teller.did("operator", "ends the freeze")
    again = replayed_by_ana(play)
    play.teller.table([Row("the segment on PEP 8", again["style"], "ALLOW", "NONE", "nothing was deleted")])
