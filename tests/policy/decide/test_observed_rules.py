"""Rules that are only watched: recorded as what would have been withheld, and of no effect whatever they do."""

from __future__ import annotations

from random import Random

from discreet.policy.decision import SegmentDecision
from discreet.policy.snapshot import Rule
from discreet.policy.words import Effect, Gate, Moment, Reason, Verdict
from tests.policy.decide.random_worlds import random_world
from tests.policy.decide.replies import reply_bytes, row
from tests.policy.decide.world import NOW, OPEN, at, edit, record, rule, world

WITHHOLD = Effect.WITHHOLD
ABSENT = "document.attributes.absent == 1"
COSTLY = "document.scopes.all(x, document.scopes.all(y, x.size() + y.size() < 1))"


def watched(rule_id: str, when: str = "", **changes: object) -> Rule:
    """A withholding rule in observe mode."""
    return rule(rule_id, WITHHOLD, when, observe=True, **changes)


def test_an_observed_rule_is_recorded_and_withholds_nothing() -> None:
    """F12, B3: the audit row says which rules would have withheld, sorted, and which had no value for want of what."""
    rules = (*OPEN, watched("w2"), watched("w1", 'document.kind == "DOCUMENT"'), watched("err", ABSENT))
    found = world().one(rules=rules)
    assert found.verdict is Verdict.ALLOW
    said = ["err POLICY_ERROR missing_attribute: document.attributes.absent", "w1", "w2"]
    assert list(found.observed) == said
    assert list(row(edit(world(), rules=rules)).decisions[0].observed_rules) == said


def test_an_observed_rule_that_is_false_or_outside_its_time_is_not_recorded() -> None:
    """F12, TIM-01: what would have done nothing is not said to have done something."""
    rules = (*OPEN, watched("no", "false"), watched("over", until_us=NOW), watched("later", from_us=at(1)))
    assert world().one(rules=rules).observed == ()


def test_observed_rules_are_recorded_beside_what_withholds() -> None:
    """B3: an author sees the overlap of a new rule with those in force; gates before the rules leave nothing to see."""
    shut = rule("shut", WITHHOLD)
    found = world().one(rules=(*OPEN, shut, watched("new")))
    assert (found.rule, found.observed) == ("shut", ("new",))
    assert world().one(rules=(watched("new"),)).observed == ("new",)
    gated = world(record(suspended=True)).one(rules=(*OPEN, watched("new")))
    assert (gated.gate, gated.observed) == (Gate.SUSPENSION, ())


def test_one_true_record_is_enough_for_an_observed_rule() -> None:
    """F12: over several records a rule that is true for one would have withheld, though it errs on another."""
    rules = (*OPEN, watched("w", "document.attributes.level == 1"))
    both = world(record(attributes={}), record("kb-2", attributes={"level": 1}))
    assert both.one(rules=rules).observed == ("w",)
    assert world(record(attributes={})).one(rules=rules).observed[0].startswith("w POLICY_ERROR")


def test_an_observed_rule_cannot_spend_what_others_need() -> None:
    """POL-09, F12: its steps are its own; when they are spent, that is recorded and the answer stands."""
    many = record(scopes=("staff", *(f"s{number}" for number in range(400))))
    costly = watched("costly", COSTLY.replace("< 1", "> 0"))
    found = world(many).one(rules=(*OPEN, costly))
    assert found.verdict is Verdict.ALLOW
    assert found.observed == ("costly COST_EXCEEDED step budget spent",)
    assert world(many).one(rules=(*OPEN, edit(costly, observe=False))).reason is Reason.COST_EXCEEDED


def _random_rule(random: Random, number: int) -> Rule:
    condition = random.choice(("", "false", ABSENT, "document.current", "now > now", COSTLY))
    begin = random.choice((None, at(random.randint(-3, 3))))
    return watched(f"0watch{number}", condition, from_us=begin)


def _without(found: SegmentDecision) -> SegmentDecision:
    stop = None if found.stop is None else edit(found.stop, observed=())
    return found._replace(observed=(), stop=stop)


def test_observed_rules_never_change_a_decision() -> None:
    """F12: on 500 random worlds every decision, and every byte that the reader gets, is the same without them."""
    seen = 0
    for seed in range(500):
        plain, random = random_world(seed), Random(seed)
        more = tuple(_random_rule(random, number) for number in range(random.randint(1, 3)))
        both = edit(plain, rules=(*plain.rules, *more))
        before, after = plain.ask(), both.ask()
        assert tuple(map(_without, after.results)) == before.results, f"seed {seed}"
        if plain.moment is not Moment.RETRIEVE:
            assert reply_bytes(plain, before) == reply_bytes(both, after)
        seen += sum(bool(found.observed) for found in after.results)
    assert seen > 100
