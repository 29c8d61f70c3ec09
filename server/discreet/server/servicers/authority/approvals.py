"""Changes that need a second person: asked for, approved by another operator, rejected, expired.

What was asked for is kept as the bytes of its request, with the digest of what it covered then. Whoever approves has it
expanded again: it is carried out only if it would still do exactly that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import NamedTuple, Protocol

from discreet.policy.facts import Micros
from discreet.policy.snapshot import Snapshot
from discreet.server.auditing import Change
from discreet.server.calls import Call, new_id
from discreet.server.errors import Denied, NotFound, Precondition, TooMuch
from discreet.server.ports import Head, Work
from discreet.server.ports_authority import ApprovalRow, Look
from discreet.server.servicers import fields
from discreet.server.servicers.authority.messages import approval_message
from discreet.server.servicers.authority.naming import subject
from discreet.server.servicers.index.messages import token_of
from discreet.server.servicers.index.transacting import Transacting
from discreet.server.servicers.paging import cursor_of, page_token
from discreet.v1 import authority_pb2 as pb

EXPIRES_AFTER_US = 72 * 3_600_000_000
DIGEST_BYTES = 64
WAITING_MAX = 1_000
"""Changes of a tenant that wait at a time: each keeps its whole request, which may name 10,000 versions."""
WORDS: Mapping[str, str] = {
    "RevokeRetention": "revoke",
    "LiftHold": "lift-hold",
    "LiftTombstone": "lift-tombstone",
}
"""What may need two persons: the method, and its word in the configuration."""


class Asked(NamedTuple):
    """A change that somebody asks for. `covers`: the digest of what it would do now."""

    covers: str
    summary: str
    reason: str
    ticket: str
    request: bytes


class Deed(Protocol):
    """A change that can wait for a second person."""

    def carry_out(self, index: Work, call: Call, tenant: str, asked: Asked, requester: str) -> str:
        """Does it, if it still covers `asked.covers`; returns the id of the purge order that it made, or nothing."""
        ...


class Approvals:
    """Answers the approval methods of AuthorityService, and keeps what is asked for."""

    def __init__(self, transacting: Transacting, by_two: Collection[str]) -> None:
        self._transacting = transacting
        self._by_two = by_two
        self._deeds: dict[str, Deed] = {}

    def add(self, method: str, deed: Deed) -> None:
        """The deed of a method, for when it is approved."""
        self._deeds[method] = deed

    def needed(self, call: Call) -> bool:
        """True where the call's method needs two persons here."""
        return WORDS[call.name] in self._by_two

    def ask(self, index: Work, call: Call, tenant: str, asked: Asked) -> str:
        """Keeps the change until another operator settles it; returns the approval's id. TooMuch where many wait."""
        if index.authority.waiting_approvals(tenant) >= WAITING_MAX:
            raise TooMuch(f"{WAITING_MAX} changes wait for a second person already; approve or reject some first")
        row = ApprovalRow(
            approval_id=new_id(),
            method=call.name,
            request=asked.covers.encode() + asked.request,
            summary=asked.summary,
            requester=call.caller.name,
            reason=asked.reason,
            ticket=asked.ticket,
            at=index.now,
            expires_at=Micros(index.now + EXPIRES_AFTER_US),
        )
        index.authority.write_approval(tenant, row)
        said = Change(call.name, reason=asked.reason, ticket=asked.ticket, subject_id=row.approval_id)
        detail = f"waits for a second person: {asked.summary}; digest {asked.covers}"
        self._transacting.audit(index, call, tenant, [replace(said, detail=detail)])
        return row.approval_id

    async def approve(self, call: Call, request: pb.ApproveRequest) -> pb.ApproveResponse:
        """Carries out what another operator asked for."""
        tenant, approval_id = fields.tenant(call, request.tenant), subject(request.approval_id, "approval_id")
        reason = fields.reason(request.reason)

        def work(index: Work, _snapshot: Snapshot | None) -> tuple[str, Head]:
            row = self._waiting(index, tenant, approval_id)
            if row.requester == call.caller.name:
                raise Denied("approval_id: whoever asked for a change cannot approve it; another operator must")
            index.authority.settle_approval(tenant, approval_id, True, call.caller.name, reason)
            said = f"{row.method} asked for by {row.requester}: {row.summary}"
            change = Change(call.name, reason=reason, ticket=row.ticket, subject_id=approval_id, detail=said)
            self._transacting.audit(index, call, tenant, [change])
            covers, kept = row.request[:DIGEST_BYTES].decode(), row.request[DIGEST_BYTES:]
            asked = Asked(covers, row.summary, row.reason, row.ticket, kept)
            order_id = self._deeds[row.method].carry_out(index, call, tenant, asked, row.requester)
            return order_id, index.head

        order_id, head = await self._transacting.change(call, work)
        return pb.ApproveResponse(token=token_of(head), purge_order_id=order_id)

    async def reject(self, call: Call, request: pb.RejectRequest) -> pb.RejectResponse:
        """Drops a change that waits."""
        tenant, approval_id = fields.tenant(call, request.tenant), subject(request.approval_id, "approval_id")
        reason = fields.reason(request.reason)

        def work(index: Work, _snapshot: Snapshot | None) -> Head:
            row = self._waiting(index, tenant, approval_id)
            index.authority.settle_approval(tenant, approval_id, False, call.caller.name, reason)
            said = f"{row.method} asked for by {row.requester}: {row.summary}"
            change = Change(call.name, reason=reason, ticket=row.ticket, subject_id=approval_id, detail=said)
            self._transacting.audit(index, call, tenant, [change])
            return index.head

        return pb.RejectResponse(token=token_of(await self._transacting.change(call, work)))

    def _waiting(self, index: Work, tenant: str, approval_id: str) -> ApprovalRow:
        row = index.authority.approval(tenant, approval_id)
        if row is None:
            raise NotFound("approval_id: there is none of that id for this tenant")
        if row.settled is not None:
            was = "approved" if row.settled[1] else "rejected"
            raise Precondition(f"approval_id: was {was} by {row.settled[0]} already")
        if index.now >= row.expires_at:
            raise Precondition("approval_id: nobody settled it in 72 hours; ask for the change again")
        return row

    async def list_approvals(self, call: Call, request: pb.ListApprovalsRequest) -> pb.ListApprovalsResponse:
        """Changes that wait, newest first, a page at a time."""
        tenant, size = fields.tenant(call, request.tenant), fields.page_size(request.page_size)
        cursor = cursor_of(request, request.page_token, int)
        before = int(cursor[0]) if cursor is not None else None

        def read(look: Look) -> tuple[tuple[ApprovalRow, ...], Micros]:
            return look.approvals(tenant, request.settled, before, size + 1), look.now

        found, now = await self._transacting.read(call, self._transacting.store.look(read))
        more = page_token(request, (found[size - 1].seq,)) if len(found) > size else ""
        approvals = [approval_message(row, now) for row in found[:size]]
        return pb.ListApprovalsResponse(approvals=approvals, next_page_token=more)
