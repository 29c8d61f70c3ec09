"""Tests beside the policies: run through the server's decision, and strict about what they expect."""

from __future__ import annotations

import pytest

from discreet.policy.check import check_set
from discreet.policy.decision import SegmentDecision
from discreet.policy.problems import PolicyProblems
from discreet.policy.starter import starter_files
from discreet.policy.testing import CaseResult, run_tests
from tests.policy.sets.sets import a_set, problems, rules

HEAD = "apiVersion: discreet/v1\nkind: PolicyTest\nname: t\nnow: 2026-01-05T09:00:00Z\n"
RECORDS = """\
records:
  - record-id: n/1
    version: "1"
    source-label: notes
    scopes: [public]
    as-of: 2026-01-04T09:00:00Z
    assessment-expires-at: 2026-06-30T00:00:00Z
    attributes: {level: 2}
"""
CASE = """\
  - name: one
    moment: PUBLISH
    principal: ana
    bindings: [{record-id: n/1, version: "1"}]
"""
ALLOW = "    expect: {verdict: ALLOW}\n"


def results(test: str, **changed: str) -> list[CaseResult]:
    """Returns what becomes of the cases of a test file beside a small set."""
    return run_tests(a_set(**changed) | {"a_test.yaml": test.encode()})


def decision(condition: str, effect: str = "ALLOW") -> SegmentDecision:
    """Returns the decision on a plain question under one rule with a condition."""
    policy = (
        rules("{id: base, effect: ALLOW, moments: [PUBLISH], sources: [notes]}") if effect == "WITHHOLD" else rules()
    )
    policy += f"  - id: r\n    effect: {effect}\n    moments: [PUBLISH]\n    when: |-\n      {condition}\n"
    case = CASE.replace("principal: ana", "principal: {id: ana, claimed-scopes: [x], attributes: {role: analyst}}")
    case = case.replace('version: "1"}', 'version: "1", locator: p. 3}')
    grants = "grants: [{principal: ana, scope: desk-a}]\n"
    (result,) = results(HEAD + RECORDS + grants + "cases:\n" + case + ALLOW, rules=policy)
    return result.decision


def test_the_starter_set_passes_check_and_test() -> None:
    """E1: what `policy init` writes has no problem, no warning, and tests for each of its rules that pass."""
    files = starter_files()
    report = check_set(files)
    assert (report.problems, report.warnings) == ((), ())
    found = run_tests(files)
    assert [str(result.place) for result in found if not result.passed] == []
    assert {result.decision.rule for result in found} >= {"notes", "figures", "embargo", "small-talk"}
    assert {result.decision.verdict.name for result in found} == {"ALLOW", "WITHHOLD", "PURGE"}


def test_what_was_decided_otherwise_is_told() -> None:
    """F12: each expectation that is not met, with what was found; the place of the case."""
    expect = (
        "    expect: {verdict: WITHHOLD, reason: POLICY_RULE, rule: no-such, text: STALE, next: NONE, gate: RULES}\n"
    )
    (result,) = results(HEAD + RECORDS + "cases:\n" + CASE + expect)
    assert not result.passed
    assert (result.test, result.name, str(result.place)) == ("t", "one", "a_test.yaml:14:5")
    assert list(map(str, result.differences)) == [
        "verdict: expected WITHHOLD, found ALLOW",
        "reason: expected POLICY_RULE, found NONE",
        "rule: expected no-such, found notes",
        "gate: expected RULES, found RELEASE",
        "text: expected STALE, found none",
    ]


