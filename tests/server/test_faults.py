"""A store that is lost, slow or silent: nothing is guessed, nothing hangs, nothing is disclosed without its audit."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import grpc
import pytest

from discreet.server.ports import OutcomeUnknown, StoreError
from discreet.server.stores import open_store
from discreet.v1 import common_pb2, index_pb2
from tests.server.faults import FaultyStore
from tests.server.support import (
    CALL_S,
    POLICY,
    TENANT,
    PolicyRepo,
    Running,
    audit_rows,
    check,
    commit,
    commit_verdicts,
    config_of,
    document,
    eventually,
    in_process,
    make_repo,
    ref,
    segment,
    verdicts,
)

LOST = StoreError("lost")
MOMENTS = [common_pb2.MOMENT_RETRIEVE, common_pb2.MOMENT_PUBLISH]


@pytest.fixture
async def store(place: Path) -> FaultyStore:
    """A SQLite store that can be made to fail."""
    return FaultyStore(open_store(str(place / "discreet.db")))


@pytest.fixture
async def faulty(place: Path, repo: PolicyRepo, store: FaultyStore) -> AsyncIterator[Running]:
    """A server on it, with a document."""
    async with in_process(config_of(place, repo.path), store=store) as running:
        await running.lines.collector.put(document())
        yield running
        for event in store.held.values():
            event.set()


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("method", ["head", "fetch"])
async def test_a_lost_store_withholds_at_each_moment(
    faulty: Running, store: FaultyStore, method: str, moment: common_pb2.Moment.ValueType
) -> None:
    """A12: OK with WITHHOLD(DEPENDENCY_UNAVAILABLE) for every segment.

    No old figure is put in place of what cannot be read.
    """
    store.broken[method] = LOST
    answer = await faulty.lines.agent.check(check(segment("a"), segment("b"), moment=moment))
    assert verdicts(answer) == [("WITHHOLD", "DEPENDENCY_UNAVAILABLE")] * 2
    del store.broken[method]
    assert verdicts(await faulty.lines.agent.check(check(moment=moment))) == [("ALLOW", "NONE")]


async def test_a_warm_cache_does_not_outlive_the_store(faulty: Running, store: FaultyStore) -> None:
    """A12: what was read a moment ago is not an answer once the authority is silent."""
    assert verdicts(await faulty.lines.agent.check(check())) == [("ALLOW", "NONE")]
    store.broken["head"] = LOST
    assert verdicts(await faulty.lines.agent.check(check())) == [("WITHHOLD", "DEPENDENCY_UNAVAILABLE")]


@pytest.mark.parametrize("method", ["head", "fetch", "record", "find_commits"])
async def test_a_silent_store_is_given_up_within_the_callers_deadline(
    faulty: Running, store: FaultyStore, method: str
) -> None:
    """A12: an answer that withholds comes before the deadline does, whichever step hangs.

    The call itself would fail after its second: what the test's own process takes to look at the answer counts nothing.
    """
    store.held[method] = asyncio.Event()
    if method != "find_commits":
        answer = await faulty.lines.agent.check(check(), 1)
        assert verdicts(answer)[0][0] == "WITHHOLD"
    else:
        request = commit()
        data = await faulty.lines.agent.raw("DisclosureService/Commit", request.SerializeToString(), 1)
        assert b"DEPENDENCY_UNAVAILABLE" in data


async def test_no_audit_no_disclosure(faulty: Running, store: FaultyStore) -> None:
    """F7, AUD-07: where the row cannot be written the answer withholds, and status says how often; never silently."""
    store.broken["record"] = LOST
    assert verdicts(await faulty.lines.agent.check(check())) == [("WITHHOLD", "AUDIT_UNAVAILABLE")]
    assert commit_verdicts(await faulty.lines.agent.commit(commit())) == [("WITHHOLD", "AUDIT_UNAVAILABLE")]
    status = await faulty.lines.operator.status()
    assert any(problem.startswith("audit: 2 answers") for problem in status.problems)
    assert "the audit cannot be written" in faulty.log.getvalue()


async def test_a_locked_audit_withholds_too(running: Running) -> None:
    """AUD-07: the real thing: another program holds the database's write lock."""
    await running.lines.collector.put(document())
    with closing(sqlite3.connect(running.server.config.db, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        answer = await running.lines.agent.check(check(), 1)
        assert verdicts(answer) == [("WITHHOLD", "AUDIT_UNAVAILABLE")]
        other.execute("ROLLBACK")

    async def allows() -> bool:
        return verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]

    await eventually(allows)


async def test_a_policy_may_choose_checks_without_audit(place: Path) -> None:
    """F7: `none` is the policy's explicit choice for Check alone, and shown in status; a commit is always recorded."""
    repo = make_repo(place / "policy", {**POLICY, "discreet.yaml": POLICY["discreet.yaml"] + "audit: {checks: none}\n"})
    store = FaultyStore(open_store(str(place / "discreet.db")))
    async with in_process(config_of(place, repo.path), store=store) as running:
        await running.lines.collector.put(document())
        store.broken["record"] = LOST
        assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]
        assert commit_verdicts(await running.lines.agent.commit(commit())) == [("WITHHOLD", "AUDIT_UNAVAILABLE")]
        assert (await running.lines.operator.status()).audit_mode == "none"


