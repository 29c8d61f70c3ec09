"""BOUNDED checks: from memory as long as the policy allows, with the database out of reach too, and never longer."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from discreet.server.ports import StoreError
from discreet.server.stores import open_store
from discreet.v1 import common_pb2, disclosure_pb2, index_pb2, server_pb2
from tests.postgres_server import PostgresServer
from tests.server.faults import FaultyStore
from tests.server.scraping import scrape
from tests.server.support import (
    POLICY,
    TENANT,
    PolicyRepo,
    Running,
    audit_rows,
    binding,
    check,
    config_of,
    document,
    eventually,
    in_process,
    make_repo,
    ref,
    segment,
    verdicts,
)

RETRIEVE = common_pb2.MOMENT_RETRIEVE
BOUNDED = common_pb2.CONSISTENCY_BOUNDED
ALLOWED = [("ALLOW", "NONE")]
LOST = [("WITHHOLD", "DEPENDENCY_UNAVAILABLE")]
STALENESS_S = 5
LEASE_S = 1.0
LASTS = f"read-max-staleness: {STALENESS_S}s\n"
UNRECORDED = "audit: {checks: none}\n"


def allowing(*more: str) -> dict[str, str]:
    """The tests' policy set with more in its first file."""
    return {**POLICY, "discreet.yaml": POLICY["discreet.yaml"] + "".join(more)}


def asked(record_id: str = "handbook/leave", min_token: str = "") -> disclosure_pb2.CheckRequest:
    """A check at RETRIEVE that takes facts as the policy allows them."""
    given = check(segment("s1", binding(record_id)), moment=RETRIEVE, min_token=min_token)
    given.consistency = BOUNDED
    return given


@pytest.fixture
async def store(place: Path) -> FaultyStore:
    """A SQLite store that counts its calls and can be made to fail."""
    return FaultyStore(open_store(str(place / "discreet.db")))


@pytest.fixture
async def bounded(place: Path, store: FaultyStore) -> AsyncIterator[Running]:
    """A server whose policy allows facts of some age, with a document that was asked about."""
    repo = make_repo(place / "policy", allowing(LASTS))
    async with in_process(config_of(place, repo.path), store=store) as running:
        await running.lines.collector.put(document())
        assert verdicts(await running.lines.agent.check(asked())) == ALLOWED
        store.calls.clear()
        yield running


async def test_what_was_read_lately_is_not_read_again(bounded: Running, store: FaultyStore) -> None:
    """E6: neither head nor facts, where the check asks for it; the row says how old the facts may have been."""
    assert verdicts(await bounded.lines.agent.check(asked())) == ALLOWED
    assert {"head", "fetch", "changes"} & set(store.calls) == set()
    assert verdicts(await bounded.lines.agent.check(check(moment=RETRIEVE))) == ALLOWED
    assert "head" in store.calls
    first, second, third = audit_rows(bounded.server.config.db)[-3:]
    assert [row.HasField("facts_age") for row in (first, second, third)] == [False, True, False]
    assert 0 < second.facts_age.ToMicroseconds() < STALENESS_S * 1_000_000
    assert second.token == first.token
    assert second.at.ToMicroseconds() > first.at.ToMicroseconds()


async def test_what_was_never_read_is_read(bounded: Running, store: FaultyStore) -> None:
    """E6, A12: a miss takes the usual way, and is withheld where that fails."""
    assert verdicts(await bounded.lines.agent.check(asked("handbook/other"))) == [("WITHHOLD", "NOT_AVAILABLE")]
    assert "head" in store.calls
    store.broken["head"] = StoreError("lost")
    assert verdicts(await bounded.lines.agent.check(asked("handbook/third"))) == LOST
    assert verdicts(await bounded.lines.agent.check(asked("handbook/other"))) == [("WITHHOLD", "NOT_AVAILABLE")]


async def test_without_its_audit_row_nothing_is_disclosed(bounded: Running, store: FaultyStore) -> None:
    """E6, A14: from memory or not."""
    store.broken["record"] = StoreError("lost")
    assert verdicts(await bounded.lines.agent.check(asked())) == [("WITHHOLD", "AUDIT_UNAVAILABLE")]


