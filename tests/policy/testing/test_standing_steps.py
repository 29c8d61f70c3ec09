"""Holds, freezes, revoked sources, derived segments, exports and purge orders in policy tests."""

from __future__ import annotations

import pytest

from tests.policy.sets.sets import rules
from tests.policy.testing.folder import RULES, ran, told

OPEN = rules("{id: notes, effect: ALLOW, moments: [RETRIEVE, PUBLISH, REPLAY, EXPORT], sources: [notes]}")
SHOWN = "{commit: n/open, as: answer, expect: {verdict: ALLOW}}"
HEAD = "sequences:\n- name: s\n  principal: ana\n  steps:\n"


def steps(*lines: str) -> str:
    """A sequence of ana's, a step a line."""
    return HEAD + "".join(f"  - {line}\n" for line in lines)


def differences(*lines: str, policy: str = OPEN) -> list[str]:
    """What went otherwise in a sequence than its steps say."""
    (result,) = ran(steps(*lines), policy)
    return list(map(str, result.differences))


PURGED = """
register-holder: {holder: threads, kind: SEGMENT_STORE}
register-holder: {holder: vectors, kind: DOCUMENT_STORE, sources: [notes]}
{commit: n/open, as: answer, expect: {verdict: ALLOW}}
{replay: answer, expect: {verdict: ALLOW}}
revoke: {record: n/open, purge-not-before: 2026-01-06T09:00:00Z, as: gone}
{replay: answer, expect: {verdict: WITHHOLD, reason: RETENTION_REVOKED}}
purge-order: {order: gone, items: {SCHEDULED: 2}, done: false}
{acknowledge: {holder: threads, order: gone}, refused: true}
at: 2026-01-06T09:00:00Z
{replay: answer, expect: {verdict: PURGE, reason: RETENTION_REVOKED}}
purge-order: {order: gone, items: {OPEN: 2}}
place-hold: {record: n/open, as: case-7}
{replay: answer, expect: {verdict: WITHHOLD, reason: LEGAL_HOLD}}
purge-order: {order: gone, items: {HELD: 2}, done: false}
{acknowledge: {holder: threads, order: gone}, refused: true}
lift-hold: case-7
acknowledge: {holder: threads, order: gone}
purge-order: {order: gone, items: {OPEN: 1, PURGED: 1}}
acknowledge: {holder: vectors, order: gone, outcome: FAILED}
purge-order: {order: gone, holder: vectors, items: {FAILED: 1}}
{acknowledge: {holder: vectors, order: gone}, refused: true}
wait: 1m
acknowledge: {holder: vectors, order: gone, outcome: NOT_FOUND}
purge-order: {order: gone, items: {PURGED: 1, NOT_FOUND: 1}, done: true}
{replay: answer, expect: {verdict: PURGE, reason: RETENTION_REVOKED}}
"""


def test_a_sequence_goes_from_disclosure_to_the_acknowledged_purge() -> None:
    """F12, F3, RET-01, RET-08: disclosed, revoked, held, lifted, replayed, acknowledged by each holder; done last."""
    assert differences(*PURGED.strip().splitlines()) == []


RECHECKED = """
register-holder: {holder: threads, kind: SEGMENT_STORE}
{commit: n/open, as: answer, expect: {verdict: ALLOW}}
revoke: n/open
acknowledge: {holder: threads, order: n/open}
purge-order: {order: n/open, items: {UNCONFIRMED: 1}, done: false}
{acknowledge: {holder: threads, order: n/open, outcome: ABSENT}, refused: true}
wait: 1h
acknowledge: {holder: threads, order: n/open, outcome: PRESENT}
purge-order: {order: n/open, items: {OPEN: 1}}
acknowledge: {holder: threads, order: n/open}
wait: 1h
acknowledge: {holder: threads, order: n/open, outcome: ABSENT}
purge-order: {order: n/open, items: {PURGED: 1}, done: true}
{replay: answer, expect: {verdict: PURGE, reason: RETENTION_REVOKED}}
"""


