"""The middle acts: publication, a revocation that wins against one, and history that is asked about again."""

from discreet.cli.demo import cast
from discreet.cli.demo.acts_reading import SESSION_ANA, SESSION_CY
from discreet.cli.demo.play import Play
from discreet.cli.demo.teller import Row
from discreet.cli.peps import DRAFTS
from discreet.client import Grounding, Piece, Result

SESSION_BO = "bo-1"


def publish(play: Play) -> None:
    """Commit is the only permission to publish; each segment stands alone."""
    teller, shelf = play.teller, play.shelf
    teller.act(
        "3  PUBLISH: ana's answer, segment by segment",
        "The agent holds the text back until each segment is committed. Only a commit is a permission.",
    )
    with play.agent.publishing(principal="ana", session_id=SESSION_ANA, answer_id="answer-1") as answer:
        answer.add("Sure, here is what I found.", kind="small-talk", grounding=Grounding.UNBOUND, segment_id="hello")
        answer.add("PEP 8 asks for four spaces.", [shelf.current(cast.STYLE)], segment_id="style")
        both = [shelf.current(cast.ZEN), shelf.current(cast.NONE_AWARE)]
        answer.add("The Zen speaks against PEP 505.", both, segment_id="aware")
        answer.add("Type hints came with PEP 484.", [shelf.current(cast.HINTS)], segment_id="hints")
        answer.add("PEP 401 retired the BDFL.", [shelf.current(cast.JOKE)], segment_id="joke")
        answer.add("WSGI is PEP 333.", [shelf.current(cast.WSGI)], segment_id="wsgi")
        answer.add("PEP 601 forbids it.", [shelf.current(cast.REJECTED)], segment_id="rejected")
        answer.add("Everybody knows that tabs lost.", segment_id="hearsay")
    pieces = {piece.segment_id: piece for piece in answer.committed()}
    play.shown.update({name: piece.ledger_id for name, piece in pieces.items() if piece.allowed})
    teller.table([
        _row(pieces, "hello", "ALLOW", "NONE", "rests on nothing, of a kind that a rule allows"),
        _row(pieces, "style", "ALLOW", "NONE"),
        _row(pieces, "aware", "ALLOW", "NONE", "rests on two proposals and needs both"),
        _row(pieces, "hints", "ALLOW", "NONE"),
        _row(pieces, "joke", "ALLOW", "NONE"),
        _row(pieces, "wsgi", "ALLOW", "NONE"),
        _row(pieces, "rejected", "WITHHOLD", "POLICY_RULE"),
        _row(pieces, "hearsay", "WITHHOLD", "NO_BINDING"),
    ])  # fmt: skip
    told = pieces["rejected"].result.custom_reason
    teller.expect("the rule's own reason", "REJECTED_PROPOSAL", told)
    play.transcripts.keep(pieces.values())
    teller.say("Ana reads: " + " ".join(piece.text for piece in pieces.values() if piece.allowed))


def revoke_while_writing(play: Play) -> None:
    """Between generation and publication the world changes; what was committed first, wins."""
    teller, shelf, office = play.teller, play.shelf, play.office
    teller.act("4  Meanwhile: revoked between generation and publication", "Bo asks; the agent reads, and writes.")
    asked = [shelf.current(name) for name in (cast.WALRUS, cast.WSGI, cast.HINTS, cast.BATTERIES, cast.JOKE)]
    kept = play.agent.filter(asked, key=lambda binding: binding, principal="bo", session_id=SESSION_BO)
    teller.expect("what bo's agent may read", "5", str(len(kept)))
    teller.say(f"At RETRIEVE all {len(kept)} were allowed. While the model writes:")
    office.supersede(shelf.current(cast.WSGI), shelf.current(cast.WSGI_NEXT))
    teller.did("operator", "names PEP 3333 as the successor of PEP 333")
    office.suspend(shelf.current(cast.HINTS))
    teller.did("operator", "suspends PEP 484")
    office.set_scopes(shelf.current(cast.BATTERIES), "board")
    teller.did("operator", "keeps PEP 594 for the board")
    affected = office.revoke(shelf.current(cast.JOKE), "LEGAL-7")
    teller.did(
        "operator", f"revokes the retention of PEP 401 for good (LEGAL-7); {affected} published segment rests on it"
    )
    teller.expect("segments that rest on what is revoked", "1", str(affected))
    with play.agent.publishing(principal="bo", session_id=SESSION_BO, answer_id="answer-1") as answer:
        for name, item in zip(("walrus", "wsgi", "hints", "batteries", "joke"), kept, strict=False):
            answer.add(f"What {item.binding.record_id} says.", [item.binding], segment_id=name)
    pieces = {piece.segment_id: piece for piece in answer.committed()}
    teller.table([
        _row(pieces, "walrus", "ALLOW", "NONE", "nothing happened to PEP 572"),
        _row(pieces, "wsgi", "WITHHOLD", "SUPERSEDED"),
        _row(pieces, "hints", "WITHHOLD", "SUSPENDED"),
        _row(pieces, "batteries", "WITHHOLD", "NOT_AVAILABLE"),
        _row(pieces, "joke", "PURGE", "RETENTION_REVOKED"),
    ])  # fmt: skip
    teller.say("The permit of a moment ago stood in for none of them. Not one byte of the refused text left the agent.")


