"""The methods of PolicyService, put together."""

from __future__ import annotations

from discreet.server.calls import UnaryMethod
from discreet.server.policies.follower import Policies
from discreet.server.servicers.index.transacting import Transacting
from discreet.server.servicers.policies.service import PolicyRevisions
from discreet.server.servicers.typed import on_bytes
from discreet.v1 import policy_pb2


def policy_methods(transacting: Transacting, policies: Policies, instance: str) -> dict[str, UnaryMethod]:
    """PolicyService by full method name."""
    revisions = PolicyRevisions(transacting, policies, instance)
    methods = {
        "PublishRevision": on_bytes(policy_pb2.PublishRevisionRequest, revisions.publish_revision),
        "RollbackRevision": on_bytes(policy_pb2.RollbackRevisionRequest, revisions.rollback_revision),
        "UnpinRevision": on_bytes(policy_pb2.UnpinRevisionRequest, revisions.unpin_revision),
        "ListRevisions": on_bytes(policy_pb2.ListRevisionsRequest, revisions.list_revisions),
    }
    return {f"/discreet.v1.PolicyService/{name}": method for name, method in methods.items()}
