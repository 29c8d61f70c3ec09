"""Segments made from others: summaries, aggregates, attachments. They rest on everything that those rest on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet.policy import parents
from discreet.policy.facts import LedgerFacts, PrincipalGrants, RecordFacts, Ref, Target
from discreet.policy.words import Effect, Gate, Grounding, Moment, Next, Origin, Reason, Verdict
from tests.policy.decide.replies import reply, reply_bytes, row
from tests.policy.decide.world import (
    DAY,
    FIGURE,
    SECOND,
    World,
    at,
    binding_to,
    edit,
    evidence,
    freeze,
    grant,
    holds,
    record,
    revoke,
    rule,
    segment,
    stands,
)


def entry(ledger_id: str, *roots: Ref, **changes: Any) -> LedgerFacts:
    """A committed segment of ana's that rests on these versions."""
    plain: dict[str, Any] = {"principal_id": "ana", "session_id": "session-0", "answer_id": "a", "segment_id": "s"}
    plain |= {"segment_digest": "d" * 64, "grounding": Grounding.BOUND if roots else Grounding.UNBOUND, "segment": b""}
    plain |= {"seq": 70, "committed_at": at(-DAY), "store_by": at(-DAY)}
    return LedgerFacts(ledger_id, **(plain | changes), roots=roots)


DOCUMENT, QUOTE = (
    record("kb-1"),
    evidence("quote-1", own_source=False, of=(Ref("kb-1", "1"),), roots=(Ref("kb-1", "1"),)),
)
OTHER = record("kb-2")


def summary(*records: RecordFacts, of: tuple[str, ...] = ("L-1", "L-2"), **changes: Any) -> World:
    """A summary of two answers: one on a quote and its document, one on another document."""
    ledger = {"L-1": entry("L-1", QUOTE.ref, DOCUMENT.ref), "L-2": entry("L-2", OTHER.ref)}
    given = World(records or (DOCUMENT, QUOTE, OTHER), (segment(kind="summary", parents=of),), ledger=ledger)
    return edit(given, **changes)


def _changed(name: str, **changes: Any) -> World:
    known = tuple(edit(one, **changes) if one.record_id == name else one for one in (DOCUMENT, QUOTE, OTHER))
    return summary(*known)


def _asked_everywhere(given: World) -> list[World]:
    """The same at every moment: as a draft, and as what the ledger holds of it."""
    sound = summary().replayed()
    stored = [given.replayed(moment=moment) for moment in (Moment.REPLAY, Moment.EXPORT)]
    return [edit(given, moment=Moment.RETRIEVE), given, *(edit(each, ledger=sound.ledger) for each in stored)]


def test_a_segment_made_from_others_rests_on_all_that_they_rest_on() -> None:
    """F6, B7: a parent is enough to rest on; what is committed is judged on, and stored with, every root, each once."""
    result = summary().one()
    assert (result.verdict, result.evidence) == (Verdict.ALLOW, ())
    assert dict(result.bases) == {QUOTE.ref: 10, DOCUMENT.ref: 10, OTHER.ref: 10}
    given = edit(summary(), segments=(segment(binding_to(OTHER), parents=("L-1",)),))
    assert [ref for ref, _ in given.one().bases] == [OTHER.ref, QUOTE.ref, DOCUMENT.ref]
    assert len(given.one().evidence) == 1


FALLS: list[tuple[str, dict[str, Any], Reason]] = [
    ("suspended", {"suspended": True}, Reason.SUSPENDED),
    ("revoked, not due", {"revoked": revoke(at(1))}, Reason.RETENTION_REVOKED),
    ("untrusted", {"collector": "intruder"}, Reason.UNTRUSTED_SOURCE),
    ("delisted", {"source_label": "memo", "collector": "memo-importer"}, Reason.UNTRUSTED_SOURCE),
    ("superseded", {"superseded_by": Ref("kb-9", "1")}, Reason.SUPERSEDED),
    ("another version", {"current": False}, Reason.VERSION_MISMATCH),
    ("unreachable", {"unreachable": True}, Reason.DOCUMENT_UNREACHABLE),
    ("not assessed", {"assessment_expires_at": None}, Reason.ELIGIBILITY_UNKNOWN),
    ("assessment over", {"assessment_expires_at": at(0)}, Reason.ASSESSMENT_EXPIRED),
]


