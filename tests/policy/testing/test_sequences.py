"""Sequences: what is told of a step that went otherwise, and of one that cannot be meant."""

from __future__ import annotations

import pytest

from tests.policy.testing.folder import RULES, ran, told

LIFE = """sequences:
- name: disclosed, revoked, purged
  principal: ana
  steps:
  - {retrieve: n/desk, as: read, expect: {verdict: ALLOW}}
  - {commit: n/desk, as: answer, expect: {verdict: ALLOW, rule: notes}}
  - {replay: answer, expect: {verdict: ALLOW}}
  - {replay: answer, principal: bo, expect: {verdict: WITHHOLD, reason: PRINCIPAL_MISMATCH}}
  - suspend: n/desk
  - {replay: answer, expect: {verdict: WITHHOLD, reason: SUSPENDED}}
  - resume: n/desk
  - withdraw: {principal: ana, scope: desk}
  - {replay: answer, expect: {verdict: WITHHOLD, reason: NOT_AVAILABLE, text: NOT_AVAILABLE}}
  - grant: {principal: ana, scope: desk, expires-at: 2026-01-05T11:00:00Z}
  - {replay: answer, expect: {verdict: ALLOW}}
  - wait: 2h
  - {replay: answer, expect: {verdict: WITHHOLD, reason: SCOPE_EXPIRED}}
  - revoke: {record: n/desk, purge-not-before: 2026-01-06T09:00:00Z}
  - {retrieve: n/desk, never: {verdict: [ALLOW, PURGE]}}
  - {replay: answer, expect: {verdict: WITHHOLD, reason: SCOPE_EXPIRED}}
  - at: 2026-01-06T09:00:00Z
  - {replay: answer, expect: {verdict: PURGE, reason: RETENTION_REVOKED}}
  - {replay: answer, principal: bo, expect: {verdict: PURGE}}
  - {suspend: n/desk, refused: true}
"""
LIFE = LIFE.replace("never: {verdict: [ALLOW, PURGE]}", "never: [{verdict: ALLOW}, {verdict: PURGE}]").replace(
    "{verdict: PURGE}}\n  - {suspend", "{verdict: PURGE, reason: RETENTION_REVOKED}}\n  - {suspend"
)
RECEIPTS = """sequences:
- name: what is shown was retrieved
  principal: ana
  steps:
  - {publish: n/open, expect: {verdict: WITHHOLD, reason: NOT_RETRIEVED}}
  - {retrieve: [n/open, n/desk], as: mine, expect: {verdict: ALLOW}}
  - {publish: n/open, expect: {verdict: ALLOW}}
  - {publish: n/open, receipts: none, expect: {verdict: WITHHOLD, reason: NOT_RETRIEVED}}
  - {publish: n/open, session: other, expect: {verdict: WITHHOLD, reason: NOT_RETRIEVED}}
  - {publish: n/open, session: other, receipts: mine, expect: {verdict: WITHHOLD, reason: NOT_RETRIEVED}}
  - {retrieve: n/bare, as: bare, expect: {verdict: ALLOW}}
  - {publish: n/open, receipts: bare, expect: {verdict: WITHHOLD, reason: NOT_RETRIEVED}}
"""


def test_a_disclosure_lives_and_ends_as_its_facts_do() -> None:
    """F12, B7, B8, B11: committed, hidden by a suspension and by scope, shown again, revoked, purged when it is due."""
    (result,) = ran(LIFE)
    assert list(map(str, result.differences)) == []
    assert len(result.steps) == 20
    assert result.steps[0].label == "retrieve read"
    assert [step.label for step in result.steps if step.decision is None][:4] == [
        "suspend n/desk",
        "resume n/desk",
        "withdraw ana desk",
        "grant ana desk",
    ]


def test_receipts_are_those_of_the_core() -> None:
    """B12: a receipt is good for its session, principal and version alone, and a sequence can hand on any."""
    (result,) = ran(RECEIPTS, RULES + "requires: {retrieved-in-session: true}\n")
    assert list(map(str, result.differences)) == []


def test_each_sequence_begins_as_its_file_says() -> None:
    """E1: what one sequence did is nothing to the next, nor to a case."""
    again = LIFE + LIFE.removeprefix("sequences:\n").replace("purged\n", "purged again\n")
    case = "cases:\n- {name: c, moment: PUBLISH, principal: ana, bindings: [n/desk], expect: {verdict: ALLOW}}\n"
    assert [result.passed for result in ran(again + case)] == [True, True, True]


def test_a_step_that_went_otherwise_is_told_with_its_place() -> None:
    """F12: the number and the words of the step, and what was found; the steps after it are taken all the same."""
    test = LIFE.replace("reason: SUSPENDED", "reason: STALE").replace("  - resume: n/desk\n", "  - resume: n/open\n")
    (result,) = ran(test)
    assert [str(one) for one in result.differences][:2] == [
        "step 6 (replay answer), reason: expected STALE, found SUSPENDED",
        "step 11 (replay answer), verdict: expected ALLOW, found WITHHOLD",
    ]
    assert len(result.steps) == 20


