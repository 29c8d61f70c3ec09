"""One post to a holder's webhook: signed, bounded in size and time, and read without trust. Knows no store.

The address, the secret and what is answered are written to no log and no error: a failure is told by its kind.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import hmac
import http.client
import socket
import ssl
import threading
import time
from typing import Final
from urllib.parse import urlsplit

from google.protobuf import json_format

from discreet.policy.codec import Malformed
from discreet.server.servicers.purge.messages import acks_of
from discreet.server.servicers.purge.taking import Ack
from discreet.v1 import purge_pb2 as pb

CONNECT_S: Final = 5.0
READ_S: Final = 5.0
WHOLE_S: Final = 10.0
"""How long a post may take altogether, from looking up the name on, however slowly the answer trickles in."""
RESPONSE_BYTES_MAX: Final = 256 * 1024
SIGNATURE: Final = "Discreet-Signature"


class PostFailed(Exception):
    """The post did not arrive, or what came back is no answer; says of what kind the failure is."""


def signed(secret: bytes, body: bytes, at: int) -> str:
    """The signature's header for a body that is posted `at` seconds since 1970."""
    mac = hmac.new(secret, b"%d." % at + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={mac}"


def body_of(post: pb.PurgePost) -> bytes:
    """The body that is posted and signed."""
    text = json_format.MessageToJson(post, preserving_proto_field_name=True, indent=None)
    return text.encode()


class Poster:
    """Posts from threads of its own. No redirects, no proxies of the environment, no cookies; certificates are checked.

    A thread is a post's alone, and no other work of the server waits for it; who calls bounds how many there are. They
    are daemons: one that waits for the name service cannot be ended from here, and must not keep the process.
    """

    def __init__(self, whole_s: float = WHOLE_S) -> None:
        self._whole_s = whole_s

    async def post(self, url: str, secret: bytes, post: pb.PurgePost) -> list[Ack]:
        """The answers that came back at once, often none. Raises PostFailed. Cancelled: the line is cut."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[list[Ack] | PostFailed] = loop.create_future()
        exchange = Exchange(url, self._whole_s)

        def work() -> None:
            found: list[Ack] | PostFailed = PostFailed("failed by an error of this server")
            try:
                found = exchange.carry(secret, post)
            except PostFailed as error:
                found = error
            finally:
                with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    loop.call_soon_threadsafe(_tell, ended, found)

        threading.Thread(target=work, name="discreet-post", daemon=True).start()
        timer = loop.call_later(self._whole_s, exchange.cut)
        try:
            found = await ended
        finally:
            timer.cancel()
            exchange.cut()
        if isinstance(found, PostFailed):
            raise found
        return found


def _tell(ended: asyncio.Future[list[Ack] | PostFailed], found: list[Ack] | PostFailed) -> None:
    if not ended.done():
        ended.set_result(found)


class Exchange:
    """One post and its answer over a line of its own, which another thread may cut at any moment."""

    def __init__(self, url: str, whole_s: float) -> None:
        self._url = urlsplit(url)
        self._whole_s = whole_s
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._over = False
        self._connected = False

    def cut(self) -> None:
        """Ends it: whatever the thread waits for on the line fails at once."""
        with self._lock:
            self._over = True
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def carry(self, secret: bytes, post: pb.PurgePost) -> list[Ack]:
        """The answers that came back. Blocks. Raises PostFailed."""
        body = body_of(post)
        signature = signed(secret, body, int(time.time()))
        try:
            status, answer = self._exchanged(body, signature)
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            self._require_time()
            raise PostFailed(_kind(error, connected=self._connected)) from None
        self._require_time()
        return _answers(status, answer)

    def _require_time(self) -> None:
        """Raises PostFailed once the line was cut: what was read may end anywhere."""
        if self._over:
            raise PostFailed(f"the answer took longer than {self._whole_s:g} s")

    def _exchanged(self, body: bytes, signature: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self._url.hostname or "")
        try:
            connection.sock = self._connect()
            path = (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")
            headers = {"Host": self._url.netloc, "Content-Type": "application/json", "Connection": "close"}
            connection.request("POST", path, body, headers | {SIGNATURE: signature})
            response = connection.getresponse()
            try:
                return response.status, _read(response)
            finally:
                response.close()
        finally:
            with self._lock:
                connection.close()
                if self._socket is not None:
                    self._socket.close()
                self._socket = None

    def _connect(self) -> socket.socket:
        """A line to the holder, over TLS but for loopback."""
        secure = self._url.scheme == "https"
        host, port = self._url.hostname or "", self._url.port or (443 if secure else 80)
        line = self._keep(socket.create_connection((host, port), CONNECT_S))
        if secure:
            wrapped = _trusted().wrap_socket(line, server_hostname=host, do_handshake_on_connect=False)
            self._keep(wrapped)
            wrapped.do_handshake()
            line = wrapped
        self._connected = True
        line.settimeout(READ_S)
        return line

    def _keep(self, line: socket.socket) -> socket.socket:
        """Has `cut` find the line; one that was cut before it was there is closed."""
        with self._lock:
            self._socket = line
            if self._over:
                line.close()
        self._require_time()
        return line


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Whom this machine trusts, read once."""
    return ssl.create_default_context()


def _read(response: http.client.HTTPResponse) -> bytes:
    found = bytearray()
    while data := response.read1(16_384):
        found += data
        if len(found) > RESPONSE_BYTES_MAX:
            raise PostFailed(f"the answer is larger than {RESPONSE_BYTES_MAX} bytes")
    if response.length:
        raise http.client.IncompleteRead(b"")
    return bytes(found)


def _answers(status: int, body: bytes) -> list[Ack]:
    if not 200 <= status < 300:
        raise PostFailed(f"answered HTTP {status}")
    if status != 200 or not body.strip():
        return []
    try:
        request = json_format.Parse(body, pb.AckPurgeRequest())
        return acks_of(request.acks) if request.acks else []
    except (json_format.ParseError, UnicodeDecodeError, RecursionError):
        raise PostFailed("the answer is no AckPurgeRequest in JSON") from None
    except Malformed as error:
        raise PostFailed(f"the answer is refused: {error}") from None


def _kind(error: Exception, *, connected: bool) -> str:
    """What kind of failure it is, in words without an address in them."""
    if isinstance(error, ssl.SSLError):
        return "the certificate, or the line, cannot be trusted"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return "the line was cut" if connected else "cannot be reached"
