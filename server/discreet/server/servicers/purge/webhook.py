"""One post to a holder's webhook: signed, bounded in size and time, and read without trust. Knows no store.

The address, the secret and what is answered are written to no log and no error: a failure is told by its kind.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from typing import Final

import urllib3
from google.protobuf import json_format

from discreet.policy.codec import Malformed
from discreet.server.servicers.purge.messages import acks_of
from discreet.server.servicers.purge.taking import Ack
from discreet.v1 import purge_pb2 as pb

CONNECT_S: Final = 5.0
READ_S: Final = 5.0
WHOLE_S: Final = 10.0
"""How long a post may take altogether, however slowly the answer trickles in."""
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
    """Posts from a thread. No redirects, no proxies of the environment, no cookies; certificates are verified."""

    def __init__(self) -> None:
        self._pool = urllib3.PoolManager(num_pools=16, maxsize=2, cert_reqs="CERT_REQUIRED")

    def post(self, url: str, secret: bytes, post: pb.PurgePost) -> list[Ack]:
        """The answers that came back at once, often none. Blocks. Raises PostFailed."""
        body = body_of(post)
        headers = {"Content-Type": "application/json", SIGNATURE: signed(secret, body, int(time.time()))}
        began = time.monotonic()
        try:
            response = self._pool.request(
                "POST", url, body=body, headers=headers, retries=False, redirect=False, preload_content=False,
                decode_content=False, timeout=urllib3.Timeout(connect=CONNECT_S, read=READ_S),
            )  # fmt: skip
            try:
                return _answers(response.status, _read(response, began))
            finally:
                response.close()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise PostFailed(_kind(error)) from None

    def close(self) -> None:
        """Closes the connections."""
        self._pool.clear()


def _read(response: urllib3.BaseHTTPResponse, began: float) -> bytes:
    found = bytearray()
    while data := response.read1(16_384):
        found += data
        if len(found) > RESPONSE_BYTES_MAX:
            raise PostFailed(f"the answer is larger than {RESPONSE_BYTES_MAX} bytes")
        if time.monotonic() - began > WHOLE_S:
            raise PostFailed(f"the answer took longer than {WHOLE_S:.0f} s")
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


def _kind(error: Exception) -> str:
    """What kind of failure it is, in words without an address in them."""
    inner = error.args[-1] if isinstance(error, urllib3.exceptions.MaxRetryError) and error.args else error
    if isinstance(inner, urllib3.exceptions.SSLError):
        return "the certificate, or the line, cannot be trusted"
    if isinstance(inner, urllib3.exceptions.NewConnectionError):  # which is a timeout, too, for urllib3
        return "cannot be reached"
    if isinstance(inner, urllib3.exceptions.TimeoutError):
        return "no answer in time"
    if isinstance(inner, urllib3.exceptions.ProtocolError):
        return "the line was cut"
    return "cannot be reached"
