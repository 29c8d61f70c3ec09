"""Tombstones: what keeps revoked content from coming back, listed and lifted. What was revoked stays revoked."""

from __future__ import annotations

from discreet.policy.codec import parse_message
from discreet.policy.snapshot import Snapshot
from discreet.policy.words import TombstoneKind
from discreet.server.auditing import Change
from discreet.server.calls import Call
from discreet.server.errors import NotFound, Precondition
from discreet.server.ports import Head, Work
from discreet.server.ports_authority import TombstoneFilter, TombstoneRow
from discreet.server.servicers import fields
from discreet.server.servicers.authority.approvals import Approvals, Asked
from discreet.server.servicers.authority.covering import digest_of
from discreet.server.servicers.authority.extents import ticket
from discreet.server.servicers.authority.messages import tombstone_message
from discreet.server.servicers.authority.naming import subject
from discreet.server.servicers.index.messages import token_of
from discreet.server.servicers.index.transacting import Transacting
from discreet.server.servicers.paging import cursor_of, page_token
from discreet.v1 import authority_pb2 as pb


class Tombstones:
    """Answers the tombstone methods of AuthorityService, and carries out what was approved."""

    def __init__(self, transacting: Transacting, approvals: Approvals) -> None:
        self._transacting = transacting
        self._approvals = approvals
        approvals.add("LiftTombstone", self)

    async def list_tombstones(self, call: Call, request: pb.ListTombstonesRequest) -> pb.ListTombstonesResponse:
        """Tombstones in the order of their ids, a page at a time."""
        tenant, size = fields.tenant(call, request.tenant), fields.page_size(request.page_size)
        wanted = TombstoneFilter(
            record_id=fields.record_id(request.record_id, "record_id") if request.record_id else "",
            digest=fields.digest(request.digest, "digest") if request.digest else "",
            lifted=request.lifted,
        )
        cursor = cursor_of(request, request.page_token, str)
        after = str(cursor[0]) if cursor is not None else ""
        store = self._transacting.store
        found = await self._transacting.read(
            call, store.look(lambda look: look.tombstones(tenant, wanted, after, size + 1))
        )
        more = page_token(request, (found[size - 1].tombstone_id,)) if len(found) > size else ""
        return pb.ListTombstonesResponse(
            tombstones=[tombstone_message(row) for row in found[:size]], next_page_token=more
        )

    async def lift_tombstone(self, call: Call, request: pb.LiftTombstoneRequest) -> pb.LiftTombstoneResponse:
        """Lifts a tombstone, or asks for a second person where two are needed."""
        tenant, stone_id = fields.tenant(call, request.tenant), subject(request.tombstone_id, "tombstone_id")
        reason, named = fields.reason(request.reason), ticket(request.ticket)

        def work(index: Work, _snapshot: Snapshot | None) -> tuple[str, Head]:
            stone, covers = _covered(index, tenant, stone_id)
            kept = request.SerializeToString(deterministic=True)
            asked = Asked(covers, f"lift the tombstone of {_words(stone)}", reason, named, kept)
            if self._approvals.needed(call):
                return self._approvals.ask(index, call, tenant, asked), index.head
            self._lift(index, call, tenant, stone, asked, call.caller.name)
            return "", index.head

        approval_id, head = await self._transacting.change(call, work)
        return pb.LiftTombstoneResponse(token=token_of(head), approval_id=approval_id)

    def carry_out(self, index: Work, call: Call, tenant: str, asked: Asked, requester: str) -> str:
        """Lifts the tombstone that was approved."""
        request = parse_message(pb.LiftTombstoneRequest, asked.request)
        stone, covers = _covered(index, tenant, request.tombstone_id)
        if covers != asked.covers:
            raise Precondition("approval_id: lifting the tombstone would cover something else now; ask for it again")
        self._lift(index, call, tenant, stone, asked, requester)
        return ""

    def _lift(self, index: Work, call: Call, tenant: str, stone: TombstoneRow, asked: Asked, actor: str) -> None:
        kept = 0
        if stone.kind is TombstoneKind.SOURCE:
            kept = _revoke_each(index, tenant, stone)
            index.authority.end_source_revoke(tenant, stone.order_id, actor, asked.reason, asked.ticket)
        index.authority.lift_tombstone(tenant, stone.tombstone_id, actor, asked.reason, asked.ticket)
        stays = f"; {kept} versions under it stay revoked" if kept else ""
        change = Change(
            "LiftTombstone", stone.ref if stone.ref.record_id else None, reason=asked.reason, ticket=asked.ticket,
            detail=f"{_words(stone)}{stays}", subject_id=stone.tombstone_id,
        )  # fmt: skip
        self._transacting.audit(index, call, tenant, [change])


def _revoke_each(index: Work, tenant: str, stone: TombstoneRow) -> int:
    """Gives each version under a revoked source its own revoke, on the source's terms; returns how many got one.

    So that all of them stay revoked when the standing fact ends, in the same transaction.
    """
    revoke = index.authority.standing(tenant).revoked_sources[stone.label]
    return index.authority.revoke_each(tenant, stone.label, revoke, "LiftTombstone")


def _covered(index: Work, tenant: str, stone_id: str) -> tuple[TombstoneRow, str]:
    """The tombstone, and the digest of what lifting it would do. NotFound, or Precondition where it was lifted."""
    stone = index.authority.tombstone(tenant, stone_id)
    if stone is None:
        raise NotFound("tombstone_id: there is none of that id for this tenant")
    if stone.lifted:
        raise Precondition("tombstone_id: it was lifted already")
    under = index.authority.under(tenant, stone.label) if stone.kind is TombstoneKind.SOURCE else ()
    fresh = (text for one in under if one.revoke is None for text in one.ref)
    return stone, digest_of((index.head.epoch, tenant, stone_id, *fresh))


def _words(stone: TombstoneRow) -> str:
    if stone.kind is TombstoneKind.SOURCE:
        return f"source {stone.label}"
    if stone.kind is TombstoneKind.RECORD:
        return f"all versions of {stone.ref.record_id}"
    return f"the content of {stone.ref.record_id} version {stone.ref.version}"
