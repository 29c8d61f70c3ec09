"""Freezes: a source, a tenant or everything is withheld at once and for a time. Nothing is deleted."""

from __future__ import annotations

from discreet.policy.codec import Malformed
from discreet.policy.codec.values import stamp_of
from discreet.policy.facts import Freeze, Micros
from discreet.policy.snapshot import Snapshot
from discreet.server.auditing import Change
from discreet.server.calls import Call, new_id
from discreet.server.errors import Denied, NotFound, Precondition
from discreet.server.policies.follower import Policies
from discreet.server.ports import Head, Work
from discreet.server.ports_authority import Look
from discreet.server.servicers import fields
from discreet.server.servicers.authority.labels import require_known
from discreet.server.servicers.authority.messages import freeze_message
from discreet.server.servicers.authority.naming import subject
from discreet.server.servicers.index.messages import token_of
from discreet.server.servicers.index.transacting import Transacting
from discreet.v1 import authority_pb2 as pb

FREEZE_US_MAX = 31 * 86_400_000_000
FREEZES_MAX = 1_000
"""Freezes that stand for a tenant at a time: each decision of the tenant reads them."""
EVERY_TENANT = ""


class Freezes:
    """Answers the freeze methods of AuthorityService."""

    def __init__(self, transacting: Transacting, policies: Policies) -> None:
        self._transacting = transacting
        self._policies = policies

    async def freeze(self, call: Call, request: pb.FreezeRequest) -> pb.FreezeResponse:
        """Withholds until a time; it never stands for good. NotFound for a label that nothing knows."""
        tenant, label = _place(call, request)
        until = fields.optional_time(request, "until")
        if until is None:
            raise Malformed("until", "is missing", "say when it ends; at most 31 days ahead")
        reason = fields.reason(request.reason)

        def work(index: Work, _snapshot: Snapshot | None) -> tuple[str, Head]:
            _require_span(until, index.now)
            if label:
                require_known(index, tenant, label, self._policies.snapshot)
            standing = _standing(index.authority.standing(tenant).freezes, index.now)
            if len(standing) >= FREEZES_MAX:
                raise Precondition(f"{FREEZES_MAX} freezes stand already; end some first")
            freeze = Freeze(new_id(), label, call.caller.name, reason, index.now, until, tenant == EVERY_TENANT)
            index.authority.write_freeze(tenant, freeze)
            change = Change(call.name, reason=reason, detail=_words(tenant, freeze), subject_id=freeze.freeze_id)
            self._transacting.audit(index, call, tenant, [change])
            return freeze.freeze_id, index.head

        freeze_id, head = await self._transacting.change(call, work)
        return pb.FreezeResponse(token=token_of(head), freeze_id=freeze_id)

    async def unfreeze(self, call: Call, request: pb.UnfreezeRequest) -> pb.UnfreezeResponse:
        """Ends a freeze before its time."""
        everywhere = not request.tenant and call.caller.tenants is None
        tenant = EVERY_TENANT if everywhere else fields.tenant(call, request.tenant)
        freeze_id, reason = subject(request.freeze_id, "freeze_id"), fields.reason(request.reason)

        def work(index: Work, _snapshot: Snapshot | None) -> Head:
            standing = _standing(index.authority.standing(tenant).freezes, index.now)
            freeze = next((one for one in standing if one.freeze_id == freeze_id), None)
            if freeze is None:
                raise NotFound("freeze_id: none of that id stands for this tenant")
            if freeze.everywhere and call.caller.tenants is not None:
                raise Denied("freeze_id: it stands for every tenant; who is entitled to all of them may end it")
            owner = EVERY_TENANT if freeze.everywhere else tenant
            index.authority.end_freeze(owner, freeze_id, call.caller.name, reason)
            change = Change(call.name, reason=reason, detail=_words(owner, freeze), subject_id=freeze_id)
            self._transacting.audit(index, call, owner, [change])
            return index.head

        return pb.UnfreezeResponse(token=token_of(await self._transacting.change(call, work)))

    async def list_freezes(self, call: Call, request: pb.ListFreezesRequest) -> pb.ListFreezesResponse:
        """Freezes that stand for the tenant, those of every tenant included, oldest first."""
        tenant = fields.tenant(call, request.tenant)

        def read(look: Look) -> tuple[Freeze, ...]:
            return _standing(look.standing(tenant).freezes, look.now)

        found = await self._transacting.read(call, self._transacting.store.look(read))
        return pb.ListFreezesResponse(freezes=[freeze_message(tenant, freeze) for freeze in found])


def _place(call: Call, request: pb.FreezeRequest) -> tuple[str, str]:
    """The tenant, empty for all of them, and the label, empty for the whole tenant."""
    label = fields.label(request.source_label, "source_label") if request.source_label else ""
    if not request.everything:
        return fields.tenant(call, request.tenant), label
    for name in ("tenant", "source_label"):
        if getattr(request, name):
            raise Malformed(name, "stands beside everything", "leave it out, or name what is to be frozen")
    if call.caller.tenants is not None:
        raise Denied("everything: is for identities that are entitled to all tenants")
    return EVERY_TENANT, ""


def _require_span(until: Micros, now: Micros) -> None:
    if until <= now:
        raise Malformed("until", "is past already", "give a later end; at most 31 days ahead")
    if until > now + FREEZE_US_MAX:
        raise Malformed("until", "is more than 31 days ahead", "freeze for less, and again if need be")


def _standing(freezes: tuple[Freeze, ...], now: Micros) -> tuple[Freeze, ...]:
    return tuple(freeze for freeze in freezes if now < freeze.until)


def _words(tenant: str, freeze: Freeze) -> str:
    what = f"source {freeze.label}" if freeze.label else f"tenant {tenant}" if tenant else "everything"
    return f"{what} until {stamp_of(freeze.until).ToJsonString()}"
