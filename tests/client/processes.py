"""Programs that tests start, stop and let fork: a scripted server, and agents that fork under a client."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc

from discreet.client import AsyncClient, Client, Segment
from discreet.client.forking import in_use
from tests.client.asking import PRINCIPAL, SESSION, segments
from tests.client.scripted import SLOW

_SLOWLY = [Segment(SLOW, bindings=segments(1)[0].bindings)]
ROOT = Path(__file__).parents[2]


@contextmanager
def server_process(socket: Path) -> Iterator[subprocess.Popen[str]]:
    """A scripted server in a process of its own."""
    command = [sys.executable, "-m", "tests.client.scripted", f"unix:{socket}"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def environment(**more: str) -> dict[str, str]:
    """This process's environment, with the same import path."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **more}


def agent(mode: str, target: str, **more: str) -> list[str]:
    """What an agent program printed, line by line; it may take 30 seconds."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.client.processes", mode, target],
        cwd=ROOT,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return ran.stdout.splitlines()


def _say(who: str, client: Client | AsyncClient, deadline_s: float = 2.0) -> None:
    asked = client.retrieve(segments(1), PRINCIPAL, SESSION, deadline_s=deadline_s)
    answer = asked if not asyncio.iscoroutine(asked) else asyncio.run(asked)
    result = answer.results[0]
    print(who, "allowed" if result.allowed else f"withheld {answer.error and answer.error.code}", flush=True)


def _fork_under_way(target: str) -> None:
    """A fork while a slow call waits; then a second call, the end of the first, a third, and what is left open."""
    client = Client(target)
    slow = threading.Thread(target=_ask_slowly, args=(client,))
    slow.start()
    while not in_use():
        threading.Event().wait(0.001)
    sys.stdin.readline()
    _fork(iter(()))
    _say("parent", client)
    slow.join()
    _say("parent", client)
    _say_channels(grpc.Channel)


async def _fork_under_way_in_a_loop(target: str) -> None:
    """The same in one event loop."""
    client = AsyncClient(target)
    slow = asyncio.create_task(client.retrieve(_SLOWLY, PRINCIPAL, SESSION, deadline_s=10.0))
    await asyncio.to_thread(sys.stdin.readline)
    _fork(iter(()))
    for waits_for in (None, slow):
        if waits_for is not None:
            await waits_for
        answer = await client.retrieve(segments(1), PRINCIPAL, SESSION, deadline_s=10.0)
        print("parent", "allowed" if answer.results[0].allowed else "withheld", flush=True)
    _say_channels(grpc.aio.Channel)


def _say_channels(kind: type) -> None:
    gc.collect()
    print("open channels", sum(isinstance(found, kind) for found in gc.get_objects()), flush=True)


def _fork(in_child: Iterator[tuple[str, Client | AsyncClient]]) -> None:
    """Runs the questions in a forked child, and waits for it."""
    pid = os.fork()
    if pid == 0:
        for who, client in in_child:
            _say(who, client)
        os._exit(0)
    os.waitpid(pid, 0)


def _main(mode: str, target: str) -> None:
    if mode == "under-way":
        _fork_under_way(target)
        os._exit(0)
    if mode == "under-way-asyncio":
        asyncio.run(_fork_under_way_in_a_loop(target))
        os._exit(0)
    client: Client | AsyncClient = AsyncClient(target) if mode.endswith("asyncio") else Client(target)
    if mode == "closed-asyncio":
        before = AsyncClient(target)
        asyncio.run(_used_and_closed(before))
    elif not mode.startswith("preloaded"):
        _say("parent", client)
    if mode == "busy":
        threading.Thread(target=_ask_slowly, args=(client,), daemon=True).start()
        while not in_use():
            threading.Event().wait(0.001)
    _fork(iter([("child", client), ("child", client)]))
    _say("parent", client)
    os._exit(0)


async def _used_and_closed(client: AsyncClient) -> None:
    answer = await client.retrieve(segments(1), PRINCIPAL, SESSION)
    print("parent", "allowed" if answer.results[0].allowed else "withheld", flush=True)
    await client.close()


def _ask_slowly(client: Client | AsyncClient) -> None:
    client.retrieve(_SLOWLY, PRINCIPAL, SESSION, deadline_s=10.0)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2])
