"""What a running server holds of the facts of a question, written as a PolicyTest: its records, and the grants."""

import json
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from discreet.cli.errors import NOT_FOUND
from discreet.cli.policy_case import grant_tree, record_tree
from discreet.cli.shapes import micros
from discreet.cli.times import format_micros

if TYPE_CHECKING:
    from discreet.cli.connection import Line
    from discreet.v1.disclosure_pb2 import CheckRequest, Segment
    from discreet.v1.index_pb2 import Record

GRANTS_MAX = 1_000
RECORDS_MAX = 10_000


def facts_of(line: "Line", message: "CheckRequest", segments: "Sequence[Segment]") -> bytes:
    """A PolicyTest without cases: records that segments are bound to, those behind them, grants, holds, freezes.

    Its clock is that of this machine. The answers are read one after the other: an index that changes meanwhile may
    give a state that never was, which a decision of the server never sees. Raises CliError.
    """
    from discreet.v1.index_pb2 import ListGrantsRequest
    from discreet.v1.index_pb2_grpc import IndexServiceStub

    wanted = ListGrantsRequest(tenant=message.tenant, principal_id=message.principal.id, page_size=GRANTS_MAX)
    grants = line.call(IndexServiceStub(line.channel).ListGrants, wanted).grants
    records = list(_records(line, message.tenant, segments))
    held = [{"record": {"record-id": one.record_id, "version": one.version}} for one in records if one.hold_ids]
    tree = {
        "apiVersion": "discreet/v1",
        "kind": "PolicyTest",
        "name": "server",
        "now": format_micros(time.time_ns() // 1_000),
        "records": [record_tree(record) for record in records],
        "holds": held,
        "freezes": list(_freezes(line, message.tenant)),
        "grants": [grant_tree(grant) for grant in grants if not grant.withdrawn],
    }
    return json.dumps(tree).encode()


def _freezes(line: "Line", tenant: str) -> Iterator[dict[str, str]]:
    """What stands of freezes, those of everything included."""
    from discreet.v1.authority_pb2 import ListFreezesRequest
    from discreet.v1.authority_pb2_grpc import AuthorityServiceStub

    listed = line.call(AuthorityServiceStub(line.channel).ListFreezes, ListFreezesRequest(tenant=tenant)).freezes
    for freeze in listed:
        source = {"source": freeze.source_label} if freeze.source_label else {}
        yield source | {"until": format_micros(micros(freeze.until))}


def _records(line: "Line", tenant: str, segments: "Sequence[Segment]") -> Iterator["Record"]:
    waiting = [
        (binding.record_id, version)
        for segment in segments
        for binding in segment.bindings
        for version in (binding.version, "")
    ]
    asked: set[tuple[str, str]] = set()
    told: set[tuple[str, str]] = set()
    while waiting and len(asked) < RECORDS_MAX:
        name = waiting.pop(0)
        record = None if name in asked else _record(line, tenant, *name)
        asked.add(name)
        if record is None or (record.record_id, record.version) in told:
            continue
        told.add((record.record_id, record.version))
        waiting += [(below.record_id, below.version) for below in (*record.of, *record.inputs)]
        yield record


def _record(line: "Line", tenant: str, record_id: str, version: str) -> "Record | None":
    """A version, or for "" the current one; None where the index holds none: that is a fact, too."""
    import grpc

    from discreet.v1.index_pb2 import GetRecordRequest
    from discreet.v1.index_pb2_grpc import IndexServiceStub

    request = GetRecordRequest(tenant=tenant, record_id=record_id, version=version)
    try:
        return IndexServiceStub(line.channel).GetRecord(request, timeout=line.deadline_s).record
    except grpc.RpcError as error:
        if cast("grpc.Call", error).code().value[0] == NOT_FOUND:
            return None
        raise line.failure(error) from None
