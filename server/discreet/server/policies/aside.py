"""Blocking work beside the event loop, in a thread that nobody has to wait for when the process ends.

A source that hangs must not hold up a stop: the loop's own executor would be waited for.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def aside(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What the function returns or raises, from a thread of its own."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type] # without an error there is a result

    def work() -> None:
        result, error = None, None
        try:
            result = function(*args, **kwargs)
        except Exception as raised:  # noqa: BLE001 - handed to the caller as it is
            error = raised
        # The loop may be closed by now: then nobody waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(tell, result, error)

    threading.Thread(target=work, name=f"discreet-{function.__name__}", daemon=True).start()
    return await done
