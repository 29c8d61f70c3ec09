"""Revision tokens: opaque names of a state of index and policy. Callers compare them with nothing; they hand them back.

A token is not a secret and not a permission: a made-up one can only be refused or demand fresher facts.
"""

import base64
import binascii
from functools import lru_cache
from typing import NamedTuple

_VERSION = 1
_EPOCH_BYTES = 16
TOKEN_CHARS_MAX = 64


class Token(NamedTuple):
    """What a token names: the database's epoch (32 hex digits), the sequence number, the policy revision's number."""

    epoch: str
    seq: int
    policy_revision: int


class BadToken(ValueError):
    """The text is no token of this format."""


def encode(token: Token) -> str:
    """The token as text.

    >>> decode(encode(Token("00" * 16, 7, 3))) == Token("00" * 16, 7, 3)
    True
    """
    body = (
        bytes([_VERSION])
        + bytes.fromhex(token.epoch)
        + token.seq.to_bytes(8, "big")
        + token.policy_revision.to_bytes(6, "big")
    )
    return base64.urlsafe_b64encode(body).rstrip(b"=").decode()


def decode(text: str) -> Token:
    """The token that a text names. Raises BadToken; never accepts two spellings of one token."""
    if len(text) > TOKEN_CHARS_MAX:
        raise BadToken("is too long to be a token; give back one that an answer carried, unchanged")
    return _decoded(text)


@lru_cache(maxsize=4_096)
def _decoded(text: str) -> Token:
    """The token of a short text; remembered, since the bindings of a call mostly name one state."""
    try:
        body = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise BadToken("is no token; give back one that an answer carried, unchanged") from None
    if len(body) != 1 + _EPOCH_BYTES + 8 + 6 or body[0] != _VERSION:
        raise BadToken("is no token of this version; give back one that an answer carried, unchanged")
    token = Token(body[1:17].hex(), int.from_bytes(body[17:25], "big"), int.from_bytes(body[25:], "big"))
    if encode(token) != text:
        raise BadToken("is no token; give back one that an answer carried, unchanged")
    return token
