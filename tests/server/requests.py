"""A valid request of every method with every field set, and what can be done to it to make it malformed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from discreet.policy.token import Token, encode
from discreet.v1 import audit_pb2, authority_pb2, common_pb2, disclosure_pb2, index_pb2, policy_pb2, purge_pb2
from tests.server.support import POLICY, TENANT, binding, check, commit, digest, document, ref, segment

AT = Timestamp(seconds=1_700_000_000)
LATER = Timestamp(seconds=1_800_000_000)
SOON = Timestamp(seconds=int(time.time()) + 3_600)
TOKEN = encode(Token("ab" * 16, 1, 1))
MARK = "ZZlone-surrogateZZ"
LONE = b"\xed\xa0\x80" + b"a" * (len(MARK) - 3)
"""A lone surrogate as bytes, with as many bytes as the mark that it takes the place of."""
TEXTS = {"NUL": "a\x00b", "format character": "a\u200bb", "oversized": "a" * 5_000, "surrogate": MARK}
UNKNOWN = b"\xb8\x3e\x01"
"""Field number 999."""


class Case(NamedTuple):
    """A malformed request: what was done to it, the path that the error has to name, and its bytes."""

    what: str
    path: str
    data: bytes


def _segment() -> disclosure_pb2.Segment:
    bound = binding(
        locator="page 1",
        granted_under=TOKEN,
        receipt="k.mac",
        claimed_label="handbook",
        claimed_basis="b",
        claimed_as_of=AT,
    )
    claim = disclosure_pb2.Claim(basis="b", about=common_pb2.Period(start=AT, end=LATER), required_fields=["value"])
    return segment("s1", bound, claim=claim)


def _evidence() -> index_pb2.EvidenceInput:
    given = index_pb2.EvidenceInput(
        record_id="sums/a",
        version="2",
        digest=digest("a"),
        source_label="sums",
        as_of=AT,
        basis="b",
        scopes=["public"],
        assessment_expires_at=LATER,
        supersedes_version="1",
        origin=index_pb2.ORIGIN_DERIVED,
        of=[ref()],
        formula="a + b",
        inputs=[ref("handbook/other")],
    )
    for values in (given.attributes, given.fields):
        values["value"].string_value = "x"
    return given


def _document() -> index_pb2.DocumentInput:
    given = document(version="2", as_of=AT, basis="b", supersedes_version="1")
    given.attributes["status"].string_value = "x"
    return given


_ASK: dict[str, Any] = {"locale": "en", "min_token": TOKEN}
_ONE: dict[str, Any] = {"tenant": TENANT, "record": ref(), "reason": "why"}
_SAID: dict[str, Any] = {"tenant": TENANT, "reason": "why"}
_TICKETED: dict[str, Any] = {**_SAID, "ticket": "T-1"}
_QUERY = index_pb2.RecordQuery(
    source_label="handbook", record_id_prefix="a", scope="staff", collector="collector", as_of_before=AT
)

VALID: dict[str, tuple[str, Message]] = {
    "Check": ("agent", check(_segment(), **_ASK)),
    "Check at REPLAY": ("agent", check(ledger_ids=["l1"], **_ASK)),
    "Commit": ("agent", commit(_segment(), **_ASK)),
    "ReportShown": (
        "agent",
        disclosure_pb2.ReportShownRequest(
            tenant=TENANT, principal=disclosure_pb2.Principal(id="ana"), session_id="session-1", ledger_ids=["l1"]
        ),
    ),
    "PutDocuments": ("collector", index_pb2.PutDocumentsRequest(tenant=TENANT, documents=[_document()])),
    "RegisterEvidence": ("collector", index_pb2.RegisterEvidenceRequest(tenant=TENANT, evidence=[_evidence()])),
    "GetRecord": ("operator", index_pb2.GetRecordRequest(tenant=TENANT, record_id="a", version="1")),
    "ListRecords": (
        "operator",
        index_pb2.ListRecordsRequest(
            tenant=TENANT, source_label="handbook", record_id="a", page_token="x", page_size=1
        ),
    ),
    "Supersede": ("operator", index_pb2.SupersedeRequest(successor=ref(version="2"), **_ONE)),
    "Suspend": ("operator", index_pb2.SuspendRequest(until=SOON, **_ONE)),
    "Resume": ("operator", index_pb2.ResumeRequest(**_ONE)),
    "SetScopes": ("operator", index_pb2.SetScopesRequest(scopes=["public"], **_ONE)),
    "RecordAssessment": ("operator", index_pb2.RecordAssessmentRequest(expires_at=LATER, **_ONE)),
    "MarkUnreachable": ("operator", index_pb2.MarkUnreachableRequest(**_ONE)),
    "RevokeRetention": (
        "operator",
        index_pb2.RevokeRetentionRequest(ticket="T-1", purge_not_before=LATER, dry_run_digest=digest("d"), **_ONE),
    ),
    "RevokeRetention of all versions": (
        "operator",
        index_pb2.RevokeRetentionRequest(all_versions_of="a", **_TICKETED),
    ),
    "RevokeRetention of a source": ("operator", index_pb2.RevokeRetentionRequest(source_label="handbook", **_TICKETED)),
    "RevokeRetention of a query": ("operator", index_pb2.RevokeRetentionRequest(query=_QUERY, **_TICKETED)),
    "RevokeRetention of a list": (
        "operator",
        index_pb2.RevokeRetentionRequest(records=index_pb2.RecordRefs(records=[ref()]), **_TICKETED),
    ),
    "Freeze": ("operator", authority_pb2.FreezeRequest(source_label="handbook", until=SOON, **_SAID)),
    "Unfreeze": ("operator", authority_pb2.UnfreezeRequest(freeze_id="f", **_SAID)),
    "ListFreezes": ("operator", authority_pb2.ListFreezesRequest(tenant=TENANT)),
    "ListTombstones": (
        "operator",
        authority_pb2.ListTombstonesRequest(
            tenant=TENANT, record_id="a", digest=digest("d"), page_size=1, page_token="x"
        ),
    ),
    "LiftTombstone": ("operator", authority_pb2.LiftTombstoneRequest(tombstone_id="t", **_TICKETED)),
    "ListApprovals": ("operator", authority_pb2.ListApprovalsRequest(tenant=TENANT, page_size=1, page_token="x")),
    "Approve": ("operator", authority_pb2.ApproveRequest(approval_id="a", **_SAID)),
    "Reject": ("operator", authority_pb2.RejectRequest(approval_id="a", **_SAID)),
    "PlaceHold": ("operator", purge_pb2.PlaceHoldRequest(record=ref(), **_TICKETED)),
    "PlaceHold on a source": ("operator", purge_pb2.PlaceHoldRequest(source_label="handbook", **_TICKETED)),
    "LiftHold": ("operator", purge_pb2.LiftHoldRequest(hold_id="h", **_TICKETED)),
    "ListHolds": ("operator", purge_pb2.ListHoldsRequest(tenant=TENANT)),
    "RegisterHolder": (
        "operator",
        purge_pb2.RegisterHolderRequest(
            tenant=TENANT,
            holder="mirror",
            kind=purge_pb2.HOLDER_KIND_DOCUMENT_STORE,
            source_labels=["handbook"],
            webhook_url="https://127.0.0.1:1/purge",
        ),
    ),
    "RemoveHolder": ("operator", purge_pb2.RemoveHolderRequest(holder="mirror", **_SAID)),
    "ListHolders": ("operator", purge_pb2.ListHoldersRequest(tenant=TENANT)),
    "AckPurge": (
        "holder",
        purge_pb2.AckPurgeRequest(
            tenant=TENANT,
            acks=[purge_pb2.PurgeAck(order_id="o", item=1, outcome=purge_pb2.PURGE_OUTCOME_FAILED, reason="why")],
        ),
    ),
    "ListPurgeOrders": ("operator", purge_pb2.ListPurgeOrdersRequest(tenant=TENANT, page_size=1, page_token="x")),
    "ListPurgeItems": (
        "operator",
        purge_pb2.ListPurgeItemsRequest(tenant=TENANT, order_id="o", holder="h", page_size=1, page_token="x"),
    ),
    "GetPurgeStatus": ("operator", purge_pb2.GetPurgeStatusRequest(tenant=TENANT)),
    "GrantScope": (
        "operator",
        index_pb2.GrantScopeRequest(
            tenant=TENANT, principal_id="ana", scope="staff", not_before=AT, expires_at=LATER, reason="why"
        ),
    ),
    "WithdrawScope": (
        "operator",
        index_pb2.WithdrawScopeRequest(tenant=TENANT, principal_id="ana", scope="staff", reason="why"),
    ),
    "ListGrants": (
        "operator",
        index_pb2.ListGrantsRequest(tenant=TENANT, principal_id="ana", page_token="x", page_size=1),
    ),
    "PublishRevision": (
        "publisher",
        policy_pb2.PublishRevisionRequest(
            files=[policy_pb2.PolicyFile(path=path, content=text.encode()) for path, text in POLICY.items()],
            commit="c" * 40,
            origin=policy_pb2.PolicyOrigin(source="s", ref="r", author="a", subject="s", committed_at=AT),
            expected_number=2,
        ),
    ),
    "RollbackRevision": (
        "operator",
        policy_pb2.RollbackRevisionRequest(number=9, reason="why", expected_number=1),
    ),
    "UnpinRevision": ("operator", policy_pb2.UnpinRevisionRequest(pinned="c" * 40, reason="why")),
    "ListRevisions": ("auditor", policy_pb2.ListRevisionsRequest(page_size=1, page_token="x")),
    "QueryDecisions": (
        "auditor",
        audit_pb2.QueryDecisionsRequest(
            tenant=TENANT,
            principal_id="ana",
            session_id="s",
            record_id="a",
            source_label="handbook",
            verdict=common_pb2.VERDICT_ALLOW,
            reason=common_pb2.REASON_NONE,
            rule="r",
            moment=common_pb2.MOMENT_PUBLISH,
            since=AT,
            until=LATER,
            page_size=1,
            page_token="x",
        ),
    ),
    "Explain": ("auditor", audit_pb2.ExplainRequest(tenant=TENANT, decision_id="d")),
    "QueryActs": (
        "auditor",
        audit_pb2.QueryActsRequest(
            tenant=TENANT,
            act=audit_pb2.AUDIT_ACT_CHANGE,
            method="Suspend",
            actor="olga",
            principal_id="ana",
            record_id="a",
            version="1",
            ticket="T-1",
            subject_id="order",
            since=AT,
            until=LATER,
            page_size=1,
            page_token="x",
        ),
    ),
    "ListChainHeads": ("auditor", audit_pb2.ListChainHeadsRequest()),
}

REQUIRED = frozenset(
    """
    tenant session_id principal principal.id answer_id moment ledger_ids[0] segments[0].id
    segments[0].kind segments[0].grounding segments[0].bindings[0].record_id
    segments[0].bindings[0].version segments[0].bindings[0].digest segments[0].claim.about.start
    segments[0].claim.about.end segments[0].claim.required_fields[0] principal.claimed_scopes[0] record
    record.record_id record.version successor successor.record_id successor.version reason ticket
    principal_id scope scopes[0] decision_id documents documents[0].record_id documents[0].version
    documents[0].digest documents[0].source_label documents[0].scopes[0] evidence evidence[0].record_id
    evidence[0].version evidence[0].digest evidence[0].source_label evidence[0].scopes[0]
    evidence[0].origin evidence[0].formula evidence[0].inputs evidence[0].of[0].record_id
    evidence[0].of[0].version evidence[0].inputs[0].record_id evidence[0].inputs[0].version
    freeze_id hold_id tombstone_id approval_id records.records records.records[0].record_id
    records.records[0].version holder kind source_labels[0] acks acks[0].order_id acks[0].item acks[0].outcome
    acks[0].reason order_id files files[0].path number
    """.split()
)
"""Fields that may not be missing or empty, by path, wherever a message has them."""

OPTIONAL = {
    "ListRecords": {"record_id", "source_label"},
    "ListGrants": {"principal_id"},
    "QueryDecisions": {"tenant", "session_id", "principal_id", "reason", "moment"},
    "Explain": {"tenant"},
    "QueryActs": {"tenant", "principal_id", "ticket"},
    "SetScopes": {"scopes"},
    "PlaceHold": {"record.version"},
    "Unfreeze": {"tenant"},
    "ListPurgeItems": {"holder"},
}
"""Where a path of REQUIRED may be left out after all."""

UNIQUE = (
    "segments",
    "segments[0].bindings",
    "segments[0].claim.required_fields",
    "ledger_ids",
    "scopes",
    "documents",
    "evidence",
    "records.records",
    "source_labels",
    "acks",
    "files",
)
"""Lists whose entries must differ."""


def cases(name: str, valid: Message) -> Iterator[Case]:
    """Every malformed form of a valid request that follows from its descriptor."""
    yield Case("unknown field", "field number 999", valid.SerializeToString() + UNKNOWN)
    yield Case("cut off", "", valid.SerializeToString() + b"\x0a")
    for path, steps, field in _fields(valid, "", ()):
        for what, named, edit in _edits(name, path, field):
            whole = type(valid)()
            whole.CopyFrom(valid)
            edit(_reached(whole, steps), field)
            yield Case(what, named, whole.SerializeToString().replace(MARK.encode(), LONE))


Steps = tuple[tuple[str, int | None], ...]
Edit = Callable[[Any, FieldDescriptor], None]


def _fields(message: Message, prefix: str, steps: Steps) -> Iterator[tuple[str, Steps, FieldDescriptor]]:
    """Every field that is set, maps left out, with its path and the way to the message that holds it."""
    for field, value in message.ListFields():
        path = f"{prefix}{field.name}"
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            continue
        yield path, steps, field
        if field.message_type is None or field.message_type.full_name == "google.protobuf.Timestamp":
            continue
        if field.is_repeated:
            for index, item in enumerate(value):
                yield from _fields(item, f"{path}[{index}].", (*steps, (field.name, index)))
        else:
            yield from _fields(value, f"{path}.", (*steps, (field.name, None)))


def _reached(message: Any, steps: Steps) -> Any:
    for name, index in steps:
        message = getattr(message, name) if index is None else getattr(message, name)[index]
    return message


def _edits(name: str, path: str, field: FieldDescriptor) -> Iterator[tuple[str, str, Edit]]:
    """What can be done to a field: the name of it, the path that the error has to give, the deed."""
    one = f"{path}[0]" if field.is_repeated else path
    for required in {path, one}:
        if required in REQUIRED and path not in OPTIONAL.get(name, ()):
            yield "missing", required, _cleared if required == path else _set_to("")
    if field.type == FieldDescriptor.TYPE_STRING:
        for what, text in TEXTS.items():
            yield what, one, _set_to(text)
    elif field.type == FieldDescriptor.TYPE_ENUM:
        yield "no member", path, _set_to(99)
    elif field.type == FieldDescriptor.TYPE_UINT32:
        yield "too large", path, _set_to(1_001 if field.name == "page_size" else (1 << 32) - 1)
    elif field.message_type is not None and field.message_type.full_name == "google.protobuf.Timestamp":
        yield "year 10000", path, _time(seconds=253_402_300_800)
        yield "year 0", path, _time(seconds=-62_135_596_801)
        yield "a second of nanos", path, _time(nanos=1_000_000_000)
        yield "negative nanos", path, _time(nanos=-1)
    elif field.message_type is not None:
        yield "unknown field", f"{one}.field number 999", _with_unknown
    if field.is_repeated:
        yield "too many", path, _copies(1_001)
        if path in UNIQUE:
            yield "twice", f"{path}[1]", _copies(2)


def _cleared(holder: Any, field: FieldDescriptor) -> None:
    holder.ClearField(field.name)


def _set_to(value: object) -> Edit:
    def edit(holder: Any, field: FieldDescriptor) -> None:
        if field.is_repeated:
            getattr(holder, field.name)[0] = value
        else:
            setattr(holder, field.name, value)

    return edit


def _time(**fields: int) -> Edit:
    def edit(holder: Any, field: FieldDescriptor) -> None:
        for name, value in fields.items():
            setattr(getattr(holder, field.name), name, value)

    return edit


def _with_unknown(holder: Any, field: FieldDescriptor) -> None:
    value = getattr(holder, field.name)
    (value[0] if field.is_repeated else value).MergeFromString(UNKNOWN)


def _copies(count: int) -> Edit:
    def edit(holder: Any, field: FieldDescriptor) -> None:
        first = getattr(holder, field.name)[0]
        if field.message_type is not None:
            copy = type(first)()
            copy.CopyFrom(first)
            first = copy
        holder.ClearField(field.name)
        getattr(holder, field.name).extend([first] * count)

    return edit
