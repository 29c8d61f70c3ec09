"""What a store of copies keeps to: nothing is stored after `store_by`, so that "not there" can be said of it for good.

Also reads what is posted to a webhook. This module knows no channel.
"""

import hashlib
import hmac
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from google.protobuf import json_format

from discreet.client.model import aware_field
from discreet.client.purging import PurgeItem, Recheck, item_of
from discreet.v1 import purge_pb2

SIGNATURE_AGE_S = 300


class TooLate(Exception):
    """`store_by` has passed: the copy must not be stored, or what was stored just now must be undone."""


class StoreGate:
    """Refuses to store after `store_by`, also where the wall clock is set back while the process runs."""

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._offset = wall() - steady()

    def now(self) -> datetime:
        """The latest time that it can be: of the wall clock, and of the one that is never set."""
        self._offset = max(self._offset, self._wall() - self._steady())
        return datetime.fromtimestamp(self._steady() + self._offset, UTC)

    def require(self, store_by: datetime) -> None:
        """Raises TooLate unless there is time left."""
        aware_field("store", "store_by", store_by)
        if self.now() >= store_by:
            raise TooLate("store_by has passed: show the answer if you may, and store nothing of it")

    @contextmanager
    def storing(self, store_by: datetime) -> Iterator[None]:
        """Around what stores a copy, inside its transaction: TooLate before it, or after it where it took too long."""
        self.require(store_by)
        yield
        self.require(store_by)


class BadPost(Exception):
    """What came in is not a post of the server, or is an old one played again: answer 400, and do nothing."""


@dataclass(frozen=True, slots=True)
class Post:
    """What the server posted."""

    tenant: str
    holder: str
    items: tuple[PurgeItem, ...]
    rechecks: tuple[Recheck, ...]
    recalls: tuple[tuple[str, int], ...]


def read_post(secret: str, signature: str, body: bytes, now: float | None = None) -> Post:
    """The post whose body and `Discreet-Signature` these are. Raises BadPost.

    `secret`: the 64 hex digits that registering the webhook gave.
    """
    _require_signed(secret, signature, body, time.time() if now is None else now)
    try:
        post = json_format.Parse(body, purge_pb2.PurgePost(), ignore_unknown_fields=True)
    except (json_format.ParseError, UnicodeDecodeError):
        raise BadPost("the body is no PurgePost in JSON") from None
    if not post.holder:
        raise BadPost("the body names no holder")
    return Post(
        post.tenant,
        post.holder,
        tuple(item for item in map(item_of, post.items) if item is not None),
        tuple(Recheck(one.order_id, one.item, one.digest) for one in post.rechecks),
        tuple((one.order_id, one.item) for one in post.recalls),
    )


def answer_post(acks: Iterable[purge_pb2.PurgeAck]) -> bytes:
    """The body of a response of 200 that answers items at once; what it leaves out is answered later."""
    return json_format.MessageToJson(purge_pb2.AckPurgeRequest(acks=acks), preserving_proto_field_name=True).encode()


def _require_signed(secret: str, signature: str, body: bytes, now: float) -> None:
    parts = dict(part.split("=", 1) for part in signature.split(",") if "=" in part)
    at, mac = parts.get("t", ""), parts.get("v1", "")
    if not (at.isascii() and at.isdigit() and len(at) <= 12 and mac.isascii()):
        raise BadPost("the signature is missing or malformed")
    right = hmac.new(bytes.fromhex(secret), at.encode() + b"." + body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(right, mac):
        raise BadPost("the signature is not of this body under this secret")
    if abs(now - int(at)) > SIGNATURE_AGE_S:
        raise BadPost("the signature is too old, or of a time ahead")