def replay(play: Play) -> None:
    """REPLAY: history is authorised again; hiding deletes nothing, and only the revoke purges."""
    teller, shelf, office = play.teller, play.shelf, play.office
    teller.act("5  REPLAY: ana opens yesterday's answer")
    office.withdraw("ana", DRAFTS)
    teller.did("operator", f"takes the scope {DRAFTS} back from ana")
    found = _replayed(play, "ana", SESSION_ANA)
    teller.table([
        Row(_quoted("hello"), found["hello"], "ALLOW", "NONE"),
        Row(_quoted("style"), found["style"], "ALLOW", "NONE"),
        Row(_quoted("aware"), found["aware"], "WITHHOLD", "NOT_AVAILABLE"),
        Row(_quoted("hints"), found["hints"], "WITHHOLD", "SUSPENDED"),
        Row(_quoted("joke"), found["joke"], "PURGE", "RETENTION_REVOKED"),
        Row(_quoted("wsgi"), found["wsgi"], "WITHHOLD", "SUPERSEDED"),
    ])  # fmt: skip
    office.resume(shelf.current(cast.HINTS))
    office.grant("ana", DRAFTS)
    teller.did("operator", f"resumes PEP 484 and gives ana {DRAFTS} again: what was only hidden shows again")
    again = _replayed(play, "ana", SESSION_ANA)
    teller.table([
        Row(_quoted("aware"), again["aware"], "ALLOW", "NONE"),
        Row(_quoted("hints"), again["hints"], "ALLOW", "NONE"),
        Row(_quoted("joke"), again["joke"], "PURGE", "RETENTION_REVOKED", "the revoke alone is for good;"),
    ])  # fmt: skip
    teller.say("And cy, with a ledger id that she should not have:")
    cy = _replayed(play, "cy", SESSION_CY)
    teller.table([Row("ana's segment about PEP 8", cy["style"], "WITHHOLD", "NOT_AVAILABLE")])


def replayed_by_ana(play: Play) -> dict[str, Result]:
    """What ana may see now of what she was shown, by the names of the segments."""
    return _replayed(play, "ana", SESSION_ANA)


def _replayed(play: Play, principal: str, session_id: str) -> dict[str, Result]:
    names = {ledger_id: name for name, ledger_id in play.shown.items()}
    return {names[found.segment_id]: found for found in play.agent.replay(names, principal, session_id)}


_ASKED = {
    "hello": "small talk",
    "style": "PEP 8",
    "aware": "PEP 20 and PEP 505",
    "hints": "PEP 484",
    "joke": "PEP 401",
    "wsgi": "PEP 333",
    "rejected": "PEP 601, rejected",
    "hearsay": "hearsay, bound to nothing",
    "walrus": "PEP 572",
    "batteries": "PEP 594",
}


def _quoted(name: str) -> str:
    return f"the segment on {_ASKED[name]}"


def _row(pieces: dict[str, Piece], name: str, verdict: str, reason: str, because: str = "") -> Row:
    return Row(_ASKED[name], pieces[name].result, verdict, reason, because)
