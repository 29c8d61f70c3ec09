"""Check over gRPC against Cerbos.

The same questions, answers compared one by one, then interleaved rounds under load.
"""

from __future__ import annotations

from statistics import median

import grpc

from discreet.v1 import common_pb2, disclosure_pb2
from tests.bench import cerbos, load, scenario, sidecar
from tests.bench.report import Row

ROUNDS = 5
SHAPES = ((1, 1), (1, 32), (8, 32), (50, 32))
"""Segments a request, concurrency."""


def measure(rounds: int = ROUNDS) -> list[Row]:
    """One row a shape: decisions a second and latencies of both, and their ratios. Raises Missing."""
    load.generator()
    with cerbos.server() as (peer, peer_pid), sidecar.server() as own:
        sidecar.fill(own)
        return [_shape(own, peer, peer_pid, n, concurrency, rounds) for n, concurrency in SHAPES]


def _shape(own: sidecar.Sidecar, peer: str, peer_pid: int, segments: int, concurrency: int, rounds: int) -> Row:
    asked = scenario.questions(segments, 64 if segments < 50 else 16)
    ours = [scenario.check_request(question).SerializeToString() for question in asked]
    theirs = [cerbos.request(question) for question in asked]
    _compare(own.target("agent"), peer, asked, ours, theirs)
    own_bodies, peer_bodies = load.body_file(f"own-{segments}", ours), load.body_file(f"peer-{segments}", theirs)
    mine: list[load.Load] = []
    other: list[load.Load] = []
    for _ in range(rounds):
        other.append(load.run(peer, cerbos.METHOD, peer_bodies, concurrency=concurrency, pids=[peer_pid]))
        mine.append(load.run(own.target("agent"), sidecar.CHECK, own_bodies, concurrency=concurrency, pids=[own.pid]))
    errors = sum(run.errors for run in (*mine, *other))
    rates = [a.rps / b.rps for a, b in zip(mine, other, strict=True)]
    return Row(
        name=f"Check, {segments} segments, concurrency {concurrency}, against Cerbos",
        own=f"{median(r.rps for r in mine) * segments:,.0f} decisions/s, p50 {median(r.p50_us for r in mine):,.0f} us, "
        f"p99 {median(r.p99_us for r in mine):,.0f} us",
        peer=f"{median(r.rps for r in other) * segments:,.0f} decisions/s, "
        f"p50 {median(r.p50_us for r in other):,.0f} us, p99 {median(r.p99_us for r in other):,.0f} us",
        ratio=f"rate {median(rates):.2f} ({min(rates):.2f} to {max(rates):.2f}), "
        f"p50 {median(a.p50_us / b.p50_us for a, b in zip(mine, other, strict=True)):.2f}, "
        f"p99 {median(a.p99_us / b.p99_us for a, b in zip(mine, other, strict=True)):.2f}",
        note=f"{rounds} interleaved rounds; {len(asked)} questions compared; {errors} errors",
    )


def _compare(target: str, peer: str, asked: list[scenario.Question], ours: list[bytes], theirs: list[bytes]) -> None:
    """Raises AssertionError where an answer differs from the right one, on either side."""
    with grpc.insecure_channel(target) as channel, grpc.insecure_channel(peer) as other:
        check: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(sidecar.CHECK)
        resources: grpc.UnaryUnaryMultiCallable[bytes, bytes] = other.unary_unary(cerbos.METHOD)
        for question, own_body, peer_body in zip(asked, ours, theirs, strict=True):
            reply = disclosure_pb2.CheckResponse.FromString(check(own_body, timeout=10))
            own = [result.verdict == common_pb2.VERDICT_ALLOW for result in reply.results]
            if tuple(own) != question.right or cerbos.allowed(resources(peer_body, timeout=10)) != own:
                raise AssertionError("the engines do not agree on a question; their rates cannot be compared")
