"""Explanations: the decision itself, and everything that led to it, from the same gates and conditions."""

from __future__ import annotations

from discreet.policy.cel import EvaluationError
from discreet.policy.explain import Explanation, explain
from discreet.policy.words import Effect, Gate, Grounding, Moment, Reason, Verdict
from tests.policy.decide.random_worlds import random_world
from tests.policy.decide.world import World, at, binding_to, edit, evidence, record, rule, segment, world


def explained(of: World) -> tuple[Explanation, ...]:
    """Returns the explanations of what a world asks."""
    stored = dict(of.stored)
    return explain(of.policy, of.facts, of.caller, of.now, of.request, policy_age_us=of.policy_age_us, stored=stored)


def test_what_is_explained_is_what_is_decided() -> None:
    """A8: on random worlds the decision is the same, the gates are those of its trace, and the rules lead to it."""
    asked = 0
    for seed in range(400):
        found = random_world(seed)
        decisions = found.ask().results
        explanations = explained(found)
        assert tuple(one.decision for one in explanations) == decisions, f"seed {seed}"
        for one in explanations:
            steps = [step for step in one.gates if step.passed is not None]
            trace = [gate for gate in one.decision.trace if gate is not Gate.RELEASE]
            assert [step.gate for step in steps] == trace
            stopped = [step for step in one.gates if step.passed is False]
            assert [step.stop for step in stopped] == ([] if one.decision.stop is None else [one.decision.stop])
            assert [step.passed for step in one.gates] == sorted((step.passed for step in one.gates), key=_rank)
            asked += bool(one.rules)
            assert Gate.RULES in trace or not one.rules
            assert Gate.RULES not in trace or verdict_of(one) is one.decision.verdict, f"seed {seed}"
    assert asked > 100, "the worlds are too tame to test these"


def _rank(passed: bool | None) -> int:
    return (True, False, None).index(passed)


def verdict_of(one: Explanation) -> Verdict:
    """Returns the verdict that the shown rules give, by the plain reading of them."""
    counted = [step for step in one.rules if step.counts]
    if any(step.rule.effect is Effect.WITHHOLD for step in counted):
        return Verdict.WITHHOLD
    segment_of = one.decision.segment
    assert segment_of is not None
    units = {None} if segment_of.grounding is Grounding.UNBOUND else {
        (binding.record_id, binding.version) for binding in segment_of.bindings
    }  # fmt: skip
    allowed = {step.ref and tuple(step.ref) for step in counted if step.true}
    return Verdict.ALLOW if units <= allowed else Verdict.WITHHOLD


def test_every_part_of_a_condition_has_its_value_or_its_error() -> None:
    """A8, POL-01: what was read, what was absent, and what decided all the same."""
    note = record(attributes={"level": 3})
    when = 'document.attributes.level > 2 && (has(document.attributes.desk) || document.attributes.desk == "x")'
    hold = rule("hold", Effect.WITHHOLD, when, place="rules.yaml:7", owners=("desk",))
    (one,) = explained(world(note, rules=(rule("open"), hold)))
    shown = {step.rule.id: step for step in one.rules}
    values = [(part.depth, part.outcome if isinstance(part.outcome, bool) else "error") for part in shown["hold"].parts]
    assert values == [(0, "error"), (1, True), (1, "error"), (2, False), (2, "error")]
    failure = shown["hold"].parts[0].outcome
    assert isinstance(failure, EvaluationError)
    assert failure.attribute == "document.attributes.desk"
    assert (shown["hold"].true, shown["hold"].counts, shown["open"].true) == (None, True, True)
    assert (shown["hold"].rule.place, shown["hold"].rule.owners) == ("rules.yaml:7", ("desk",))
    assert (one.decision.verdict, one.decision.reason, one.decision.rule) == (
        Verdict.WITHHOLD, Reason.POLICY_ERROR, "hold",
    )  # fmt: skip


def test_a_rule_that_is_not_asked_names_the_key_that_keeps_it_out() -> None:
    """A8: moments, grounding, sources, kinds, from, until, or that nothing need allow what stands behind a binding."""
    plain = record()
    rules = (
        rule("a-open"),
        rule("b-moment", moments=frozenset({Moment.REPLAY})),
        rule("c-unbound", grounding=Grounding.UNBOUND, kinds=frozenset({"chat"})),
        rule("d-source", sources=frozenset({"elsewhere"})),
        rule("e-kind", kinds=frozenset({"chat"})),
        rule("f-later", from_us=at(1)),
        rule("g-over", until_us=at(0)),
        rule("h-watched", Effect.WITHHOLD, observe=True),
    )
    (one,) = explained(world(plain, rules=rules))
    assert [(step.rule.id[0], step.unfit, step.counts) for step in one.rules] == [
        ("a", "", True), ("b", "moments", False), ("c", "grounding", False), ("d", "sources", False),
        ("e", "kinds", False), ("f", "from", False), ("g", "until", False), ("h", "", False),
    ]  # fmt: skip
    assert one.decision.verdict is Verdict.ALLOW


def test_what_stands_behind_a_binding_is_shown_with_its_rules() -> None:
    """B4: withholding rules are asked about it, allowing ones are not."""
    source = record()
    quote = evidence(of=(source.ref,), roots=(source.ref,))
    of = world(source, quote, rules=(rule("open"), rule("hold", Effect.WITHHOLD, 'document.record_id == "kb-1"')))
    (one,) = explained(edit(of, segments=(segment(binding_to(quote)),)))
    by_ref = {(step.ref, step.rule.id): step for step in one.rules}
    assert by_ref[source.ref, "open"].unfit == "binding"
    assert by_ref[source.ref, "hold"].true is True
    assert by_ref[quote.ref, "hold"].true is False
    assert one.decision.rule == "hold"


def test_no_rule_is_shown_where_a_gate_stopped_the_segment() -> None:
    """B11: rules lie above the gates, and what they read may not be there."""
    (one,) = explained(world(record(suspended=True)))
    assert one.rules == ()
    assert [step.gate for step in one.gates if step.passed is False] == [Gate.SUSPENSION]
    assert [step.gate for step in one.gates if step.passed is None][-1] is Gate.RULES


def test_a_replay_is_explained_in_the_order_of_its_gates() -> None:
    """B11: the due purge is judged first."""
    (one,) = explained(world(record()).replayed())
    assert [step.gate for step in one.gates][:2] == [Gate.RETENTION, Gate.POLICY_AGE]
    assert one.decision.verdict is Verdict.ALLOW
