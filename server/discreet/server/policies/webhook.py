"""A listener whose POSTs have the policy's source read at once. What they say is not believed, nor even parsed.

So whoever can reach it can cause a look that would have come anyway, and no more: many at once are one look. With a
secret only signed ones count, in the way of GitHub, Gitea and others: `X-Hub-Signature-256`, HMAC-SHA256 of the body.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Final

from discreet.server.errors import ConfigRefused
from discreet.server.wire.http import HttpListener, Request, response

BODY_BYTES_MAX: Final = 25 * 1024 * 1024
"""What GitHub sends at most. It is never held: each piece is hashed as it arrives."""
SECRET_BYTES_MAX: Final = 4_096
SIGNATURE: Final = "x-hub-signature-256"
_PIECE_BYTES: Final = 64 * 1024


class PolicyWebhook(HttpListener):
    """Calls `look_soon` for each POST that is well signed, at any path."""

    def __init__(self, look_soon: Callable[[], None], secret: bytes | None) -> None:
        super().__init__("policy-webhook", self._told)
        self._look_soon = look_soon
        self._secret = secret

    async def _told(self, request: Request) -> bytes:
        if request.method != "POST":
            return response(HTTPStatus.METHOD_NOT_ALLOWED, b"POST alone\n")
        length = request.headers.get("content-length", "")
        if not (length.isascii() and length.isdigit()):
            return response(HTTPStatus.LENGTH_REQUIRED, b"say Content-Length, once\n")
        if len(length) > 12 or int(length) > BODY_BYTES_MAX:
            return response(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {BODY_BYTES_MAX} bytes\n".encode())
        if not await self._signed(request, int(length)):
            return response(HTTPStatus.FORBIDDEN, b"the signature is missing or wrong\n")
        self._look_soon()
        return response(HTTPStatus.ACCEPTED, b"the policy's source will be read\n")

    async def _signed(self, request: Request, length: int) -> bool:
        """Whether the body is signed, or need not be; the body is read in any case."""
        made = hmac.new(self._secret or b"", digestmod=hashlib.sha256)
        while length:
            piece = await request.body.readexactly(min(length, _PIECE_BYTES))
            made.update(piece)
            length -= len(piece)
        given = request.headers.get(SIGNATURE, "").encode("latin-1")
        return self._secret is None or hmac.compare_digest(b"sha256=" + made.hexdigest().encode(), given)


def secret_of(file: Path | None) -> bytes | None:
    """The secret in a file, without the line ends after it; None where no file is named. Raises ConfigRefused."""
    if file is None:
        return None
    try:
        with file.open("rb") as opened:
            secret = opened.read(SECRET_BYTES_MAX + 1).rstrip(b"\r\n")
    except OSError as error:
        raise ConfigRefused(f"policy-webhook-secret-file: {file}: cannot be read: {error.strerror}") from None
    if not 0 < len(secret) <= SECRET_BYTES_MAX:
        raise ConfigRefused(f"policy-webhook-secret-file: {file}: must hold 1 to {SECRET_BYTES_MAX} bytes")
    return secret
