"""Mutation tests of a set: each rule and each part of a condition changed, one at a time: which do the tests notice.

What survives is a change of the policy that no test would fail for. Bounded: a set with more changes than that says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from discreet.policy import schema
from discreet.policy.cel import CelError, Condition
from discreet.policy.cel.nodes import Const, Node, Unary
from discreet.policy.problems import Place
from discreet.policy.rule_index import rule_index
from discreet.policy.snapshot import Rule, Snapshot
from discreet.policy.testing.branches import Branch, Places, branches, changed, rules_of
from discreet.policy.testing.load import LoadedTest
from discreet.policy.testing.revisions import Key
from discreet.policy.testing.run import Prepared
from discreet.policy.words import Effect, Gate

MUTANTS_MAX: Final = 2_000
DECISIONS_MAX: Final = 1_000_000
"""Decisions that all mutants of a set may take together."""


@dataclass(frozen=True, slots=True, order=True)
class Survivor:
    """A change that no test noticed."""

    place: Place
    what: str

    def __str__(self) -> str:
        return f"{self.place}: survived: {self.what}"


@dataclass(frozen=True, slots=True)
class Mutation:
    """What became of all changes. `left_out`: those that the bounds left no room for."""

    tried: int
    survivors: tuple[Survivor, ...]
    left_out: int = 0

    @property
    def killed(self) -> int:
        """Changes that a test noticed."""
        return self.tried - len(self.survivors)


class Mutant(NamedTuple):
    """A change of one rule. `rule` None: it is not there any more."""

    id: str
    what: str
    offset: int | None
    rule: Rule | None


def mutate(files: Mapping[str, bytes], prepared: list[Prepared]) -> Mutation:
    """Returns which changes the tests of a set notice; in an environment or another is enough. They must all pass."""
    found: dict[tuple[str, str, int | None], bool] = {}
    places: dict[str, Places] = {}
    left, left_out = DECISIONS_MAX, 0
    for one in prepared:
        tests, size = _that_reach_the_rules(one)
        mutants = list(mutants_of(one.snapshot))
        others = {key: {each[:3]: each for each in mutants_of(other)} for key, other in one.revisions.items()}
        mine = Places(files, one.environment)
        for mutant in mutants[:MUTANTS_MAX]:
            key = (mutant.id, mutant.what, mutant.offset)
            if left < size and key not in found:
                left_out += 1
                continue
            left -= size
            places.setdefault(mutant.id, mine)
            found[key] = found.get(key, False) or _noticed(one, tests, mutant, others)
        left_out += len(mutants[MUTANTS_MAX:])
    survivors = [
        Survivor(places[rule].rule(rule) if offset is None else places[rule].part(rule, offset), what)
        for (rule, what, offset), noticed in found.items()
        if not noticed
    ]
    return Mutation(len(found), tuple(sorted(survivors)), left_out)


def mutants_of(snapshot: Snapshot) -> Iterator[Mutant]:
    """Yields every change: a rule left out or turned round; a condition, or a part of one, negated or left out."""
    for rule in rules_of(snapshot):
        yield Mutant(rule.id, f"the rule {rule.id} left out", None, None)
        if not rule.observe:
            other = Effect.WITHHOLD if rule.effect is Effect.ALLOW else Effect.ALLOW
            yield Mutant(rule.id, f"the rule {rule.id} turned round", None, replace(rule, effect=other, advice=False))
        if rule.when is None:
            continue
        for branch in branches(rule.when):
            yield from _of_branch(rule, rule.when, branch)


def _of_branch(rule: Rule, when: Condition, branch: Branch) -> Iterator[Mutant]:
    node, way, joined = branch.node, branch.way, branch.joined
    shown = " ".join(when.text[node.start : node.end].split())
    changes: list[tuple[str, Node]] = []
    if joined != "!":  # a negation below a negation says what leaving out both says
        changes.append(("negated", Unary(node.start, node.end, "!", node)))
    if joined in {"&&", "||"}:
        changes.append(("left out", Const(node.start, node.end, joined == "&&")))
    for word, part in changes:
        try:
            made = Condition(when.text, changed(when.root, way, part), schema.schema_for(rule.grounding))
        except CelError:
            continue
        yield Mutant(rule.id, f"of {rule.id}: {shown} {word}", node.start, replace(rule, when=made))


def _that_reach_the_rules(prepared: Prepared) -> tuple[tuple[LoadedTest, ...], int]:
    """Returns the tests whose decisions rules had a say in, and how many decisions they are; no other can notice."""
    results = iter(list(prepared.results()))
    kept, size = [], 0
    for loaded in prepared.tests:
        reached = [case for case in loaded.cases if next(results).decision.gate in {Gate.RULES, Gate.RELEASE}]
        for _ in loaded.sequences:
            next(results)
        size += len(reached) + sum(len(sequence.steps) for sequence in loaded.sequences)
        kept.append(LoadedTest(loaded.test, tuple(reached), loaded.sequences))
    return tuple(kept), max(size, 1)


def _noticed(
    prepared: Prepared,
    tests: tuple[LoadedTest, ...],
    mutant: Mutant,
    others: Mapping[Key, Mapping[tuple[str, str, int | None], Mutant]],
) -> bool:
    """True where a test fails for a change, which is made in every policy that the tests see."""
    revisions = {
        key: _mutated(other, others[key][mutant[:3]]) if mutant[:3] in others[key] else other
        for key, other in prepared.revisions.items()
    }
    snapshot = _mutated(prepared.snapshot, mutant)
    changed_set = replace(prepared, snapshot=snapshot, tests=tests, revisions=revisions)
    return any(not result.passed for result in changed_set.results())


def _mutated(snapshot: Snapshot, mutant: Mutant) -> Snapshot:
    rules = [rule for rule in rules_of(snapshot) if rule.id != mutant.id]
    return replace(snapshot, rules=rule_index([*rules, *(() if mutant.rule is None else (mutant.rule,))]))
