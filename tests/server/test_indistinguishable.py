"""Denials that look alike to the reader: the same bytes but for random ids, the same path, the same time."""

from __future__ import annotations

import math
import time
import uuid

from google.protobuf.message import Message

from discreet.v1 import common_pb2, disclosure_pb2, index_pb2
from tests.server.support import TENANT, Running, binding, check, commit, document, segment

CALLS = 2_000
EVENED = 1_000
"""Calls where answers leave at whole multiples of a time: as much as 2,000 others tell, since they scatter less."""
ROUNDS = 3
P_MIN = 0.01


def asked(record_id: str) -> disclosure_pb2.CheckRequest:
    """A check of one binding."""
    return check(segment("s1", binding(record_id)), moment=common_pb2.MOMENT_RETRIEVE)


def told(response: disclosure_pb2.CheckResponse) -> Message:
    """What the reader is told, without what is random or names what was asked for."""
    same = disclosure_pb2.CheckResponse()
    same.CopyFrom(response)
    same.request_id = same.token = same.results[0].decision_id = ""
    same.results[0].output.gap.record.record_id = ""
    return same


async def test_unknown_denied_and_expired_are_one_text(running: Running) -> None:
    """F11: no such document, not for you, and an unknown version of either: one answer, field by field."""
    await running.lines.collector.put(document("handbook/staff", scopes=["staff"]))
    requests = [asked("handbook/staff"), asked("handbook/nowhere")]
    other_version = asked("handbook/staff")
    other_version.segments[0].bindings[0].version = "9"
    answers = [await running.lines.agent.check(one) for one in (*requests, other_version)]
    assert told(answers[0]) == told(answers[1])
    first, other = told(answers[0]), told(answers[2])
    assert isinstance(first, disclosure_pb2.CheckResponse)
    assert isinstance(other, disclosure_pb2.CheckResponse)
    other.results[0].output.gap.record.version = first.results[0].output.gap.record.version
    assert first == other


async def test_their_times_cannot_be_told_apart(running: Running) -> None:
    """F11: over 2,000 interleaved calls the latencies of "unknown" and "denied" are of one distribution.

    Fails only if three rounds in a row give p below 0.01.
    """
    await running.lines.collector.put(document("handbook/staff", scopes=["staff"]))
    await look_alike(running, asked("handbook/staff"), asked("handbook/nowher"))


async def test_another_readers_segment_takes_as_long_as_one_that_never_was(running: Running) -> None:
    """F11, DSC-09: as a parent and by its ledger id, to whoever may not know of what it rests on."""
    staff = document("handbook/staff", scopes=["staff"])
    await running.lines.collector.put(staff)
    scope = index_pb2.GrantScopeRequest(tenant=TENANT, principal_id="ana", scope="staff", reason="x")
    await running.lines.operator.call(scope)
    made = await running.lines.agent.commit(commit(segment("s1", binding("handbook/staff"))))
    there, nowhere = made.results[0].ledger_id, str(uuid.uuid4())
    answers = [await running.lines.agent.check(draft(parent)) for parent in (there, nowhere)]
    assert told(answers[0]) == told(answers[1])
    await look_alike(running, draft(there), draft(nowhere), EVENED)
    replay = [check(ledger_ids=[one], principal="bo") for one in (there, nowhere)]
    await look_alike(running, replay[0], replay[1], EVENED)


def draft(parent: str) -> disclosure_pb2.CheckRequest:
    """A check of bo's of something made from one segment."""
    made = segment("s1", parents=[parent])
    made.ClearField("bindings")
    return check(made, principal="bo")


async def look_alike(
    running: Running, one: disclosure_pb2.CheckRequest, other: disclosure_pb2.CheckRequest, calls: int = CALLS
) -> None:
    """Asserts that the times of two questions are of one distribution, in one of three rounds."""
    for request in (one, other) * 20:
        await running.lines.agent.check(request)
    found: list[float] = []
    while len(found) < ROUNDS and (not found or found[-1] < P_MIN):
        found.append(await one_round(running, one, other, calls))
    assert found[-1] >= P_MIN, found


async def one_round(
    running: Running, one: disclosure_pb2.CheckRequest, other: disclosure_pb2.CheckRequest, calls: int
) -> float:
    """The p value of a round, its calls interleaved and each pair in alternating order."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(calls // 2):
        pair = ((0, one), (1, other)) if number % 2 else ((1, other), (0, one))
        for place, request in pair:
            began = time.perf_counter()
            await running.lines.agent.check(request)
            times[place].append(time.perf_counter() - began)
    return rank_sum_p(*times)


def rank_sum_p(xs: list[float], ys: list[float]) -> float:
    """The two-sided p value of the Wilcoxon rank-sum test, by its normal approximation."""
    ranked = sorted([(value, 0) for value in xs] + [(value, 1) for value in ys])
    rank_sum = sum(rank for rank, (_, group) in enumerate(ranked, 1) if group == 0)
    n, m = len(xs), len(ys)
    mean, deviation = n * (n + m + 1) / 2, math.sqrt(n * m * (n + m + 1) / 12)
    return math.erfc(abs(rank_sum - mean) / deviation / math.sqrt(2))


def test_the_test_itself_tells_different_times_apart() -> None:
    """A shift of a tenth of the spread is seen; none is not."""
    same = [math.sin(i) for i in range(1_000)]
    assert rank_sum_p(same, [math.sin(i + 0.5) for i in range(1_000)]) > P_MIN
    assert rank_sum_p(same, [value + 0.2 for value in same]) < P_MIN
