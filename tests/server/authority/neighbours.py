"""The states that keep a record from being shown: how each is brought about, and how it ends. Knows no test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from discreet.v1 import index_pb2, purge_pb2
from tests.server.authority.acts import FAR, TICKETED, ahead, freeze, hold, lift_hold, revoke, unfreeze
from tests.server.support import POLICY, TENANT, PolicyRepo, Running, document, ref

PAST = Timestamp(seconds=1_000_000_000)
ONE: dict[str, Any] = {"tenant": TENANT, "record": ref(), "reason": "why"}
MOMENTS = ("RETRIEVE", "PUBLISH", "REPLAY", "EXPORT")
EXPORTING = {**POLICY, "rules.yaml": POLICY["rules.yaml"].replace("PUBLISH, REPLAY]", "PUBLISH, REPLAY, EXPORT]")}
UNLISTED = EXPORTING["sources.yaml"].replace(
    "{label: handbook, title: Handbook,", "{label: handbook, title: Handbook, listed: false,"
)
Act = Callable[[Running, PolicyRepo], Awaitable[Any]]
End = Callable[[Running, PolicyRepo, Any], Awaitable[None]]


def mine() -> index_pb2.DocumentInput:
    """The document that all of it is about: for the desk, to which ana belongs."""
    return document(scopes=["desk"])


def grant() -> index_pb2.GrantScopeRequest:
    """Ana may read what is for the desk."""
    return index_pb2.GrantScopeRequest(tenant=TENANT, principal_id="ana", scope="desk", reason="joined")


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A state. `told` is what agents read, `cause` what the audit holds; `method` is the change that is on record."""

    name: str
    told: tuple[str, str]
    method: str
    begin: Act
    end: End | None
    cause: str = ""

    @property
    def reason(self) -> str:
        """What the audit holds."""
        return self.cause or self.told[1]


def _calls(begin: Message, end: Message) -> tuple[Act, End]:
    async def begins(server: Running, _repo: PolicyRepo) -> None:
        await server.lines.operator.call(begin)

    async def ends(server: Running, _repo: PolicyRepo, _begun: Any) -> None:
        await server.lines.operator.call(end)

    return begins, ends


def _hidden(name: str, reason: str, begin: Message, end: Message, cause: str = "") -> Neighbour:
    method = type(begin).__name__.removesuffix("Request")
    return Neighbour(name, ("WITHHOLD", reason), method, *_calls(begin, end), cause)


async def _unlist(server: Running, repo: PolicyRepo) -> None:
    repo.commit({"sources.yaml": UNLISTED})
    await server.server.policies.poll()


async def _list(server: Running, repo: PolicyRepo, _begun: Any) -> None:
    repo.commit({"sources.yaml": EXPORTING["sources.yaml"]})
    await server.server.policies.poll()


async def _freeze(server: Running, _repo: PolicyRepo) -> str:
    return (await freeze(server.lines.operator, source_label="handbook")).freeze_id


async def _unfreeze(server: Running, _repo: PolicyRepo, begun: str) -> None:
    await unfreeze(server.lines.operator, begun)


async def _hold(server: Running, _repo: PolicyRepo) -> str:
    return (await hold(server.lines.operator, record=ref())).hold_id


async def _lift_hold(server: Running, _repo: PolicyRepo, begun: str) -> None:
    await lift_hold(server.lines.operator, begun)


def _revoke(**fields: Any) -> Act:
    async def begins(server: Running, _repo: PolicyRepo) -> None:
        await revoke(server.lines.operator, **fields)

    return begins


HIDING = (
    _hidden("suspended", "SUSPENDED", index_pb2.SuspendRequest(**ONE), index_pb2.ResumeRequest(**ONE)),
    _hidden(
        "suspended for a time", "SUSPENDED", index_pb2.SuspendRequest(until=ahead(3_600), **ONE),
        index_pb2.ResumeRequest(**ONE),
    ),
    _hidden(
        "other scopes", "NOT_AVAILABLE", index_pb2.SetScopesRequest(scopes=["board"], **ONE),
        index_pb2.SetScopesRequest(scopes=["desk"], **ONE), cause="SCOPE_DENIED",
    ),
    _hidden(
        "grant withdrawn", "NOT_AVAILABLE",
        index_pb2.WithdrawScopeRequest(tenant=TENANT, principal_id="ana", scope="desk", reason="left"), grant(),
        cause="SCOPE_DENIED",
    ),
    _hidden(
        "assessment expired", "ASSESSMENT_EXPIRED", index_pb2.RecordAssessmentRequest(expires_at=PAST, **ONE),
        index_pb2.RecordAssessmentRequest(expires_at=FAR, **ONE),
    ),
    _hidden(
        "not assessed", "ELIGIBILITY_UNKNOWN", index_pb2.RecordAssessmentRequest(**ONE),
        index_pb2.RecordAssessmentRequest(expires_at=FAR, **ONE),
    ),
    _hidden(
        "unreachable", "DOCUMENT_UNREACHABLE", index_pb2.MarkUnreachableRequest(**ONE),
        index_pb2.MarkUnreachableRequest(reachable=True, **ONE),
    ),
    _hidden(
        "superseded", "SUPERSEDED", index_pb2.SupersedeRequest(successor=ref("handbook/other"), **ONE),
        index_pb2.SupersedeRequest(clear=True, **ONE),
    ),
    Neighbour("source delisted", ("WITHHOLD", "UNTRUSTED_SOURCE"), "PublishPolicy", _unlist, _list),
    Neighbour("frozen", ("WITHHOLD", "FROZEN"), "Freeze", _freeze, _unfreeze),
    Neighbour("held", ("WITHHOLD", "LEGAL_HOLD"), "PlaceHold", _hold, _lift_hold),
)  # fmt: skip
"""Hide, delete nothing, and show again when they end."""

NOT_DUE = Neighbour(
    "revoked, not due", ("WITHHOLD", "RETENTION_REVOKED"), "RevokeRetention",
    _revoke(record=ref(), purge_not_before=FAR), None,
)  # fmt: skip
DUE = (
    Neighbour("revoked", ("PURGE", "RETENTION_REVOKED"), "RevokeRetention", _revoke(record=ref()), None),
    Neighbour(
        "all versions revoked", ("PURGE", "RETENTION_REVOKED"), "RevokeRetention",
        _revoke(all_versions_of="handbook/leave"), None,
    ),
    Neighbour(
        "source revoked", ("PURGE", "RETENTION_REVOKED"), "RevokeRetention", _revoke(source_label="handbook"), None
    ),
)  # fmt: skip
ALL = (*HIDING, NOT_DUE, *DUE)

ENDINGS: tuple[Message, ...] = (
    index_pb2.ResumeRequest(**ONE),
    index_pb2.SetScopesRequest(scopes=["desk", "public"], **ONE),
    grant(),
    index_pb2.RecordAssessmentRequest(expires_at=FAR, **ONE),
    index_pb2.MarkUnreachableRequest(reachable=True, **ONE),
    index_pb2.SupersedeRequest(clear=True, **ONE),
)
"""What ends a state by a call alone."""
BEGINNINGS: tuple[Message, ...] = (
    index_pb2.SuspendRequest(**ONE),
    index_pb2.SetScopesRequest(scopes=["board"], **ONE),
    index_pb2.RecordAssessmentRequest(expires_at=PAST, **ONE),
    index_pb2.MarkUnreachableRequest(**ONE),
    index_pb2.SupersedeRequest(successor=ref("handbook/other"), **ONE),
    purge_pb2.LiftHoldRequest(hold_id="none", **TICKETED),
)
