"""Every gate stops what it must stop, in the one fixed order, and says so in the closed words."""

from __future__ import annotations

import pytest

from discreet.policy.decide import masked
from discreet.policy.decision import MASKED
from discreet.policy.gates import LEDGER_ORDER, ORDER
from discreet.policy.texts_builtin import BUILTIN
from discreet.policy.words import ActionTendency, Freshness, Gate, Moment, Next, Origin, Reason, Verdict
from tests.policy.decide.faults import AUTHORITY, AVAILABILITY, DUE, FAULTS, HELD, Fault, passing
from tests.policy.decide.world import (
    DAY,
    NOW,
    SECOND,
    World,
    at,
    binding_to,
    edit,
    evidence,
    figure_world,
    record,
    revoke,
    segment,
    world,
)

IN_ORDER = [gate for gate, _ in ORDER] + [Gate.RULES]
PAIRS = [
    (first, second) for first in FAULTS for second in FAULTS if IN_ORDER.index(first.gate) < IN_ORDER.index(second.gate)
]


def test_the_order_of_gates_is_the_agreed_one() -> None:
    """B11, A4: tenant, existence and scope; retention; source; binding; freshness; basis; fields; numbers; rules."""
    assert [
        *(Gate.POLICY_AGE, Gate.AVAILABILITY, Gate.RETENTION, Gate.SUSPENSION, Gate.SOURCE, Gate.BINDING),
        *(Gate.FRESHNESS, Gate.BASIS, Gate.COMPLETENESS, Gate.NUMBERS, Gate.RULES),
    ] == IN_ORDER
    assert [gate for gate, _ in LEDGER_ORDER] == [Gate.RETENTION, *IN_ORDER[:-1]]


@pytest.mark.parametrize("moment", list(Moment))
def test_what_has_no_fault_is_allowed(moment: Moment) -> None:
    """A4, A5: all gates pass, the trace names each, and nothing is said but the evidence."""
    given = passing().replayed(moment=moment) if moment.by_ledger_id else edit(passing(), moment=moment)
    result = given.one()
    assert (result.verdict, result.reason, result.gate) == (Verdict.ALLOW, Reason.NONE, Gate.RELEASE)
    assert result.trace[-len(IN_ORDER) - 1 :] == (*IN_ORDER, Gate.RELEASE)
    assert (result.text, result.template_id, result.next, result.stop) == ("", "", Next.NONE, None)
    assert [view.freshness for view in result.evidence] == [Freshness.FRESH]
    assert bool(result.receipts) == (moment is Moment.RETRIEVE)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_stops_at_its_gate(fault: Fault) -> None:
    """A4, B2, B8: each fault has its own gate, reason, next step, gap and text; no later gate is evaluated."""
    result = fault.change(passing()).one()
    assert (result.verdict, result.reason, result.gate) == (fault.verdict, fault.reason, fault.gate)
    assert result.trace == tuple(IN_ORDER[: IN_ORDER.index(fault.gate) + 1])
    assert (result.next, result.fault) == (fault.next, fault.fault)
    assert result.stop is not None
    assert result.stop.gap == fault.gap
    told = Reason.NOT_AVAILABLE if fault.gate is Gate.AVAILABILITY else fault.reason
    assert (result.reader_reason, result.template_id) == (told, told.short)
    assert result.text == BUILTIN["en"][told.short]
    assert fault.change(passing()).one(locale="zh-Hans").text == BUILTIN["zh-Hans"][told.short]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_what_is_stopped_offers_nothing(fault: Fault) -> None:
    """A5, A15: no tendency, no receipt, no time to use it in, and nothing to commit on, whatever was asked."""
    result = fault.change(passing()).one(need_advice=True)
    assert result.action_tendency is ActionTendency.NONE
    assert (result.receipts, result.use_within_ms, result.bases, result.valid_until) == ((), 0, (), None)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_evidence_is_masked_where_the_reader_did_not_pass_availability(fault: Fault) -> None:
    """A5, F11: readers who did not pass existence and scope see a blank view a binding; auditors see the facts."""
    result = fault.change(passing()).one()
    hidden = fault.gate in {Gate.POLICY_AGE, Gate.AVAILABILITY}
    assert masked(result) == ((MASKED,) if hidden else result.evidence)
    if fault.reason is Reason.SCOPE_DENIED:
        assert result.evidence[0].source_label == "ledger-feed"
    if fault.gate is Gate.SOURCE and fault.name != "claimed-label":
        assert not result.evidence[0].trusted_hit


