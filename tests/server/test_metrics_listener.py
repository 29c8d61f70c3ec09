"""How metrics are served: where, to whom, and what becomes of those who ask for something else or for nothing."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path

import pytest

from discreet.server.config import load_config, parse_metrics
from discreet.server.errors import ConfigRefused, ListenRefused
from discreet.server.metrics.exposing import Exposing
from discreet.server.wire.http import CONNECTIONS_MAX, HEAD_BYTES_MAX
from tests.server.cli.command import discreet
from tests.server.scraping import request, scrape
from tests.server.support import PolicyRepo, config_of, in_process, spawn


async def text() -> bytes:
    """What there is to tell."""
    return b"told 1\n"


async def exposing() -> tuple[Exposing, str]:
    """A listener on a free port, and where it is."""
    listener = Exposing(text)
    return listener, await listener.start("127.0.0.1", 0)


async def test_only_metrics_are_served() -> None:
    """Another path is 404, another method 405, HEAD has no body; nothing is changed by asking."""
    listener, address = await exposing()
    asked = {
        b"GET /metrics HTTP/1.1\r\n\r\n": b"HTTP/1.1 200 OK\r\n",
        b"GET /metrics?x=1 HTTP/1.0\r\nA: b\r\n\r\n": b"HTTP/1.1 200 OK\r\n",
        b"GET / HTTP/1.1\r\n\r\n": b"HTTP/1.1 404 ",
        b"GET /metrics/../etc HTTP/1.1\r\n\r\n": b"HTTP/1.1 404 ",
        b"POST /metrics HTTP/1.1\r\n\r\n": b"HTTP/1.1 405 ",
        b"\xff\xfe\r\n\r\n": b"HTTP/1.1 404 ",
    }
    for data, begins in asked.items():
        assert (await request(address, data)).startswith(begins), data
    head = await request(address, b"HEAD /metrics HTTP/1.1\r\n\r\n")
    assert b"Content-Length: 7\r\n" in head
    assert head.endswith(b"\r\n\r\n")
    await listener.stop()


async def test_a_request_without_end_is_dropped_at_its_bound() -> None:
    """Neither an endless head nor half a request is answered, and the next one is."""
    listener, address = await exposing()
    assert await request(address, b"GET /metrics HTTP/1.1\r\n" + b"a" * 2 * HEAD_BYTES_MAX) == b""
    assert (await request(address, b"GET /metrics HTTP/1.1\r\n\r\n")).endswith(b"told 1\n")
    await listener.stop()


async def test_silent_connections_are_bounded() -> None:
    """So many may be open and silent; one more is closed at once; all of them are when the server stops."""
    listener, address = await exposing()
    host, _, port = address.rpartition(":")
    silent = [await asyncio.open_connection(host, int(port)) for _ in range(CONNECTIONS_MAX)]
    assert await request(address, b"GET /metrics HTTP/1.1\r\n\r\n") == b""
    await listener.stop()
    for reader, writer in silent:
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def test_a_free_port_is_told_in_the_ready_line(place: Path, repo: PolicyRepo) -> None:
    """Port 0 takes one that is free; without the option the line says that there is none."""
    told = await spawn(place, repo.path, metrics=["127.0.0.1", 0])
    address = str(told.ready["metrics"])
    assert (await scrape(address)).series["serving",] == 1
    assert await told.terminate() == 0
    with pytest.raises(OSError, match=r"refused|Connect"):
        await request(address, b"")
    silent = await spawn(place, repo.path)
    assert silent.ready["metrics"] == ""
    assert await silent.terminate() == 0


async def test_a_port_that_is_taken_refuses_the_start(place: Path, repo: PolicyRepo) -> None:
    """The error names the address, and the sockets are free again."""
    with contextlib.closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ListenRefused, match=f"metrics: 127.0.0.1:{port}"):
            async with in_process(config_of(place, repo.path, metrics=("127.0.0.1", port))):
                pass
    async with in_process(config_of(place, repo.path, metrics=("127.0.0.1", port))) as running:
        assert running.server.metrics_address == f"127.0.0.1:{port}"


@pytest.mark.parametrize("given", ["0.0.0.0:9464", "10.0.0.1:0", "[::]:0", "example.org:80", ":9464", "9464", ""])
def test_only_loopback_is_served_unless_that_is_meant(given: str) -> None:
    """Whoever reaches the port can read it, so it takes a second option to open it."""
    with pytest.raises(ConfigRefused, match=r"metrics: "):
        parse_metrics(given, public=False)


@pytest.mark.parametrize("given", ["0.0.0.0:x", "0.0.0.0:65536", "0.0.0.0:-1", "9464"])
def test_an_address_without_a_port_is_refused(given: str) -> None:
    """Public or not."""
    with pytest.raises(ConfigRefused, match=r"metrics: "):
        parse_metrics(given, public=True)


def test_the_file_and_the_options_say_the_same(place: Path) -> None:
    """`metrics` and `metrics-public` are keys of the file and options of `serve`."""
    file = place / "discreet-server.yaml"
    file.write_text('policy: /p\nmetrics: "0.0.0.0:9464"\nmetrics-public: true\n')
    assert load_config(file, {}).metrics == ("0.0.0.0", 9464)
    file.write_text('policy: /p\nmetrics: "0.0.0.0:9464"\n')
    with pytest.raises(ConfigRefused, match="--metrics-public"):
        load_config(file, {})
    assert load_config(None, {"policy": "/p", "metrics": parse_metrics("localhost:0", public=False)}).metrics == (
        "127.0.0.1",
        0,
    )
    ended = discreet("serve", "--policy", str(place), "--metrics", "0.0.0.0:9464")
    assert ended.code == 2
    assert "--metrics-public" in ended.err
