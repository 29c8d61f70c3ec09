"""The methods that stand above single records, put together."""

from __future__ import annotations

from collections.abc import Collection

from discreet.server.calls import UnaryMethod
from discreet.server.policies.follower import Policies
from discreet.server.servicers.authority.approvals import Approvals
from discreet.server.servicers.authority.freezes import Freezes
from discreet.server.servicers.authority.holds import Holds
from discreet.server.servicers.authority.revoking import Revoking
from discreet.server.servicers.authority.tombstones import Tombstones
from discreet.server.servicers.index.transacting import Transacting
from discreet.server.servicers.typed import on_bytes
from discreet.v1 import authority_pb2, index_pb2, purge_pb2


def authority_methods(transacting: Transacting, policies: Policies, by_two: Collection[str]) -> dict[str, UnaryMethod]:
    """RevokeRetention, AuthorityService, and the holds of PurgeService, by full method name."""
    approvals = Approvals(transacting, by_two)
    revoking = Revoking(transacting, policies, approvals)
    freezes = Freezes(transacting, policies)
    tombstones = Tombstones(transacting, approvals)
    holds = Holds(transacting, policies, approvals)
    methods = {
        "IndexService/RevokeRetention": on_bytes(index_pb2.RevokeRetentionRequest, revoking.revoke_retention),
        "AuthorityService/Freeze": on_bytes(authority_pb2.FreezeRequest, freezes.freeze),
        "AuthorityService/Unfreeze": on_bytes(authority_pb2.UnfreezeRequest, freezes.unfreeze),
        "AuthorityService/ListFreezes": on_bytes(authority_pb2.ListFreezesRequest, freezes.list_freezes),
        "AuthorityService/ListTombstones": on_bytes(authority_pb2.ListTombstonesRequest, tombstones.list_tombstones),
        "AuthorityService/LiftTombstone": on_bytes(authority_pb2.LiftTombstoneRequest, tombstones.lift_tombstone),
        "AuthorityService/ListApprovals": on_bytes(authority_pb2.ListApprovalsRequest, approvals.list_approvals),
        "AuthorityService/Approve": on_bytes(authority_pb2.ApproveRequest, approvals.approve),
        "AuthorityService/Reject": on_bytes(authority_pb2.RejectRequest, approvals.reject),
        "PurgeService/PlaceHold": on_bytes(purge_pb2.PlaceHoldRequest, holds.place_hold),
        "PurgeService/LiftHold": on_bytes(purge_pb2.LiftHoldRequest, holds.lift_hold),
        "PurgeService/ListHolds": on_bytes(purge_pb2.ListHoldsRequest, holds.list_holds),
    }
    return {f"/discreet.v1.{name}": method for name, method in methods.items()}
