"""What only hides: each such state withholds, deletes nothing, and where it can end, the content shows again."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.policy.decide import withhold_all
from discreet.policy.facts import PrincipalGrants, Ref
from discreet.policy.words import Gate, Moment, Next, Reason, Verdict
from discreet.v1 import audit_pb2, disclosure_pb2
from tests.policy.decide.faults import FAULTS, Fault, passing, records
from tests.policy.decide.replies import reply_bytes, row, row_bytes
from tests.policy.decide.world import (
    DAY,
    OTHER_DIGEST,
    SECOND,
    World,
    at,
    edit,
    figure_world,
    grant,
    record,
    revoke,
    world,
)

HIDING = [fault for fault in FAULTS if fault.verdict is Verdict.WITHHOLD]


@pytest.mark.parametrize("moment", [Moment.RETRIEVE, Moment.PUBLISH])
@pytest.mark.parametrize("fault", HIDING, ids=str)
def test_every_fault_but_a_due_revoke_only_hides_and_shows_again(fault: Fault, moment: Moment) -> None:
    """B8: WITHHOLD, never PURGE; the same question is ALLOW again once the state has ended, alone and beside others."""
    sound = edit(passing(), moment=moment)
    hidden = fault.change(sound)
    if moment is Moment.PUBLISH or not (fault.publish_only or fault.name == "other-moment"):
        assert hidden.one().verdict is Verdict.WITHHOLD
    assert sound.one().verdict is Verdict.ALLOW


@pytest.mark.parametrize("fault", [fault for fault in HIDING if not fault.publish_only], ids=str)
def test_every_fault_but_a_due_revoke_only_hides_at_replay(fault: Fault) -> None:
    """B8, DSC-05: history is hidden, still stored, and shown again when the state ends; it is never purged by it."""
    committed = passing().replayed()
    hidden = edit(fault.change(passing()).replayed(), ledger=committed.ledger)
    assert hidden.one().verdict is Verdict.WITHHOLD
    assert committed.one().verdict is Verdict.ALLOW


def _figure(**changes: Any) -> World:
    return records(**changes)(figure_world())


def _granted(**changes: Any) -> World:
    return figure_world(grants=PrincipalGrants((grant(**changes),), 5))


BOUNDARIES = [
    # What is asked, and the first instant at which it is no longer as it was before: (before, from then on).
    ("leeway before not_before is 5 s", _granted(not_before=at(5 * SECOND)), Reason.SCOPE_NOT_YET_VALID, Reason.NONE),
    ("a grant ends at expires_at", _granted(expires_at=at(0)), Reason.NONE, Reason.SCOPE_EXPIRED),
    ("an assessment ends at its time", _figure(assessment_expires_at=at(0)), Reason.NONE, Reason.ASSESSMENT_EXPIRED),
    ("a figure is fresh at its maximum age", _figure(as_of=at(-DAY - 1)), Reason.NONE, Reason.STALE),
    ("a figure of the future says nothing", _figure(as_of=at(0)), Reason.FRESHNESS_UNKNOWN, Reason.NONE),
]


@pytest.mark.parametrize("_what, given, before, after", BOUNDARIES, ids=[each[0] for each in BOUNDARIES])
def test_time_alone_hides_and_shows(_what: str, given: World, before: Reason, after: Reason) -> None:
    """TIM-03, B8, A3: the clock changes the answer at exactly one microsecond; leeway helps new grants alone."""
    assert (given.one(now=at(-1)).reason, given.one(now=at(0)).reason) == (before, after)
    assert given.one(now=at(1)).reason is after


@pytest.mark.parametrize("late, reason", [(1, Reason.NONE), (5, Reason.NONE), (30, Reason.SCOPE_NOT_YET_VALID)])
def test_a_clock_that_lags_a_little_does_not_refuse_a_new_grant(late: int, reason: Reason) -> None:
    """TIM-03: a grant given at this instant holds on a server whose clock is up to 5 s behind."""
    assert (
        figure_world(grants=PrincipalGrants((grant(not_before=at(0)),), 5)).one(now=at(-late * SECOND)).reason is reason
    )


def test_the_valid_one_of_several_grants_counts_in_any_order() -> None:
    """POL-18: an expired and a future grant of a scope do not hide the valid one; alone each says why."""
    over, valid = grant(expires_at=at(-DAY + 1)), grant(expires_at=at(30 * DAY))
    early = grant(not_before=at(DAY))
    for given in ((over, valid, early), (early, valid, over), (valid, early, over), (valid,)):
        assert figure_world(grants=PrincipalGrants(given, 5)).one().verdict is Verdict.ALLOW
    for others, reason in (
        ((over,), Reason.SCOPE_EXPIRED),
        ((early,), Reason.SCOPE_NOT_YET_VALID),
        ((early, over), Reason.SCOPE_EXPIRED),
        ((), Reason.SCOPE_DENIED),
    ):
        result = figure_world(grants=PrincipalGrants(others, 5)).one()
        assert (result.verdict, result.reason) == (Verdict.WITHHOLD, reason)


def test_a_record_without_scopes_is_for_nobody() -> None:
    """B9, A4: an empty list of scopes is not a public one."""
    assert world(record(scopes=())).one().reason is Reason.SCOPE_DENIED
    assert world(record(scopes=("public",)), grants=PrincipalGrants()).one().verdict is Verdict.ALLOW


def test_claimed_scopes_count_only_where_the_policy_trusts_this_caller() -> None:
    """B2: what a caller says of its user's scopes is nothing unless the policy names the caller, exactly."""
    board = edit(world(record(scopes=("board",))), principal=edit(passing().principal, claimed_scopes=("board",)))
    assert board.one().reason is Reason.SCOPE_DENIED
    for trusted, reason in (({"agent-1"}, Reason.NONE), ({"AGENT-1", "agent-11", "agent"}, Reason.SCOPE_DENIED)):
        policy = edit(board.snapshot, claimed_scopes_from=frozenset(trusted))
        assert board.one(snapshot=policy).reason is reason


