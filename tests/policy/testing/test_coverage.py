"""Coverage of rules and of the parts of their conditions, and mutants: what the tests of a set do not notice."""

from __future__ import annotations

import pytest

from discreet.policy.testing import prepare
from discreet.policy.testing.coverage import Coverage
from discreet.policy.testing.mutate import Mutation, mutate
from tests.policy.sets.sets import rules
from tests.policy.testing.folder import RULES, files

BRANCHY = rules(
    "{id: notes, effect: ALLOW, moments: [RETRIEVE, PUBLISH, REPLAY], sources: [notes]}",
    "{id: talk, effect: ALLOW, moments: [PUBLISH], grounding: UNBOUND, kinds: [talk]}",
    "{id: own-desk, effect: WITHHOLD, moments: [PUBLISH], sources: [notes],"
    " when: 'has(document.attributes.desk) && !(document.attributes.desk == principal.attributes.desk)'}",
)
CASES = """cases:
- {name: mine, moment: PUBLISH, principal: ana, bindings: [n/open], expect: {verdict: ALLOW}}
"""
THEIRS = """- name: not mine
  moment: PUBLISH
  principal: bo
  bindings: [n/open]
  expect: {verdict: WITHHOLD, reason: POLICY_RULE}
"""
BARE = "- {name: nobody's, moment: PUBLISH, principal: bo, bindings: [n/bare], expect: {verdict: ALLOW}}\n"
TALK = "- {name: talk, moment: PUBLISH, principal: bo, grounding: UNBOUND, kind: talk, expect: {verdict: ALLOW}}\n"


def covered(test: str, policy: str) -> Coverage:
    """The coverage of a set by its tests, which pass."""
    folder = files(test, policy)
    prepared = prepare(folder)
    coverage = Coverage(folder, prepared)
    assert all(result.passed for one in prepared for result in one.results(coverage.watch))
    return coverage


def mutated(test: str, policy: str) -> Mutation:
    """What became of the mutants."""
    folder = files(test, policy)
    return mutate(folder, prepare(folder))


def test_what_no_test_saw_is_told_with_its_place() -> None:
    """F12: rules that never matched, conditions that were never false or true, part by part, at file, line, column."""
    coverage = covered(CASES, BRANCHY)
    assert [f"{place}: {what}" for place, what in coverage.missing()] == [
        "rules.yaml:6:5: the rule talk never matched",
        "rules.yaml:7:5: the rule own-desk never matched",
        "rules.yaml:7:83: of own-desk: has(document.attributes.desk) was never false",
        "rules.yaml:7:116: of own-desk: !(document.attributes.desk == principal.attributes.desk) was never true",
        "rules.yaml:7:117: of own-desk: (document.attributes.desk == principal.attributes.desk) was never false",
    ]
    assert (coverage.seen, coverage.points) == (5, 10)
    assert coverage.percent == 50.0


def test_a_set_whose_every_outcome_was_seen_is_covered() -> None:
    """F12: rules with both outcomes, parts with both, and a count of what each rule decided."""
    coverage = covered(CASES + THEIRS + BARE + TALK, BRANCHY)
    assert list(coverage.missing()) == []
    assert coverage.percent == 100.0
    rule = coverage.rules["own-desk"]
    assert (rule.matched, rule.unmatched, rule.decided) == (1, 2, 1)
    errors = [branch.errors for branch in rule.branches]
    assert errors == [0, 0, 1, 1]  # nobody's desk is compared with none where has() is false


def test_a_rule_that_gates_kept_from_being_asked_is_not_covered() -> None:
    """B12: what fails before the rules says nothing of them, and neither does another moment."""
    test = """cases:
- {name: a, moment: PUBLISH, principal: bo, bindings: [n/desk], expect: {verdict: WITHHOLD, reason: SCOPE_DENIED}}
- {name: b, moment: RETRIEVE, principal: ana, bindings: [n/desk], expect: {verdict: ALLOW}}
"""
    coverage = covered(test, BRANCHY)
    assert [name for name, rule in coverage.rules.items() if rule.seen] == ["notes"]


def test_the_steps_of_sequences_cover_too() -> None:
    """F12: each question of a sequence is a decision like that of a case."""
    test = """sequences:
- name: s
  steps:
  - {publish: n/open, principal: ana, expect: {verdict: ALLOW}}
  - {publish: n/open, principal: bo, expect: {verdict: WITHHOLD, reason: POLICY_RULE}}
"""
    assert covered(test, RULES).percent == 100.0


def test_a_change_of_the_policy_that_no_test_notices_survives() -> None:
    """F12: a rule left out, a part negated or left out; each survivor with its place. All are noticed by good tests."""
    weak = mutated(CASES, BRANCHY)
    assert [str(one) for one in weak.survivors] == [
        "rules.yaml:6:5: survived: the rule talk left out",
        "rules.yaml:6:5: survived: the rule talk turned round",
        "rules.yaml:7:5: survived: the rule own-desk left out",
        "rules.yaml:7:5: survived: the rule own-desk turned round",
        "rules.yaml:7:83: survived: of own-desk: has(document.attributes.desk) left out",
        "rules.yaml:7:83: survived: of own-desk: has(document.attributes.desk) negated",
    ]
    strong = mutated(CASES + THEIRS + BARE + TALK, BRANCHY)
    assert strong.survivors == ()
    assert (strong.tried, strong.killed, strong.left_out) == (11, 11, 0)


def test_what_a_sequence_notices_is_noticed() -> None:
    """F12: a mutant is tried on sequences, too."""
    step = "{name: s, steps: [{publish: n/open, principal: bo, expect: {verdict: WITHHOLD, reason: POLICY_RULE}}]}"
    survivors = mutated(f"sequences:\n- {step}\n", RULES).survivors
    assert [one.what for one in survivors] == ["the rule notes left out", "the rule notes turned round"]


def test_the_mutants_of_a_set_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """E1: what there is no room for is counted, never passed over in silence."""
    monkeypatch.setattr("discreet.policy.testing.mutate.MUTANTS_MAX", 4)
    bounded = mutated(CASES + THEIRS + BARE + TALK, BRANCHY)
    assert (bounded.tried, bounded.left_out) == (4, 7)
    monkeypatch.setattr("discreet.policy.testing.mutate.MUTANTS_MAX", 2_000)
    monkeypatch.setattr("discreet.policy.testing.mutate.DECISIONS_MAX", 8)
    assert mutated(CASES + THEIRS + BARE + TALK, BRANCHY).tried == 2
