"""Two persons for revokes, lifted holds and lifted tombstones, where the configuration asks for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from discreet.policy.facts import Micros
from discreet.policy.words import Role
from discreet.server.config import BY_TWO, ServerConfig, load_config, parse_by_two
from discreet.server.errors import ConfigRefused
from discreet.server.identity.callers import Identity
from discreet.server.servicers.authority import approvals as asking
from discreet.v1 import authority_pb2, index_pb2
from tests.server.authority.acts import (
    ALLOWED,
    PURGED,
    TICKETED,
    answer,
    approvals,
    hold,
    lift,
    lift_hold,
    revoke,
    seen,
    tombstones,
)
from tests.server.support import (
    TENANT,
    PolicyRepo,
    Running,
    audit_rows,
    binding,
    commit,
    config_of,
    document,
    in_process,
    ref,
    segment,
)

HELD = [("WITHHOLD", "LEGAL_HOLD")]
State = authority_pb2.ApprovalState
IDENTITIES = (
    Identity("agent", Role.AGENT, None),
    Identity("collector", Role.COLLECTOR, None),
    Identity("auditor", Role.AUDITOR, None),
    Identity("operator", Role.OPERATOR, None),
    Identity("second", Role.OPERATOR, (TENANT,)),
    Identity("third", Role.OPERATOR, ("bolt",)),
)


@pytest.fixture
async def by_two(place: Path, repo: PolicyRepo) -> AsyncIterator[Running]:
    """A server on which everything that may need two persons does, with three operators."""
    async with in_process(config_of(place, repo.path, identities=IDENTITIES, approve_by_two=BY_TWO)) as server:
        await server.lines.collector.put(document())
        yield server


def approve(approval_id: str, tenant: str = TENANT) -> authority_pb2.ApproveRequest:
    """The request that approves."""
    return authority_pb2.ApproveRequest(tenant=tenant, approval_id=approval_id, reason="looked at it")


async def approved(server: Running, approval_id: str) -> authority_pb2.ApproveResponse:
    """Approved by the second operator."""
    return await answer(server.lines["second"], approve(approval_id), authority_pb2.ApproveResponse)


async def test_a_revoke_waits_for_another_operator(by_two: Running) -> None:
    """Nothing is revoked until somebody else approves; whoever asked cannot; another tenant's operator cannot."""
    asked = await revoke(by_two.lines.operator, record=ref())
    assert (bool(asked.approval_id), asked.purge_order_id) == (True, "")
    assert await seen(by_two) == [ALLOWED] * 2
    assert await tombstones(by_two.lines.operator) == []
    own = await by_two.lines.operator.refused(approve(asked.approval_id))
    foreign = await by_two.lines["third"].refused(approve(asked.approval_id))
    unknown = await by_two.lines["third"].refused(approve(asked.approval_id, "bolt"))
    codes = [error.code().name for error in (own, foreign, unknown)]
    assert codes == ["PERMISSION_DENIED", "PERMISSION_DENIED", "NOT_FOUND"]
    assert await seen(by_two) == [ALLOWED] * 2
    done = await approved(by_two, asked.approval_id)
    assert await seen(by_two) == [PURGED] * 2
    record = (await by_two.lines.operator.get("handbook/leave")).record.retention_revoke
    assert (record.actor, record.ticket, record.purge_order_id) == ("operator", "T-1", done.purge_order_id)
    error = await by_two.lines["second"].refused(approve(asked.approval_id))
    assert (error.code().name, "approved by second" in (error.details() or "")) == ("FAILED_PRECONDITION", True)


async def test_a_dry_run_needs_nobody(by_two: Running) -> None:
    """Looking asks for no approval, and a repeat of what stands neither."""
    dry = await revoke(by_two.lines.operator, record=ref(), dry_run=True)
    assert (dry.approval_id, await approvals(by_two.lines.auditor)) == ("", [])
    asked = await revoke(by_two.lines.operator, record=ref(), dry_run_digest=dry.dry_run_digest)
    order_id = (await approved(by_two, asked.approval_id)).purge_order_id
    again = await revoke(by_two.lines.operator, record=ref())
    assert (again.approval_id, again.purge_order_id) == ("", order_id)


@pytest.mark.parametrize("more", ["version", "segment"])
async def test_an_approval_covers_exactly_what_was_asked_for(by_two: Running, more: str) -> None:
    """RET-09 in kind: with one version or one segment more it is refused, stays pending, and nothing is revoked."""
    asked = await revoke(by_two.lines.operator, all_versions_of="handbook/leave")
    if more == "version":
        await by_two.lines.collector.put(document(version="2"))
    else:
        await by_two.lines.agent.commit(commit())
    error = await by_two.lines["second"].refused(approve(asked.approval_id))
    assert (error.code().name, "something else" in (error.details() or "")) == ("FAILED_PRECONDITION", True)
    (waiting,) = await approvals(by_two.lines.operator)
    assert waiting.state == State.APPROVAL_STATE_PENDING
    assert not (await by_two.lines.operator.get("handbook/leave")).record.HasField("retention_revoke")