def test_a_holder_that_is_not_believed_is_asked_again() -> None:
    """F3, F12: with `recheck-after` an item is done when the holder found nothing on a second look."""
    policy = OPEN + "---\napiVersion: discreet/v1\nkind: RetentionPolicy\nname: r\nrecheck-after: 1h\n"
    assert differences(*RECHECKED.strip().splitlines(), policy=policy) == []


DERIVED = """
{commit: n/open, as: one, expect: {verdict: ALLOW}}
{commit: n/desk, as: two, expect: {verdict: ALLOW}}
{commit: [], parents: [one, two], as: sum, expect: {verdict: ALLOW, rule: notes}}
{export: sum, expect: {verdict: ALLOW}}
suspend: {record-id: n/desk, until: 2026-01-05T10:00:00Z}
{export: sum, expect: {verdict: WITHHOLD, reason: SUSPENDED}}
wait: 1h
{export: sum, expect: {verdict: ALLOW}}
freeze: {source: notes, for: 2h}
{replay: sum, expect: {verdict: WITHHOLD, reason: FROZEN}}
unfreeze: notes
{publish: [], parents: [two], principal: bo, expect: {verdict: WITHHOLD, reason: PARENT_UNUSABLE}}
revoke: {source: notes, as: all of it}
{replay: sum, expect: {verdict: PURGE, reason: RETENTION_REVOKED}}
{replay: sum, principal: bo, expect: {verdict: PURGE, reason: RETENTION_REVOKED, text: NOT_AVAILABLE}}
"""


def test_a_derived_segment_falls_with_any_source() -> None:
    """F6, B8: parents, EXPORT, a timed suspension, a freeze, and the revoke of a source, in a test of policies."""
    assert differences(*DERIVED.strip().splitlines()) == []


def test_an_export_needs_a_rule_of_its_own() -> None:
    """B1: a set that allows REPLAY says nothing of EXPORT."""
    lines = (SHOWN, "{export: answer, expect: {verdict: WITHHOLD, reason: POLICY_RULE}}")
    assert differences(*lines, policy=RULES) == []


CASES = """cases:
- {name: held, moment: EXPORT, principal: ana, bindings: [n/desk], expect: {verdict: WITHHOLD, reason: LEGAL_HOLD}}
- {name: not held, moment: EXPORT, principal: ana, bindings: [n/open], expect: {verdict: ALLOW}}
- {name: frozen, moment: EXPORT, principal: ana, now: 2026-01-04T09:00:00Z, bindings: [n/open],
   expect: {verdict: WITHHOLD, reason: FROZEN}}
"""


def test_cases_are_decided_under_what_their_file_says_that_stands() -> None:
    """F12, F3: holds, freezes and revoked sources of a file stand for each of its cases."""
    stands = "holds: [n/desk]\nfreezes: [{until: 2026-01-05T09:00:00Z}]\n"
    assert [list(map(str, one.differences)) for one in ran(stands + CASES, OPEN)] == [[], [], []]
    revoked = "revoked-sources: [{source: notes, at: 2026-01-01T09:00:00Z}]\nholds: [{source: drafts}]\n"
    case = "cases:\n- {name: c, moment: EXPORT, principal: ana, bindings: [n/open],\n"
    case += "   expect: {verdict: PURGE, reason: RETENTION_REVOKED}}\n"
    assert [one.passed for one in ran(revoked + case, OPEN)] == [True]


def test_sequences_begin_under_what_their_file_says_that_stands() -> None:
    """F12: a hold of the file has the name of what it is on, and is lifted by it; what is revoked stays away."""
    stands = "holds: [n/open]\n"
    lines = steps(
        "{commit: n/open, as: a, expect: {verdict: WITHHOLD, reason: LEGAL_HOLD}}",
        "lift-hold: n/open",
        "{commit: n/open, as: b, expect: {verdict: ALLOW}}",
        "{lift-hold: n/open, refused: true}",
    )
    (result,) = ran(stands + lines, OPEN)
    assert list(map(str, result.differences)) == []
    revoked = "revoked-sources: [{source: notes, at: 2026-01-01T09:00:00Z}]\n"
    (result,) = ran(revoked + steps("{suspend: n/open, refused: true}", SHOWN.replace("ALLOW", "PURGE, reason: "
        "RETENTION_REVOKED")), OPEN)  # fmt: skip
    assert list(map(str, result.differences)) == []


