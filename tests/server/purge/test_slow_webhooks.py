"""Webhooks that answer slowly, or never: they end in time, and nothing else of the server waits for them."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from discreet.server.servicers.purge.webhook import Poster, PostFailed
from discreet.v1 import index_pb2
from discreet.v1 import purge_pb2 as pb
from tests.server.purge.orders import WAIT_S
from tests.server.purge.test_webhooks import self_made
from tests.server.support import (
    TENANT,
    PolicyRepo,
    binding,
    check,
    commit,
    document,
    eventually,
    ref,
    segment,
    spawn,
    verdicts,
)

HOOKS = 12
LARGE = 64 * 1024
"""From here on a Check leaves the event loop."""
GRACE_S = 2.0
HEADERS = b"HTTP/1.1 200 OK\r\nX: "
BODY = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"


class Tarpit:
    """Takes lines, says the beginning of an answer, and then one byte at a time for as long as anybody listens."""

    def __init__(self, begin: bytes, between_s: float = 0.05, tls: ssl.SSLContext | None = None) -> None:
        self._begin = begin
        self._between_s = between_s
        self._tls = tls
        self._closed = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.taken = 0
        self.left = threading.Semaphore(0)
        """One for each line that the other side ended."""
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        while True:
            try:
                line, _ = self._listening.accept()
            except OSError:
                return
            self.taken += 1
            threading.Thread(target=self._trickle, args=(line,), daemon=True).start()

    def _trickle(self, line: socket.socket) -> None:
        try:
            with closing(line if self._tls is None else self._tls.wrap_socket(line, server_side=True)) as heard:
                heard.recv(65_536)
                heard.sendall(self._begin)
                while not self._closed.wait(self._between_s):
                    heard.sendall(b" ")
        except OSError:
            self.left.release()

    def close(self) -> None:
        """Ends all lines."""
        self._closed.set()
        self._listening.close()


@contextmanager
def tarpit(begin: bytes = HEADERS, tls: ssl.SSLContext | None = None) -> Iterator[Tarpit]:
    """One, until the block ends."""
    made = Tarpit(begin, tls=tls)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("begin", [b"", HEADERS, BODY], ids=["status", "headers", "body"])
async def test_a_post_ends_in_time_however_slowly_the_answer_comes(begin: bytes) -> None:
    """RET-01: one byte at a time, of the status, of the headers, or of the body: cut, and the line is let go."""
    with tarpit(begin) as pit:
        with pytest.raises(PostFailed, match=r"the answer took longer than 0\.3 s"):
            await Poster(whole_s=0.3).post(f"http://127.0.0.1:{pit.port}/", b"secret", pb.PurgePost())
        assert await asyncio.to_thread(pit.left.acquire, timeout=WAIT_S)


async def test_a_handshake_that_does_not_end_is_cut() -> None:
    """RET-01: who takes the line and does not speak TLS in time."""
    with tarpit() as pit, pytest.raises(PostFailed, match=r"took longer|cannot be trusted"):
        await Poster(whole_s=0.3).post(f"https://127.0.0.1:{pit.port}/", b"secret", pb.PurgePost())


async def test_a_trusted_line_is_cut_in_time_as_well(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F3: over TLS, with a certificate that this machine trusts."""
    from discreet.server.servicers.purge import webhook

    tls = self_made(place)
    monkeypatch.setenv("SSL_CERT_FILE", str(place / "cert"))
    webhook._trusted.cache_clear()
    try:
        with tarpit(tls=tls) as pit, pytest.raises(PostFailed, match="took longer"):
            await Poster(whole_s=0.5).post(f"https://127.0.0.1:{pit.port}/", b"secret", pb.PurgePost())
    finally:
        webhook._trusted.cache_clear()


async def test_a_post_that_is_given_up_lets_its_line_go() -> None:
    """RPC-09: a server that stops cuts what it posts, and waits for nobody's answer."""
    with tarpit() as pit:
        post = asyncio.create_task(Poster().post(f"http://127.0.0.1:{pit.port}/", b"secret", pb.PurgePost()))

        async def taken() -> bool:
            return bool(pit.taken)

        await eventually(taken, WAIT_S)
        post.cancel()
        with pytest.raises(asyncio.CancelledError):
            await post
        assert await asyncio.to_thread(pit.left.acquire, timeout=WAIT_S)


async def test_slow_webhooks_stop_neither_checks_nor_the_server(place: Path, repo: PolicyRepo) -> None:
    """RPC-09, RET-01: many holders that trickle their headers; large Checks are answered, and SIGTERM ends it soon."""
    with tarpit() as pit:
        server = await spawn(place, repo.path, grace_s=GRACE_S)
        documents = [document(f"handbook/d{number}") for number in range(40)]
        await server.lines.collector.put(document(), *documents)
        await server.lines.agent.commit(commit())
        for number in range(HOOKS):
            url = f"http://127.0.0.1:{pit.port}/"
            kind = pb.HOLDER_KIND_SEGMENT_STORE
            asked = pb.RegisterHolderRequest(tenant=TENANT, holder=f"h{number}", kind=kind, webhook_url=url)
            await server.lines.operator.call(asked)
        revoke = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="asked to", ticket="T-1")
        await server.lines.operator.call(revoke)

        async def posting() -> bool:
            return pit.taken >= 4

        await eventually(posting, WAIT_S)
        rests = [binding(f"handbook/d{number}") for number in range(20)]
        large = check(*(segment(f"s{number}", *rests) for number in range(60)))
        assert len(large.SerializeToString()) > LARGE
        for _ in range(HOOKS):
            assert set(verdicts(await server.lines.agent.check(large, WAIT_S))) == {("ALLOW", "NONE")}
        began = asyncio.get_running_loop().time()
        assert await server.terminate() == 0
        assert asyncio.get_running_loop().time() - began < GRACE_S + 8, "it waited for a webhook"
