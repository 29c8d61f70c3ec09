"""Who saw what: how far it went is said as far as the audit can know it, and no reader is left out by a version."""

from __future__ import annotations

import pytest

from discreet.cli.seen import how_far, names, rests_on
from discreet.v1 import audit_pb2, common_pb2

CHECK, COMMIT = audit_pb2.AUDIT_ACT_CHECK, audit_pb2.AUDIT_ACT_COMMIT


@pytest.mark.parametrize(
    "act, moment, confirmed, found",
    [
        (CHECK, common_pb2.MOMENT_RETRIEVE, False, "retrieved"),
        (CHECK, common_pb2.MOMENT_PUBLISH, False, "asked only"),
        (COMMIT, common_pb2.MOMENT_PUBLISH, False, "released"),
        (COMMIT, common_pb2.MOMENT_PUBLISH, True, "shown"),
        (CHECK, common_pb2.MOMENT_REPLAY, True, "released"),
        (CHECK, common_pb2.MOMENT_EXPORT, False, "released"),
    ],
)
def test_only_what_was_reported_is_said_to_be_shown(
    act: audit_pb2.AuditAct.ValueType, moment: common_pb2.Moment.ValueType, confirmed: bool, found: str
) -> None:
    """F11: a replay of what was shown once is a release of its own."""
    assert how_far(audit_pb2.DecisionRecord(act=act, moment=moment, confirmed=confirmed)) == found


def on(*bound: tuple[str, str], parents: tuple[str, ...] = ()) -> audit_pb2.DecisionRecord:
    """A decision on record versions and parents."""
    made = audit_pb2.DecisionRecord()
    for record_id, version in bound:
        made.decision.bindings.add(record_id=record_id, version=version)
    made.decision.parents.extend(parents)
    return made


@pytest.mark.parametrize(
    "item, rests, named",
    [
        (on(("a", "1")), True, True),
        (on(("a", "2")), False, False),
        (on(("a", "2"), ("a", "1")), True, True),
        (on(("a", "2"), ("quote", "7")), True, False),
        (on(("quote", "7")), True, False),
        (on(parents=("led-1",)), True, False),
        (on(("a", "2"), parents=("led-1",)), True, False),
    ],
)
def test_a_version_leaves_out_what_surely_rests_on_another(
    item: audit_pb2.DecisionRecord, rests: bool, named: bool
) -> None:
    """F11: what may stand behind a quote or a parent counts, and is told from what names the version."""
    assert (rests_on(item, "a", "1"), names(item, "a", "1")) == (rests, named)
    assert rests_on(item, "a", "")
