"""Sockets that nobody else can reach and no second server can steal."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from discreet.server.config import TcpListen
from discreet.server.errors import ListenRefused
from discreet.server.identity.sockets import hold, private_directory, release_all
from tests.server.support import Line, PolicyRepo, Running, check, config_of, document, in_process, spawn, verdicts


async def test_sockets_lie_in_a_private_directory_and_are_private(running: Running) -> None:
    """The directory is 0700 and each socket 0600: the path is the identity."""
    paths = [Path(path) for path in running.server.listeners.sockets.values()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    assert stat.S_IMODE(paths[0].parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o711, 0o750, 0o755, 0o777])
def test_a_directory_that_others_can_enter_is_refused(place: Path, mode: int) -> None:
    """Any right of group or others is too much."""
    directory = place / "s"
    directory.mkdir()
    directory.chmod(mode)
    with pytest.raises(ListenRefused, match="others can enter it"):
        private_directory(directory)


def test_a_link_or_a_file_is_no_socket_directory(place: Path) -> None:
    """A link may lead where others can enter."""
    (place / "real").mkdir(mode=0o700)
    (place / "link").symlink_to(place / "real")
    (place / "file").write_text("")
    for name in ("link", "file"):
        with pytest.raises(ListenRefused):
            private_directory(place / name)


def test_a_path_that_is_too_long_is_refused_with_a_hint(place: Path) -> None:
    """The kernel would cut it; gRPC would say nothing useful."""
    directory = place / ("x" * 90)
    directory.mkdir(mode=0o700)
    with pytest.raises(ListenRefused, match="longer than 100 bytes"):
        hold(directory, ["agent"])


def test_what_is_no_socket_is_not_removed(place: Path) -> None:
    """A file at the path is somebody's."""
    (place / "agent.sock").write_text("precious")
    with pytest.raises(ListenRefused, match="is no socket"):
        hold(place, ["agent"])
    assert (place / "agent.sock").read_text() == "precious"


def test_all_sockets_are_held_or_none(place: Path) -> None:
    """A start that fails on the second socket leaves the first free."""
    (place / "b.sock").write_text("")
    with pytest.raises(ListenRefused):
        hold(place, ["a", "b"])
    release_all(hold(place, ["a"]))


async def test_a_second_server_is_refused_and_told_who_is_there(
    place: Path, repo: PolicyRepo, running: Running
) -> None:
    """RPC-07: the live socket stays; the second start names the process that serves it."""
    config = config_of(place, repo.path, db=str(place / "other.db"))
    with pytest.raises(ListenRefused, match=f"process id {os.getpid()} serves it"):
        async with in_process(config):
            pass
    await running.lines.collector.put(document())
    assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]


async def test_the_socket_of_a_dead_server_is_replaced(place: Path, repo: PolicyRepo) -> None:
    """A server that was killed leaves sockets and lock files; the next one takes them over."""
    first = await spawn(place, repo.path)
    await first.lines.close()
    first.process.kill()
    await first.process.wait()
    assert (place / "s" / "agent.sock").exists()
    async with in_process(config_of(place, repo.path)) as running:
        await running.lines.collector.put(document())
        assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]


async def test_a_stopped_server_leaves_no_socket(place: Path, repo: PolicyRepo) -> None:
    """What a server bound it removes."""
    async with in_process(config_of(place, repo.path)):
        assert (place / "s" / "agent.sock").exists()
    assert not list((place / "s").glob("*.sock"))


async def test_a_loopback_port_stands_for_one_identity(place: Path, repo: PolicyRepo) -> None:
    """Port 0 takes a free one, which is said.

    The caller has the rights of the identity named, with a warning in the log.
    """
    async with in_process(config_of(place, repo.path, listen=(TcpListen("agent", "127.0.0.1", 0),))) as running:
        await running.lines.collector.put(document())
        line = Line(running.server.listeners.ports["agent"])
        assert verdicts(await line.check(check())) == [("ALLOW", "NONE")]
        await line.channel.close()
        assert "no identity of its own" in running.log.getvalue()


async def test_a_port_that_is_taken_is_refused(place: Path, repo: PolicyRepo) -> None:
    """RPC-07: two servers never share a port without a word, and a failed start leaves nothing behind."""
    async with in_process(config_of(place, repo.path, listen=(TcpListen("agent", "127.0.0.1", 0),))) as running:
        port = int(running.server.listeners.ports["agent"].rpartition(":")[2])
        (place / "two").mkdir()
        second = config_of(place / "two", repo.path, listen=(TcpListen("agent", "127.0.0.1", port),))
        with pytest.raises(ListenRefused, match="cannot be bound"):
            async with in_process(second):
                pass
        assert not list((place / "two" / "s").glob("*.sock"))


def test_a_socket_file_without_a_lock_is_replaced(place: Path) -> None:
    """A stale socket alone is enough."""
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(place / "agent.sock"))
    held = hold(place, ["agent"])
    assert not (place / "agent.sock").exists()
    release_all(held)


def test_a_way_that_others_can_change_is_refused(place: Path) -> None:
    """Whoever can rename a directory above could put a server of theirs in the place of ours."""
    (place / "open").mkdir()
    (place / "open").chmod(0o777)
    with pytest.raises(ListenRefused, match="others could replace it"):
        private_directory(place / "open" / "s")
    (place / "open").chmod(0o1777)
    private_directory(place / "open" / "s")
