"""The main path over real sockets: register, ask at each moment, commit, revoke, look it up in the audit."""

from __future__ import annotations

from discreet.v1 import common_pb2, index_pb2
from tests.server.support import (
    TENANT,
    Running,
    Spawned,
    check,
    commit,
    commit_verdicts,
    document,
    ref,
    segment,
    verdicts,
)


async def test_register_retrieve_publish_replay_revoke_purge(running: Running) -> None:
    """B1: each moment is asked anew; B6: the revoke after the commit forbids every later disclosure; F7.

    All of it is on record.
    """
    lines = running.lines
    put = await lines.collector.put(document())
    assert [o.kind for o in put.outcomes] == [index_pb2.PutOutcome.KIND_CREATED]
    read = await lines.agent.check(check(moment=common_pb2.MOMENT_RETRIEVE))
    assert verdicts(read) == [("ALLOW", "NONE")]
    made = await lines.agent.commit(commit())
    assert commit_verdicts(made) == [("ALLOW", "NONE")]
    ledger_id = made.results[0].ledger_id
    assert verdicts(await lines.agent.check(check(ledger_ids=[ledger_id]))) == [("ALLOW", "NONE")]
    await lines.operator.call(
        index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="asked to", ticket="T-1")
    )
    assert verdicts(await lines.agent.check(check(ledger_ids=[ledger_id]))) == [("PURGE", "RETENTION_REVOKED")]
    assert commit_verdicts(await lines.agent.commit(commit(answer="answer-2"))) == [("PURGE", "RETENTION_REVOKED")]
    found = await lines.auditor.decisions(tenant=TENANT)
    assert len(found) == 5
    explained = await lines.auditor.raw(
        "AuditService/Explain",
        b"\n\x04acme\x12" + bytes([len(found[0].decision.decision_id)]) + found[0].decision.decision_id.encode(),
    )
    assert b"RETENTION_REVOKED" in explained


async def test_a_server_as_a_process_answers_and_ends_with_zero(spawned: Spawned) -> None:
    """RPC-09: the process says READY, answers, and ends with exit code 0 when told to."""
    await spawned.lines.collector.put(document())
    assert verdicts(await spawned.lines.agent.check(check(segment()))) == [("ALLOW", "NONE")]
    assert await spawned.terminate() == 0
