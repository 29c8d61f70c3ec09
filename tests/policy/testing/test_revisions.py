"""Sequences in which the policy changes, and in which the same commit is made again."""

from __future__ import annotations

import json

import pytest

from discreet.policy.check import check_set
from discreet.policy.problems import PolicyProblems
from discreet.policy.testing import prepare, run_tests
from discreet.policy.testing.coverage import Coverage
from discreet.policy.testing.mutate import mutate
from discreet.policy.testing.revisions import REVISIONS_MAX
from tests.policy.sets.sets import a_set, rules
from tests.policy.testing.folder import HEAD, LINES

SOURCES = """apiVersion: discreet/v1
kind: SourceList
name: sources
sources:
  - {label: notes, title: Notes, duty: DOCUMENT_STORE, collectors: [collector], listed: {parameter: notes_listed}}
"""
SET = """apiVersion: discreet/v1
kind: PolicySet
name: main
use-within: {parameter: within}
parameters:
  notes_listed: {type: boolean, default: true}
  desks: {type: list, default: [a, b]}
  within: {type: duration, default: 2s}
"""
ENVIRONMENTS = "---\n".join(
    f"apiVersion: discreet/v1\nkind: Environment\nname: {name}\nparameters: {{{given}}}\n"
    for name, given in (("production", "desks: [a]"), ("rehearsal", ""))
)
RULES = rules(
    "{id: notes, effect: ALLOW, moments: [RETRIEVE, PUBLISH, REPLAY], sources: [notes]}",
    "{id: desks, effect: WITHHOLD, moments: [RETRIEVE, PUBLISH, REPLAY], sources: [notes],"
    " when: '!has(document.attributes.desk) || !(document.attributes.desk in parameters.desks)'}",
)
STEPS = "sequences:\n- name: s\n  principal: ana\n  steps:\n"
CHANGED = (
    STEPS
    + """  - {commit: n/desk, as: answer, expect: {verdict: ALLOW}}
  - policy: {parameters: {notes_listed: false}}
  - {replay: answer, expect: {verdict: WITHHOLD, reason: UNTRUSTED_SOURCE}}
  - {commit-again: answer, expect: {verdict: WITHHOLD, reason: UNTRUSTED_SOURCE}}
  - policy: {parameters: {desks: [b]}}
  - {replay: answer, expect: {verdict: WITHHOLD, reason: POLICY_RULE, rule: desks}}
  - policy: {}
  - {replay: answer, expect: {verdict: ALLOW}}
  - {commit-again: answer, expect: {verdict: ALLOW}}
"""
)
ALLOW = "expect: {verdict: ALLOW}"


def files(test: str, *, environments: bool = False, policy: str = RULES) -> dict[str, bytes]:
    """The set with parameters, and with environments where they are wanted, beside a test."""
    made = a_set(discreet=SET, sources=SOURCES, rules=policy)
    made |= {"environments.yaml": ENVIRONMENTS.encode()} if environments else {}
    return made | {"a_test.yaml": (HEAD + test).encode()}


def differences(test: str, *, environments: bool = False, policy: str = RULES) -> list[str]:
    """What went otherwise than expected."""
    results = run_tests(files(test, environments=environments, policy=policy))
    return [str(one) for result in results for one in result.differences]


def test_the_policy_changes_under_what_was_shown() -> None:
    """A2, B8, F12: delisted it hides, under another rule it hides for that, and it shows again as the set stands."""
    assert differences(CHANGED) == []
    (result,) = run_tests(files(CHANGED))
    labels = [step.label for step in result.steps if step.decision is None]
    assert labels == ["policy notes_listed", "policy desks", "policy as it is"]


def test_a_step_switches_to_another_environment() -> None:
    """F12: in short by its name; parameters of the step stand over those of the environment, and of the run's own."""
    steps = STEPS + (
        f"  - policy: rehearsal\n  - {{publish: n/open, {ALLOW}}}\n"
        "  - policy: {environment: rehearsal, parameters: {desks: [x]}}\n"
        "  - {publish: n/open, expect: {verdict: WITHHOLD, rule: desks, reason: POLICY_RULE}}\n"
        f"  - policy: production\n  - {{publish: n/open, {ALLOW}}}\n"
        f"  - policy: {{}}\n  - {{publish: n/open, {ALLOW}}}\n"
    )
    assert differences(steps, environments=True) == []


