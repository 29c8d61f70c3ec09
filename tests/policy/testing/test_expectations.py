"""What a case may expect, and that names and outcomes that cannot be are errors."""

from __future__ import annotations

import pytest

from tests.policy.testing.folder import LINES, RULES, ran, told

CASE = """cases:
- name: one
  moment: PUBLISH
  principal: ana
  bindings: [n/open]
"""
BARE = CASE.replace("n/open", "n/bare")
LACKS = "missing_attribute: document.attributes.desk"


def differences(test: str) -> list[str]:
    """What the only case had otherwise than expected."""
    (result,) = ran(test)
    return list(map(str, result.differences))


def test_what_a_condition_lacked_can_be_expected() -> None:
    """F12: an erring rule withholds; a case can name the attribute that was missing."""
    good = f'  expect: {{verdict: WITHHOLD, error: "{LACKS}", rule: own-desk}}\n'
    assert differences(BARE + good) == []
    assert differences(BARE + good.replace("attributes.desk", "attributes.desc")) == [
        f"error: expected missing_attribute: document.attributes.desc, found {LACKS}"
    ]
    assert differences(CASE + good)[:2] == [
        "verdict: expected WITHHOLD, found ALLOW",
        "reason: expected POLICY_ERROR, found NONE",
    ]


def test_never_names_an_outcome_that_must_not_come() -> None:
    """F12: an outcome with all of what is named fails the case; one that differs in anything does not."""
    assert differences(CASE + "  never: {verdict: WITHHOLD}\n") == []
    assert differences(CASE + "  never: [{verdict: PURGE}, {verdict: ALLOW, rule: notes}]\n") == [
        "never: expected not verdict ALLOW, rule notes, found verdict ALLOW, rule notes"
    ]
    assert differences(CASE + "  expect: {verdict: ALLOW}\n  never: {rule: own-desk, verdict: ALLOW}\n") == []


def test_a_rule_that_is_only_watched_can_be_expected() -> None:
    """F12: `observed` names all rules in observe mode that would have withheld, and says nothing where left out."""
    watched = RULES.replace("when: document", "mode: observe, when: document")
    expect = "  expect: {verdict: ALLOW, observed: [own-desk]}\n"
    (result,) = ran(CASE.replace("ana", "bo") + expect, watched)
    assert result.passed
    (result,) = ran(CASE + expect, watched)
    assert list(map(str, result.differences)) == ["observed: expected own-desk, found none"]


def test_whether_an_answer_leans_towards_advice_can_be_expected() -> None:
    """A15, F12: a case tells an answer that may advise from one that only informs; unavailable, it never advises."""
    advising = RULES.replace("sources: [notes]}", "sources: [notes], advice: true}", 1)
    asked = CASE + "  need-advice: true\n"
    assert ran(asked + "  expect: {verdict: ALLOW, advice: true}\n", advising)[0].passed
    assert ran(asked + "  expect: {verdict: ALLOW, advice: false}\n")[0].passed
    for test, policy in ((CASE, advising), (asked, RULES)):
        (result,) = ran(test + "  expect: {verdict: ALLOW, advice: true}\n", policy)
        assert list(map(str, result.differences)) == ["advice: expected true, found false"]
    (result,) = ran(asked + "  never: {advice: true}\n", advising)
    assert list(map(str, result.differences)) == ["never: expected not advice true, found advice true"]
    withheld = asked.replace("ana", "bo") + "  expect: {verdict: WITHHOLD, reason: POLICY_RULE, advice: false}\n"
    assert ran(withheld, advising)[0].passed
    assert told(withheld.replace("advice: false", "advice: true")) == [
        "7:60: what is withheld never leans towards advice; leave it out"
    ]


def test_a_case_that_fails_has_its_place() -> None:
    """E1: file, line and column of the case, of a sequence, and of the row of a matrix."""
    (result,) = ran(CASE + "  expect: {verdict: PURGE, reason: RETENTION_REVOKED}\n")
    assert (result.place.line - LINES, result.place.column) == (2, 3)
    flow = "cases: [{name: one, moment: PUBLISH, principal: ana, bindings: [n/open], never: {verdict: ALLOW}}]\n"
    (result,) = ran(flow)
    assert (result.place.line - LINES, result.place.column) == (1, 9)


def test_an_id_alone_is_the_current_version_and_the_declared_principal() -> None:
    """E1: what is declared once need not be written again; a mapping says what is meant on the spot."""
    assert differences(CASE + "  expect: {verdict: ALLOW}\n") == []
    elsewhere = CASE.replace("principal: ana", "principal: {id: ana, attributes: {desk: z}}")
    assert differences(elsewhere + "  expect: {verdict: WITHHOLD, reason: POLICY_RULE, rule: own-desk}\n") == []


ALLOW = "  expect: {verdict: ALLOW}\n"
MISTAKES = {
    "an unknown record": (
        CASE.replace("n/open", "n/opne") + ALLOW,
        '5:14: no record "n/opne" in this test; did you mean "n/open"? (where that is meant: unregistered: true)',
    ),
    "an unknown version": (
        CASE.replace("n/open", '{record-id: n/open, version: "2"}') + ALLOW,
        '5:14: no version "2" of "n/open" in this test; it has 1',
    ),
    "a binding that stands twice": (
        CASE.replace("[n/open]", "[n/open, n/open]") + ALLOW,
        '5:22: the binding to "n/open" stands twice; keep one, or give each a locator',
    ),
    "an undeclared principal": (
        CASE.replace("ana", "anna") + ALLOW,
        '4:14: no principal "anna" is declared; did you mean "ana"?',
    ),
    "an error that no condition has": (
        CASE + '  expect: {verdict: WITHHOLD, error: "absent: x"}\n',
        '6:38: no error "absent"; one of argument, division, internal, missing_attribute, overflow, resources, type',
    ),
    "an error with another reason": (
        CASE + f'  expect: {{verdict: WITHHOLD, reason: STALE, error: "{LACKS}"}}\n',
        "6:39: the reason of an error is POLICY_ERROR; leave it out",
    ),
    "a never that names nothing": (
        CASE + "  never: {}\n",
        "6:10: this names no outcome; for example never: { verdict: ALLOW }",
    ),
    "an environment that is not declared": (
        "environment: staging\n" + CASE + ALLOW,
        '1:14: no environment "staging" in this set; the set declares none',
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_name_that_nothing_has_is_told_where_it_stands(mistake: str) -> None:
    """F12: a misspelt record must not become a test of an unknown one."""
    test, line = MISTAKES[mistake]
    assert told(test) == [line]


@pytest.mark.parametrize("reason", ["DOCUMENT_UNKNOWN", "NOT_AVAILABLE"])
def test_a_record_that_is_not_there_can_be_meant(reason: str) -> None:
    """F11: by the cause that is expected, or by saying so in the binding."""
    expect = f"  expect: {{verdict: WITHHOLD, reason: {reason}}}\n"
    said = "{record-id: n/none, unregistered: true}"
    assert differences(CASE.replace("n/open", said) + expect) == []
    assert bool(told(CASE.replace("n/open", "n/none") + expect)) == (reason == "NOT_AVAILABLE")
