"""Commit over gRPC with eight callers, everything written before the answer.

Ledger, roots, audit row, link of the chain.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import grpc

from discreet.v1 import disclosure_pb2
from tests.bench import load, scenario, sidecar
from tests.bench.report import Row
from tests.postgres_server import PostgresServer

COMMIT = "/discreet.v1.DisclosureService/Commit"
CALLERS = 8
ROUNDS = 3
SECONDS = 3.0
CALLS = {1: 20_000, 8: 6_000}
"""Requests made for a run, by segments a request: more than a run can use, so that none is a repeat."""


def measure_sqlite() -> list[Row]:
    """Rows for SQLite, the embedded default."""
    return _measure("SQLite", None)


def measure_postgresql() -> list[Row]:
    """Rows for PostgreSQL, started from its wheel."""
    with postgresql() as url:
        return _measure("PostgreSQL", url)


@contextmanager
def postgresql() -> Iterator[str]:
    """The address of an empty database of a server that was started for it."""
    server = PostgresServer()
    try:
        yield server.fresh_database()
    finally:
        server.stop()


def _measure(store: str, db: str | None) -> list[Row]:
    load.generator()
    with sidecar.server(db) as own:
        sidecar.fill(own)
        if not all(result.ledger_id for result in first_answer(own).results):
            raise AssertionError("the scenario's segments are not committed; their rate would mean nothing")
        return [_shape(own, store, segments) for segments in CALLS]


def _shape(own: sidecar.Sidecar, store: str, segments: int) -> Row:
    runs = []
    for round_number in range(ROUNDS):
        calls = CALLS[segments]
        messages = load.body_file("commits", bodies(segments, calls, f"{segments}-{round_number}"))
        runs.append(
            load.run(
                own.target("agent"),
                COMMIT,
                messages,
                concurrency=CALLERS,
                pids=[own.pid],
                seconds=SECONDS,
                most=calls - CALLERS,
            )
        )
    runs.sort(key=lambda run: run.rps)
    middle = runs[len(runs) // 2]
    return Row(
        name=f"Commit on {store}, {segments} segments a call, {CALLERS} callers",
        own=f"{middle.rps:,.0f} calls/s, {middle.rps * segments:,.0f} segments/s, "
        f"p50 {middle.p50_us / 1000:.1f} ms, p99 {middle.p99_us / 1000:.1f} ms",
        note=f"middle of {ROUNDS} runs of {SECONDS:g} s, two bindings a segment, "
        f"{scenario.RULES} rules, {sum(run.errors for run in runs)} errors",
    )


def bodies(segments: int, calls: int, mark: str) -> Iterator[bytes]:
    """Commits of so many segments each, none of them a repeat."""
    for number, question in enumerate(scenario.questions(segments, calls, good=1.0)):
        check = scenario.check_request(question)
        commit = disclosure_pb2.CommitRequest(
            tenant=check.tenant,
            principal=check.principal,
            session_id="bench",
            answer_id=f"{mark}-{number}",
            segments=check.segments,
        )
        for segment in commit.segments:
            segment.digest = scenario.text_digest(segment.id)
        yield commit.SerializeToString()


def first_answer(own: sidecar.Sidecar) -> disclosure_pb2.CommitResponse:
    """One commit, answered: that the scenario is committed at all is worth a look before it is measured."""
    with grpc.insecure_channel(own.target("agent")) as channel:
        commit: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(COMMIT)
        return disclosure_pb2.CommitResponse.FromString(commit(next(bodies(1, 1, "first")), timeout=10))
