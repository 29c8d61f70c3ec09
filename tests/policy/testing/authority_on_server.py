"""What steps say of revokes, holds, freezes and holders, as an operator and holders say it to a running server.

Knows nothing of the in-memory index.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from discreet.policy.codec.values import number, stamp_of
from discreet.policy.facts import Micros, Ref
from discreet.policy.testing.kinds import HeldItem
from discreet.policy.testing.purging import RECHECKS
from discreet.policy.testing.steps import AcknowledgeStep, FreezeStep, HolderStep, RevokeStep
from discreet.policy.words import PurgeState
from discreet.server.ports import Store
from discreet.v1 import authority_pb2, common_pb2, index_pb2, purge_pb2
from tests.server.support import Lines

STATES = {
    PurgeState.SCHEDULED: "scheduled",
    PurgeState.OPEN: "open",
    PurgeState.HELD: "held",
    PurgeState.FAILED: "failed",
    PurgeState.UNCONFIRMED: "unconfirmed",
    PurgeState.PURGED: "purged",
    PurgeState.NOT_FOUND: "not_found",
}


class OrderSeen(NamedTuple):
    """How far a purge order is: its items by state, of all holders, and whether it is done."""

    items: Counter[PurgeState]
    done: bool


@dataclass(slots=True)
class AuthorityOnServer:
    """The authority and purge services, for one tenant."""

    lines: Lines
    store: Store
    tenant: str
    names: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def _common(self) -> dict[str, Any]:
        return {"tenant": self.tenant, "reason": "test"}

    async def revoke(self, step: RevokeStep, ref: Ref | None) -> None:
        """RevokeRetention of what the step names; with the digest of a dry run where it says so."""
        request = index_pb2.RevokeRetentionRequest(**self._common, ticket=step.ticket)
        if step.purge_not_before is not None:
            request.purge_not_before.CopyFrom(stamp_of(Micros(step.purge_not_before)))
        if ref is not None:
            request.record.CopyFrom(common_pb2.RecordRef(record_id=ref.record_id, version=ref.version))
        elif step.source is not None:
            request.source_label = step.source
        else:
            request.all_versions_of = step.all_versions_of or ""
        if step.dry_run:
            request.dry_run = True
            looked = await self.lines.operator.call(request)
            assert isinstance(looked, index_pb2.RevokeRetentionResponse)
            request.dry_run, request.dry_run_digest = False, looked.dry_run_digest
        done = await self.lines.operator.call(request)
        assert isinstance(done, index_pb2.RevokeRetentionResponse)
        if done.purge_order_id:
            self.names["order", step.called] = done.purge_order_id

    async def place_hold(self, item: HeldItem, ticket: str) -> None:
        """PlaceHold; a record without a version is all its versions."""
        request = purge_pb2.PlaceHoldRequest(**self._common, ticket=ticket, source_label=item.source or "")
        if item.record is not None:
            named = common_pb2.RecordRef(record_id=item.record.record_id, version=item.record.version or "")
            request.record.CopyFrom(named)
        placed = await self.lines.operator.call(request)
        assert isinstance(placed, purge_pb2.PlaceHoldResponse)
        self.names["hold", item.called] = placed.hold_id

    async def lift_hold(self, name: str) -> None:
        """LiftHold of the hold of that name, or of one that never was."""
        hold_id = self.names.get(("hold", name), "none")
        await self.lines.operator.call(purge_pb2.LiftHoldRequest(**self._common, hold_id=hold_id, ticket="T"))

    async def freeze(self, step: FreezeStep, now: Micros) -> None:
        """Freeze of a source, or of the tenant."""
        until = stamp_of(Micros(step.until if step.until is not None else now + (step.for_ or 0)))
        request = authority_pb2.FreezeRequest(**self._common, source_label=step.source or "", until=until)
        frozen = await self.lines.operator.call(request)
        assert isinstance(frozen, authority_pb2.FreezeResponse)
        self.names["freeze", step.called] = frozen.freeze_id

    async def unfreeze(self, name: str) -> None:
        """Unfreeze of the freeze of that name, or of one that never was."""
        freeze_id = self.names.get(("freeze", name), "none")
        await self.lines.operator.call(authority_pb2.UnfreezeRequest(**self._common, freeze_id=freeze_id))

    async def register_holder(self, step: HolderStep) -> None:
        """RegisterHolder, by the operator."""
        request = purge_pb2.RegisterHolderRequest(
            tenant=self.tenant, holder=step.holder, kind=number(step.kind), source_labels=step.sources or ()
        )
        await self.lines.operator.call(request)

    async def acknowledge(self, step: AcknowledgeStep) -> bool:
        """AckPurge of everything of the order that the holder is asked for now; False where that is nothing."""
        order_id = self.names.get(("order", step.order), "")
        found = await self.store.look(lambda look: look.purges.deliverable(self.tenant, step.holder, 500))
        parts = [one.part for one in found if one.part.item.order_id == order_id]
        asked = [part for part in parts if part.recheck == (step.outcome in RECHECKS)]
        if not asked:
            return False
        outcome, why = number(step.outcome), "test" if step.outcome.short == "FAILED" else ""
        acks = [
            purge_pb2.PurgeAck(order_id=order_id, item=part.item.item, outcome=outcome, reason=why) for part in asked
        ]
        line = self.lines[step.holder]
        answer = await line.call(purge_pb2.AckPurgeRequest(tenant=self.tenant, acks=acks))
        assert isinstance(answer, purge_pb2.AckPurgeResponse)
        assert [one.refused for one in answer.outcomes] == [""] * len(acks)
        return True

    async def orders(self) -> dict[str, OrderSeen]:
        """Every purge order that a step has named, by its name."""
        listed = await self.lines.operator.call(purge_pb2.ListPurgeOrdersRequest(tenant=self.tenant, page_size=1_000))
        assert isinstance(listed, purge_pb2.ListPurgeOrdersResponse)
        by_id = {order.order_id: order for order in listed.orders}
        found = {}
        for (kind, name), order_id in self.names.items():
            if kind == "order":
                items = Counter({s: sum(getattr(p, n) for p in by_id[order_id].parts) for s, n in STATES.items()})
                found[name] = OrderSeen(+items, by_id[order_id].done)
        return found