def test_a_large_revoke_names_its_dry_run() -> None:
    """RET-09, F3: above the policy's number it is refused unless somebody looked at what it takes."""
    policy = OPEN + "---\napiVersion: discreet/v1\nkind: RetentionPolicy\nname: r\ndry-run-above: 1\n"
    lines = (
        SHOWN,
        "{revoke: n/open, refused: true}",
        "{replay: answer, expect: {verdict: ALLOW}}",
        "revoke: {record: n/open, dry-run: true}",
        "{replay: answer, expect: {verdict: PURGE, reason: RETENTION_REVOKED}}",
    )
    assert differences(*lines, policy=policy) == []


def test_what_an_order_is_not_is_told() -> None:
    """F12: what was expected of its items and what they are, and whether it is done."""
    lines = (
        SHOWN,
        "register-holder: {holder: threads, kind: SEGMENT_STORE}",
        "revoke: {record: n/open, as: gone}",
        "purge-order: {order: gone, items: {PURGED: 1}, done: true}",
    )
    assert differences(*lines) == [
        "step 4 (purge-order gone), items: expected PURGED: 1, found OPEN: 1",
        "step 4 (purge-order gone), done: expected true, found false",
    ]


ASK = "{publish: n/open, expect: {verdict: ALLOW}}"
MISTAKES = {
    "a hold that was not placed": ("lift-hold: case", '6:16: no hold "case"; place it in a step before'),
    "a freeze that was not made": ("unfreeze: notes", '6:15: no freeze "notes"; freeze in a step before'),
    "an order of no revoke": (
        "purge-order: {order: gone, done: true}",
        '6:26: no order "gone"; revoke in a step before; its order has the name that the revoke says in `as`',
    ),
    "a holder that was not registered": (
        "acknowledge: {holder: threads, order: gone}",
        '6:27: no holder "threads"; register it in a step before',
    ),
    "a parent of no commit": (
        "{publish: [], parents: [answer], expect: {verdict: ALLOW}}",
        '6:29: no commit "answer"; commit it in a step before, under this name',
    ),
    "an export of no commit": (
        "{export: answer, expect: {verdict: ALLOW}}",
        '6:14: no commit "answer"; commit it in a step before, under this name',
    ),
    "a revoke of nothing": ("revoke: {ticket: T}", "6:13: a revoke is of one thing; name one of record"),
    "a revoke of two things": (
        "revoke: {record: n/open, source: notes}",
        "6:13: a revoke is of one thing; name one of record, all-versions-of, source",
    ),
    "a hold on nothing": ("place-hold: {as: case}", "6:17: a hold is on a record or on a source; name one of the two"),
    "a freeze without an end": ("freeze: {source: notes}", "6:5: a freeze has an end; say one of for and until"),
    "an order of which nothing is said": (
        "purge-order: {order: gone}",
        "6:5: nothing is expected of the order; say items or done",
    ),
    "a state that is none": (
        "purge-order: {order: gone, items: {LOST: 1}}",
        '6:46: no state of an item "LOST"; one of FAILED, HELD, NOT_FOUND, OPEN, PURGED, SCHEDULED, UNCONFIRMED',
    ),
    "an outcome that is none": (
        "acknowledge: {holder: threads, order: gone, outcome: DELETED}",
        '6:58: no outcome "DELETED"; one of ABSENT, FAILED, NOT_FOUND, PRESENT, PURGED',
    ),
    "parents of small talk": (
        "{publish: [], grounding: UNBOUND, kind: talk, parents: [a], expect: {verdict: ALLOW}}",
        "6:60: only a BOUND segment that is asked about anew has parents; leave it out",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_such_a_step_is_told_where_it_stands(mistake: str) -> None:
    """F12: nothing is lifted, answered or expected that no step made."""
    line, expected = MISTAKES[mistake]
    found = told(steps(ASK, line), OPEN)
    assert [one for one in found if one.startswith(expected)], found
