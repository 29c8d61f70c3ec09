"""History is authorised again: by ledger id, for its own reader, in its own session, on everything it rests on."""

from __future__ import annotations

import pytest

from discreet.policy.facts import Ref
from discreet.policy.request import Claim
from discreet.policy.words import ActionTendency, Effect, Gate, Moment, Reason, Verdict
from tests.policy.decide.faults import fields, old_policy, records
from tests.policy.decide.replies import reply, reply_bytes, row
from tests.policy.decide.world import (
    OTHER_DIGEST,
    World,
    at,
    edit,
    evidence,
    figure_world,
    record,
    revoke,
    rule,
    world,
)


def _purged(given: World) -> World:
    return records(revoked=revoke())(given)


OTHERS = [
    ("another principal", {"principal_id": "bo"}, Reason.PRINCIPAL_MISMATCH),
    ("another session", {"session_id": "session-2"}, Reason.SESSION_MISMATCH),
    ("both", {"principal_id": "bo", "session_id": "session-2"}, Reason.PRINCIPAL_MISMATCH),
    ("an id that looks alike", {"principal_id": "Ana"}, Reason.PRINCIPAL_MISMATCH),
]


@pytest.mark.parametrize("_what, entry, reason", OTHERS, ids=[each[0] for each in OTHERS])
def test_a_stored_segment_is_shown_to_its_own_reader_in_its_own_session(
    _what: str, entry: dict[str, str], reason: Reason
) -> None:
    """DSC-07, DSC-03, B1: another's ledger id is answered as an unknown one; the audit has the cause."""
    mine, theirs = world().replayed(), world().replayed(**entry)
    assert mine.one().verdict is Verdict.ALLOW
    result = theirs.one()
    assert (result.verdict, result.reason, result.gate) == (Verdict.WITHHOLD, reason, Gate.AVAILABILITY)
    unknown = edit(mine, ledger={}, stored={})
    assert reply_bytes(theirs) == reply_bytes(unknown)
    assert Reason(row(theirs).decisions[0].reason) is reason
    assert Reason(row(unknown).decisions[0].reason) is Reason.DOCUMENT_UNKNOWN
    assert (row(unknown).decisions[0].segment_id, row(unknown).decisions[0].ledger_id) == ("L1", "L1")
    assert [f.revision for f in row(theirs).facts if f.kind == "ledger"] == [700]
    assert [f.revision for f in row(unknown).facts if f.kind == "ledger"] == [0]


@pytest.mark.parametrize("change", [{}, {"principal_id": "bo"}, {"session_id": "session-2"}])
def test_a_purge_comes_first_whoever_reads(change: dict[str, str]) -> None:
    """B11, B7: the caller holds the copy and must purge it; a reader who may not see it gets the blank words."""
    result = _purged(world().replayed(**change)).one()
    assert (result.verdict, result.reason, result.trace) == (
        Verdict.PURGE,
        Reason.RETENTION_REVOKED,
        (Gate.RETENTION,),
    )
    assert result.template_id == ("NOT_AVAILABLE" if change else "RETENTION_REVOKED")


def test_a_purge_is_told_to_all_foreign_readers_alike() -> None:
    """F11: why the reader is foreign (principal, session, scope gone) changes nothing of a purge's bytes."""
    foreign = [
        _purged(world().replayed(principal_id="bo")),
        _purged(world().replayed(session_id="session-2")),
        edit(_purged(world().replayed()), grants=edit(world().grants, grants=())),
    ]
    assert len({reply_bytes(given) for given in foreign}) == 1
    (result,) = reply(foreign[0]).results
    assert (Verdict(result.verdict), len(result.evidence)) == (Verdict.PURGE, 0)
    assert not result.output.gap.HasField("record")


def test_ones_own_history_out_of_scope_looks_like_an_unknown_id() -> None:
    """F11, DSC-05: scope gone, record gone, another's entry, a made-up id: one reply, under an old policy, too."""
    own = figure_world().replayed()
    hidden = [
        edit(own, grants=edit(own.grants, grants=())),
        edit(own, records=()),
        records(scopes=("board",), suspended=True)(own),
        figure_world().replayed(principal_id="bo"),
        edit(own, ledger={}, stored={}),
    ]
    assert len({reply_bytes(given) for given in hidden}) == 1
    assert len({reply_bytes(old_policy(given)) for given in (own, *hidden)}) == 1


def test_a_revoke_that_is_not_due_waits_behind_the_scope() -> None:
    """B11: only the due revoke stands before gate 0; a foreign reader learns nothing of one that is not due."""
    later = records(revoked=revoke(at(1)))(world().replayed(principal_id="bo"))
    assert (later.one().verdict, later.one().reason) == (Verdict.WITHHOLD, Reason.PRINCIPAL_MISMATCH)
    own = records(revoked=revoke(at(1)))(world().replayed())
    assert (own.one().verdict, own.one().reason) == (Verdict.WITHHOLD, Reason.RETENTION_REVOKED)


def test_every_stored_root_counts() -> None:
    """F6, B7: what the ledger entry says the segment rests on is judged besides its bindings."""
    document, stored = record("kb-1"), record("kb-7")
    committed = world(document).replayed(roots=(document.ref, stored.ref))
    assert committed.one().reason is Reason.DOCUMENT_UNKNOWN
    assert committed.one(records=(document, stored)).verdict is Verdict.ALLOW
    assert committed.one(records=(document, edit(stored, suspended=True))).reason is Reason.SUSPENDED
    assert committed.one(records=(document, edit(stored, revoked=revoke()))).verdict is Verdict.PURGE