@pytest.mark.parametrize("_what, changes, reason", FALLS, ids=[each[0] for each in FALLS])
@pytest.mark.parametrize("name", ["kb-1", "quote-1", "kb-2"])
def test_it_falls_with_any_of_them_and_comes_back(
    name: str, _what: str, changes: dict[str, Any], reason: Reason
) -> None:
    """F6, B8: as a draft and from the ledger, at every moment; none of it purges, and it shows again."""
    for given in _asked_everywhere(_changed(name, **changes)):
        result = given.one()
        assert (result.verdict, result.reason) == (Verdict.WITHHOLD, reason)
        assert result.stop is not None
        assert result.stop.ref == Ref(name, "1")
    assert {given.one().verdict for given in _asked_everywhere(summary())} == {Verdict.ALLOW}


@pytest.mark.parametrize("name", ["kb-1", "quote-1", "kb-2"])
def test_a_due_revoke_of_any_root_purges_it(name: str) -> None:
    """B7, F3, F6: the summary goes with any of its sources, under the order of that source's revoke."""
    for given in _asked_everywhere(_changed(name, revoked=revoke(order_id="order-5"))):
        assert (given.one().verdict, given.one().purge_order_id) == (Verdict.PURGE, "order-5")
        kept = given.one(standing=stands(holds=holds(Target("", "kb-2"))))
        assert (kept.verdict, kept.reason) == (Verdict.WITHHOLD, Reason.LEGAL_HOLD)


def test_a_revoked_or_frozen_source_of_any_root_takes_it() -> None:
    """F3, F6: what stands for a source falls on whatever was made from anything under it."""
    for given in _asked_everywhere(summary()):
        assert given.one(standing=stands(revoked_sources={"ledger-feed": revoke()})).verdict is Verdict.PURGE
        assert given.one(standing=stands(freezes=(freeze("ledger-feed"),))).reason is Reason.FROZEN


UNUSABLE: dict[str, Callable[[World], World]] = {
    "never was": lambda w: edit(w, ledger={"L-1": w.ledger["L-1"]}),
    "another scope": lambda w: edit(w, records=(DOCUMENT, QUOTE, edit(OTHER, scopes=("board",)))),
    "no record": lambda w: edit(w, records=(DOCUMENT, QUOTE)),
    "another's, on another scope": lambda w: edit(
        w,
        records=(DOCUMENT, QUOTE, edit(OTHER, scopes=("board",))),
        ledger={**w.ledger, "L-2": entry("L-2", OTHER.ref, principal_id="bo")},
    ),
    "another's, on nothing": lambda w: edit(w, ledger={**w.ledger, "L-2": entry("L-2", principal_id="bo")}),
    "another scope, revoked": lambda w: edit(
        w, records=(DOCUMENT, QUOTE, edit(OTHER, scopes=("board",), revoked=revoke()))
    ),
    "another scope, held": lambda w: edit(
        w,
        records=(DOCUMENT, QUOTE, edit(OTHER, scopes=("board",))),
        standing=stands(holds=holds(Target("", "kb-2"))),
    ),
    "too much": lambda w: edit(w, ledger={**w.ledger, "L-2": entry("L-2", beyond=True)}),
}


@pytest.mark.parametrize("moment", [Moment.RETRIEVE, Moment.PUBLISH])
def test_a_parent_that_is_not_for_this_reader_is_as_one_that_never_was(moment: Moment) -> None:
    """F11, DSC-03, DSC-07: whether an id is in the ledger, whose it is and what it rests on is not in the reply."""
    answers = {name: reply_bytes(change(summary(moment=moment))) for name, change in UNUSABLE.items()}
    assert len(set(answers.values())) == 1, [name for name, each in answers.items() if each != answers["never was"]]
    result = UNUSABLE["never was"](summary(moment=moment)).one()
    assert (result.verdict, result.reason, result.gate) == (Verdict.WITHHOLD, Reason.PARENT_UNUSABLE, Gate.BINDING)
    assert (result.next, result.fault) == (Next.NONE, "evidence")
    (told,) = reply(UNUSABLE["another scope"](summary())).results
    assert not told.output.gap.HasField("record")


def test_the_audit_says_why_a_parent_is_unusable() -> None:
    """F11, B3: the cause and the record stand in the row, with the parents and what was read of them."""
    details = {name: row(change(summary())).decisions[0].detail for name, change in UNUSABLE.items()}
    assert details["never was"] == "parent L-2: not in the ledger"
    assert details["another scope"] == "parent L-2: SCOPE_DENIED of kb-2 version 1"
    assert details["no record"] == "parent L-2: DOCUMENT_UNKNOWN of kb-2 version 1"
    assert details["another's, on nothing"] == "parent L-2: of another principal, and rests on nothing"
    assert details["too much"] == "parent L-2: the call's parents rest on too many records"
    written = row(UNUSABLE["another scope"](summary()))
    assert list(written.decisions[0].parents) == ["L-1", "L-2"]
    assert [(f.id, f.revision) for f in written.facts if f.kind == "ledger"] == [("L-1", 70), ("L-2", 70)]
    assert ("kb-2", 10) in [(f.id, f.revision) for f in written.facts if f.kind == "record"]
    unknown = row(UNUSABLE["never was"](summary()))
    assert [(f.id, f.revision) for f in unknown.facts if f.kind == "ledger"] == [("L-1", 70), ("L-2", 0)]


