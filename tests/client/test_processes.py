"""What happens to a client when the server's process stands still or dies, and when its own is forked."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import grpc
import pytest

from tests.client.answers import Reply, Request, well_formed
from tests.client.asking import Surface, segments
from tests.client.processes import ROOT, agent, environment, server_process
from tests.client.scripted import SLOW, ScriptedServer


def test_a_stopped_server_withholds_within_the_deadline_and_serves_again(surface_kind: str, socket_dir: Path) -> None:
    """POL-16, A12: SIGSTOP leaves the connection open and silent; the deadline alone ends the wait."""
    socket = socket_dir / "agent.sock"
    with server_process(socket) as process:
        surface = Surface(surface_kind, f"unix:{socket}", deadline_s=10.0)
        assert surface.retrieve(segments()).results[0].allowed
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)  # until it does stand still
        for method in (surface.retrieve, surface.commit):
            started = time.monotonic()
            answer = method(segments(), deadline_s=0.4)
            assert time.monotonic() - started < 1.5
            assert answer.everything_withheld
            assert answer.error.code == "DEADLINE_EXCEEDED"
        process.send_signal(signal.SIGCONT)
        assert surface.retrieve(segments()).results[0].allowed
        assert surface.commit(segments()).results[0].allowed
        surface.close()


def test_a_server_that_dies_withholds_and_its_successor_is_found(surface_kind: str, socket_dir: Path) -> None:
    """POL-16: between two servers everything is withheld; the client needs no restart."""
    socket = socket_dir / "agent.sock"
    surface = Surface(surface_kind, f"unix:{socket}", deadline_s=0.5)
    with server_process(socket):
        assert surface.retrieve(segments(), deadline_s=10.0).results[0].allowed
    answer = surface.retrieve(segments())
    assert answer.everything_withheld
    assert answer.error is not None
    with server_process(socket):
        ends_at = time.monotonic() + 10
        while surface.retrieve(segments()).everything_withheld:
            assert time.monotonic() < ends_at
    surface.close()


@pytest.mark.parametrize("mode", ["preloaded", "threads", "preloaded-asyncio", "closed-asyncio"])
def test_a_forked_process_opens_a_line_of_its_own(mode: str, socket_dir: Path) -> None:
    """RPC-05: a client made before a fork, or used and idle, answers in child and parent."""
    socket = socket_dir / "agent.sock"
    with server_process(socket):
        said = agent(mode, f"unix:{socket}")
    first = [] if mode.startswith("preloaded") else ["parent allowed"]
    assert said == [*first, "child allowed", "child allowed", "parent allowed"]


@pytest.mark.parametrize("mode", ["busy", "asyncio"])
def test_a_process_forked_in_the_middle_of_calls_withholds_and_leaves_its_parent_alone(
    mode: str, socket_dir: Path
) -> None:
    """RPC-05, POL-16: there gRPC hangs, crashes and disturbs the parent, so the child does not touch it."""
    socket = socket_dir / "agent.sock"
    with server_process(socket):
        said = agent(mode, f"unix:{socket}")
    assert said == ["parent allowed", "child withheld FORKED", "child withheld FORKED", "parent allowed"]


@pytest.mark.parametrize("mode", ["under-way", "under-way-asyncio"])
def test_a_parent_goes_on_over_a_connection_that_no_child_holds(mode: str) -> None:
    """RPC-05: the connection of a call under way is left to that call, and closed with its end."""
    server = ScriptedServer("127.0.0.1:0")
    peers: list[str] = []
    waits, second = threading.Event(), threading.Event()

    def script(request: Request, context: grpc.ServicerContext) -> Reply | bytes:
        peers.append(context.peer())
        if request.segments[0].id == SLOW:
            waits.set()
            second.wait(20)
        elif len(peers) == 2:
            second.set()
        return well_formed(request)

    server.script = script
    command = [sys.executable, "-m", "tests.client.processes", mode, f"127.0.0.1:{server.port}"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert waits.wait(20)
        said, _ = process.communicate("fork\n", timeout=20)
    server.stop()
    assert said.splitlines() == ["parent allowed", "parent allowed", "open channels 1"]
    slow, after, last = peers
    assert slow != after == last


def test_a_forked_process_in_which_grpc_is_stuck_withholds(socket_dir: Path) -> None:
    """RPC-05, POL-16: with gRPC's fork support switched off a used client hangs in the child; it withholds instead."""
    socket = socket_dir / "agent.sock"
    with server_process(socket):
        started = time.monotonic()
        said = agent("threads", f"unix:{socket}", GRPC_ENABLE_FORK_SUPPORT="0")
    assert said == ["parent allowed", "child withheld FORKED", "child withheld FORKED", "parent allowed"]
    assert time.monotonic() - started < 12
