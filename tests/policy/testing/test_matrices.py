"""Matrices: every combination is a case with a name, and none is without an expectation."""

from __future__ import annotations

import pytest

from tests.policy.testing.folder import ran, told

MATRIX = """cases:
- name: who sees what
  matrix:
    principal: [ana, bo]
    moment: [RETRIEVE, PUBLISH]
    document: [n/open, n/desk]
"""
TABLE = """  table:
  - {principal: ana, expect: {verdict: ALLOW, rule: notes}}
  - {principal: bo, document: n/desk, expect: {verdict: WITHHOLD, reason: SCOPE_DENIED}}
  - {principal: bo, document: n/open, moment: RETRIEVE, expect: {verdict: ALLOW}}
  - {principal: bo, document: n/open, moment: [PUBLISH], expect: {verdict: WITHHOLD, reason: POLICY_RULE}}
"""


def test_a_table_says_what_is_expected_of_each_combination() -> None:
    """F12: eight cases out of three axes, each named after its values and placed at its row."""
    results = ran(MATRIX + TABLE)
    assert [(result.name, result.passed) for result in results] == [
        (f"who sees what [{whom}, {moment}, {document}]", True)
        for whom in ("ana", "bo")
        for moment in ("RETRIEVE", "PUBLISH")
        for document in ("n/open", "n/desk")
    ]
    assert len({result.line for result in results}) == 4


def test_one_expectation_may_hold_for_all_that_no_row_names() -> None:
    """F12: `expect` and `never` beside the table hold for the rest; a row replaces both."""
    never = MATRIX + "  never: {verdict: PURGE}\n"
    assert all(result.passed for result in ran(never))
    some = never + "  table:\n  - {principal: bo, document: n/desk, expect: {verdict: ALLOW}}\n"
    assert [result.name for result in ran(some) if not result.passed] == [
        "who sees what [bo, RETRIEVE, n/desk]",
        "who sees what [bo, PUBLISH, n/desk]",
    ]


def test_any_part_of_a_question_can_be_an_axis() -> None:
    """F12: claims, kinds, times; several documents are one value."""
    test = """cases:
- name: at times
  moment: RETRIEVE
  matrix:
    principal: [{id: eve, claimed-scopes: [desk]}, ana]
    now: [2026-01-05T09:00:00Z, 2026-07-01T00:00:00Z]
    document: [[n/open, n/bare], {record-id: n/open, version: "1"}]
  table:
  - {now: 2026-01-05T09:00:00Z, expect: {verdict: ALLOW}}
  - {now: 2026-07-01T00:00:00Z, expect: {verdict: WITHHOLD, reason: ASSESSMENT_EXPIRED}}
"""
    undeclared = test.replace("id: eve", "id: ana")
    (line,) = told(undeclared.replace("claimed-scopes: [desk]", "attributes: {}"))
    assert line.startswith("5:")
    results = ran(test)
    assert all(result.passed for result in results)
    assert results[0].name == "at times [eve, 2026-01-05T09:00:00Z, n/open + n/bare]"
    assert results[1].name == "at times [eve, 2026-01-05T09:00:00Z, n/open version 1]"


MISTAKES = {
    "no row for one": (
        MATRIX + TABLE.replace("  - {principal: ana, expect: {verdict: ALLOW, rule: notes}}\n", ""),
        '4:5: no row says what is expected of "ana, RETRIEVE, n/open"; add one',
    ),
    "no expectation at all": (MATRIX, '4:5: no row says what is expected of "ana, RETRIEVE, n/open"; add one'),
    "two rows for one": (
        MATRIX + TABLE + "  - {moment: PUBLISH, expect: {verdict: ALLOW}}\n",
        '12:5: another row is for "ana, PUBLISH, n/open", too; let one row fit each combination',
    ),
    "a value that is not there": (
        MATRIX + "  table:\n  - {principal: anna, expect: {verdict: ALLOW}}\n",
        '8:17: no principal "anna" in the matrix; did you mean "ana"?',
    ),
    "an axis that is not there": (
        MATRIX + "  table:\n  - {princpal: ana, expect: {verdict: ALLOW}}\n",
        '8:6: no axis "princpal" in the matrix; did you mean "principal"?',
    ),
    "a row that fits nothing": (
        MATRIX
        + TABLE.replace("  - {principal: ana,", "  - {principal: [], never: {verdict: PURGE}}\n  - {principal: ana,"),
        "8:5: no combination fits this row; take it out",
    ),
    "an unknown axis": (
        MATRIX.replace("moment:", "momnt:") + "  never: {verdict: PURGE}\n",
        '5:5: no axis "momnt"; did you mean "moment"?',
    ),
    "an axis without values": (
        MATRIX.replace("[ana, bo]", "[]") + "  never: {verdict: PURGE}\n",
        "4:16: an axis is a list of values; name one at least",
    ),
    "a value that is wrong": (
        MATRIX.replace("PUBLISH", "PUBLISCH") + "  never: {verdict: PURGE}\n",
        '5:24: no moment "PUBLISCH"; did you mean "PUBLISH"?',
    ),
    "an expectation that is wrong": (
        MATRIX + "  table:\n  - {expect: {verdict: WITHHOLD}}\n",
        "8:6: an expected WITHHOLD needs a reason; say why, for example reason: POLICY_RULE",
    ),
    "a document that the test does not hold": (
        MATRIX.replace("n/desk", "n/desc") + "  never: {verdict: PURGE}\n",
        'no record "n/desc" in this test; did you mean "n/desk"? (where that is meant: unregistered: true)',
    ),
    "two values of one name": (
        MATRIX.replace("[ana, bo]", "[ana, {id: ana}]") + "  never: {verdict: PURGE}\n",
        '4:22: two values are named "ana"; give it a name of its own, for example under principals',
    ),
    "an axis that the case sets, too": (
        MATRIX + "  principal: ana\n  never: {verdict: PURGE}\n",
        "4:16: principal stands in the case, too; keep one of them",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_matrix_is_told_where_it_stands(mistake: str) -> None:
    """F12: no combination is without an expectation, none has two, and no name is taken for nothing."""
    test, line = MISTAKES[mistake]
    found = told(test)
    assert any(one.endswith(line) for one in found), found
