"""Answers PolicyService. Whatever brings a revision into force goes through the transactions that followers use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from discreet.policy.problems import PolicyProblems
from discreet.policy.snapshot import Snapshot
from discreet.server.calls import Call
from discreet.server.errors import BadMessage, NotFound, Precondition
from discreet.server.policies import publication
from discreet.server.policies.aside import aside
from discreet.server.policies.compile import Compiled, compile_files, compile_row
from discreet.server.policies.follower import Policies
from discreet.server.policies.publication import InForce, Nothing, Overtaken, PinnedOut, TooOld
from discreet.server.ports import Head, Work
from discreet.server.ports_policy import Origin, PolicyRow
from discreet.server.servicers import fields
from discreet.server.servicers.index.messages import token_of
from discreet.server.servicers.index.transacting import Transacting
from discreet.server.servicers.paging import cursor_of, page_token
from discreet.server.servicers.policies import inputs
from discreet.server.servicers.policies.messages import name_message, pin_message, problem_lines, revision_message
from discreet.v1 import policy_pb2 as pb

T = TypeVar("T")

COMPILE_S_MAX: Final = 60.0
"""How long a call may take to compile and test a set, where its own deadline is later or missing."""
SERVERS_WITHIN_US: Final = 3_600_000_000
"""Servers that were heard of so long ago are looked at; those whose lease runs are told."""


class _DryRun(Exception):
    """Rolls the transaction back, with what came out of it and the state that stays."""

    def __init__(self, outcome: InForce | Overtaken | PinnedOut | TooOld, head: Head) -> None:
        self.outcome = outcome
        self.head = head
        super().__init__("a dry run")


class PolicyRevisions:
    """Answers the methods of PolicyService."""

    def __init__(self, transacting: Transacting, policies: Policies, instance: str) -> None:
        self._transacting = transacting
        self._policies = policies
        self._instance = instance
        self._compiling = asyncio.Lock()

    async def publish_revision(self, call: Call, request: pb.PublishRevisionRequest) -> pb.PublishRevisionResponse:
        """Brings the files of one commit into force, whole or not at all."""
        inputs.require_all_tenants(call)
        files, commit = inputs.files(request.files), inputs.commit(request.commit)
        origin = inputs.origin(call, request)
        expected = inputs.number(request.expected_number, "expected_number")
        compiled = await self._compiled(call, files, commit)
        outcome, head = await self._publish(call, compiled, origin, expected, dry_run=request.dry_run)
        done = _required(outcome, expected)
        if not request.dry_run:
            await self._policies.take(done, compiled)
        return pb.PublishRevisionResponse(
            token=token_of(head), revision=name_message(done.name), published=done.published, tests=compiled.tests
        )

    async def _publish(
        self, call: Call, compiled: Compiled, origin: Origin, expected: int, *, dry_run: bool
    ) -> tuple[InForce | Overtaken | PinnedOut | TooOld, Head]:
        """What became of it, and the state after the call."""
        signed = publication.Signed(call, self._instance)

        def work(index: Work, _snapshot: Snapshot | None) -> tuple[InForce | Overtaken | PinnedOut | TooOld, Head]:
            before = index.head
            outcome = publication.publish(index, signed, compiled.row, origin, expected)
            if dry_run:
                raise _DryRun(outcome, before)
            return outcome, index.head

        try:
            return await self._transacting.change(call, work)
        except _DryRun as dry:
            return dry.outcome, dry.head

    async def _compiled(self, call: Call, files: Mapping[str, bytes], commit: str) -> Compiled:
        """The set, whose own tests passed. BadMessage with every problem."""
        environment = self._policies.environment
        try:
            return await self._alone(call, lambda: compile_files(files, commit, not commit, environment))
        except PolicyProblems as problems:
            raise BadMessage(problem_lines(problems)) from None

    async def _alone(self, call: Call, work: Callable[[], T]) -> T:
        """What the work gives or raises, from a thread; one at a time, and the next one when it is over."""
        async with asyncio.timeout(call.time_left_s(COMPILE_S_MAX)):
            await self._compiling.acquire()
            running = asyncio.ensure_future(aside(work))
            running.add_done_callback(self._compiled_one)
            return await asyncio.shield(running)

    def _compiled_one(self, running: asyncio.Future[T]) -> None:
        """Whoever asked may be gone: then nobody else looks at the error."""
        self._compiling.release()
        if not running.cancelled():
            running.exception()

    async def rollback_revision(self, call: Call, request: pb.RollbackRevisionRequest) -> pb.RollbackRevisionResponse:
        """Brings an earlier revision into force again, and pins out what it leaves."""
        inputs.require_all_tenants(call)
        number = inputs.number(request.number, "number", required=True)
        reason = fields.reason(request.reason)
        expected = inputs.number(request.expected_number, "expected_number")
        row, origin = await self._earlier(call, number)
        snapshot = await self._compiled_row(call, row)
        signed = publication.Signed(call, self._instance)
        signed_origin = origin._replace(publisher=call.caller.name, rolled_back_to=number, reason=reason)
        outcome = await self._transacting.change(
            call, lambda index, _: publication.roll_back(index, signed, row, signed_origin, expected)
        )
        if isinstance(outcome, Nothing):
            raise (NotFound if outcome.missing else Precondition)(f"number: {outcome.why}")
        done = _required(outcome, expected)
        await self._policies.take(done, Compiled(snapshot, row.bundle, tests=0))
        self._policies.look_soon()
        return pb.RollbackRevisionResponse(
            token=token_of(done.head), revision=name_message(done.name), pinned=done.pinned
        )

    async def _earlier(self, call: Call, number: int) -> tuple[PolicyRow, Origin]:
        """A published revision with where it came from."""
        store = self._transacting.store
        row = await self._transacting.read(call, store.policy_row(number))
        if row is None:
            raise NotFound("number: there is no such revision")
        (revision,) = await self._transacting.read(call, store.revisions(number + 1, 1))
        return row, revision.origin or Origin("")

    async def _compiled_row(self, call: Call, row: PolicyRow) -> Snapshot:
        """The revision compiled: one that this program does not take is brought back by none of it."""
        try:
            return await self._alone(call, lambda: compile_row(row))
        except PolicyProblems as problems:
            first = str(problems).split("\n")[0]
            raise Precondition(f"number: this version of the server does not take that revision: {first}") from None

    async def unpin_revision(self, call: Call, request: pb.UnpinRevisionRequest) -> pb.UnpinRevisionResponse:
        """Takes pins away: what the ref points at may come into force again."""
        inputs.require_all_tenants(call)
        pinned, reason = inputs.pinned(request.pinned), fields.reason(request.reason)
        signed = publication.Signed(call, self._instance)
        outcome = await self._transacting.change(
            call, lambda index, _: publication.unpin(index, signed, pinned, reason)
        )
        if isinstance(outcome, Nothing):
            raise NotFound(f"pinned: {outcome.why}")
        self._policies.look_soon()
        return pb.UnpinRevisionResponse(token=token_of(outcome.head), unpinned=outcome.pinned)

    async def list_revisions(self, call: Call, request: pb.ListRevisionsRequest) -> pb.ListRevisionsResponse:
        """Revisions, newest first, with the servers that decide under them, and what is pinned out."""
        inputs.require_all_tenants(call)
        size = inputs.page_size(request.page_size)
        cursor = cursor_of(request, request.page_token, int)
        before = int(cursor[0]) if cursor is not None else None
        read, store = self._transacting.read, self._transacting.store
        name = await read(call, store.policy_name(0))
        found = await read(call, store.revisions(before, size + 1))
        pins = await read(call, store.pins())
        now, rows = await read(call, store.servers(SERVERS_WITHIN_US))
        live, in_force = [row for row in rows if row.live(now)], name.number if name is not None else 0
        return pb.ListRevisionsResponse(
            revisions=[revision_message(one, in_force, live) for one in found[:size]],
            next_page_token=page_token(request, (found[size - 1].name.number,)) if len(found) > size else "",
            pins=[pin_message(pin) for pin in pins],
            number_in_force=in_force,
        )


def _required(outcome: InForce | Overtaken | PinnedOut | TooOld, expected: int) -> InForce:
    """The revision in force. Precondition where the set did not come into force, saying what to do."""
    if isinstance(outcome, InForce):
        return outcome
    if isinstance(outcome, Overtaken):
        held = f"revision {outcome.number} is in force" if outcome.number else "no revision is in force"
        raise Precondition(f"expected_number: {held}, not {expected}; look at the revisions, then read the ref again")
    if isinstance(outcome, TooOld):
        raise Precondition(str(outcome))
    pin = outcome.pin
    raise Precondition(
        f"{pin.pinned} is pinned out since {pin.actor} rolled it back ({pin.reason}); publish another one or unpin it"
    )
