"""A small policy set with two documents, for tests of policy tests. Knows nothing of servers."""

from __future__ import annotations

from discreet.policy.check import check_set
from discreet.policy.testing import CaseResult, run_tests
from tests.policy.sets.sets import a_set, rules

HEAD = """apiVersion: discreet/v1
kind: PolicyTest
name: t
now: 2026-01-05T09:00:00Z
records:
  - {record-id: n/open, version: "1", source-label: notes, scopes: [public], attributes: {desk: a},
     assessment-expires-at: 2026-06-30T00:00:00Z}
  - {record-id: n/desk, version: "1", source-label: notes, scopes: [desk], attributes: {desk: a},
     assessment-expires-at: 2026-06-30T00:00:00Z}
  - {record-id: n/bare, version: "1", source-label: notes, scopes: [public],
     assessment-expires-at: 2026-06-30T00:00:00Z}
grants: [{principal: ana, scope: desk}]
principals: [{id: ana, attributes: {desk: a}}, {id: bo, attributes: {desk: b}}]
"""
LINES = HEAD.count("\n")
RULES = rules(
    "{id: notes, effect: ALLOW, moments: [RETRIEVE, PUBLISH, REPLAY], sources: [notes]}",
    "{id: own-desk, effect: WITHHOLD, moments: [PUBLISH], sources: [notes],"
    " when: document.attributes.desk != principal.attributes.desk}",
)


def files(test: str, policy: str = RULES) -> dict[str, bytes]:
    """The set with a test file."""
    return a_set(rules=policy) | {"a_test.yaml": (HEAD + test).encode()}


def ran(test: str, policy: str = RULES) -> list[CaseResult]:
    """What became of the cases."""
    return run_tests(files(test, policy))


def told(test: str, policy: str = RULES) -> list[str]:
    """What is wrong with the test, as lines that begin with the line in `test`, from 1, and the column."""
    lines = [str(found).removeprefix("a_test.yaml:") for found in check_set(files(test, policy)).problems]
    split = [line.partition(":") for line in lines]
    return [f"{int(line) - LINES}:{rest}" for line, _, rest in split]