@pytest.mark.parametrize("reason", [Reason.DEPENDENCY_UNAVAILABLE, Reason.AUDIT_UNAVAILABLE, Reason.POLICY_STALE])
def test_a_dependency_that_is_down_withholds_everything_alike(reason: Reason) -> None:
    """A12, B8: a lost store or audit hides whatever was asked, says nothing of it, and names its own gate."""
    for given in (figure_world(), figure_world().replayed(), edit(figure_world(), records=())):
        decided = withhold_all(given.request, given.policy, reason)
        (result,) = decided.results
        assert (result.verdict, result.reason, result.gate) == (Verdict.WITHHOLD, reason, Gate.DEPENDENCY)
        assert (result.next, result.use_within_ms) == (Next.CONTACT_OPERATOR, 0)
    seen = {
        reply_bytes(given, withhold_all(given.request, given.policy, reason))
        for given in (figure_world(), edit(figure_world(), records=()), figure_world(grants=PrincipalGrants()))
    }
    assert len(seen) == 1
    pair = world(record("kb-1"), record("kb-2"))
    withheld = withhold_all(pair.request, pair.policy, reason)
    (told,) = disclosure_pb2.CheckResponse.FromString(reply_bytes(pair, withheld)).results
    assert [each.SerializeToString() for each in told.evidence] == [told.evidence[0].SerializeToString()] * 2
    (decision,) = audit_pb2.AuditRow.FromString(row_bytes(pair, withheld)).decisions
    assert [each.record_id for each in decision.bindings] == ["kb-1", "kb-2"]


def test_no_policy_in_force_withholds_with_the_built_in_text() -> None:
    """A12: before the first policy there is a text all the same, in the reader's language."""
    for locale in ("en", "zh-Hans"):
        decided = withhold_all(figure_world(locale=locale).request, None, Reason.DEPENDENCY_UNAVAILABLE)
        assert decided.results[0].text


def test_what_stands_behind_a_record_hides_it_and_purges_it() -> None:
    """A19, B7, B8: each state of a source document falls on the quote taken from it; only the due revoke purges."""
    document = record("kb-7")
    quote = figure_world().records[0]
    quote = edit(quote, own_source=False, of=(document.ref,), roots=(document.ref,))
    states: list[tuple[dict[str, Any], Reason]] = [
        ({"scopes": ("board",)}, Reason.SCOPE_DENIED),
        ({"suspended": True}, Reason.SUSPENDED),
        ({"collector": "intruder"}, Reason.UNTRUSTED_SOURCE),
        ({"source_label": "memo", "collector": "memo-importer"}, Reason.UNTRUSTED_SOURCE),
        ({"superseded_by": Ref("kb-8", "1")}, Reason.SUPERSEDED),
        ({"current": False}, Reason.VERSION_MISMATCH),
        ({"unreachable": True}, Reason.DOCUMENT_UNREACHABLE),
        ({"assessment_expires_at": None}, Reason.ELIGIBILITY_UNKNOWN),
        ({"assessment_expires_at": at(0)}, Reason.ASSESSMENT_EXPIRED),
        ({"revoked": revoke(at(1))}, Reason.RETENTION_REVOKED),
    ]
    given = figure_world()
    assert given.one(records=(quote, document)).verdict is Verdict.ALLOW
    assert given.one(records=(quote,)).reason is Reason.DOCUMENT_UNKNOWN
    for change, reason in states:
        result = given.one(records=(quote, edit(document, **change)))
        assert (result.verdict, result.reason) == (Verdict.WITHHOLD, reason)
        assert result.stop is not None
        assert result.stop.ref == document.ref
    assert given.one(records=(quote, edit(document, revoked=revoke()))).verdict is Verdict.PURGE
    assert given.one(records=(quote, edit(document, digest=OTHER_DIGEST))).verdict is Verdict.ALLOW


def test_the_audit_says_which_root_decided() -> None:
    """B3, A16: the row names the record that fell short, with its revision, collector and states."""
    hidden = world(record("kb-1"), record("kb-2", suspended=True, revision=77))
    (decision,) = row(hidden).decisions
    assert (decision.deciding_record.record_id, decision.deciding_record.version) == ("kb-2", "1")
    fact = next(f for f in row(hidden).facts if f.id == "kb-2")
    assert (fact.revision, fact.collector, list(fact.states)) == (77, "wiki-importer", ["current", "suspended"])
