"""Reads of the audit are on record in the audit: who asked for what, and how much was found.

The row is written before the answer leaves. Where it cannot be, nothing is told.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.timestamp_pb2 import Timestamp

from discreet.policy.facts import Micros, Ref
from discreet.policy.words import AuditAct
from discreet.server.auditing import Change, row_of
from discreet.server.calls import Call
from discreet.server.errors import Unavailable
from discreet.server.ports import AuditRecord
from discreet.v1 import audit_pb2 as pb

Asked = pb.QueryDecisionsRequest | pb.ExplainRequest | pb.QueryActsRequest

_OWN_COLUMNS = frozenset(
    {"tenant", "principal_id", "record_id", "version", "ticket", "subject_id", "decision_id", "page_token", "page_size"}
)


class Reads:
    """Puts reads on record."""

    def __init__(
        self, instance: str, wall: Callable[[], Micros], record: Callable[[Call, AuditRecord], Awaitable[bool]]
    ) -> None:
        self._instance = instance
        self._wall = wall
        self._record = record
        """True once a row is durable, within the time of the call."""

    async def put(self, call: Call, request: Asked, found: str) -> None:
        """Writes the row of a read. `found`: how much, in words. Raises Unavailable where it cannot be made durable."""
        tenant = request.tenant or _only_tenant(call)
        row = row_of(call, AuditAct.READ, tenant, self._wall(), self._instance, _change(call, request, found))
        if not await self._record(call, row):
            raise Unavailable("the read cannot be put on record, so it is not answered (AUDIT_UNAVAILABLE); ask again")


def _only_tenant(call: Call) -> str:
    tenants = call.caller.tenants
    return next(iter(tenants)) if tenants is not None and len(tenants) == 1 else ""


def _change(call: Call, request: Asked, found: str) -> Change:
    """What was asked about stands in the columns that find it; the rest is told in words."""
    if isinstance(request, pb.ExplainRequest):
        return Change(call.name, subject_id=request.decision_id, detail=found)
    asked = [f"{field.name} {_words(field, value)}" for field, value in request.ListFields()
             if field.name not in _OWN_COLUMNS]  # fmt: skip
    if request.page_token:
        asked.append("a later page")
    said = Change(
        call.name, principal_id=request.principal_id, detail="; ".join(filter(None, (", ".join(asked), found)))
    )
    if isinstance(request, pb.QueryActsRequest):
        said = replace(said, ticket=request.ticket, subject_id=request.subject_id)
    version = request.version if isinstance(request, pb.QueryActsRequest) else ""
    return replace(said, ref=Ref(request.record_id, version)) if request.record_id else said


def _words(field: FieldDescriptor, value: object) -> str:
    """A filter's value, as the command line writes it."""
    if isinstance(value, Timestamp):
        return value.ToJsonString()
    if field.enum_type is not None and isinstance(value, int):
        name: str = field.enum_type.values_by_number[value].name
        return name.removeprefix("AUDIT_").partition("_")[2]
    return str(value)