def test_a_new_revision_is_told_from_the_one_that_was_read() -> None:
    """B2: where the policy demands the same revision, what was read before is not published after."""
    steps = STEPS + (
        f"  - {{retrieve: n/open, {ALLOW}}}\n  - {{publish: n/open, {ALLOW}}}\n  - policy: {{}}\n"
        "  - {publish: n/open, expect: {verdict: WITHHOLD, reason: POLICY_REVISION_CHANGED}}\n"
        f"  - {{retrieve: n/open, {ALLOW}}}\n  - {{publish: n/open, {ALLOW}}}\n"
    )
    assert differences(steps, policy=RULES + "requires: {same-policy-revision: true}\n") == []


def test_a_commit_is_made_again_as_it_was() -> None:
    """B6, F5: one entry however often, with a fresh verdict; what was refused before may be committed later."""
    steps = STEPS + (
        "  - suspend: n/open\n"
        "  - {commit: n/open, as: a, expect: {verdict: WITHHOLD, reason: SUSPENDED}}\n"
        "  - {replay: a, expect: {verdict: WITHHOLD, reason: DOCUMENT_UNKNOWN}}\n"
        "  - resume: n/open\n"
        f"  - {{commit-again: a, {ALLOW}}}\n  - {{replay: a, {ALLOW}}}\n  - {{commit-again: a, {ALLOW}}}\n"
        "  - revoke: n/open\n"
        "  - {commit-again: a, expect: {verdict: PURGE, reason: RETENTION_REVOKED}}\n"
    )
    assert differences(steps) == []


def test_coverage_and_mutants_see_every_policy_of_a_sequence() -> None:
    """F12: a change of a rule is made in each policy that the tests see, so that it is noticed where it matters."""
    prepared = prepare(files(CHANGED))
    coverage = Coverage(files(CHANGED), prepared)
    assert all(result.passed for one in prepared for result in one.results(coverage.watch))
    assert coverage.rules["desks"].matched > 0
    survivors = [str(one) for one in mutate(files(CHANGED), prepared).survivors]
    assert not any("the rule desks" in one for one in survivors), survivors


ASK = f"  - {{publish: n/open, {ALLOW}}}\n"
AGAIN = f"  - {{commit: n/open, as: a, {ALLOW}}}\n  - {{commit-again: a, principal: bo, {ALLOW}}}\n"
MANY = "".join(f"  - policy: {{parameters: {{desks: [d{number}]}}}}\n" for number in range(REVISIONS_MAX + 1))
MISTAKES = {
    "an unknown environment": ("  - policy: staging\n", False, '6:13: no environment "staging" in this set; the set'),
    "a misspelt one": ("  - policy: {environment: prodution}\n", True, '6:27: no environment "prodution" in this set;'),
    "an unknown parameter": ("  - policy: {parameters: {desk: [a]}}\n", False, '6:27: no parameter "desk"; did you'),
    "another type": ("  - policy: {parameters: {desks: 1}}\n", False, "6:34: desks must be a list"),
    "a key that is none": ("  - policy: {sources: [a]}\n", False, "6:14: "),
    "a value that no set takes": (
        "  - policy: {parameters: {within: 2h}}\n",
        False,
        "6:13: no set comes of this: discreet.yaml:4:",
    ),
    "a commit again of nothing": (f"  - {{commit-again: a, {ALLOW}}}\n", False, '6:20: no commit "a"'),
    "a commit again of another": (AGAIN, False, "7:34: a repeated commit is as it was; leave it out, or make"),
    "too many policies": (MANY, False, f"56:13: there are more than {REVISIONS_MAX} policies"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_where_it_stands(mistake: str) -> None:
    """E1: `policy check` and `policy test` tell it, once, at its place in the test; nothing is run."""
    steps, environments, said = MISTAKES[mistake]
    made = files(STEPS + ASK + steps, environments=environments)
    with pytest.raises(PolicyProblems):
        prepare(made)
    (found,) = check_set(made).problems
    assert f"{found.line - LINES}:{found.column}: {found.message}; {found.hint}".startswith(said)


def test_at_the_bound_all_policies_are_taken() -> None:
    """As many as there may be; each counts once, however often it is switched to."""
    switches = [{"policy": {"parameters": {"desks": [f"d{number}"]}}} for number in range(REVISIONS_MAX)]
    ask = {"publish": "n/open", "never": {"verdict": "PURGE"}}
    sequences = [{"name": "s", "principal": "ana", "steps": [*switches, *switches, ask]}]
    assert check_set(files(f"sequences: {json.dumps(sequences)}\n")).problems == ()
