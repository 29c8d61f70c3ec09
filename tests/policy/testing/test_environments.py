"""A set with environments: its tests run in each, or in the one that they name."""

from __future__ import annotations

from discreet.policy.testing import prepare, run_tests
from discreet.policy.testing.coverage import Coverage
from discreet.policy.testing.mutate import mutate
from tests.policy.sets.sets import SET, a_set, rules
from tests.policy.testing.folder import HEAD

DECLARED = SET + "parameters: {open_desks: {type: list, default: []}}\n"
ENVIRONMENTS = """apiVersion: discreet/v1
kind: Environment
name: staging
parameters: {open_desks: [a, b]}
---
apiVersion: discreet/v1
kind: Environment
name: production
parameters: {open_desks: [a]}
"""
RULES = rules(
    "{id: notes, effect: ALLOW, moments: [PUBLISH], when: 'principal.attributes.desk in parameters.open_desks'}"
)
ANA = "- {name: ana, moment: PUBLISH, principal: ana, bindings: [n/open], expect: {verdict: ALLOW}}\n"
BO = "- {name: bo, moment: PUBLISH, principal: bo, bindings: [n/open], expect: {verdict: ALLOW}}\n"


def folder(in_each: str, in_staging: str) -> dict[str, bytes]:
    """A set of two environments with tests of both and of one."""
    tests = {
        "each_test.yaml": HEAD + "cases:\n" + in_each,
        "staging_test.yaml": HEAD.replace("name: t", "name: s") + "environment: staging\ncases:\n" + in_staging,
    }
    return a_set(discreet=DECLARED, environments=ENVIRONMENTS, rules=RULES) | {
        name: text.encode() for name, text in tests.items()
    }


def test_a_test_runs_in_every_environment_unless_it_names_one() -> None:
    """F12: a set is tested with the values of each of its environments; one test may be for one alone."""
    results = run_tests(folder(ANA, BO))
    assert [(result.environment, result.name, result.passed) for result in results] == [
        ("production", "ana", True),
        ("staging", "ana", True),
        ("staging", "bo", True),
    ]
    assert [(one.environment, one.name) for one in run_tests(folder(BO, ANA)) if not one.passed] == [
        ("production", "bo")
    ]


def test_coverage_and_mutants_are_those_of_all_environments_together() -> None:
    """F12: what is seen, or noticed, in one environment is seen, or noticed."""
    withheld = BO.replace("expect: {verdict: ALLOW}", "never: {verdict: PURGE}")
    files = folder(ANA + withheld, BO)
    prepared = prepare(files)
    coverage = Coverage(files, prepared)
    for one in prepared:
        assert all(result.passed for result in one.results(coverage.watch))
    assert coverage.percent == 100.0
    assert mutate(files, prepared).survivors == ()
