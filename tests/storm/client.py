"""A process with several clients of a storm. Run as `python -m tests.storm.client`, its task as JSON on stdin.

It asks until its stdin ends, so it never outlives whoever started it. Each answer goes to a file; lines on stdout say
how many segments were decided so far.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

import grpc

from discreet.v1 import disclosure_pb2
from tests.server.messages import check, commit
from tests.storm import sets
from tests.storm.answers import Answer

CALL_S = 30.0
WINDOW = 4
"""Frames under way on a stream."""
COMMITTED = 1
"""Repeats of the pattern in a commit: each writes to the ledger."""
TELL_EVERY = 5
REFUSED_PAUSE_S = 0.02
SERVICE = "/discreet.v1.DisclosureService/"
OWN_CONNECTION = [("grpc.use_local_subchannel_pool", 1)]

Results = Sequence[disclosure_pb2.SegmentResult]
Asked = disclosure_pb2.CheckResponse | disclosure_pb2.CommitResponse


@dataclass(frozen=True, slots=True)
class Task:
    """What a process does: one client a way of asking and server."""

    name: str
    targets: dict[str, str]
    """Where the agent of each server listens."""
    ways: list[str]
    repeats: int
    """Of the pattern, in each check."""
    file: str

    def text(self) -> str:
        """The task as JSON."""
        return json.dumps(asdict(self))


class Client:
    """One connection to one server."""

    def __init__(self, name: str, server: str, target: str, repeats: int, told: Callable[[Answer], None]) -> None:
        self._name = name
        self._server = server
        self._repeats = repeats
        self._told = told
        self._channel = grpc.aio.insecure_channel(target, options=OWN_CONNECTION)
        self._began = 0

    async def batches(self, over: asyncio.Event) -> None:
        """Checks, one after the other."""
        ask: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(f"{SERVICE}Check")
        data = check(*sets.segments(self._repeats)).SerializeToString()
        while not over.is_set():
            await self._one(ask, data, disclosure_pb2.CheckResponse)

    async def commits(self, over: asyncio.Event) -> None:
        """Commits of new segments, one after the other."""
        ask: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(f"{SERVICE}Commit")
        request, number = commit(*sets.segments(COMMITTED)), 0
        while not over.is_set():
            number += 1
            request.session_id, request.answer_id = self._name, f"a{number}"
            await self._one(ask, request.SerializeToString(), disclosure_pb2.CommitResponse)

    async def _one(self, ask: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes], data: bytes, kind: type[Asked]) -> None:
        began = time.monotonic_ns()
        try:
            answer = kind.FromString(await ask(data, timeout=CALL_S))
        except grpc.aio.AioRpcError as error:
            await self._failed(began, error.code().name)
            return
        self._answered(began, answer, ordered=True)

    async def stream(self, over: asyncio.Event) -> None:
        """Frames of a stream, several under way; a stream that ends is opened again."""
        data = check(*sets.segments(self._repeats))
        while not over.is_set():
            began = time.monotonic_ns()
            try:
                await self._frames(over, data)
            except grpc.aio.AioRpcError as error:
                await self._failed(began, error.code().name)

    async def _frames(self, over: asyncio.Event, data: disclosure_pb2.CheckRequest) -> None:
        opened: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = self._channel.stream_stream(f"{SERVICE}CheckStream")
        call, under_way, frame_id = opened(), dict[int, int](), 0
        try:
            while under_way or not over.is_set():
                while len(under_way) < WINDOW and not over.is_set():
                    frame_id += 1
                    under_way[frame_id] = time.monotonic_ns()
                    frame = disclosure_pb2.CheckStreamRequest(frame_id=frame_id, check=data)
                    await call.write(frame.SerializeToString())
                async with asyncio.timeout(CALL_S):
                    read = await call.read()
                if not isinstance(read, bytes):
                    return
                answer = disclosure_pb2.CheckStreamResponse.FromString(read)
                began = under_way.pop(answer.frame_id)
                if answer.HasField("error"):
                    await self._failed(began, f"frame {answer.error.code}")
                else:
                    self._answered(began, answer.response, ordered=False)
        finally:
            call.cancel()

    def _answered(self, began: int, answer: Asked, *, ordered: bool) -> None:
        ended = time.monotonic_ns()
        if isinstance(answer, disclosure_pb2.CommitResponse):
            results: Results = [one.result for one in answer.results]
        else:
            results = answer.results
        found = sets.judged([sets.said_of(one) for one in results])
        wrong = found.wrong
        if answer.instance != self._server:
            wrong += (f"answered by {answer.instance}",)
        policy = answer.policy
        self._told(
            Answer(
                self._name, self._server, began, ended, policy.number, policy.commit, policy.digest, found.shown or 0,
                len(results), found.decided, "", wrong, ordered,
            )
        )  # fmt: skip

    async def _failed(self, began: int, status: str) -> None:
        now = time.monotonic_ns()
        self._told(Answer(self._name, self._server, began, now, 0, "", "", 0, 0, 0, status, (), ordered=False))
        await asyncio.sleep(REFUSED_PAUSE_S)  # a server that is gone refuses at once

    async def close(self) -> None:
        """Closes the connection."""
        await self._channel.close()


async def work(task: Task, file: TextIO) -> None:
    """Runs the clients, side by side, until stdin ends; their answers go to the file."""
    over, answers, decided = asyncio.Event(), 0, 0

    def told(answer: Answer) -> None:
        nonlocal answers, decided
        file.write(answer.line())
        answers, decided = answers + 1, decided + answer.decided
        if answers % TELL_EVERY == 0:
            print(decided, flush=True)

    clients: list[Client] = []
    async with asyncio.TaskGroup() as group:
        for server, target in task.targets.items():
            for way in task.ways:
                client = Client(f"{task.name}-{server}-{way}", server, target, task.repeats, told)
                clients.append(client)
                ways = {"batches": client.batches, "commits": client.commits, "stream": client.stream}
                group.create_task(ways[way](over))
        await asyncio.to_thread(_until_stdin_ends)
        over.set()
    for client in clients:
        await client.close()


def _until_stdin_ends() -> None:
    with suppress(OSError):
        while sys.stdin.readline():
            pass


def main() -> None:
    """Does the task of stdin."""
    task = Task(**json.loads(sys.stdin.readline()))
    with Path(task.file).open("w") as file:
        asyncio.run(work(task, file))


if __name__ == "__main__":
    main()
