"""Page tokens: opaque cursors that hold for the very query that gave them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json

from google.protobuf.message import Message

from discreet.policy.codec import Malformed
from discreet.policy.idents import EXACT_BYTES_MAX, text_problem

TOKEN_CHARS_MAX = 4_096


def _query(request: Message) -> str:
    """Names the query without its page."""
    same = type(request)()
    same.CopyFrom(request)
    for field in ("page_token", "page_size"):
        same.ClearField(field)
    text = request.DESCRIPTOR.full_name.encode() + b"\0" + same.SerializeToString(deterministic=True)
    return hashlib.sha256(text).hexdigest()[:16]


def page_token(request: Message, cursor: tuple[str | int, ...]) -> str:
    """The token of the page after the cursor."""
    body = json.dumps([_query(request), *cursor], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(body.encode()).rstrip(b"=").decode()


def cursor_of(request: Message, token: str, *kinds: type[str | int]) -> tuple[str | int, ...] | None:
    """The cursor that a token holds; None where it is empty. Malformed for anything that this query did not give."""
    if not token:
        return None
    try:
        if len(token) > TOKEN_CHARS_MAX:
            raise ValueError
        parts = json.loads(base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True))
        query, *cursor = parts
    except (binascii.Error, ValueError, TypeError, RecursionError):
        raise _bad() from None
    if query != _query(request) or [type(part) for part in cursor] != list(kinds):
        raise _bad()
    if not all(_possible(part) for part in cursor):
        raise _bad()
    return tuple(cursor)


def _possible(part: str | int) -> bool:
    """True for what a database can hold: a token is the caller's text, and JSON can write more than that."""
    if isinstance(part, int):
        return 0 <= part < 1 << 63
    return text_problem(part, EXACT_BYTES_MAX) is None


def _bad() -> Malformed:
    return Malformed(
        "page_token", "is none of this query", "give next_page_token of the page before, with the same filters"
    )