def test_a_successor_of_a_stored_version_hides_it_and_its_revoke_does_not_purge_it() -> None:
    """B8, B7: the revoke of another version of the document is no revoke of the stored one."""
    old = record("kb-1", "1", current=False, superseded_by=Ref("kb-1", "2"))
    new = record("kb-1", "2", digest=OTHER_DIGEST, revoked=revoke())
    committed = world(record("kb-1", "1")).replayed()
    result = committed.one(records=(old, new))
    assert (result.verdict, result.reason) == (Verdict.WITHHOLD, Reason.SUPERSEDED)
    assert committed.one(records=(new,)).reason is Reason.VERSION_MISMATCH


def test_the_needs_are_those_of_the_commit() -> None:
    """A15: what was committed as a figure is judged as a figure, whatever the replay asks; the stored claim counts."""
    committed = figure_world().replayed()
    assert committed.one(records=(evidence(fields={"unit": "EUR"}),)).reason is Reason.INCOMPLETE
    assert committed.one(records=(evidence(basis="reported"),)).reason is Reason.BASIS_MISMATCH
    plain = edit(world(evidence(fields={})), need_numbers=True).replayed()
    assert plain.one(need_numbers=False).reason is Reason.NO_TRUSTED_FACT
    assert world(evidence(fields={})).replayed().one(need_numbers=True).verdict is Verdict.ALLOW


def test_advice_is_that_of_the_commit() -> None:
    """A15: a replay leans towards advice only where the commit asked for it and the rules of now still let it."""
    advising = (rule("open", advice=True),)
    committed = edit(world(), need_advice=True, rules=advising).replayed()
    assert committed.one(need_advice=False).action_tendency is ActionTendency.ADVISE
    assert committed.one(rules=(rule("open"),)).action_tendency is ActionTendency.INFORM
    assert edit(world(), rules=advising).replayed().one(need_advice=True).action_tendency is ActionTendency.INFORM


def test_a_replay_has_the_rules_of_replay() -> None:
    """B1: permission at one moment stands in for none at another; rules see the moment that is asked for."""
    committed = world().replayed()
    shut = rule("no-history", Effect.WITHHOLD, 'request.moment == "REPLAY"')
    assert committed.one(rules=(rule("open"), shut)).rule == "no-history"
    assert world().one(rules=(rule("open"), shut)).verdict is Verdict.ALLOW


def test_an_export_has_the_rules_of_export() -> None:
    """B1, B10: what may be read again may not be taken away for that; and the other way round."""
    reading = rule("reading", moments=frozenset({Moment.REPLAY}))
    for moment, verdict in ((Moment.REPLAY, Verdict.ALLOW), (Moment.EXPORT, Verdict.WITHHOLD)):
        result = world().replayed(moment=moment).one(rules=(reading,))
        assert (result.verdict, result.by_ledger_id) == (verdict, True)
    taken = rule("taken", Effect.WITHHOLD, 'request.moment == "EXPORT"')
    assert world().replayed(moment=Moment.EXPORT).one(rules=(rule("open"), taken)).rule == "taken"


@pytest.mark.parametrize("_what, entry, reason", OTHERS, ids=[each[0] for each in OTHERS])
def test_an_export_is_for_its_own_reader_as_a_replay_is(_what: str, entry: dict[str, str], reason: Reason) -> None:
    """DSC-07, B10, B11: another's entry exports as an unknown one; the due revoke comes first, whoever asks."""
    theirs = world().replayed(moment=Moment.EXPORT, **entry)
    assert (theirs.one().verdict, theirs.one().reason) == (Verdict.WITHHOLD, reason)
    assert reply_bytes(theirs) == reply_bytes(edit(theirs, ledger={}, stored={}))
    assert _purged(theirs).one().trace == (Gate.RETENTION,)
    assert _purged(theirs).one().verdict is Verdict.PURGE


def test_turns_are_judged_one_by_one() -> None:
    """DSC-05, B4: of a thread whose second turn rests on a revoked document only that turn is purged."""
    first, second = world(record("kb-1")).replayed("L1"), world(record("kb-7")).replayed("L2")
    thread = edit(
        first,
        records=(*first.records, *second.records),
        ledger={**first.ledger, **second.ledger},
        stored={**first.stored, **second.stored},
        ledger_ids=("L1", "L2", "L3"),
    )
    assert [r.verdict for r in thread.ask().results] == [Verdict.ALLOW, Verdict.ALLOW, Verdict.WITHHOLD]
    revoked = edit(thread, records=(first.records[0], edit(second.records[0], revoked=revoke())))
    results = revoked.ask().results
    assert [r.verdict for r in results] == [Verdict.ALLOW, Verdict.PURGE, Verdict.WITHHOLD]
    assert [r.key for r in results] == ["L1", "L2", "L3"]
    assert all(r.by_ledger_id for r in results)


def test_a_replays_goal_says_no_more_than_the_ledger_id() -> None:
    """A17, F11: the stored claim is not repeated to whoever brings a ledger id."""
    for given in (figure_world().replayed(principal_id="bo"), fields(records=())(figure_world().replayed())):
        (result,) = reply(given).results
        assert result.output.goal.segment_id == "L1"
        assert not result.output.goal.HasField("claim")
        assert not result.output.gap.HasField("record")


def test_the_claim_of_a_stored_figure_keeps_its_period() -> None:
    """A3: a figure committed about a period that is over stays usable at replay, however old it has become."""
    period = (at(-10 * 86_400_000_000), at(-9 * 86_400_000_000))
    figure = evidence(as_of=period[1], assessment_expires_at=at(10**15))
    committed = world(figure, claim=Claim("adjusted", period, ("value",)), need_numbers=True).replayed()
    assert committed.one(now=at(10**14)).verdict is Verdict.ALLOW
