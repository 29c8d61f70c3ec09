"""`GET /metrics` over plain HTTP. Knows nothing of what it hands out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST

from discreet.server.wire.http import HttpListener, Request, response

PATH: Final = "/metrics"


class Exposing(HttpListener):
    """A listener that answers with the same text to everybody who can reach it."""

    def __init__(self, text: Callable[[], Awaitable[bytes]]) -> None:
        super().__init__("metrics", self._told)
        self._text = text

    async def _told(self, request: Request) -> bytes:
        if request.path != PATH:
            return response(HTTPStatus.NOT_FOUND, f"there is only {PATH}\n".encode())
        if request.method not in {"GET", "HEAD"}:
            return response(HTTPStatus.METHOD_NOT_ALLOWED, b"GET and HEAD alone\n")
        whole = response(HTTPStatus.OK, await self._text(), CONTENT_TYPE_LATEST)
        return whole if request.method == "GET" else whole.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
