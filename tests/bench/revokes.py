"""A retention revoke while 32 callers commit: how long it takes, and how long until the first commit is refused.

A prober commits on the record that is about to be revoked, over and over. Nothing of it that began after the revoke's
answer may be allowed: that is checked for each revoke, or the figures would mean nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import grpc

from discreet.v1 import common_pb2, disclosure_pb2, index_pb2
from tests.bench import commits, load, scenario, sidecar
from tests.bench.report import Row

REVOKE = "/discreet.v1.IndexService/RevokeRetention"
CALLERS = 32
REVOKES = 60
SECONDS = 20.0
CALLS = 60_000
PROBES_BEFORE = 2
PROBES_MAX = 2_000


class Revoked(NamedTuple):
    """One revoke, in milliseconds: its own time, and from its begin to the answer of the first refused commit."""

    took: float
    refused_after: float


def measure_sqlite() -> list[Row]:
    """Rows for SQLite."""
    return _measure("SQLite", None)


def measure_postgresql() -> list[Row]:
    """Rows for PostgreSQL, started from its wheel."""
    with commits.postgresql() as url:
        return _measure("PostgreSQL", url)


def _measure(store: str, db: str | None) -> list[Row]:
    load.generator()
    with sidecar.server(db) as own, ThreadPoolExecutor(1) as beside:
        sidecar.fill(own)
        bodies = load.body_file("revokes", commits.bodies(1, CALLS, "revokes"))
        running = beside.submit(
            load.run,
            own.target("agent"),
            commits.COMMIT,
            bodies,
            concurrency=CALLERS,
            pids=[own.pid],
            seconds=SECONDS,
            most=CALLS - CALLERS,
        )
        found = _revokes(own, running.done)
        under = running.result()
    return [_row(store, found, under)]


def _revokes(own: sidecar.Sidecar, over: Callable[[], bool]) -> list[Revoked]:
    found: list[Revoked] = []
    docs = [doc for doc in scenario.docs() if doc.label in scenario.LISTED]
    with (
        grpc.insecure_channel(own.target("agent")) as agent,
        grpc.insecure_channel(own.target("operator")) as operator,
    ):
        for doc in docs[:REVOKES]:
            if over():
                break
            found.append(_revoked(agent, operator, doc))
    if not found:
        raise AssertionError("the load was over before the first revoke")
    return found


class _Probe:
    """Commits on one record again and again, until one is refused."""

    def __init__(self, channel: grpc.Channel, doc: scenario.Doc) -> None:
        self._commit: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(commits.COMMIT)
        self._doc = doc
        self.warm = threading.Event()
        self.refused_at = 0.0
        self.last_allowed_began = 0.0

    def run(self) -> None:
        """Ends with the first refusal."""
        for number in range(PROBES_MAX):
            began = time.perf_counter()
            answer = disclosure_pb2.CommitResponse.FromString(self._commit(_probe(self._doc, number), timeout=10))
            if answer.results[0].result.verdict != common_pb2.VERDICT_ALLOW:
                self.refused_at = time.perf_counter()
                return
            self.last_allowed_began = began
            if number + 1 == PROBES_BEFORE:
                self.warm.set()
        raise AssertionError(f"{PROBES_MAX} commits on a record were allowed, which was to be revoked")


def _revoked(agent: grpc.Channel, operator: grpc.Channel, doc: scenario.Doc) -> Revoked:
    probe = _Probe(agent, doc)
    request = index_pb2.RevokeRetentionRequest(
        tenant=scenario.TENANT,
        record=common_pb2.RecordRef(record_id=doc.record_id, version=scenario.VERSION),
        reason="measured",
        ticket="BENCH-1",
    )
    ask: grpc.UnaryUnaryMultiCallable[bytes, bytes] = operator.unary_unary(REVOKE)
    with ThreadPoolExecutor(1) as probing:
        done = probing.submit(probe.run)
        probe.warm.wait(30)
        began = time.perf_counter()
        ask(request.SerializeToString(), timeout=10)
        ended = time.perf_counter()
        done.result()
    if probe.last_allowed_began > ended:
        raise AssertionError("a commit that began after the revoke's answer was allowed")
    return Revoked((ended - began) * 1_000, (probe.refused_at - began) * 1_000)


def _probe(doc: scenario.Doc, number: int) -> bytes:
    request = disclosure_pb2.CommitRequest(
        tenant=scenario.TENANT,
        principal=disclosure_pb2.Principal(id=scenario.READERS[0]),
        session_id="probe",
        answer_id=f"{doc.record_id}-{number}",
    )
    segment = request.segments.add(
        id="s1", kind="answer", digest=scenario.text_digest("probe"), grounding=common_pb2.GROUNDING_BOUND
    )
    segment.bindings.add(record_id=doc.record_id, version=scenario.VERSION, digest=doc.digest)
    return request.SerializeToString()


def _row(store: str, found: Sequence[Revoked], under: load.Load) -> Row:
    took, refused = sorted(one.took for one in found), sorted(one.refused_after for one in found)
    return Row(
        name=f"a revoke on {store} while {CALLERS} callers commit",
        own=f"p50 {_at(took, 0.5):.1f} ms, p99 {_at(took, 0.99):.1f} ms; the first refused commit is answered "
        f"{_at(refused, 0.5):.1f} ms (p99 {_at(refused, 0.99):.1f} ms) after the revoke began",
        note=f"{len(found)} revokes one after the other beside {under.rps:,.0f} commits/s (p99 "
        f"{under.p99_us / 1_000:.1f} ms, {under.errors} errors); a commit that began after a revoke's answer was "
        "allowed 0 times",
    )


def _at(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))]
