"""No decision changes without a change in the difference, and none changes against the directions that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.decision import SegmentDecision
from discreet.policy.diff import Difference, Direction, compare_snapshots
from discreet.policy.explain import rules_of
from discreet.policy.rule_index import rule_index
from discreet.policy.snapshot import Requires, Rule, Snapshot, Source
from discreet.policy.testing.mutate import mutants_of
from discreet.policy.words import AuditMode, Effect, Grounding, Moment, Verdict
from tests.policy.decide.oracle import CONDITIONS
from tests.policy.decide.random_worlds import Maker, random_world
from tests.policy.decide.world import NOW, World, at, condition, edit
from tests.policy.diff.pairs import backwards

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MUTATED: Final = 25
EDITED: Final = 120
DAY: Final = 86_400_000_000

Edit = Callable[[Random, Snapshot], Snapshot]


def _rules(change: Callable[[Random, list[Rule]], list[Rule]]) -> Edit:
    return lambda chance, old: replace(old, rules=rule_index(change(chance, rules_of(old.rules))))


def _one_rule(change: Callable[[Random, Rule], Rule]) -> Edit:
    def edited(chance: Random, rules: list[Rule]) -> list[Rule]:
        at_ = chance.randrange(len(rules)) if rules else 0
        return [change(chance, rule) if position == at_ else rule for position, rule in enumerate(rules)]

    return _rules(edited)


def _rule_with(**choices: Callable[[Random], Any]) -> Edit:
    return _one_rule(lambda chance, rule: replace(rule, **{name: pick(chance) for name, pick in choices.items()}))


def _source_with(**choices: Callable[[Random], Any]) -> Edit:
    def edited(chance: Random, old: Snapshot) -> Snapshot:
        sources = dict(old.sources)
        label = chance.choice(sorted(sources))
        sources[label] = replace(sources[label], **{name: pick(chance) for name, pick in choices.items()})
        return replace(old, sources=sources)

    return edited


def _without_source(chance: Random, old: Snapshot) -> Snapshot:
    gone = chance.choice(sorted(old.sources))
    return replace(old, sources={label: source for label, source in old.sources.items() if label != gone})


def _turned(_: Random, rule: Rule) -> Rule:
    effect = Effect.WITHHOLD if rule.effect is Effect.ALLOW else Effect.ALLOW
    return replace(rule, effect=effect, observe=False)


def _of(*values: object) -> Callable[[Random], Any]:
    return lambda chance: chance.choice(values)


def _when(chance: Random) -> object:
    text = chance.choice(list(CONDITIONS))
    return condition(text) if text else None


_SOME_MOMENTS = [frozenset({Moment.PUBLISH}), frozenset({Moment.RETRIEVE, Moment.PUBLISH}), frozenset(Moment)]
EDITS: Final[tuple[Edit, ...]] = (
    _rules(lambda chance, rules: rules[1:] if chance.random() < 0.5 else rules[:-1]),
    _rules(lambda chance, rules: [*rules, Maker(chance.getrandbits(32)).rule("one-more", chance.choice(list(Effect)))]),
    _one_rule(_turned),
    _one_rule(lambda _, rule: replace(rule, observe=rule.effect is Effect.WITHHOLD and not rule.observe)),
    _one_rule(lambda _, rule: replace(rule, id=f"{rule.id}-renamed")),
    _rule_with(moments=_of(*_SOME_MOMENTS)),
    _rule_with(sources=_of(None, frozenset({"wiki"}), frozenset({"wiki", "news"}))),
    _rule_with(kinds=_of(None, frozenset({"answer"}), frozenset({"answer", "quote"}))),
    _rule_with(when=_when),
    _rule_with(from_us=_of(None, at(-DAY), at(DAY)), until_us=_of(None, at(2 * DAY), at(-1))),
    _source_with(listed=_of(True, False)),
    _source_with(max_age_us=_of(None, 3_600_000_000, DAY, 30 * DAY)),
    _source_with(collectors=lambda chance: frozenset(chance.sample(["wiki-importer", "news-importer", "deriver"], 2))),
    _without_source,
    lambda chance, old: replace(old, requires=Requires(*(chance.random() < 0.3 for _ in range(3)))),
    lambda chance, old: replace(old, policy_max_age_us=chance.choice([None, 50, 100, 101])),
    lambda chance, old: replace(old, claimed_scopes_from=chance.choice([frozenset(), frozenset({"agent-1"})])),
)  # fmt: skip


def asked(world: World, policy: Snapshot) -> list[SegmentDecision]:
    """What the world's segments are decided under a policy, at the world's moment and replayed."""
    given = edit(world, snapshot=policy, rules=tuple(rules_of(policy.rules)))
    alone = edit(given, segments=given.segments[:1])
    return [*given.ask().results, *alone.replayed().ask().results]


class Held(NamedTuple):
    """What was found between two policies, and what the same segments are decided under either."""

    found: Difference
    before: list[SegmentDecision]
    after: list[SegmentDecision]

    @property
    def turns(self) -> Iterator[tuple[Verdict, Verdict]]:
        """The verdict before and after, of each segment."""
        return ((was.verdict, becomes.verdict) for was, becomes in zip(self.before, self.after, strict=True))


def holds(world: World, old: Snapshot, new: Snapshot) -> Held:
    """Compares two policies, and holds what is found against what the world's segments are decided under either."""
    found = compare_snapshots(old, new)
    assert compare_snapshots(new, old) == backwards(found)
    before, after = asked(world, old), asked(world, new)
    if not found.changes:
        assert before == after
    loosens = found.may_loosen
    tightens = any(change.direction in {Direction.TIGHTENS, Direction.EITHER} for change in found.changes)
    held = Held(found, before, after)
    for was, becomes in held.turns:
        assert loosens or not (becomes is Verdict.ALLOW and was is not Verdict.ALLOW)
        assert tightens or not (was is Verdict.ALLOW and becomes is not Verdict.ALLOW)
    return held


