"""The methods on records: register, look up, and everything that changes what may be shown of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from discreet.policy.codec import Malformed
from discreet.policy.facts import RecordFacts, Ref
from discreet.policy.snapshot import Snapshot
from discreet.server.auditing import Change
from discreet.server.calls import Call
from discreet.server.errors import Denied, NotFound
from discreet.server.ports import Head, Work
from discreet.server.servicers import fields
from discreet.server.servicers.index import inputs
from discreet.server.servicers.index.fallen import without_fallen
from discreet.server.servicers.index.messages import record_message, token_of
from discreet.server.servicers.index.registering import Registered, Registration
from discreet.server.servicers.index.transacting import Edit, Transacting, held
from discreet.server.servicers.paging import cursor_of, page_token
from discreet.v1 import common_pb2
from discreet.v1 import index_pb2 as pb

HISTORY_MAX = 100

_KINDS = {
    "created": pb.PutOutcome.KIND_CREATED,
    "updated": pb.PutOutcome.KIND_UPDATED,
    "unchanged": pb.PutOutcome.KIND_UNCHANGED,
    "refused": pb.PutOutcome.KIND_REFUSED,
}


class Records:
    """Answers the record methods of IndexService."""

    def __init__(self, transacting: Transacting) -> None:
        self._transacting = transacting

    async def put_documents(self, call: Call, request: pb.PutDocumentsRequest) -> pb.PutDocumentsResponse:
        """Registers document versions."""
        tenant = fields.tenant(call, request.tenant)
        outcomes, token = await self._register(call, tenant, inputs.documents(request))
        return pb.PutDocumentsResponse(outcomes=outcomes, token=token)

    async def register_evidence(self, call: Call, request: pb.RegisterEvidenceRequest) -> pb.RegisterEvidenceResponse:
        """Registers pieces of evidence."""
        tenant = fields.tenant(call, request.tenant)
        outcomes, token = await self._register(call, tenant, inputs.evidence(request))
        return pb.RegisterEvidenceResponse(outcomes=outcomes, token=token)

    async def _register(
        self, call: Call, tenant: str, given: tuple[inputs.RecordInput, ...]
    ) -> tuple[list[pb.PutOutcome], str]:
        def work(index: Work, snapshot: Snapshot | None) -> tuple[list[Registered], Head]:
            if snapshot is None:
                raise Denied("registering is for collectors", tenant=tenant)
            registration = Registration(index, call, tenant, snapshot, given)
            found = registration.register(given)
            self._transacting.audit(index, call, tenant, registration.changes)
            return found, index.head

        found, head = await self._transacting.change(call, work)
        return [_outcome(one) for one in found], token_of(head)

    async def get_record(self, call: Call, request: pb.GetRecordRequest) -> pb.GetRecordResponse:
        """A version at its latest revision, and its history where asked for."""
        tenant = fields.tenant(call, request.tenant)
        record_id = fields.record_id(request.record_id, "record_id")
        version = fields.version(request.version, "version") if request.version else ""
        limit = HISTORY_MAX if request.history else 0
        store = self._transacting.store
        head = await self._transacting.read(call, store.head())
        found = await self._transacting.read(call, store.get_record(tenant, record_id, version, limit))
        if not found:
            raise NotFound("record_id: the index holds no such record or version for this tenant")
        standing = await self._transacting.read(call, store.look(lambda look: look.standing(tenant)))
        found = await without_fallen(self._transacting, call, tenant, found)
        return pb.GetRecordResponse(
            record=record_message(tenant, found[0], head.epoch, standing),
            history=[record_message(tenant, record, head.epoch) for record in found[1:]],
            token=token_of(head),
        )

    async def list_records(self, call: Call, request: pb.ListRecordsRequest) -> pb.ListRecordsResponse:
        """Records in the order of their ids and versions, a page at a time."""
        tenant = fields.tenant(call, request.tenant)
        label = fields.label(request.source_label, "source_label") if request.source_label else ""
        record_id = fields.record_id(request.record_id, "record_id") if request.record_id else ""
        size = fields.page_size(request.page_size)
        cursor = cursor_of(request, request.page_token, str, str)
        after = (str(cursor[0]), str(cursor[1])) if cursor is not None else None
        store = self._transacting.store
        head = await self._transacting.read(call, store.head())
        wanted = store.list_records(tenant, label, record_id, request.current_only, after, size + 1)
        found = await self._transacting.read(call, wanted)
        standing = await self._transacting.read(call, store.look(lambda look: look.standing(tenant)))
        found = await without_fallen(self._transacting, call, tenant, found)
        last = found[size - 1].ref if len(found) > size else None
        return pb.ListRecordsResponse(
            records=[record_message(tenant, record, head.epoch, standing) for record in found[:size]],
            next_page_token=page_token(request, tuple(last)) if last is not None else "",
        )

    async def supersede(self, call: Call, request: pb.SupersedeRequest) -> pb.SupersedeResponse:
        """Names a successor, or takes the name away."""
        if request.clear == request.HasField("successor"):
            raise Malformed("successor", "must be set, or clear be true, and not both")
        tenant, ref = fields.tenant(call, request.tenant), fields.ref(request, "record")
        successor = None if request.clear else fields.ref(request, "successor")
        if successor == ref:
            raise Malformed("successor", "is the record itself", "name the version or document that takes its place")
        change = Change(call.name, ref, reason=fields.reason(request.reason), detail=_named(successor))

        def work(index: Work, snapshot: Snapshot | None) -> Head:
            if successor is not None:
                held(index, tenant, successor, "successor")
            edit = Edit("successor", lambda _, record: _superseded(index, tenant, record, successor))
            return self._transacting.edit(index, call, tenant, ref, snapshot, edit, change)

        return pb.SupersedeResponse(token=token_of(await self._transacting.change(call, work)))

    async def suspend(self, call: Call, request: pb.SuspendRequest) -> pb.SuspendResponse:
        """Hides until resumed, or until a time; suspending again replaces what was said before."""
        until = fields.optional_time(request, "until")

        def edit(index: Work, record: RecordFacts) -> RecordFacts:
            if until is not None and until <= index.now:
                raise Malformed("until", "is past already", "give a later end, or none: then Resume ends it")
            return replace(record, suspended=True, suspended_until=until)

        said = "" if until is None else f"until {request.until.ToJsonString()}"
        return pb.SuspendResponse(token=await self._edit(call, request, "", edit, said))

    async def resume(self, call: Call, request: pb.ResumeRequest) -> pb.ResumeResponse:
        """Ends a suspension."""
        return pb.ResumeResponse(
            token=await self._edit(
                call, request, "", lambda _, record: replace(record, suspended=False, suspended_until=None)
            )
        )

    async def set_scopes(self, call: Call, request: pb.SetScopesRequest) -> pb.SetScopesResponse:
        """Replaces the scopes of which a reader needs one."""
        scopes = fields.scopes(request.scopes, "scopes")

        def edit(_index: Work, record: RecordFacts) -> RecordFacts:
            return record if set(record.scopes) == set(scopes) else replace(record, scopes=scopes)

        said = ", ".join(scopes) or "none: nobody may read"
        return pb.SetScopesResponse(token=await self._edit(call, request, "scopes", edit, said))

    async def record_assessment(self, call: Call, request: pb.RecordAssessmentRequest) -> pb.RecordAssessmentResponse:
        """Says until when the record is eligible."""
        expires_at = fields.optional_time(request, "expires_at")
        said = "not assessed" if expires_at is None else f"eligible until {request.expires_at.ToJsonString()}"
        token = await self._edit(
            call, request, "assessment", lambda _, record: replace(record, assessment_expires_at=expires_at), said
        )
        return pb.RecordAssessmentResponse(token=token)

    async def mark_unreachable(self, call: Call, request: pb.MarkUnreachableRequest) -> pb.MarkUnreachableResponse:
        """Says whether the original can be reached."""
        unreachable = not request.reachable
        said = "unreachable" if unreachable else "reachable"
        token = await self._edit(
            call, request, "reachability", lambda _, record: replace(record, unreachable=unreachable), said
        )
        return pb.MarkUnreachableResponse(token=token)

    async def _edit(
        self,
        call: Call,
        request: pb.SuspendRequest
        | pb.ResumeRequest
        | pb.SetScopesRequest
        | pb.RecordAssessmentRequest
        | pb.MarkUnreachableRequest,
        settles: str,
        apply: Callable[[Work, RecordFacts], RecordFacts],
        said: str = "",
    ) -> str:
        """The token after an edit of one record that says why. `said`: what it says, for the audit."""
        tenant, ref = fields.tenant(call, request.tenant), fields.ref(request, "record")
        change = Change(call.name, ref, reason=fields.reason(request.reason), detail=said)

        def work(index: Work, snapshot: Snapshot | None) -> Head:
            return self._transacting.edit(index, call, tenant, ref, snapshot, Edit(settles, apply), change)

        return token_of(await self._transacting.change(call, work))


def _named(ref: Ref | None) -> str:
    return "no successor any more" if ref is None else f"successor {ref.record_id} version {ref.version}"


def _outcome(found: Registered) -> pb.PutOutcome:
    if found.refused is None:
        return pb.PutOutcome(kind=_KINDS[found.kind], message=found.note)
    reason = common_pb2.Reason.ValueType(found.refused.reason.value)
    return pb.PutOutcome(kind=_KINDS[found.kind], reason=reason, message=found.refused.message)


def _superseded(index: Work, tenant: str, record: RecordFacts, successor: Ref | None) -> RecordFacts:
    """The record with another successor, or none.

    What was replaced by the version that is current now takes its place again when the name is taken away; a version
    that was registered later stays current.
    """
    before = record.superseded_by
    current = index.current(tenant, record.record_id)
    back = successor is None and before is not None and current is not None and current.ref == before
    return replace(record, superseded_by=successor, current=record.current or back)