STATES = {
    "an unknown record": ("records: []\n", "DOCUMENT_UNKNOWN"),
    "no scope": (RECORDS.replace("    scopes: [public]\n", ""), "SCOPE_DENIED"),
    "no assessment": (RECORDS.replace("    assessment-expires-at: 2026-06-30T00:00:00Z\n", ""), "ELIGIBILITY_UNKNOWN"),
    "an assessment that ran out": (RECORDS.replace("2026-06-30", "2026-01-05"), "ASSESSMENT_EXPIRED"),
    "a suspended record": (RECORDS + "    suspended: true\n", "SUSPENDED"),
    "an unreachable record": (RECORDS + "    unreachable: true\n", "DOCUMENT_UNREACHABLE"),
    "a superseded record": (RECORDS + '    superseded-by: {record-id: n/1, version: "2"}\n', "SUPERSEDED"),
    "another current version": (RECORDS + "    current: false\n", "VERSION_MISMATCH"),
    "a foreign collector": (RECORDS + "    collector: stranger\n", "UNTRUSTED_SOURCE"),
    "a source off the list": (RECORDS.replace("label: notes", "label: drafts"), "UNTRUSTED_SOURCE"),
    "an undeclared source": (RECORDS.replace("label: notes", "label: kb-9"), "UNTRUSTED_SOURCE"),
    "another digest": (RECORDS + f"    digest: '{'0' * 64}'\n", None),
    "a revoke that is not due": (
        RECORDS + "    revoked: {at: 2026-01-01T00:00:00Z, purge-not-before: 2026-02-01T00:00:00Z}\n",
        "RETENTION_REVOKED",
    ),
    "a record that rests on an unknown one": (
        RECORDS + '    kind: EVIDENCE\n    basis: b\n    of: [{record-id: n/9, version: "1"}]\n',
        "DOCUMENT_UNKNOWN",
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_the_state_of_a_record_decides_as_on_the_server(state: str) -> None:
    """B2, B8, A4: each state that the gates know can be written in a test, and only hides."""
    records, reason = STATES[state]
    expect = ALLOW if reason is None else f"    expect: {{verdict: WITHHOLD, reason: {reason}}}\n"
    (result,) = results(HEAD + records + "cases:\n" + CASE + expect)
    assert list(map(str, result.differences)) == []


def test_a_due_revoke_purges_at_every_moment_and_to_whom_the_copy_is() -> None:
    """B7, B8, B11: PURGE follows from a due retention revoke alone; at REPLAY it comes before scope."""
    records = RECORDS.replace("public", "desk-a") + "    revoked: {at: 2026-01-01T00:00:00Z}\n"
    replay = CASE.replace("PUBLISH", "REPLAY").replace("one", "two")
    purge = "    expect: {verdict: PURGE, reason: RETENTION_REVOKED}\n"
    hidden = "    expect: {verdict: WITHHOLD, reason: NOT_AVAILABLE, text: NOT_AVAILABLE}\n"
    found = results(HEAD + records + "cases:\n" + CASE + hidden + replay + purge)
    assert [list(map(str, result.differences)) for result in found] == [[], []]


GRANTS = {
    "": "SCOPE_DENIED",
    "{principal: bo, scope: desk-a}": "SCOPE_DENIED",
    "{principal: ana, scope: desk-a}": None,
    "{principal: ana, scope: desk-a, expires-at: 2026-01-05T09:00:00Z}": "SCOPE_EXPIRED",
    "{principal: ana, scope: desk-a, not-before: 2026-01-06T00:00:00Z}": "SCOPE_NOT_YET_VALID",
    "{principal: ana, scope: desk-a, expires-at: 2026-01-04T00:00:00Z}, {principal: ana, scope: desk-a}": None,
}


@pytest.mark.parametrize("grants", GRANTS)
def test_grants_decide_as_on_the_server(grants: str) -> None:
    """POL-18: a grant that does not match hides none that does, in a test as in the server."""
    reason = GRANTS[grants]
    expect = ALLOW if reason is None else f"    expect: {{verdict: WITHHOLD, reason: {reason}}}\n"
    test = HEAD + RECORDS.replace("public", "desk-a") + f"grants: [{grants}]\ncases:\n" + CASE + expect
    assert results(test)[0].passed


@pytest.mark.parametrize(
    "demand, retrieved, reason",
    [
        ("retrieved-in-session", None, "NOT_RETRIEVED"),
        ("retrieved-in-session", "now", None),
        ("same-policy-revision", "under-earlier-policy", "POLICY_REVISION_CHANGED"),
        ("same-policy-revision", "now", None),
        ("same-grant-revision", "before-grants-changed", "AUTH_REVISION_CHANGED"),
        ("same-grant-revision", "now", None),
    ],
)
def test_what_a_policy_requires_of_bindings_can_be_tested(
    demand: str, retrieved: str | None, reason: str | None
) -> None:
    """B12, B2: receipts and tokens of an earlier RETRIEVE are made by the same code as the server's."""
    policy = rules("{id: r, effect: ALLOW, moments: [PUBLISH], sources: [notes]}") + f"requires: {{{demand}: true}}\n"
    case = CASE if retrieved is None else CASE.replace('"1"}', f'"1", retrieved: {retrieved}}}')
    expect = ALLOW if reason is None else f"    expect: {{verdict: WITHHOLD, reason: {reason}}}\n"
    test = HEAD + RECORDS + "grants: [{principal: ana, scope: x}]\ncases:\n" + case + expect
    assert results(test, rules=policy)[0].passed


MISTAKES = {
    "no expectation": (
        CASE,
        '14:5: the key "expect" is missing; say what must come of it, or with `never` what must not',
    ),
    "WITHHOLD without a reason": (
        CASE + "    expect: {verdict: WITHHOLD}\n",
        "an expected WITHHOLD needs a reason; say why, for example reason: POLICY_RULE",
    ),
    "a reason for ALLOW": (
        CASE + "    expect: {verdict: ALLOW, reason: STALE}\n",
        "an expected ALLOW has no reason; leave it out",
    ),
    "a misspelt reason": (
        CASE + "    expect: {verdict: WITHHOLD, reason: STAIL}\n",
        'no reason "STAIL"; did you mean "STALE"?',
    ),
    "a moment to come": (
        CASE.replace("PUBLISH", "RENDER") + ALLOW,
        'no moment "RENDER"; one of EXPORT, PUBLISH, REPLAY, RETRIEVE',
    ),
    "an unquoted version": (CASE.replace('"1"', "1") + ALLOW, 'version must be text, not a number; quote it: "1"'),
    "an unbound segment with bindings": (
        CASE + "    grounding: UNBOUND\n" + ALLOW,
        "an UNBOUND segment has no bindings; leave them out",
    ),
    "the same name twice": (CASE + ALLOW + CASE + ALLOW, "the name stands at a_test.yaml:14:11 already; name it apart"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_test_is_told_and_nothing_runs(mistake: str) -> None:
    """F12: no silent default: every case has an expectation that could fail."""
    cases, told = MISTAKES[mistake]
    with pytest.raises(PolicyProblems) as raised:
        results(HEAD + RECORDS + "cases:\n" + cases)
    (line,) = str(raised.value).splitlines()
    assert line.startswith("a_test.yaml:")
    assert line.endswith(told)


@pytest.mark.parametrize(
    "test, told",
    [
        (HEAD + "cases: []\n", "a_test.yaml:5:8: there are no cases; write one"),
        (HEAD.replace("T09:00:00Z", "") + "cases:\n" + CASE + ALLOW, 'a_test.yaml:4:6: "2026-01-05" is no time'),
        (HEAD.replace("Z\n", "\n") + "cases:\n" + CASE + ALLOW, 'a_test.yaml:4:6: "2026-01-05T09:00:00" is no time'),
        (
            HEAD + RECORDS + RECORDS.split("records:\n")[1] + "cases:\n" + CASE + ALLOW,
            "this record version is given twice",
        ),
        (
            HEAD + RECORDS + RECORDS.split("records:\n")[1].replace('"1"', '"2"') + "cases:\n" + CASE + ALLOW,
            "two versions of this record are current; say current: false for one",
        ),
        (
            HEAD + RECORDS.replace("n/1", "n/../1") + "cases:\n" + CASE + ALLOW,
            "has an empty or dot segment between slashes",
        ),
        (HEAD + RECORDS.replace("level: 2", "le-vel: 2") + "cases:\n" + CASE + ALLOW, 'the name "le-vel" must match'),
        (
            HEAD + RECORDS.replace("2}", "9223372036854775808}") + "cases:\n" + CASE + ALLOW,
            "level is no 64-bit integer",
        ),
        (HEAD + RECORDS.replace("2}", ".nan}") + "cases:\n" + CASE + ALLOW, "level is not a finite number"),
    ],
)
def test_a_mistake_in_the_state_of_a_test_is_told(test: str, told: str) -> None:
    """E1: `policy check` tells what is wrong with tests, too; naive times are refused (TIM-01)."""
    (line,) = problems(a_set() | {"a_test.yaml": test.encode()})
    assert told in line


def test_null_is_a_value_among_attributes_and_fields_alone() -> None:
    """A4: a field may be null (which counts as missing); elsewhere a key without a value is an error."""
    good = HEAD + RECORDS.replace("level: 2", "level: ~") + "cases:\n" + CASE + ALLOW
    assert results(good)[0].passed
    bad = HEAD + RECORDS.replace("scopes: [public]", "scopes:") + "cases:\n" + CASE + ALLOW
    assert problems(a_set() | {"a_test.yaml": bad.encode()}) == [
        "a_test.yaml:9:12: scopes has no value; give it one, or leave the key out"
    ]


def test_nothing_runs_where_the_policies_are_wrong() -> None:
    """F2: tests of a set that does not load have no result; all problems are told."""
    with pytest.raises(PolicyProblems) as raised:
        results(HEAD + RECORDS + "cases:\n" + CASE, rules=rules("{id: r, effect: ALLOW}"))
    assert len(raised.value.problems) == 2