def edited(seed: int, policy: Snapshot, times: int) -> Snapshot:
    """A policy with so many edits, one after another."""
    chance = Random(seed)
    for _ in range(times):
        policy = chance.choice(EDITS)(chance, policy)
    return policy


def test_every_mutation_that_changes_a_decision_is_a_difference() -> None:
    """F8, F12: each rule and each part of each condition changed, one at a time, over random worlds."""
    changed = mutants = 0
    for seed in range(MUTATED):
        world = random_world(seed)
        for policy, other in mutated(world.policy):
            held = holds(world, policy, other)
            assert held.found.changes
            mutants += 1
            changed += held.before != held.after
    assert mutants > 300
    assert changed > 20


def mutated(policy: Snapshot) -> Iterator[tuple[Snapshot, Snapshot]]:
    """A policy with each of its mutants."""
    rules = rules_of(policy.rules)
    for mutant in mutants_of(policy):
        others = [rule for rule in rules if rule.id != mutant.id]
        made = others if mutant.rule is None else [*others, mutant.rule]
        yield policy, replace(policy, rules=rule_index(made))


@given(st.integers(0, 2**32), st.integers(0, 2**32), st.integers(1, 3))
def test_edits_lead_where_they_are_said_to_lead(seed: int, edits: int, times: int) -> None:
    """F8: over random worlds and edits, nothing opens that only tightens, nothing closes that only loosens."""
    world = random_world(seed)
    holds(world, world.policy, edited(edits, world.policy, times))


def test_edits_open_and_close() -> None:
    """F8: the edits above change decisions both ways, and some are told for certain."""
    seen = {"opened": 0, "closed": 0, "loosens": 0, "tightens": 0}
    for seed in range(EDITED):
        world = random_world(seed)
        both = world.policy, edited(seed, world.policy, 1)
        held = holds(world, *(both if seed % 2 else both[::-1]))
        for turn in held.turns:
            seen["opened"] += turn == (Verdict.WITHHOLD, Verdict.ALLOW)
            seen["closed"] += turn == (Verdict.ALLOW, Verdict.WITHHOLD)
        for direction in (Direction.LOOSENS, Direction.TIGHTENS):
            seen[direction] += {change.direction for change in held.found.changes} == {direction}
    assert min(seen.values()) >= 5, seen


