"""F8: what cannot be decided again exactly has a cause of a closed set, and is never called unchanged."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.policy.codec.recorded import BadRow, recorded_call
from discreet.policy.decide import withhold_all, withhold_one
from discreet.policy.decision import Decided
from discreet.policy.replay import MEANINGS, Cause, Under, replay, wants
from discreet.policy.words import AuditAct, Effect, Reason, Verdict
from discreet.v1 import audit_pb2
from tests.policy.decide.world import World, edit, figure_world, record, rule, world
from tests.policy.replay.recording import committed, read_back, recorded, replayed

READS_DESK = rule("desk", Effect.WITHHOLD, 'principal.attributes.desk == "south"')
READS_CLAIMS = rule("claims", Effect.WITHHOLD, '"board" in principal.claimed_scopes')


def _causes(given: World, candidate: World | None = None, row: bytes | None = None) -> list[Cause | None]:
    return [one.cause for one in replayed(given, row, (candidate or given).policy)]


def _with_rules(given: World, *rules: Any, **policy: Any) -> World:
    return edit(given, rules=(rule("open"), *rules), snapshot=edit(given.snapshot, **policy))


def _claiming(**principal: Any) -> World:
    given = figure_world()
    return edit(given, principal=edit(given.principal, **principal))


MASKED = {"masked_attributes": frozenset({"desk"})}


def test_a_masked_attribute_stops_where_a_rule_of_either_set_reads_its_value() -> None:
    """F8, OBS-03: not where it is only masked, nor where only its presence is asked, nor where no rule was reached."""
    given = _with_rules(_claiming(attributes={"desk": "north"}), **MASKED)
    reading = _with_rules(given, READS_DESK, **MASKED)
    asking = _with_rules(given, rule("there", Effect.WITHHOLD, "!has(principal.attributes.desk)"), **MASKED)
    assert _causes(given) == [None]
    assert _causes(given, reading) == [Cause.MASKED_ATTRIBUTE]
    assert _causes(reading) == _causes(reading, given) == [Cause.MASKED_ATTRIBUTE]
    assert _causes(given, asking) == _causes(asking) == [None]
    every = _with_rules(given, rule("any", Effect.WITHHOLD, "size(principal.attributes) > 3"), **MASKED)
    assert _causes(given, every) == [Cause.MASKED_ATTRIBUTE]
    stopped = edit(reading, records=())
    assert stopped.one().reason is Reason.DOCUMENT_UNKNOWN
    assert _causes(stopped) == [None]
    unmasked = _with_rules(given, READS_DESK, masked_attributes=frozenset())
    assert _causes(unmasked) == [None]


def test_claimed_scopes_that_are_not_on_record_stop_where_they_matter() -> None:
    """F8, A16: where a rule reads them, or where the candidate lets them count; not where they counted and are kept."""
    given = _claiming(claimed_scopes=("board",))
    trusting = _with_rules(given, claimed_scopes_from=frozenset({"agent-1"}))
    reading = _with_rules(given, READS_CLAIMS)
    assert _causes(given) == _causes(trusting) == _causes(trusting, given) == [None]
    assert _causes(given, trusting) == _causes(given, reading) == _causes(reading) == [Cause.CLAIMED_SCOPES]
    counted = _with_rules(trusting, READS_CLAIMS, claimed_scopes_from=frozenset({"agent-1"}))
    assert _causes(counted) == _causes(trusting, counted) == [None]
    nothing = _claiming()
    assert _causes(nothing, trusting) == _causes(nothing, reading) == [None]


def _older(given: World) -> bytes:
    """The row as it was written before it said how old the policy was."""
    return recorded(given, policy_age_us=None)


def test_the_age_of_the_policy_is_that_of_then() -> None:
    """F8, TIM: a stricter limit of the candidate meets the age on record, to the microsecond."""
    for age, limit, verdict in ((100, 100, Verdict.ALLOW), (101, 100, Verdict.WITHHOLD)):
        given = edit(figure_world(), policy_age_us=age)
        (one,) = replayed(given, candidate=_with_rules(given, policy_max_age_us=limit).policy)
        assert one.after is not None
        assert (one.cause, one.after.verdict) == (None, verdict)


@pytest.mark.parametrize(
    "age, limit, other, known",
    [
        (0, None, None, True), (0, None, 100, False), (0, 100, 100, True), (0, 100, None, True), (0, 100, 99, False),
        (0, 100, 101, True), (101, 100, 100, True), (101, 100, 99, True), (101, 100, None, True),
        (101, 100, 101, False),
    ],
)  # fmt: skip
def test_an_older_row_tells_of_the_age_as_much_as_its_outcome_does(
    age: int, limit: int | None, other: int | None, known: bool
) -> None:
    """F8: passed means no older than the limit was, stale means older; what neither settles is not replayable."""
    given = _with_rules(edit(figure_world(), policy_age_us=age), policy_max_age_us=limit)
    stricter = _with_rules(given, policy_max_age_us=other)
    (one,) = replayed(given, _older(given), stricter.policy)
    assert one.cause is (None if known else Cause.POLICY_AGE)
    if known:
        assert one.after == stricter.one()


def test_an_older_row_does_not_tell_whether_scopes_were_claimed() -> None:
    """F8: then they may have been, and matter where a rule reads them or the candidate lets them count."""
    given = figure_world()
    assert _causes(given, row=_older(given)) == [None]
    for candidate in (
        _with_rules(given, READS_CLAIMS),
        _with_rules(given, claimed_scopes_from=frozenset({"agent-1"})),
    ):
        assert _causes(given, candidate, _older(given)) == [Cause.CLAIMED_SCOPES]


def test_an_older_row_of_a_repeated_commit_tells_the_fresh_segments_alone() -> None:
    """F8: on what the repeated one was judged is not on record; the other comes out as ever."""
    earlier = world(record("kb-7")).replayed()
    fresh = edit(figure_world(), segments=(edit(figure_world().segments[0], id="s2"),))
    row, reads = committed(fresh, earlier)
    written = audit_pb2.AuditRow.FromString(row)
    written.ClearField("repeated_under")
    call, under = read_back(written.SerializeToString(deterministic=True)), Under.of(fresh.policy)
    assert len(wants(call)) == 1
    results = replay(call, under, under, [one.facts for one in reads[:1]])
    assert [one.cause for one in results] == [Cause.OLDER_ROW, None]


@pytest.mark.parametrize(
    "reason, cause",
    [
        (Reason.DEPENDENCY_UNAVAILABLE, Cause.UNAVAILABLE),
        (Reason.AUDIT_UNAVAILABLE, Cause.UNAVAILABLE),
        (Reason.POLICY_REVISION_CHANGED, Cause.POLICY_CHANGED),
    ],
)
def test_where_nothing_was_decided_nothing_is_decided_again(reason: Reason, cause: Cause) -> None:
    """F8: a service failed; that is told apart, and wants no facts."""
    given = figure_world()
    decided = withhold_all(given.request, given.policy, reason)
    row = recorded(given, decided, facts=None, token="", policy_age_us=None)
    assert wants(read_back(row)) == ()
    assert _causes(given, row=row) == [cause]


def test_without_a_policy_in_force_nothing_is_decided_again() -> None:
    """F8: such a row names no revision."""
    given = figure_world()
    decided = withhold_all(given.request, None, Reason.DEPENDENCY_UNAVAILABLE)
    row = recorded(given, decided, snapshot=None, facts=None, token="", policy_age_us=None)
    assert _causes(given, row=row) == [Cause.NO_POLICY]


@pytest.mark.parametrize(
    "reason",
    [
        Reason.POLICY_REVISION_CHANGED, Reason.AUTH_REVISION_CHANGED, Reason.ASSESSMENT_EXPIRED,
        Reason.DEPENDENCY_UNAVAILABLE,
    ],
)  # fmt: skip
def test_what_a_commit_gave_up_on_is_told_apart(reason: Reason) -> None:
    """F8, B6: it was overtaken until its repeats ran out, which no facts of one state give again."""
    given = edit(world(record("kb-1"), record("kb-2")))
    first, second = (edit(given.segments[0], id=name) for name in ("s1", "s2"))
    both = edit(given, segments=(first, second))
    results = both.ask().results
    given_up = withhold_one(results[0], both.policy, "en", reason, "the grants kept changing")
    row = recorded(both, Decided((given_up, results[1]), both.ask().records_read))
    assert _causes(both, row=row) == [Cause.OVERTAKEN, None]


def test_a_row_of_another_form_is_said_to_be_one() -> None:
    """F8: damaged bytes, another version, a number without a meaning: never read as something else."""
    row = recorded(figure_world())
    later = audit_pb2.AuditRow.FromString(row)
    later.version = 2
    odd = audit_pb2.AuditRow.FromString(row)
    odd.decisions[0].verdict = 99  # type: ignore[assignment] # no such verdict
    for data in (row[:-2], b"\xff", later.SerializeToString(), odd.SerializeToString(), b""):
        with pytest.raises(BadRow):
            recorded_call(data)
    for act in (AuditAct.CHANGE, AuditAct.REFUSED, AuditAct.SHOWN):
        assert recorded_call(audit_pb2.AuditRow(version=1, act=int(act)).SerializeToString()) is None  # type: ignore[arg-type] # its number


def test_a_cause_spreads_where_segments_share_what_a_call_may_rest_on() -> None:
    """F8, B4: the verdict of a masked segment may leave more or less for the others, if all may be too much."""
    many = tuple(record(f"kb-{i}") for i in range(120))
    given = edit(_with_rules(_claiming(attributes={"desk": "north"}), **MASKED), need_numbers=False)
    bound = world(*many[:30]).segments[0]
    free = edit(bound, kind="free")
    segments = tuple(edit(free if i else bound, id=f"s{i}") for i in range(90))
    only = rule("desk", Effect.WITHHOLD, READS_DESK.when.text if READS_DESK.when else "", kinds=frozenset({"answer"}))
    reading = edit(_with_rules(given, only, **MASKED), segments=segments[:2], records=many)
    assert _causes(reading) == [Cause.MASKED_ATTRIBUTE, None]
    wide = edit(reading, segments=segments)
    assert set(_causes(wide)) == {Cause.MASKED_ATTRIBUTE}


def test_every_cause_has_a_meaning() -> None:
    """F8: the set is closed, and each is told in words of its own."""
    assert list(MEANINGS) == list(Cause)
    assert len(set(MEANINGS.values())) == len(Cause)