def test_freshness_is_not_told_where_it_was_not_judged() -> None:
    """A4: where an earlier gate stopped, no later one is evaluated, freshness included."""
    for fault in FAULTS:
        if IN_ORDER.index(fault.gate) < IN_ORDER.index(Gate.FRESHNESS):
            views = fault.change(passing()).one().evidence
            assert {view.freshness for view in views} <= {Freshness.UNKNOWN, Freshness.MISSING}, fault.name


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_the_earlier_of_two_faults_decides(fault: Fault) -> None:
    """B11, A4: whatever else is wrong, the gate that comes first gives verdict and reason."""
    for first, second in PAIRS:
        states_unseen = second.hides_record and (first in AUTHORITY or first in HELD)
        kept = first.gate is Gate.RETENTION and second in HELD
        if first is not fault or states_unseen or kept:
            continue
        for given in (second.change(first.change(passing())), first.change(second.change(passing()))):
            result = given.one()
            assert (result.gate, result.reason, result.verdict) == (first.gate, first.reason, first.verdict), (
                second.name
            )


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if not fault.publish_only], ids=str)
def test_a_due_revoke_comes_first_at_replay(fault: Fault) -> None:
    """B11: the caller holds the copy and must purge it, whatever else is true of policy, reader and record."""
    if fault is DUE or fault in HELD or fault.name in {"unknown", "revoked-later", "other-version"}:
        return
    result = DUE.change(_by_ledger_id(fault)).one()
    assert (result.verdict, result.reason, result.gate) == (Verdict.PURGE, Reason.RETENTION_REVOKED, Gate.RETENTION)
    assert result.trace == (Gate.RETENTION,)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if not fault.publish_only], ids=str)
def test_a_fault_stops_a_replay_as_well(fault: Fault) -> None:
    """B1: a receipt of an earlier publication stands in for nothing; every gate is asked again."""
    result = _by_ledger_id(fault).one()
    assert (result.verdict, result.reason, result.gate) == (fault.verdict, fault.reason, fault.gate)


def _by_ledger_id(fault: Fault) -> World:
    """The faulty segment as it would stand in the ledger: it was allowed, committed, and then the fault arose."""
    faulty = fault.change(passing())
    sound = passing().replayed()
    return edit(faulty.replayed(), ledger=sound.ledger)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.publish_only], ids=str)
def test_demands_on_bindings_are_made_at_publish_alone(fault: Fault) -> None:
    """B2: policy and grant revision and the receipt are demanded of what is about to be published."""
    assert fault.change(passing()).one(moment=Moment.RETRIEVE).verdict is Verdict.ALLOW
    assert fault.change(passing()).replayed().one().verdict is Verdict.ALLOW


def test_a_knowledge_segment_without_bindings_has_none_to_rest_on() -> None:
    """B12: BOUND without a binding is NO_BINDING, and the reader is asked for context."""
    result = world(segment=segment()).one()
    assert (result.reason, result.gate, result.next) == (Reason.NO_BINDING, Gate.SOURCE, Next.GIVE_CONTEXT)
    assert result.fault == "generation"


def test_delisting_a_source_cannot_turn_a_purge_into_hiding() -> None:
    """B11, B7: the retention revoke stands before the source gate, so no policy change undoes a purge."""
    revoked = world(record(source_label="memo", collector="memo-importer", revoked=revoke()))
    assert revoked.one().verdict is Verdict.PURGE
    assert world(record(source_label="gone", revoked=revoke())).one().verdict is Verdict.PURGE


def test_a_revoke_hides_at_once_and_purges_from_its_time_on() -> None:
    """B7, B8: before `purge_not_before` it is WITHHOLD, at that instant it is PURGE."""
    for late, verdict in ((1, Verdict.WITHHOLD), (0, Verdict.PURGE), (-1, Verdict.PURGE)):
        result = world(record(revoked=revoke(at(late)))).one()
        assert (result.verdict, result.reason) == (verdict, Reason.RETENTION_REVOKED)