@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_two_policies_that_have_nothing_in_common_are_told_apart(seed: int, other: int) -> None:
    """F8: over the policies of two random worlds, with the facts of one of them."""
    world = random_world(seed)
    holds(world, world.policy, random_world(other).policy)


@given(st.integers(0, 2**32))
def test_a_policy_does_not_differ_from_itself(seed: int) -> None:
    """F8: whatever it says."""
    policy = random_world(seed).policy
    assert compare_snapshots(policy, policy) == Difference(())


#: What each field of a compiled set is changed to; what has no meaning of its own is named beneath.
OTHERS: Final[dict[str, Any]] = {
    "name": "other",
    "sources": {},
    "rules": rule_index([]),
    "texts": {locale: {} for locale in ("en", "zh-Hans")},
    "requires": Requires(retrieved_in_session=True),
    "claimed_scopes_from": frozenset({"someone"}),
    "audit_checks": AuditMode.NONE,
    "policy_max_age_us": 7,
    "read_max_staleness_us": 7,
    "use_within_ms": 7,
    "store_within_us": 7,
    "masked_attributes": frozenset({"mail"}),
}
NO_MEANING: Final = {"number", "commit", "digest", "dirty", "environment"}
RULES: Final[dict[str, Any]] = {
    "id": "other", "effect": Effect.WITHHOLD, "moments": frozenset({Moment.EXPORT}), "sources": frozenset({"wiki"}),
    "kinds": frozenset({"quote"}), "when": condition('principal.id == "ana"'), "custom_reason": "OTHER",
    "text": "other", "advice": True, "from_us": NOW, "until_us": NOW, "observe": True,
}  # fmt: skip
SOURCES: Final[dict[str, Any]] = {
    "title": "other", "duty": "other", "collectors": frozenset(), "max_age_us": 7, "listed": False,
    "case_sensitive_ids": True,
}  # fmt: skip


def fields_of(of: type[DataclassInstance]) -> set[str]:
    """The names of a dataclass's fields."""
    return {each.name for each in fields(of)}


def test_every_field_of_a_set_is_compared() -> None:
    """F8: whatever is ever added to a compiled set, its sources, rules or demands must be compared, or named here."""
    plain = random_world(0).policy
    retention = {"dry_run_above": 7, "purge_within_us": 7, "recheck_after_us": 7}
    changes = {**OTHERS, "retention": replace(plain.retention, **retention)}
    assert fields_of(Snapshot) == changes.keys() | NO_MEANING
    assert fields_of(type(plain.retention)) == retention.keys()
    for name, other in changes.items():
        assert compare_snapshots(plain, replace(plain, **{name: other})).changes, name
    for name, value in retention.items():
        assert compare_snapshots(plain, replace(plain, retention=replace(plain.retention, **{name: value}))).changes
    for name in fields_of(Requires):
        assert compare_snapshots(plain, replace(plain, requires=replace(plain.requires, **{name: True}))).changes


def test_every_field_of_a_source_and_of_a_rule_is_compared() -> None:
    """F8: where a rule stands and who answers for it is no meaning; grounding is changed by a pair of its own."""
    plain = random_world(0).policy
    assert fields_of(Source) == SOURCES.keys() | {"label"}
    assert fields_of(Rule) == RULES.keys() | {"grounding", "place", "owners"}
    source = plain.sources["wiki"]
    for name, other in SOURCES.items():
        duty = {"duty": plain.sources["models"].duty} if name == "duty" else {name: other}
        assert compare_snapshots(
            plain, replace(plain, sources={**plain.sources, "wiki": replace(source, **duty)})
        ).changes
    for name, other in RULES.items():
        rule = Rule("r", Effect.ALLOW, frozenset(Moment), None, None, Grounding.BOUND, None)
        before, after = ([each] for each in (rule, replace(rule, **{name: other})))
        sets = [replace(plain, rules=rule_index(rules)) for rules in (before, after)]
        assert compare_snapshots(*sets).changes, name