@pytest.mark.parametrize(
    "step, found",
    [
        ("{suspend: n/desk, refused: true}", "step 1 (suspend n/desk), step: expected refused, found done"),
        ("at: 2026-01-01T00:00:00Z", "step 1 (at a time), step: expected done, found refused: time does not go back"),
        (
            "grant: {principal: ana, scope: public}",
            'step 1 (grant ana public), step: expected done, found refused: "public" is held by everybody',
        ),
        (
            "put: {record: {record-id: x/1, version: '1', source-label: nowhere}}",
            "step 1 (put x/1), step: expected done, found refused: COLLECTOR_NOT_ENTITLED: no SourceList declares its "
            "label",
        ),
    ],
)
def test_a_step_is_refused_where_the_server_would(step: str, found: str) -> None:
    """F12: what could not happen is no ground for a test; a refusal can be expected."""
    ask = "  - {replay: a, expect: {verdict: WITHHOLD, reason: DOCUMENT_UNKNOWN}}\n"
    denied = "  - {commit: n/desk, as: a, principal: bo, expect: {verdict: WITHHOLD, reason: SCOPE_DENIED}}\n"
    (result,) = ran(f"sequences:\n- name: s\n  principal: ana\n  steps:\n  - {step}\n{denied}{ask}")
    assert (
        list(map(str, result.differences))
        == [found, "step 3 (replay a), reason: expected DOCUMENT_UNKNOWN, found X"][:1]
    )


def test_a_new_version_becomes_the_current_one() -> None:
    """B2: what was bound to the version before is a mismatch, or superseded where that is named."""
    said = "source-label: notes, scopes: [public], attributes: {desk: a}"
    record = f"{{record-id: n/open, version: '2', {said}, assessment-expires-at: 2026-06-30T00:00:00Z}}"
    (result,) = ran(f"""sequences:
- name: versions
  principal: ana
  steps:
  - put: {{record: {record}}}
  - {{publish: n/open, expect: {{verdict: ALLOW}}}}
  - publish: {{record-id: n/open, version: "1"}}
    expect: {{verdict: WITHHOLD, reason: VERSION_MISMATCH}}
  - supersede: {{record: {{record-id: n/open, version: "1"}}, by: n/open}}
  - publish: {{record-id: n/open, version: "1"}}
    expect: {{verdict: WITHHOLD, reason: SUPERSEDED}}
""")
    assert list(map(str, result.differences)) == []


ASK = "  - {publish: n/open, expect: {verdict: ALLOW}}\n"
HEAD = "sequences:\n- name: s\n  principal: ana\n  steps:\n"
MISTAKES = {
    "no verb": (
        HEAD + ASK + "  - {publsh: n/open}\n",
        '6:5: this step says nothing that happens; did you mean "publish"?',
    ),
    "two verbs": (
        HEAD + ASK + "  - {suspend: n/open, resume: n/open}\n",
        "6:5: a step has one verb; one of retrieve, ",
    ),
    "nothing asked": (HEAD + "  - suspend: n/open\n", "5:3: no step asks anything; with retrieve, publish, commit"),
    "no expectation": (HEAD + "  - {publish: n/open}\n", '5:5: the key "expect" is missing; say what must come of it'),
    "a commit without a name": (
        HEAD + "  - {commit: n/open, expect: {verdict: ALLOW}}\n",
        '5:5: the key "as" is missing; name the commit, for a replay to name it',
    ),
    "a replay of nothing": (
        HEAD + ASK + "  - {replay: answer, expect: {verdict: ALLOW}}\n",
        '6:14: no commit "answer"; commit it in a step before, under this name',
    ),
    "a name twice": (
        HEAD + 2 * "  - {commit: n/open, as: a, expect: {verdict: ALLOW}}\n",
        '6:26: the name "a" is taken; name it apart',
    ),
    "an unknown record": (HEAD + ASK + "  - suspend: n/opne\n", '6:14: no record "n/opne" in this test; did you mean'),
    "unknown receipts": (
        HEAD + ASK.replace("open,", "open, receipts: red,"),
        '5:33: no retrieve "red"; one of none, own',
    ),
    "an unknown principal": (
        HEAD + ASK + "  - grant: {principal: eve, scope: x}\n",
        '6:24: no principal "eve" is declared; one of ana, bo',
    ),
    "a state at a registration": (
        HEAD + ASK + "  - put: {record: {record-id: x, version: '1', source-label: notes, suspended: true}}\n",
        "6:80: a registration does not say this; use a step of its own",
    ),
    "no steps": ("sequences:\n- {name: s, steps: []}\n", "2:20: no step asks anything"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_sequence_is_told_where_it_stands(mistake: str) -> None:
    """F12: no step is taken for another, and no name for nothing."""
    test, line = MISTAKES[mistake]
    (found,) = told(test)
    assert found.startswith(line)
