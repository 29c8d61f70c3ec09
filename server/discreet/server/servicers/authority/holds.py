"""Legal holds: what is under one is kept, shown to nobody, purged by nobody. The index alone holds them, no policy."""

from __future__ import annotations

from discreet.policy.codec import Malformed, parse_message
from discreet.policy.facts import Hold, Ref, Target
from discreet.policy.snapshot import Snapshot
from discreet.policy.words import PurgeOutcome, PurgeState
from discreet.server.auditing import Change
from discreet.server.calls import Call, new_id
from discreet.server.errors import NotFound, Precondition
from discreet.server.policies.follower import Policies
from discreet.server.ports import Head, Work
from discreet.server.ports_authority import HeldPart, Look
from discreet.server.servicers import fields
from discreet.server.servicers.authority.approvals import Approvals, Asked
from discreet.server.servicers.authority.covering import digest_of
from discreet.server.servicers.authority.extents import ticket
from discreet.server.servicers.authority.labels import require_known
from discreet.server.servicers.authority.messages import hold_message
from discreet.server.servicers.authority.naming import subject
from discreet.server.servicers.index.messages import token_of
from discreet.server.servicers.index.transacting import Transacting, held
from discreet.v1 import purge_pb2 as pb

HOLDS_MAX = 10_000
"""Holds that stand for a tenant at a time: each decision of the tenant reads them."""
TO_PURGE = frozenset({PurgeState.OPEN, PurgeState.FAILED})
"""Stored states of what is still there, as far as anybody knows."""


class Holds:
    """Answers the hold methods of PurgeService, and carries out what was approved."""

    def __init__(self, transacting: Transacting, policies: Policies, approvals: Approvals) -> None:
        self._transacting = transacting
        self._policies = policies
        self._approvals = approvals
        approvals.add("LiftHold", self)

    async def place_hold(self, call: Call, request: pb.PlaceHoldRequest) -> pb.PlaceHoldResponse:
        """Keeps what is covered from now on; repeating a hold that stands on the same ticket writes nothing."""
        tenant, target = fields.tenant(call, request.tenant), _target(request)
        reason, named = fields.reason(request.reason), ticket(request.ticket)

        def work(index: Work, _snapshot: Snapshot | None) -> pb.PlaceHoldResponse:
            _require_there(index, tenant, target, self._policies.snapshot)
            standing = index.authority.standing(tenant).holds
            hold = next((one for one in standing.get(target, ()) if one.ticket == named), None)
            if hold is None:
                if sum(map(len, standing.values())) >= HOLDS_MAX:
                    raise Precondition(f"{HOLDS_MAX} holds stand already; lift some first")
                hold = Hold(new_id(), target, call.caller.name, reason, named, index.now)
                index.authority.write_hold(tenant, hold)
                self._transacting.audit(index, call, tenant, [_change(call, hold, reason, named)])
            parts = index.authority.held_parts(tenant, target)
            return pb.PlaceHoldResponse(
                token=token_of(index.head),
                hold_id=hold.hold_id,
                recalled_items=sum(part.state in TO_PURGE for part in parts),
                purged_before=sum(map(_gone, parts)),
            )

        return await self._transacting.change(call, work)

    async def lift_hold(self, call: Call, request: pb.LiftHoldRequest) -> pb.LiftHoldResponse:
        """Ends a hold, or asks for a second person where two are needed."""
        tenant = fields.tenant(call, request.tenant)
        hold_id, reason, named = subject(request.hold_id, "hold_id"), fields.reason(request.reason), request.ticket
        ticket(named)

        def work(index: Work, _snapshot: Snapshot | None) -> tuple[str, Head]:
            hold, covers = _covered(index, tenant, hold_id)
            asked = Asked(
                covers, f"lift the hold on {_words(hold)}", reason, named, request.SerializeToString(deterministic=True)
            )
            if self._approvals.needed(call):
                return self._approvals.ask(index, call, tenant, asked), index.head
            self._lift(index, call, tenant, hold, asked, call.caller.name)
            return "", index.head

        approval_id, head = await self._transacting.change(call, work)
        return pb.LiftHoldResponse(token=token_of(head), approval_id=approval_id)

    def carry_out(self, index: Work, call: Call, tenant: str, asked: Asked, requester: str) -> str:
        """Lifts the hold that was approved, if no more comes free by it than when it was asked for."""
        request = parse_message(pb.LiftHoldRequest, asked.request)
        hold, covers = _covered(index, tenant, request.hold_id)
        if covers != asked.covers:
            raise Precondition("approval_id: lifting the hold would free something else now; ask for it again")
        self._lift(index, call, tenant, hold, asked, requester)
        return ""

    def _lift(self, index: Work, call: Call, tenant: str, hold: Hold, asked: Asked, actor: str) -> None:
        index.authority.end_hold(tenant, hold.hold_id, actor, asked.reason, asked.ticket)
        # While it was held nobody could delete it: from now on there is as much time as there was at first.
        freed = index.authority.held_parts(tenant, hold.target)
        index.purges.put_off(tenant, [(part.order_id, part.item) for part in freed])
        change = Change(
            "LiftHold", _ref(hold.target), reason=asked.reason, ticket=asked.ticket, detail=_words(hold),
            subject_id=hold.hold_id,
        )  # fmt: skip
        self._transacting.audit(index, call, tenant, [change])

    async def list_holds(self, call: Call, request: pb.ListHoldsRequest) -> pb.ListHoldsResponse:
        """Holds that stand, oldest first."""
        tenant = fields.tenant(call, request.tenant)

        def read(look: Look) -> list[Hold]:
            return [hold for holds in look.standing(tenant).holds.values() for hold in holds]

        found = await self._transacting.read(call, self._transacting.store.look(read))
        ordered = sorted(found, key=lambda hold: (hold.placed_at, hold.hold_id))
        return pb.ListHoldsResponse(holds=[hold_message(hold) for hold in ordered])


