"""The first acts: the index is filled, and the agent asks what it may read, for whom."""

from discreet.cli.demo import cast
from discreet.cli.demo.play import Play
from discreet.cli.demo.teller import Row
from discreet.cli.peps import DRAFTS, LABEL, SETTLED_UNTIL
from discreet.client import Binding, Result, Segment, digest

SESSION_ANA, SESSION_CY = "ana-1", "cy-1"
NOTE = Binding(cast.NOTE, "1", digest(cast.NOTE_TEXT))
UNKNOWN = Binding("pep-4242", "1", digest("no such proposal"))


def fill_the_index(play: Play) -> None:
    """The collector registers real proposals and a note; the operator gives people scopes."""
    everything = play.shelf.everything()
    play.teller.act("1  The approved index", "What may be shown at all is what collectors registered, and for whom.")
    created = play.office.register(everything)
    play.teller.expect("the import", str(len(everything)), str(created))
    proposals = len(play.shelf.versions)
    play.teller.did("collector", f"registers {created:,} versions of {proposals} Python proposals (source {LABEL})")
    play.office.register_line({
        "record_id": NOTE.record_id, "version": NOTE.version, "digest": NOTE.digest, "source_label": "internal-notes",
        "scopes": ["public"], "assessment_expires_at": SETTLED_UNTIL,
    })  # fmt: skip
    play.teller.did("collector", "registers a note of the desk, from a source that is not on the allowlist")
    play.office.assess(play.shelf.current(cast.NONE_AWARE), 90)
    for principal in ("ana", "bo"):
        play.office.grant(principal, DRAFTS)
    play.teller.did("operator", f"gives ana and bo the scope {DRAFTS}; cy reads what is public")


def ask_before_reading(play: Play) -> None:
    """RETRIEVE: which versions may enter a model's context, for which principal."""
    teller, shelf = play.teller, play.shelf
    teller.act("2  RETRIEVE: the agent asks before it reads", "Which of these may enter the model's context, for ana?")
    wsgi, other = shelf.current(cast.WSGI), Binding(cast.ZEN, shelf.current(cast.ZEN).version, digest("edited"))
    asked = {
        "style": shelf.current(cast.STYLE),
        "old": shelf.earlier(cast.STYLE),
        "other": other,
        "aware": shelf.current(cast.NONE_AWARE),
        "draft": shelf.current(cast.OLD_DRAFT),
        "note": NOTE,
    }
    found = retrieve(play, asked, "ana", SESSION_ANA)
    old = shelf.earlier(cast.STYLE).version
    teller.table([
        Row("PEP 8, as it stands", found["style"], "ALLOW", "NONE", "registered, current, public"),
        Row(f"PEP 8, version {old}", found["old"], "WITHHOLD", "SUPERSEDED"),
        Row("PEP 20, with an edited text", found["other"], "WITHHOLD", "CONTENT_MISMATCH"),
        Row("PEP 505, deferred", found["aware"], "ALLOW", "NONE", f"ana holds {DRAFTS}"),
        Row("PEP 9002, a draft of 2023", found["draft"], "WITHHOLD", "ASSESSMENT_EXPIRED"),
        Row("a note of the desk", found["note"], "WITHHOLD", "UNTRUSTED_SOURCE"),
    ])  # fmt: skip
    play.office.assess(shelf.current(cast.OLD_DRAFT), 30)
    teller.did("operator", "assesses PEP 9002 again, for 30 days")
    again = retrieve(play, {"draft": shelf.current(cast.OLD_DRAFT), "wsgi": wsgi}, "ana", SESSION_ANA)
    teller.table([
        Row("PEP 9002 once more", again["draft"], "ALLOW", "NONE", "it was hidden, not lost"),
        Row("PEP 333", again["wsgi"], "ALLOW", "NONE", "for now"),
    ])  # fmt: skip
    teller.say("And for cy, who may not read drafts? “Not for you” and “no such thing” look alike to her:")
    cy = retrieve(play, {"aware": shelf.current(cast.NONE_AWARE), "none": UNKNOWN}, "cy", SESSION_CY)
    teller.table([
        Row("PEP 505, deferred", cy["aware"], "WITHHOLD", "NOT_AVAILABLE"),
        Row("PEP 4242, which does not exist", cy["none"], "WITHHOLD", "NOT_AVAILABLE"),
    ])  # fmt: skip
    teller.expect("the two texts for cy", cy["aware"].text, cy["none"].text)


def retrieve(play: Play, asked: dict[str, Binding], principal: str, session_id: str) -> dict[str, Result]:
    """What the server says at RETRIEVE, by name."""
    segments = [Segment(name, kind="chunk", bindings=(binding,)) for name, binding in asked.items()]
    return {result.segment_id: result for result in play.agent.retrieve(segments, principal, session_id)}
