"""The methods on grants: which principal holds which scope, from when and until when."""

from __future__ import annotations

from discreet.policy.codec import Malformed
from discreet.policy.facts import GrantFacts, Micros
from discreet.policy.snapshot import Snapshot
from discreet.policy.words import PUBLIC_SCOPE
from discreet.server.auditing import Change
from discreet.server.calls import Call
from discreet.server.errors import Precondition
from discreet.server.ports import Head, Work
from discreet.server.servicers import fields
from discreet.server.servicers.index.messages import grant_message, token_of
from discreet.server.servicers.index.transacting import Transacting
from discreet.server.servicers.paging import cursor_of, page_token
from discreet.v1 import index_pb2 as pb

GRANTS_PER_PRINCIPAL_MAX = 256


class Grants:
    """Answers the grant methods of IndexService."""

    def __init__(self, transacting: Transacting) -> None:
        self._transacting = transacting

    async def grant_scope(self, call: Call, request: pb.GrantScopeRequest) -> pb.GrantScopeResponse:
        """Gives a principal a scope; nothing is written where the very same grant stands."""
        tenant = fields.tenant(call, request.tenant)
        principal_id = fields.principal(request.principal_id, "principal_id")
        scope = fields.scope(request.scope, "scope")
        if scope == PUBLIC_SCOPE:
            raise Malformed("scope", f'"{PUBLIC_SCOPE}" is held by everybody', "set it on records; grant other scopes")
        not_before = fields.optional_time(request, "not_before")
        expires_at = fields.optional_time(request, "expires_at")
        if not_before is not None and expires_at is not None and expires_at <= not_before:
            raise Malformed("expires_at", "is not after not_before", "give a later end, or none")
        change = Change(call.name, principal_id=principal_id, scope=scope, reason=fields.reason(request.reason))

        def work(index: Work, _snapshot: Snapshot | None) -> tuple[int, Head]:
            standing = index.grants(tenant, principal_id).grants
            same = _standing(standing, scope, not_before, expires_at, index.now)
            if same is not None:
                return same.generation, index.head
            if len(standing) >= GRANTS_PER_PRINCIPAL_MAX:
                raise Precondition(
                    f"principal_id: holds {GRANTS_PER_PRINCIPAL_MAX} grants already; withdraw some first"
                )
            generation = index.generation(tenant, principal_id, scope) + 1
            start = not_before if not_before is not None else index.now
            if expires_at is not None and expires_at <= start:
                raise Malformed("expires_at", "is past already", "give a later end, or none")
            index.write_grant(tenant, principal_id, GrantFacts(scope, generation, 0, start, expires_at))
            self._transacting.audit(index, call, tenant, [change])
            return generation, index.head

        generation, head = await self._transacting.change(call, work)
        return pb.GrantScopeResponse(token=token_of(head), generation=generation)

    async def withdraw_scope(self, call: Call, request: pb.WithdrawScopeRequest) -> pb.WithdrawScopeResponse:
        """Takes a scope back, whatever the validity of its grants."""
        tenant = fields.tenant(call, request.tenant)
        principal_id = fields.principal(request.principal_id, "principal_id")
        scope = fields.scope(request.scope, "scope")
        change = Change(call.name, principal_id=principal_id, scope=scope, reason=fields.reason(request.reason))

        def work(index: Work, _snapshot: Snapshot | None) -> tuple[int, Head]:
            withdrawn = index.withdraw(tenant, principal_id, scope)
            if withdrawn:
                self._transacting.audit(index, call, tenant, [change])
            return withdrawn, index.head

        withdrawn, head = await self._transacting.change(call, work)
        return pb.WithdrawScopeResponse(token=token_of(head), withdrawn=withdrawn)

    async def list_grants(self, call: Call, request: pb.ListGrantsRequest) -> pb.ListGrantsResponse:
        """Grants in the order of principal, scope and generation, a page at a time."""
        tenant = fields.tenant(call, request.tenant)
        principal_id = fields.principal(request.principal_id, "principal_id") if request.principal_id else ""
        size = fields.page_size(request.page_size)
        cursor = cursor_of(request, request.page_token, str, str, int)
        after = (str(cursor[0]), str(cursor[1]), int(cursor[2])) if cursor is not None else None
        store = self._transacting.store
        head = await self._transacting.read(call, store.head())
        wanted = store.list_grants(tenant, principal_id, request.history, after, size + 1)
        found = await self._transacting.read(call, wanted)
        last = found[size - 1] if len(found) > size else None
        return pb.ListGrantsResponse(
            grants=[grant_message(tenant, row, head.epoch) for row in found[:size]],
            next_page_token=page_token(request, (last.principal_id, last.grant.scope, last.grant.generation))
            if last
            else "",
        )


def _standing(
    standing: tuple[GrantFacts, ...], scope: str, not_before: Micros | None, expires_at: Micros | None, now: Micros
) -> GrantFacts | None:
    """A grant that stands and says what is asked for; no `not_before` is said by any that has begun."""
    for grant in standing:
        begun = grant.not_before <= now if not_before is None else grant.not_before == not_before
        if grant.scope == scope and begun and grant.expires_at == expires_at:
            return grant
    return None
