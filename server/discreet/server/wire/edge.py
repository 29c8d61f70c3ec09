"""Bytes in, bytes out.

Every method of every service on every listener passes here, and every error becomes a status here.

One of the two outermost edges: what nobody expected is logged by type and id, answered INTERNAL, and read by clients
as WITHHOLD.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, NoReturn, cast

import grpc

from discreet.policy.codec import Malformed
from discreet.policy.facts import Caller
from discreet.policy.words import AuditAct
from discreet.server.auditing import Change, row_of
from discreet.server.calls import Call, StreamMethod, UnaryMethod, new_id
from discreet.server.errors import BadMessage, CallRefused, DeadlinePassed, Denied, Unavailable
from discreet.server.fleet.lease import Lease
from discreet.server.identity.access import require_method
from discreet.server.logs import Log
from discreet.server.metrics.counts import CallCounts, labelled
from discreet.server.ports import Clock, Job, OutcomeUnknown, Store, StoreError

Context = grpc.aio.ServicerContext[bytes, bytes]

REFUSAL_AUDIT_S = 2.0
"""How long a refused caller waits for the refusal to be on record; the refusal stands either way."""


class Edge:
    """Turns services into gRPC handlers that are bound to one listener's identity."""

    def __init__(self, store: Store, clock: Clock, log: Log, instance: str, counts: CallCounts, lease: Lease) -> None:
        self._counts = counts
        self._lease = lease
        self._store = store
        self._clock = clock
        self._log = log
        self._instance = instance
        self.refusals_lost = 0
        """Refusals that could not be put on record: shown in status, never silent."""
        self.running = 0
        """Calls under way, on all listeners."""
        self._idle = asyncio.Event()
        self._idle.set()

    def handlers(
        self, caller: Caller, unary: Mapping[str, UnaryMethod], streams: Mapping[str, StreamMethod]
    ) -> grpc.GenericRpcHandler:
        """The handlers of one listener."""
        table: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {}
        for method, one in unary.items():
            table[method] = grpc.unary_unary_rpc_method_handler(self._unary(caller, method, one))
        for method, many in streams.items():
            table[method] = grpc.stream_stream_rpc_method_handler(self._stream(caller, method, many))
        return _Handlers(table)

    def _unary(self, caller: Caller, method: str, inner: UnaryMethod) -> Callable[[bytes, Context], Awaitable[bytes]]:
        label = labelled(method)

        async def answer(data: bytes, context: Context) -> bytes:
            started, code = time.perf_counter(), "CANCELLED"
            call = _call(caller, method, context)
            self._begun()
            try:
                require_method(caller, method)
                reply = await inner(call, data)
                self._lease.leave(call.rest)  # nothing is awaited between this and the sending
                code = "OK"
                return reply
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 - an outermost edge: the caller withholds
                refused = await self.refusal(call, error)
                code = refused.status.name
                await _abort(context, refused)
            finally:
                self._lease.end(call.rest)
                self._ended()
                self._counts.ended(label, code, time.perf_counter() - started)

        return answer

    def _stream(
        self, caller: Caller, method: str, inner: StreamMethod
    ) -> Callable[[AsyncIterator[bytes], Context], AsyncIterator[bytes]]:
        async def answer(frames: AsyncIterator[bytes], context: Context) -> AsyncIterator[bytes]:
            code = "CANCELLED"
            call = _call(caller, method, context)
            self._begun()
            try:
                require_method(caller, method)
                async for data in inner(call, frames):
                    yield data
                code = "OK"
            except (asyncio.CancelledError, GeneratorExit):
                raise
            except Exception as error:  # noqa: BLE001 - an outermost edge: the caller withholds
                refused = await self.refusal(call, error)
                code = refused.status.name
                await _abort(context, refused)
            finally:
                self._ended()
                self._counts.stream_ended(code)

        return answer

    def _begun(self) -> None:
        self.running += 1
        self._idle.clear()

    def _ended(self) -> None:
        self.running -= 1
        if not self.running:
            self._idle.set()

    async def idle(self) -> None:
        """Returns once no call is under way."""
        await self._idle.wait()

    async def refusal(self, call: Call, error: Exception) -> CallRefused:
        """The refusal that an error means, put on record where it is one for missing rights."""
        if isinstance(error, Denied):
            await self._record_refusal(call, error)
        if isinstance(error, CallRefused):
            return error
        if isinstance(error, Malformed):
            return BadMessage(str(error))
        if isinstance(error, OutcomeUnknown):
            return Unavailable("the outcome is unknown: the store did not say; repeat the call, it is safe to")
        if isinstance(error, StoreError):
            self._log.warning(
                "store did not answer", request_id=call.request_id, method=call.name, error=type(error).__name__
            )
            return Unavailable("the store does not answer; nothing was written")
        if isinstance(error, TimeoutError):
            return DeadlinePassed("the time for this call is over; a change that was under way may have been written")
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{place.filename.rpartition('/')[2]}:{place.lineno}"
        self._log.error(
            "internal error", request_id=call.request_id, method=call.name, error=type(error).__name__, place=where
        )
        return CallRefused(f"internal error; the server's log names request {call.request_id}")

    async def _record_refusal(self, call: Call, error: Denied) -> None:
        self._log.warning("refused", request_id=call.request_id, method=call.name, caller=call.caller.name)
        change = Change(call.name, refused=error.reason, detail=str(error))
        record = row_of(call, AuditAct.REFUSED, error.tenant, self._clock.wall(), self._instance, change)
        try:
            async with asyncio.timeout(REFUSAL_AUDIT_S):
                await self._store.record([Job(record)])
        except (StoreError, TimeoutError):
            self.refusals_lost += 1
            self._log.error("refusal not on record: the audit cannot be written", request_id=call.request_id)


class _Handlers(grpc.GenericRpcHandler):
    """Looks a method up; an unknown one is UNIMPLEMENTED."""

    def __init__(self, table: Mapping[str, grpc.RpcMethodHandler[bytes, bytes]]) -> None:
        self._table = table

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        """The method's handler."""
        return self._table.get(str(handler_call_details.method))


async def _abort(context: Context, refused: CallRefused) -> NoReturn:
    await context.abort(refused.status, str(refused))


def _call(caller: Caller, method: str, context: Context) -> Call:
    left = cast("float | None", context.time_remaining())  # the stubs leave out None: no deadline
    deadline = None if left is None else asyncio.get_running_loop().time() + left
    return Call(caller, method, new_id(), deadline)