async def test_what_was_read_of_another_database_is_used_no_more(bounded: Running) -> None:
    """E6, F5: once a read has found that the database is another one, memory of the one before allows nothing."""
    with closing(sqlite3.connect(bounded.server.config.db)) as raw, raw:
        raw.execute("UPDATE authority SET epoch = ?", ["f" * 32])
    assert verdicts(await bounded.lines.agent.check(check(moment=RETRIEVE))) == LOST
    assert verdicts(await bounded.lines.agent.check(asked())) == LOST


async def test_a_token_is_a_floor(bounded: Running, store: FaultyStore) -> None:
    """E6, F1: facts from before the state that a caller knows of are read again."""
    suspended = await bounded.lines.operator.call(index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="why"))
    assert isinstance(suspended, index_pb2.SuspendResponse)
    assert verdicts(await bounded.lines.agent.check(asked(min_token=suspended.token))) == [("WITHHOLD", "SUSPENDED")]


async def test_after_a_wait_nothing_older_is_answered(bounded: Running) -> None:
    """E6, F1: `--wait` holds for facts from memory too."""
    suspended = await bounded.lines.operator.call(index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="why"))
    assert isinstance(suspended, index_pb2.SuspendResponse)
    waited = await bounded.lines.operator.call(server_pb2.WaitForServersRequest(token=suspended.token))
    assert isinstance(waited, server_pb2.WaitForServersResponse)
    assert waited.reached
    assert verdicts(await bounded.lines.agent.check(asked())) == [("WITHHOLD", "SUSPENDED")]


async def test_how_facts_were_found_is_counted(place: Path) -> None:
    """E6: by layer: fetched, in memory once the head was read, and from memory alone."""
    repo = make_repo(place / "policy", allowing(LASTS))
    async with in_process(config_of(place, repo.path, metrics=("127.0.0.1", 0))) as running:
        await running.lines.collector.put(document())
        for request in (asked(), asked(), asked(), check(moment=RETRIEVE)):
            assert verdicts(await running.lines.agent.check(request)) == ALLOWED
        shown = (await scrape(running.server.metrics_address)).series
    found = {layer: shown["fact_reads_total", layer] for layer in ("store", "memory", "recent")}
    assert found == {"store": 1, "memory": 1, "recent": 2}


async def test_a_policy_that_does_not_allow_it_has_all_facts_read(place: Path, repo: PolicyRepo) -> None:
    """E6: the caller asks, the policy decides."""
    store = FaultyStore(open_store(str(place / "discreet.db")))
    async with in_process(config_of(place, repo.path), store=store) as running:
        await running.lines.collector.put(document())
        for _ in range(3):
            store.calls.clear()
            assert verdicts(await running.lines.agent.check(asked())) == ALLOWED
            assert "head" in store.calls


@pytest.mark.parametrize("request_", [check(), check(ledger_ids=["a"])], ids=["PUBLISH", "REPLAY"])
async def test_at_other_moments_it_is_refused(running: Running, request_: disclosure_pb2.CheckRequest) -> None:
    """E6: what is about to be shown rests on facts that were read for it."""
    request_.consistency = BOUNDED
    error = await running.lines.agent.refused(request_)
    assert (error.code().name, (error.details() or "").split(":")[0]) == ("INVALID_ARGUMENT", "consistency")


async def test_with_the_database_gone_it_answers_as_long_as_the_policy_allows(place: Path) -> None:
    """E6, A12: longer than the lease, from memory alone; then all is withheld; and with the database it is back."""
    database = PostgresServer()
    repo = make_repo(place / "policy", allowing(LASTS, UNRECORDED))
    config = config_of(place, repo.path, db=database.fresh_database(), lease_s=LEASE_S, store_timeout_s=1.0)
    try:
        async with in_process(config) as running:
            agent = running.lines.agent
            await running.lines.collector.put(document())
            assert verdicts(await agent.check(asked())) == ALLOWED
            database.kill()
            gone = time.monotonic()
            while time.monotonic() < gone + 1.5 * LEASE_S:
                assert verdicts(await agent.check(asked())) == ALLOWED
            assert verdicts(await agent.check(check(moment=RETRIEVE))) == LOST
            assert verdicts(await agent.check(asked("handbook/never-read"))) == LOST

            async def withheld() -> bool:
                return verdicts(await agent.check(asked())) == LOST

            await eventually(withheld)
            assert time.monotonic() > gone + LEASE_S
            assert verdicts(await agent.check(asked())) == LOST
            database.start()

            async def allowed() -> bool:
                return verdicts(await agent.check(asked())) == ALLOWED

            await eventually(allowed)
    finally:
        database.stop()