def _target(request: pb.PlaceHoldRequest) -> Target:
    extent = request.WhichOneof("extent")
    if extent == "source_label":
        return Target(label=fields.label(request.source_label, extent))
    if extent is None:
        raise Malformed("record", "is missing", "name a record, or give source_label")
    record_id = fields.record_id(request.record.record_id, "record.record_id")
    version = fields.version(request.record.version, "record.version") if request.record.version else ""
    return Target(record_id=record_id, version=version)


def _require_there(index: Work, tenant: str, target: Target, snapshot: Snapshot | None) -> None:
    """Raises NotFound for what the index does not hold: a hold on a misspelt record or source would hold nothing."""
    if target.label:
        require_known(index, tenant, target.label, snapshot)
    elif target.version:
        held(index, tenant, Ref(target.record_id, target.version))
    elif target.record_id and index.current(tenant, target.record_id) is None:
        raise NotFound("record.record_id: the index holds no such record for this tenant")


def _covered(index: Work, tenant: str, hold_id: str) -> tuple[Hold, str]:
    """The hold, and the digest of what comes free when it ends: what turns to PURGE, with or without a holder."""
    standing = index.authority.standing(tenant).holds
    hold = next((one for holds in standing.values() for one in holds if one.hold_id == hold_id), None)
    if hold is None:
        raise NotFound("hold_id: none of that id stands for this tenant")
    parts = [part for part in index.authority.held_parts(tenant, hold.target) if part.state in TO_PURGE]
    freed = index.authority.freed_items(tenant, hold_id, hold.target)
    items = (text for order_id, item in freed for text in (order_id, str(item)))
    named = (index.head.epoch, tenant, hold_id, str(len(freed)), *items)
    return hold, digest_of((*named, *(text for part in parts for text in _key(part))))


def _gone(part: HeldPart) -> bool:
    """True where the holder deleted it, confirmed or not."""
    return part.state is PurgeState.PURGED or (
        part.state is PurgeState.UNCONFIRMED and part.said is PurgeOutcome.PURGED
    )


def _key(part: HeldPart) -> tuple[str, str, str]:
    return part.order_id, str(part.item), part.holder


def _change(call: Call, hold: Hold, reason: str, named: str) -> Change:
    ref = _ref(hold.target)
    return Change(call.name, ref, reason=reason, ticket=named, detail=_words(hold), subject_id=hold.hold_id)


def _ref(target: Target) -> Ref | None:
    return Ref(target.record_id, target.version) if target.record_id else None


def _words(hold: Hold) -> str:
    target = hold.target
    if target.label:
        return f"source {target.label}"
    return f"{target.record_id} version {target.version}" if target.version else f"all versions of {target.record_id}"
