"""RevokeRetention: the only act that leads to PURGE."""

from __future__ import annotations

from discreet.policy.codec import parse_message
from discreet.policy.facts import Revoke
from discreet.policy.snapshot import Snapshot
from discreet.server.calls import Call
from discreet.server.errors import Precondition
from discreet.server.policies.follower import Policies
from discreet.server.ports import Work
from discreet.server.servicers import fields
from discreet.server.servicers.authority.approvals import Approvals, Asked
from discreet.server.servicers.authority.carrying_out import METHOD, Said, carry_out
from discreet.server.servicers.authority.covering import Covered, cover
from discreet.server.servicers.authority.extents import Extent, extent_of, ticket
from discreet.server.servicers.authority.labels import require_known
from discreet.server.servicers.authority.terms import retention_of
from discreet.server.servicers.index.messages import ref_message, token_of
from discreet.server.servicers.index.transacting import Transacting
from discreet.v1 import index_pb2 as pb

SAMPLE_MAX = 100


class Revoking:
    """Answers RevokeRetention, and carries out what was approved."""

    def __init__(self, transacting: Transacting, policies: Policies, approvals: Approvals) -> None:
        self._transacting = transacting
        self._policies = policies
        self._approvals = approvals
        approvals.add(METHOD, self)

    async def revoke_retention(self, call: Call, request: pb.RevokeRetentionRequest) -> pb.RevokeRetentionResponse:
        """Revokes, or says what a revoke would do."""
        tenant, extent, said = fields.tenant(call, request.tenant), extent_of(request), _said(call.caller.name, request)
        if request.dry_run_digest:
            fields.digest(request.dry_run_digest, "dry_run_digest")

        def work(index: Work, _snapshot: Snapshot | None) -> pb.RevokeRetentionResponse:
            return self._revoke(index, call, tenant, extent, said, request)

        return await self._transacting.change(call, work)

    def _revoke(
        self, index: Work, call: Call, tenant: str, extent: Extent, said: Said, request: pb.RevokeRetentionRequest
    ) -> pb.RevokeRetentionResponse:
        if extent.label:
            require_known(index, tenant, extent.label, self._policies.snapshot)
        covered = cover(index, tenant, extent)
        order_id = approval_id = ""
        if not request.dry_run and not covered.is_new:
            order_id = _repeated(covered, said, index)
        elif request.dry_run:
            _require_digest(covered, request.dry_run_digest)
        else:
            self._require_looked_at(covered, request.dry_run_digest)
            if self._approvals.needed(call):
                approval_id = self._approvals.ask(index, call, tenant, _asked(extent, covered, request))
            else:
                order_id = self._carry_out(index, call, tenant, extent, covered, said)
        return pb.RevokeRetentionResponse(
            token=token_of(index.head),
            affected_segments=len(covered.segments),
            dry_run_digest=covered.digest,
            affected_versions=len(covered.versions),
            already_revoked=covered.already,
            derived_versions=len(covered.built),
            without_time=covered.without_time,
            purge_order_id=order_id,
            approval_id=approval_id,
            sample=[ref_message(one.ref) for one in covered.versions[:SAMPLE_MAX]],
        )

    def _require_looked_at(self, covered: Covered, digest: str) -> None:
        """Raises Precondition for a large revoke that names no dry run, and for one that would do something else."""
        most = retention_of(self._policies).dry_run_above
        count = len(covered.versions) + len(covered.built) + len(covered.segments)
        if count > most and not digest:
            raise Precondition(
                f"dry_run_digest: is missing; {count} versions and segments are covered, more than the {most} that pass"
                " without: look with dry_run, and give the digest that it says"
            )
        _require_digest(covered, digest)

    def _carry_out(self, index: Work, call: Call, tenant: str, extent: Extent, covered: Covered, said: Said) -> str:
        retention = retention_of(self._policies)
        return carry_out(self._transacting, index, call, tenant, extent, covered, said, retention)

    def carry_out(self, index: Work, call: Call, tenant: str, asked: Asked, requester: str) -> str:
        """Revokes what was approved, if it is still exactly what was asked for."""
        request = parse_message(pb.RevokeRetentionRequest, asked.request)
        extent = extent_of(request)
        covered = cover(index, tenant, extent)
        if covered.digest != asked.covers:
            raise Precondition("approval_id: the revoke would cover something else now; ask for it again")
        return self._carry_out(index, call, tenant, extent, covered, _said(requester, request))


def _said(actor: str, request: pb.RevokeRetentionRequest) -> Said:
    reason, named = fields.reason(request.reason), ticket(request.ticket)
    return Said(actor, reason, named, fields.optional_time(request, "purge_not_before"))


def _asked(extent: Extent, covered: Covered, request: pb.RevokeRetentionRequest) -> Asked:
    counts = f"{len(covered.versions)} versions, {len(covered.segments)} segments"
    kept = request.SerializeToString(deterministic=True)
    return Asked(covered.digest, f"revoke {extent.words()}: {counts}", request.reason, request.ticket, kept)


def _require_digest(covered: Covered, digest: str) -> None:
    if digest and digest != covered.digest:
        raise Precondition("dry_run_digest: what would be affected has changed since; look again with dry_run")


def _repeated(covered: Covered, said: Said, index: Work) -> str:
    """The order of what was revoked before on the same terms. Precondition on others: those stand."""
    due = index.now if said.not_before is None else max(said.not_before, index.now)
    if not all(_same_terms(revoke, said.ticket, due) for revoke in covered.terms):
        raise Precondition("TOMBSTONED: its retention was revoked before, on other terms; those stand")
    orders = {revoke.order_id for revoke in covered.terms}
    return orders.pop() if len(orders) == 1 else ""


def _same_terms(stands: Revoke, named: str, due: int) -> bool:
    """True for a repeat that asks for nothing that does not stand: the same ticket, and no earlier purge."""
    return stands.ticket == named and due >= stands.purge_not_before