async def test_a_rejected_change_does_not_happen(by_two: Running) -> None:
    """Whoever asked may drop it too; then nobody can approve it."""
    for identity in ("operator", "second"):
        asked = await revoke(by_two.lines.operator, record=ref())
        request = authority_pb2.RejectRequest(tenant=TENANT, approval_id=asked.approval_id, reason="a mistake")
        await by_two.lines[identity].call(request)
        assert (await by_two.lines["second"].refused(approve(asked.approval_id))).code().name == "FAILED_PRECONDITION"
        assert (await by_two.lines["second"].refused(request)).code().name == "FAILED_PRECONDITION"
    assert await seen(by_two) == [ALLOWED] * 2
    assert await approvals(by_two.lines.operator) == []
    settled = await approvals(by_two.lines.operator, settled=True)
    assert [(one.state, one.settled_by) for one in settled] == [
        (State.APPROVAL_STATE_REJECTED, "second"),
        (State.APPROVAL_STATE_REJECTED, "operator"),
    ]


async def test_an_approval_expires(by_two: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time nobody can carry it out; it is listed as expired, and asking again begins anew."""
    monkeypatch.setattr(asking, "EXPIRES_AFTER_US", 0)
    asked = await revoke(by_two.lines.operator, record=ref())
    error = await by_two.lines["second"].refused(approve(asked.approval_id))
    assert (error.code().name, "72 hours" in (error.details() or "")) == ("FAILED_PRECONDITION", True)
    assert await approvals(by_two.lines.operator) == []
    (expired,) = await approvals(by_two.lines.operator, settled=True)
    assert (expired.state, expired.settled_by) == (State.APPROVAL_STATE_EXPIRED, "")


async def test_lifting_a_hold_waits_for_another_operator(by_two: Running) -> None:
    """Placing one needs nobody; what would come free must be what would have come free when it was asked for."""
    placed = await hold(by_two.lines.operator, record=ref())
    asked = await lift_hold(by_two.lines.operator, placed.hold_id)
    assert asked.approval_id
    assert await seen(by_two) == [HELD] * 2
    await approved(by_two, asked.approval_id)
    assert await seen(by_two) == [ALLOWED] * 2
    again = await lift_hold(by_two.lines.operator, (await hold(by_two.lines.operator, record=ref())).hold_id)
    assert again.approval_id != asked.approval_id


async def test_a_lift_frees_nothing_that_was_revoked_after_it_was_asked_for(by_two: Running) -> None:
    """B8, RET-09 in kind: with no holder at all, a hold is not lifted for what nobody knew would be purged by it."""
    made = (await by_two.lines.agent.commit(commit())).results[0].ledger_id
    placed = await hold(by_two.lines.operator, source_label="handbook")
    asked = await lift_hold(by_two.lines.operator, placed.hold_id)
    await approved(by_two, (await revoke(by_two.lines.operator, record=ref())).approval_id)
    error = await by_two.lines["second"].refused(approve(asked.approval_id))
    assert (error.code().name, "something else" in (error.details() or "")) == ("FAILED_PRECONDITION", True)
    assert await seen(by_two, made) == [HELD] * 3
    again = await lift_hold(by_two.lines.operator, placed.hold_id)
    await approved(by_two, again.approval_id)
    assert await seen(by_two, made) == [PURGED] * 3


async def test_a_lift_frees_nothing_that_another_hold_kept_when_it_was_asked_for(by_two: Running) -> None:
    """B8: of two holds on what is revoked, the second one that ends frees it, and that is what is approved."""
    await by_two.lines.agent.commit(commit())
    await approved(by_two, (await revoke(by_two.lines.operator, record=ref())).approval_id)
    holds = [await hold(by_two.lines.operator, record=ref(), ticket=f"T-{n}") for n in range(2)]
    asked = [(await lift_hold(by_two.lines.operator, one.hold_id)).approval_id for one in holds]
    await approved(by_two, asked[0])
    error = await by_two.lines["second"].refused(approve(asked[1]))
    assert (error.code().name, "something else" in (error.details() or "")) == ("FAILED_PRECONDITION", True)
    assert await seen(by_two) == [HELD] * 2


async def test_a_bounded_number_of_changes_waits(by_two: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one is refused until one is settled; settled ones, and another tenant's, count nothing."""
    monkeypatch.setattr(asking, "WAITING_MAX", 2)
    first = (await revoke(by_two.lines.operator, record=ref())).approval_id
    await revoke(by_two.lines.operator, record=ref())
    request = index_pb2.RevokeRetentionRequest(record=ref(), **TICKETED)
    error = await by_two.lines.operator.refused(request)
    assert (error.code().name, "approve or reject" in (error.details() or "")) == ("RESOURCE_EXHAUSTED", True)
    assert len(await approvals(by_two.lines.operator)) == 2
    await by_two.lines.collector.put(document(), tenant="bolt")
    await revoke(by_two.lines.operator, record=ref(), tenant="bolt")
    await by_two.lines["second"].call(authority_pb2.RejectRequest(tenant=TENANT, approval_id=first, reason="no"))
    assert (await revoke(by_two.lines.operator, record=ref())).approval_id


async def test_lifting_a_tombstone_waits_for_another_operator(by_two: Running) -> None:
    """The content comes in once a second person agreed; a source is given free for exactly what was under it."""
    await approved(by_two, (await revoke(by_two.lines.operator, source_label="handbook")).approval_id)
    stones = await tombstones(by_two.lines.operator)
    asked = await lift(by_two.lines.operator, stones[-1].tombstone_id)
    refused = await by_two.lines.collector.put(document(version="2"))
    assert refused.outcomes[0].kind == index_pb2.PutOutcome.KIND_REFUSED
    await approved(by_two, asked.approval_id)
    taken = await by_two.lines.collector.put(document(version="2"))
    assert taken.outcomes[0].kind == index_pb2.PutOutcome.KIND_CREATED
    assert await seen(by_two) == [PURGED] * 2


async def test_asking_approving_and_rejecting_are_on_record_with_both_names(by_two: Running) -> None:
    """A14 in kind: who asked, who agreed, who said no; and the change itself under both."""
    asked = await revoke(by_two.lines.operator, record=ref())
    done = await approved(by_two, asked.approval_id)
    dropped = await revoke(by_two.lines.operator, record=ref("handbook/leave"), ticket="T-1", dry_run=True)
    assert dropped.already_revoked == 1
    rows = [row for row in audit_rows(by_two.server.config.db) if row.change.method in ("RevokeRetention", "Approve")]
    assert [(row.change.method, row.caller.name, row.change.subject_id) for row in rows] == [
        ("RevokeRetention", "operator", asked.approval_id),
        ("Approve", "second", asked.approval_id),
        ("RevokeRetention", "second", done.purge_order_id),
    ]
    assert rows[0].change.detail.startswith("waits for a second person: revoke handbook/leave version 1: 1 versions")
    assert "asked for by operator" in rows[1].change.detail
    assert [row.change.reason for row in rows] == ["asked to", "looked at it", "asked to"]


async def test_approvals_are_listed_newest_first_a_page_at_a_time(by_two: Running) -> None:
    """AUD-04 in kind: each exactly once."""
    asked = [(await revoke(by_two.lines.operator, record=ref(), ticket=f"T-{n}")).approval_id for n in range(5)]
    request = authority_pb2.ListApprovalsRequest(tenant=TENANT, page_size=2)
    found: list[str] = []
    while True:
        page = await answer(by_two.lines.auditor, request, authority_pb2.ListApprovalsResponse)
        found += [one.approval_id for one in page.approvals]
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert found == asked[::-1]


async def test_only_what_is_configured_needs_two(place: Path, repo: PolicyRepo) -> None:
    """The rest is done at once, by whoever asks."""
    config = config_of(place, repo.path, identities=IDENTITIES, approve_by_two=frozenset({"lift-tombstone"}))
    async with in_process(config) as server:
        await server.lines.collector.put(document())
        done = await revoke(server.lines.operator, record=ref())
        assert (bool(done.purge_order_id), done.approval_id) == (True, "")
        (stone,) = await tombstones(server.lines.operator)
        assert (await lift(server.lines.operator, stone.tombstone_id)).approval_id


def test_the_configuration_names_changes_that_there_are(tmp_path: Path) -> None:
    """An unknown word stops the start: a misspelt one would leave a change to one person."""
    assert parse_by_two("revoke, lift-hold") == {"revoke", "lift-hold"}
    assert set(asking.WORDS.values()) == BY_TWO
    with pytest.raises(ConfigRefused, match="approve-by-two: no such change; there are: lift-hold, "):
        ServerConfig(policy="x", approve_by_two=frozenset({"revokes"}))
    file = tmp_path / "discreet-server.yaml"
    file.write_text("policy: /srv/policies\napprove-by-two: [revoke, lift-hold]\n")
    assert load_config(file, {}).approve_by_two == {"revoke", "lift-hold"}
    assert load_config(file, {"approve_by_two": frozenset()}).approve_by_two == frozenset()


async def test_an_approval_waits_through_a_restart(place: Path, repo: PolicyRepo) -> None:
    """What was asked for is in the database: another process carries it out."""
    config = config_of(place, repo.path, identities=IDENTITIES, approve_by_two=BY_TWO)
    async with in_process(config) as server:
        await server.lines.collector.put(document())
        await server.lines.agent.commit(commit(segment("s1", binding())))
        asked = await revoke(server.lines.operator, record=ref(), purge_not_before={"seconds": 1})
    async with in_process(config) as server:
        (waiting,) = await approvals(server.lines["second"])
        assert (waiting.requester, waiting.ticket, waiting.summary) == (
            "operator",
            "T-1",
            "revoke handbook/leave version 1: 1 versions, 1 segments",
        )
        done = await approved(server, asked.approval_id)
        assert await seen(server) == [PURGED] * 2
        order = await server.server.store.change(lambda index: index.purges.order(TENANT, done.purge_order_id))
        assert order is not None
        assert (order.actor, order.purge_not_before > Micros(1_000_000)) == ("operator", True)