@pytest.mark.parametrize("written", [False, True])
async def test_a_commit_whose_outcome_is_unknown_is_unavailable_and_safe_to_repeat(
    faulty: Running, store: FaultyStore, written: bool
) -> None:
    """B6: UNAVAILABLE says that the outcome is unknown.

    Repeated, the commit stands once, whether or not it was written.
    """
    (store.after if written else store.broken)["record"] = OutcomeUnknown("silence")
    error = await faulty.lines.agent.refused(commit())
    assert (error.code().name, "outcome is unknown" in (error.details() or "")) == ("UNAVAILABLE", True)
    store.after.clear()
    store.broken.clear()
    again = await faulty.lines.agent.commit(commit())
    kinds = {True: "KIND_REPEATED", False: "KIND_COMMITTED"}
    assert commit_verdicts(again) == [("ALLOW", "NONE")]
    assert type(again.results[0].order).Kind.Name(again.results[0].order.kind) == kinds[written]


async def test_an_index_change_that_failed_is_unavailable_and_nothing_is_written(
    faulty: Running, store: FaultyStore
) -> None:
    """Operators are told that nothing was written."""
    store.broken["change"] = LOST
    request = index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="why")
    error = await faulty.lines.operator.refused(request)
    assert (error.code().name, error.details()) == ("UNAVAILABLE", "the store does not answer; nothing was written")
    store.broken.clear()
    assert verdicts(await faulty.lines.agent.check(check())) == [("ALLOW", "NONE")]


async def test_health_and_status_follow_the_store(faulty: Running, store: FaultyStore) -> None:
    """NOT_SERVING while nothing can be allowed, SERVING again by itself; one log event each way."""
    from grpc_health.v1 import health_pb2  # type: ignore[import-untyped] # ships no types

    async def serving(wanted: int) -> bool:
        channel = faulty.lines.agent.channel
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
        answer = health_pb2.HealthCheckResponse.FromString(await call(b"", timeout=CALL_S))
        return bool(answer.status == wanted)

    store.broken["head"] = LOST
    await eventually(lambda: serving(health_pb2.HealthCheckResponse.NOT_SERVING))
    status = await faulty.lines.operator.status()
    assert (status.ready, "store: does not answer" in status.problems) == (False, True)
    store.broken.clear()
    await eventually(lambda: serving(health_pb2.HealthCheckResponse.SERVING))
    assert faulty.log.getvalue().count("store does not answer: everything is withheld") == 1


async def test_an_order_that_went_back_is_not_believed(faulty: Running, store: FaultyStore, place: Path) -> None:
    """A restored backup, a failover to a copy that lags: withheld, since what was revoked meanwhile is not in it."""
    await faulty.lines.operator.call(
        index_pb2.GrantScopeRequest(tenant=TENANT, principal_id="ana", scope="staff", reason="joined")
    )
    await faulty.lines.agent.check(check())
    older = (await store.head())._replace(seq=0, changed_seq=0)

    async def head() -> object:
        return older

    store.head = head  # type: ignore[assignment,method-assign] # the copy that lags
    assert verdicts(await faulty.lines.agent.check(check())) == [("WITHHOLD", "DEPENDENCY_UNAVAILABLE")]


async def test_a_caller_that_gave_up_stops_the_work(faulty: Running, store: FaultyStore) -> None:
    """RPC-03: once the deadline has passed nothing more is done for the call, and a cheap one is answered at once."""
    store.held["fetch"] = asyncio.Event()
    answers = [faulty.lines.agent.check(check(), 0.2) for _ in range(100)]
    found = await asyncio.gather(*answers, return_exceptions=True)
    assert len(found) == 100

    async def is_idle() -> bool:
        return faulty.server.edge.running == 0

    await eventually(is_idle, 2)
    store.held.pop("fetch").set()
    asked = time.monotonic()
    assert verdicts(await faulty.lines.agent.check(check())) == [("ALLOW", "NONE")]
    assert time.monotonic() - asked < 1


@pytest.mark.parametrize("replaced", [False, True])
async def test_a_database_file_that_was_removed_or_replaced_takes_nothing_more(
    running: Running, place: Path, replaced: bool
) -> None:
    """A12, F7: SQLite goes on in a file without a name; what was recorded there would be gone with the process."""
    await running.lines.collector.put(document())
    assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]
    for name in ("discreet.db", "discreet.db-wal", "discreet.db-shm"):
        (place / name).unlink(missing_ok=True)
    if replaced:
        (place / "discreet.db").touch()
    assert verdicts(await running.lines.agent.check(check())) == [("WITHHOLD", "DEPENDENCY_UNAVAILABLE")]
    assert commit_verdicts(await running.lines.agent.commit(commit())) == [("WITHHOLD", "DEPENDENCY_UNAVAILABLE")]
    suspend = index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="a mistake")
    assert (await running.lines.operator.refused(suspend)).code() is grpc.StatusCode.UNAVAILABLE
    status = await running.lines.operator.status()
    assert (status.ready, "store: does not answer" in status.problems) == (False, True)


async def test_a_row_that_was_written_after_all_is_not_of_the_answer_that_was_given(
    faulty: Running, store: FaultyStore, place: Path
) -> None:
    """AUD-07, F7: told WITHHOLD, a caller holds no decision id that the audit knows as ALLOW."""
    store.after["record"] = LOST
    told = await faulty.lines.agent.check(check())
    assert verdicts(told) == [("WITHHOLD", "AUDIT_UNAVAILABLE")]
    decided = {one.decision_id: one.verdict for row in audit_rows(str(place / "discreet.db")) for one in row.decisions}
    assert list(decided.values()) == [common_pb2.VERDICT_ALLOW]
    assert told.results[0].decision_id not in decided
