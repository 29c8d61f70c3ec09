"""Which method is whose: the one table, and the one place that says no for a method or a tenant."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.policy.codec import Malformed
from discreet.policy.facts import Caller
from discreet.policy.idents import label_problem
from discreet.policy.words import Role
from discreet.server.errors import Denied

_EVERYONE = frozenset(Role)
_AGENT = frozenset({Role.AGENT})
_COLLECTOR = frozenset({Role.COLLECTOR})
_HOLDER = frozenset({Role.HOLDER})
_PUBLISHER = frozenset({Role.PUBLISHER})
_OPERATOR = frozenset({Role.OPERATOR})
_AUDITOR = frozenset({Role.AUDITOR})
_KEEPERS = _OPERATOR | _COLLECTOR
"""Operators, and collectors for the records of their own labels: the index service compares the label."""
_READERS = _KEEPERS | _AUDITOR

METHODS: Mapping[str, frozenset[Role]] = {
    "/discreet.v1.DisclosureService/Check": _AGENT,
    "/discreet.v1.DisclosureService/CheckStream": _AGENT,
    "/discreet.v1.DisclosureService/Commit": _AGENT,
    "/discreet.v1.DisclosureService/ReportShown": _AGENT,
    "/discreet.v1.IndexService/PutDocuments": _COLLECTOR,
    "/discreet.v1.IndexService/RegisterEvidence": _COLLECTOR,
    "/discreet.v1.IndexService/GetRecord": _READERS,
    "/discreet.v1.IndexService/ListRecords": _READERS,
    "/discreet.v1.IndexService/Supersede": _KEEPERS,
    "/discreet.v1.IndexService/Suspend": _OPERATOR,
    "/discreet.v1.IndexService/Resume": _OPERATOR,
    "/discreet.v1.IndexService/SetScopes": _KEEPERS,
    "/discreet.v1.IndexService/RecordAssessment": _KEEPERS,
    "/discreet.v1.IndexService/MarkUnreachable": _KEEPERS,
    "/discreet.v1.IndexService/RevokeRetention": _OPERATOR,
    "/discreet.v1.IndexService/GrantScope": _OPERATOR,
    "/discreet.v1.IndexService/WithdrawScope": _OPERATOR,
    "/discreet.v1.IndexService/ListGrants": _OPERATOR | _AUDITOR,
    "/discreet.v1.AuthorityService/Freeze": _OPERATOR,
    "/discreet.v1.AuthorityService/Unfreeze": _OPERATOR,
    "/discreet.v1.AuthorityService/ListFreezes": _OPERATOR | _AUDITOR,
    "/discreet.v1.AuthorityService/ListTombstones": _OPERATOR | _AUDITOR,
    "/discreet.v1.AuthorityService/LiftTombstone": _OPERATOR,
    "/discreet.v1.AuthorityService/ListApprovals": _OPERATOR | _AUDITOR,
    "/discreet.v1.AuthorityService/Approve": _OPERATOR,
    "/discreet.v1.AuthorityService/Reject": _OPERATOR,
    "/discreet.v1.PurgeService/RegisterHolder": _OPERATOR | _HOLDER,
    "/discreet.v1.PurgeService/RemoveHolder": _OPERATOR,
    "/discreet.v1.PurgeService/ListHolders": _OPERATOR | _AUDITOR,
    "/discreet.v1.PurgeService/WatchPurgeOrders": _HOLDER,
    "/discreet.v1.PurgeService/AckPurge": _HOLDER,
    "/discreet.v1.PurgeService/ListPurgeOrders": _OPERATOR | _AUDITOR,
    "/discreet.v1.PurgeService/ListPurgeItems": _OPERATOR | _AUDITOR | _HOLDER,
    "/discreet.v1.PurgeService/GetPurgeStatus": _OPERATOR | _AUDITOR,
    "/discreet.v1.PurgeService/PlaceHold": _OPERATOR,
    "/discreet.v1.PurgeService/LiftHold": _OPERATOR,
    "/discreet.v1.PurgeService/ListHolds": _OPERATOR | _AUDITOR,
    "/discreet.v1.PolicyService/PublishRevision": _PUBLISHER,
    "/discreet.v1.PolicyService/RollbackRevision": _PUBLISHER | _OPERATOR,
    "/discreet.v1.PolicyService/UnpinRevision": _PUBLISHER | _OPERATOR,
    "/discreet.v1.PolicyService/ListRevisions": _PUBLISHER | _OPERATOR | _AUDITOR,
    "/discreet.v1.AuditService/QueryDecisions": _AUDITOR,
    "/discreet.v1.AuditService/Explain": _AUDITOR,
    "/discreet.v1.AuditService/QueryActs": _AUDITOR,
    "/discreet.v1.AuditService/ListChainHeads": _AUDITOR,
    "/discreet.v1.ServerService/GetServerInfo": _EVERYONE,
    "/discreet.v1.ServerService/GetStatus": _EVERYONE,
    "/discreet.v1.ServerService/WaitForServers": _EVERYONE - _AGENT - _HOLDER,
    "/grpc.health.v1.Health/Check": _EVERYONE,
    "/grpc.health.v1.Health/List": _EVERYONE,
    "/grpc.health.v1.Health/Watch": _EVERYONE,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": _EVERYONE,
}


def require_method(caller: Caller, method: str) -> None:
    """Raises Denied where the method is not for the caller's role. A method that is not in the table is nobody's."""
    roles = METHODS.get(method, frozenset())
    if caller.role not in roles:
        wanted = " or ".join(sorted(role.short for role in roles)) or "nobody"
        raise Denied(f"{method.rpartition('/')[2]} is for {wanted}; this listener's identity is {caller.role.short}")


def tenant_of(caller: Caller, named: str) -> str:
    """The tenant that a request is for. Empty is enough where the caller is entitled to exactly one."""
    if not named:
        if caller.tenants is not None and len(caller.tenants) == 1:
            return next(iter(caller.tenants))
        raise Malformed("tenant", "is empty", "name one: this identity is entitled to more than one")
    problem = label_problem(named)
    if problem:
        raise Malformed("tenant", problem)
    if not caller.may_reach(named):
        raise Denied("tenant: this identity is not entitled to it")
    return named


def tenants_of(caller: Caller, named: str) -> tuple[str, ...] | None:
    """The tenants that a query covers: the one named, or all that the caller is entitled to (None: every tenant)."""
    if named:
        return (tenant_of(caller, named),)
    return None if caller.tenants is None else tuple(sorted(caller.tenants))