def test_another_principals_answer_may_be_built_on_where_all_of_it_may_be_seen() -> None:
    """DSC-03, F6: an aggregate over several users' answers is for who may see every source of each."""
    theirs = {"L-1": entry("L-1", QUOTE.ref, DOCUMENT.ref, principal_id="bo"), "L-2": entry("L-2", OTHER.ref)}
    assert summary(ledger=theirs).one().verdict is Verdict.ALLOW
    assert summary(ledger=theirs, grants=PrincipalGrants()).one().reason is Reason.PARENT_UNUSABLE
    ended = PrincipalGrants((grant(expires_at=at(5)),), 5)
    assert summary(ledger=theirs, grants=ended).one().valid_until == at(5)


MANY = tuple(record(f"x{number}") for number in range(parents.ROOTS_PER_CALL_MAX // 4))


def _summaries(count: int, *, due: bool = False, **changes: Any) -> World:
    """Summaries of one answer on a quarter of the records that one call is judged on; then a quote of another."""
    known = (edit(MANY[0], revoked=revoke()), *MANY[1:]) if due else MANY
    ledger = {"L-1": entry("L-1", *(one.ref for one in MANY))}
    drafts = (*(segment(parents=("L-1",), id=f"s{number}") for number in range(count)), segment(binding_to(OTHER)))
    return edit(World((*known, OTHER, DOCUMENT, QUOTE), drafts, ledger=ledger), **changes)


def test_what_one_call_rests_on_has_an_end() -> None:
    """B3, F4: more records than a call is judged on are COST_EXCEEDED, segment by segment; what fits beside is judged.

    A record counts for every segment that rests on it, since it is judged and written for each.
    """
    results = _summaries(6).ask().results
    assert [one.verdict for one in results] == [*[Verdict.ALLOW] * 4, *[Verdict.WITHHOLD] * 3]
    assert {(one.reason, one.reader_reason, one.gate) for one in results[4:]} == {
        (Reason.COST_EXCEEDED, Reason.COST_EXCEEDED, Gate.BINDING)
    }
    assert [one.verdict for one in _summaries(3).ask().results] == [Verdict.ALLOW] * 4
    assert sum(len(one.bases) for one in results) == parents.ROOTS_PER_CALL_MAX
    quoting = (*(segment(binding_to(QUOTE), id=f"q{number}") for number in range(3)), segment(parents=("L-1",)))
    assert [one.verdict for one in _summaries(0, segments=quoting).ask().results] == [Verdict.ALLOW] * 4


def test_what_nobody_may_know_of_uses_nothing_up() -> None:
    """F11: what is left for other segments does not tell whether a parent or a record is there."""
    hidden = tuple(edit(one, scopes=("board",)) for one in MANY)
    drafts = tuple(segment(parents=("L-1",), id=f"s{number}") for number in range(6))
    given = _summaries(0, records=(*hidden, OTHER), segments=(*drafts, segment(binding_to(OTHER))))
    answers = {reply_bytes(given), reply_bytes(edit(given, ledger={}))}
    assert len(answers) == 1
    assert given.ask().results[-1].verdict is Verdict.ALLOW


def test_where_roots_were_left_out_nothing_is_shown_and_nothing_purged() -> None:
    """B7, B8, F3: an entry of too many roots is withheld; a hold may be on one that was not looked at."""
    stored = edit(summary(segments=(segment(binding_to(OTHER), parents=("L-1",)),)))
    for moment in (Moment.REPLAY, Moment.EXPORT):
        given = stored.replayed(moment=moment, beyond=True, roots=())
        assert (given.one().verdict, given.one().reason) == (Verdict.WITHHOLD, Reason.COST_EXCEEDED)
        gone = edit(given, records=(DOCUMENT, QUOTE, edit(OTHER, revoked=revoke())))
        assert (gone.one().verdict, gone.one().reason) == (Verdict.WITHHOLD, Reason.RETENTION_REVOKED)
        theirs = stored.replayed(moment=moment, beyond=True, roots=(), principal_id="bo").one()
        assert (theirs.reader_reason, theirs.blind) == (Reason.NOT_AVAILABLE, True)
    over = _summaries(5, due=True).ask().results
    assert [one.verdict for one in over[:5]] == [Verdict.PURGE] * 4 + [Verdict.WITHHOLD]


def test_what_rests_on_nothing_gives_nothing_to_rest_on() -> None:
    """B12: small talk is no source; a BOUND segment made from it alone has no binding."""
    bare = summary(of=("L-1",), ledger={"L-1": entry("L-1")})
    assert (bare.one().reason, bare.one().gate) == (Reason.NO_BINDING, Gate.SOURCE)
    with_one = edit(bare, segments=(segment(binding_to(OTHER), parents=("L-1",)),))
    assert with_one.one().verdict is Verdict.ALLOW
    assert summary(of=("L-9",), ledger={}).one().reason is Reason.PARENT_UNUSABLE


def test_everything_behind_it_must_be_young_enough() -> None:
    """A3, F6: an old figure is not made new by being retold; a claim of its own period needs it bound again."""
    old = edit(QUOTE, as_of=at(-DAY - 1))
    given = summary(DOCUMENT, old, OTHER)
    for each in _asked_everywhere(given):
        assert (each.one().reason, each.one().gate) == (Reason.STALE, Gate.FRESHNESS)
    assert summary().one().valid_until == at(DAY - 3600 * SECOND + 1)
    period = edit(FIGURE, about=(at(-2 * DAY), at(-DAY)))
    claiming = segment(parents=("L-1", "L-2"), claim=period)
    assert edit(given, segments=(claiming,)).one().reason is Reason.EVIDENCE_MISSING
    bound = segment(binding_to(old), parents=("L-1", "L-2"), claim=period)
    assert edit(given, segments=(bound,)).one().verdict is Verdict.ALLOW


def test_a_parents_figure_is_no_citation() -> None:
    """A15, D1: where numbers are needed the segment binds them itself, whatever it was made from."""
    assert summary(need_numbers=True).one().reason is Reason.NO_TRUSTED_FACT
    bound = segment(binding_to(QUOTE), parents=("L-1", "L-2"))
    assert summary(need_numbers=True, segments=(bound,)).one().verdict is Verdict.ALLOW
    guess = edit(QUOTE, origin=Origin.INFERRED)
    guessed = segment(binding_to(guess), parents=("L-2",))
    assert summary(DOCUMENT, guess, OTHER, need_numbers=True, segments=(guessed,)).one().reason is (
        Reason.NO_TRUSTED_FACT
    )


def test_every_root_needs_a_rule_that_allows_it() -> None:
    """F12, F6: what its parents bound is not told from what stood behind that, so all of it has to be allowed."""
    only_wiki = rule("wiki", sources=frozenset({"wiki"}))
    feed = rule("feed", sources=frozenset({"ledger-feed"}), kinds=frozenset({"summary"}))
    for given in _asked_everywhere(summary()):
        assert given.one(rules=(only_wiki,)).reason is Reason.POLICY_RULE
        assert given.one(rules=(only_wiki, feed)).verdict is Verdict.ALLOW
        shut = rule("shut", Effect.WITHHOLD, 'document.record_id == "kb-1"')
        assert given.one(rules=(only_wiki, feed, shut)).rule == "shut"


def test_by_ledger_id_the_stored_roots_count_and_the_parents_need_not_be_there() -> None:
    """F6, B7: entries are immutable and hold every root, so a parent is never judged twice."""
    stored = summary().replayed()
    assert [ref.record_id for ref in stored.ledger["L1"].roots] == ["quote-1", "kb-1", "kb-2"]
    alone = edit(stored, ledger={"L1": stored.ledger["L1"]})
    assert alone.one().verdict is Verdict.ALLOW
    assert alone.one(records=(DOCUMENT, QUOTE)).reason is Reason.DOCUMENT_UNKNOWN


def test_a_summary_of_a_summary_falls_with_the_first_source() -> None:
    """F6: however often it is retold: each entry holds the roots of all before it."""
    given = summary()
    for step in range(5):
        stored = given.replayed(f"S-{step}")
        given = edit(given, ledger=stored.ledger, segments=(segment(parents=(f"S-{step}",)),))
    assert given.one().verdict is Verdict.ALLOW
    gone = tuple(edit(one, revoked=revoke()) if one is DOCUMENT else one for one in given.records)
    assert given.one(records=gone).verdict is Verdict.PURGE
