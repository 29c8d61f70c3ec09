"""A replica of the database that lags by half a minute: no decision is read from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.v1 import index_pb2
from tests.postgres_server import PostgresServer
from tests.server.support import TENANT, PolicyRepo, binding, check, config_of, document, in_process, segment, verdicts

FOLLOWING = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
STAFF = check(segment("s1", binding("handbook/staff")), principal="ana")
GRANT = index_pb2.GrantScopeRequest(tenant=TENANT, principal_id="ana", scope="staff", reason="why")
WITHDRAW = index_pb2.WithdrawScopeRequest(tenant=TENANT, principal_id="ana", scope="staff", reason="why")


@contextmanager
def lagging() -> Iterator[str]:
    """The address of a database that names a replica which applies everything 30 s late, and then the primary."""
    primary = PostgresServer()
    try:
        primary.execute("CREATE DATABASE discreet")
        standby = PostgresServer(standby_of=primary, settings={"recovery_min_apply_delay": "30s"})
        try:
            primary.until(FOLLOWING, 1)
            primary.configure(synchronous_standby_names="*")
            yield f"postgresql://postgres@/discreet?host={standby.directory},{primary.directory}"
        finally:
            standby.stop()
    finally:
        primary.stop()


async def test_what_was_granted_or_withdrawn_counts_at_once_whatever_a_replica_says(
    place: Path, repo: PolicyRepo
) -> None:
    """REV-06: reads that decide go to the primary, also where the replica is named first and answers sooner."""
    with lagging() as url:
        async with in_process(config_of(place, repo.path, db=url)) as running:
            await running.lines.collector.put(document("handbook/staff", scopes=["staff"]))
            for _ in range(3):
                assert verdicts(await running.lines.agent.check(STAFF)) == [("WITHHOLD", "NOT_AVAILABLE")]
                await running.lines.operator.call(GRANT)
                assert verdicts(await running.lines.agent.check(STAFF)) == [("ALLOW", "NONE")]
                await running.lines.operator.call(WITHDRAW)
            (server,) = (await running.lines.operator.status()).servers
            assert server.live
