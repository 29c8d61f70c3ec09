"""Waits for a statement that writes, without ever cancelling it. Must know nothing of what it writes.

PostgreSQL takes a cancelled wait for a synchronous standby for a success: the commit stands here, and is not there. So
a line that takes too long is cut, whose outcome is then unknown; and where somebody else cancelled, its warning is
heard.
"""

import asyncio
import os
import socket
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakSet

import psycopg

T = TypeVar("T")

SYNC_WAIT = "SyncRepWaitForLSN"
"""Where PostgreSQL warns of a commit that did not wait to the end; its name is the same in every language."""
UNREPLICATED = "the commit was cancelled while it waited for a standby: it is on the primary alone as yet"

_unreplicated: WeakSet[psycopg.BaseConnection[Any]] = WeakSet()


def listen(connection: psycopg.BaseConnection[Any]) -> None:
    """Hears from now on whether a commit of this connection did not wait for its standby."""

    def heard(notice: psycopg.errors.Diagnostic) -> None:
        if notice.source_function == SYNC_WAIT:
            _unreplicated.add(connection)

    connection.add_notice_handler(heard)


def unreplicated(connection: psycopg.BaseConnection[Any]) -> bool:
    """True where the last commit did not wait for its standby; said once."""
    found = connection in _unreplicated
    _unreplicated.discard(connection)
    return found


async def answer_within(limit_s: float, connection: psycopg.AsyncConnection, statement: Coroutine[Any, Any, T]) -> T:
    """What the statement returns. Past the limit, and where the caller is cancelled, the line is cut.

    Raises TimeoutError then.
    """
    asked = asyncio.ensure_future(statement)
    try:
        await asyncio.wait({asked}, timeout=limit_s)
    finally:
        late = not asked.done()
        if late:
            _cut(connection)
            await asyncio.wait({asked})
    if late and asked.exception() is not None:
        raise TimeoutError("no answer in time; the line was cut")
    return asked.result()


def _cut(connection: psycopg.AsyncConnection) -> None:
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)