def test_one_due_revoke_among_roots_purges_though_another_is_not_due() -> None:
    """B7: every root is looked at before a revoke that is not due yet may hide."""
    later, due = record("kb-1", revoked=revoke(at(1))), record("kb-2", revoked=revoke())
    assert world(later, due).one().verdict is Verdict.PURGE
    assert world(later, record("kb-3")).one().verdict is Verdict.WITHHOLD


def test_the_policy_may_age_as_long_as_it_allows() -> None:
    """A12: exactly the allowed age still decides; one microsecond more withholds everything."""
    from_policy = edit(passing().snapshot, policy_max_age_us=1_000)
    assert passing().one(snapshot=from_policy, policy_age_us=1_000).verdict is Verdict.ALLOW
    assert passing().one(snapshot=from_policy, policy_age_us=1_001).reason is Reason.POLICY_STALE


def test_scope_and_unknown_look_alike_in_every_gate_field() -> None:
    """F11: gate, trace, next and text are one for all causes that a reader may not tell apart."""
    seen = {
        (r.gate, r.trace, r.next, r.text, r.template_id, r.reader_reason, r.verdict, masked(r))
        for r in (fault.change(figure_world()).one() for fault in AVAILABILITY)
    }
    assert len(seen) == 1


def test_numbers_come_from_evidence_that_is_no_inference() -> None:
    """A15, A19: a document gives no figure whatever fields it has, an inference none, and null is no value."""
    fields = {"value": 7}
    for source, verdict in (
        (record(fields=fields), Verdict.WITHHOLD),
        (evidence(fields=fields, origin=Origin.INFERRED), Verdict.WITHHOLD),
        (evidence(fields={"value": None}), Verdict.WITHHOLD),
        (evidence(fields={}), Verdict.WITHHOLD),
        (evidence(fields=fields, origin=Origin.DERIVED), Verdict.ALLOW),
        (evidence(fields={"value": 0}), Verdict.ALLOW),
    ):
        result = world(source, need_numbers=True).one()
        assert result.verdict is verdict
        assert world(source).one().verdict is Verdict.ALLOW
        if verdict is Verdict.WITHHOLD:
            assert (result.reason, result.gate) == (Reason.NO_TRUSTED_FACT, Gate.NUMBERS)


@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_a_derived_figure_is_as_fresh_as_the_freshest_it_stands_on(inputs: int) -> None:
    """A3, A19: a new time on a figure of old ones makes nothing new; one young input does, while it is young."""
    old = [evidence(f"old-{i}", as_of=at(-2 * DAY)) for i in range(inputs)]
    young = evidence("young", as_of=at(-3600 * SECOND))
    for made_of, reason in ((old, Reason.STALE), ([*old, young], Reason.NONE)):
        refs = tuple(one.ref for one in made_of)
        mean = evidence("mean-1", origin=Origin.DERIVED, as_of=NOW, inputs=refs, roots=refs, formula="mean")
        over = evidence("sum-1", origin=Origin.DERIVED, as_of=NOW, inputs=(mean.ref,), roots=(mean.ref, *refs))
        for asked in (mean, over):
            result = world(*made_of, mean, over, segment=segment(binding_to(asked))).one()
            assert result.reason is reason
            if reason is Reason.NONE:
                assert result.valid_until == at(DAY - 3600 * SECOND + 1)


def test_a_formula_over_inference_gives_no_figure() -> None:
    """A15, A19: what a model said becomes no fact by being computed with, however far down it stands."""
    guess = evidence("guess-1", origin=Origin.INFERRED)
    mean = evidence("mean-1", origin=Origin.DERIVED, inputs=(guess.ref,), roots=(guess.ref,), formula="mean(a)")
    over = evidence("sum-1", origin=Origin.DERIVED, inputs=(mean.ref,), roots=(mean.ref, guess.ref), formula="a + 1")
    for asked in (mean, over):
        bound = segment(binding_to(asked))
        needed = world(guess, mean, over, segment=bound, need_numbers=True).one()
        assert (needed.verdict, needed.reason) == (Verdict.WITHHOLD, Reason.NO_TRUSTED_FACT)
        assert world(guess, mean, over, segment=bound).one().verdict is Verdict.ALLOW
