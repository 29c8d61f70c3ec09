"""`discreet index`: put, evidence, show and list. The rest of the group is in the modules index_*."""

from typing import TYPE_CHECKING

import click

from discreet.cli.commands.index_changes import CHANGES
from discreet.cli.commands.index_import import import_command
from discreet.cli.commands.index_revoke import revoke
from discreet.cli.errors import InputError
from discreet.cli.exit_codes import ExitCode
from discreet.cli.settings import Settings, current, shared_options

if TYPE_CHECKING:
    from discreet.cli.connection import Line
    from discreet.cli.reading import Tree
    from discreet.v1.index_pb2 import ListRecordsRequest, PutDocumentsResponse, Record, RegisterEvidenceResponse

LIST_MAX = 100_000
"""How many records one `index list` prints at most; then it says so."""


@click.group()
def index() -> None:
    """Register records, look at them, and change what may be shown."""


index.add_command(import_command)
index.add_command(revoke)
for _change in CHANGES:
    index.add_command(_change)


@index.command(epilog="\b\nExample:\n  discreet --tenant marlowe index put documents.yaml")
@click.argument("file", metavar="FILE|-")
@shared_options
@click.pass_context
def put(ctx: click.Context, file: str) -> None:
    """Register document versions from a JSON or YAML file: one document, a list, or {documents: [...]}."""
    settings = current()
    tree = _inputs(file, settings, "documents")
    from discreet.cli.connection import connect
    from discreet.cli.messages import build
    from discreet.v1.index_pb2 import PutDocumentsRequest
    from discreet.v1.index_pb2_grpc import IndexServiceStub

    request = build(PutDocumentsRequest, tree)
    with connect(settings, "collector") as line:
        response = line.call(IndexServiceStub(line.channel).PutDocuments, request)
    ctx.exit(_print_outcomes(settings, response, [(item.record_id, item.version) for item in request.documents]))


@index.command(epilog="\b\nExample:\n  discreet --tenant marlowe index evidence quotes.yaml")
@click.argument("file", metavar="FILE|-")
@shared_options
@click.pass_context
def evidence(ctx: click.Context, file: str) -> None:
    """Register evidence from a JSON or YAML file: one piece, a list, or {evidence: [...]}."""
    settings = current()
    tree = _inputs(file, settings, "evidence")
    from discreet.cli.connection import connect
    from discreet.cli.messages import build
    from discreet.v1.index_pb2 import RegisterEvidenceRequest
    from discreet.v1.index_pb2_grpc import IndexServiceStub

    request = build(RegisterEvidenceRequest, tree)
    with connect(settings, "collector") as line:
        response = line.call(IndexServiceStub(line.channel).RegisterEvidence, request)
    ctx.exit(_print_outcomes(settings, response, [(item.record_id, item.version) for item in request.evidence]))


def _inputs(file: str, settings: Settings, key: str) -> "Tree":
    from discreet.cli.reading import parse_text, read_source

    tree = parse_text(read_source(file), "standard input" if file == "-" else file)
    if isinstance(tree, list):
        tree = {key: tree}
    elif isinstance(tree, dict) and "record_id" in tree:
        tree = {key: [tree]}
    if isinstance(tree, dict) and settings.tenant and tree.setdefault("tenant", settings.tenant) != settings.tenant:
        raise InputError("tenant differs from --tenant", "give it once")
    return tree


def _print_outcomes(
    settings: Settings, response: "PutDocumentsResponse | RegisterEvidenceResponse", refs: list[tuple[str, str]]
) -> ExitCode:
    from discreet.cli.printing import note, print_table, print_tree
    from discreet.cli.shapes import to_tree, word
    from discreet.v1.common_pb2 import Reason
    from discreet.v1.index_pb2 import PutOutcome

    refused = sum(outcome.kind == PutOutcome.KIND_REFUSED for outcome in response.outcomes)
    if settings.output != "pretty":
        print_tree(settings, to_tree(response))
    else:
        rows = [
            (*ref, word(PutOutcome.Kind.DESCRIPTOR, item.kind) or "",
             " ".join(filter(None, (word(Reason.DESCRIPTOR, item.reason) if item.reason else "", item.message))))
            for ref, item in zip(refs, response.outcomes, strict=False)
        ]  # fmt: skip
        print_table("", ("record", "version", "outcome", "why"), rows)
    if refused:
        note(f"discreet: {refused} of {len(refs)} refused; the others are registered")
    return ExitCode.USAGE if refused else ExitCode.OK


@index.command(epilog="\b\nExample:\n  discreet --tenant marlowe index show pep-0020 --history")
@click.argument("record_id")
@click.argument("version", required=False, default="")
@click.option("--history", is_flag=True, help="Also the earlier revisions of this version.")
@shared_options
def show(record_id: str, version: str, history: bool) -> None:
    """Show a record version (default: the current one) as the index holds it."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.printing import print_pairs, print_table, print_tree
    from discreet.cli.shapes import to_tree
    from discreet.v1.index_pb2 import GetRecordRequest
    from discreet.v1.index_pb2_grpc import IndexServiceStub

    request = GetRecordRequest(tenant=settings.tenant, record_id=record_id, version=version, history=history)
    with connect(settings, "operator") as line:
        response = line.call(IndexServiceStub(line.channel).GetRecord, request)
    if settings.output != "pretty":
        print_tree(settings, to_tree(response))
        return
    pairs = to_tree(response.record)
    pairs["states"] = states(response.record)
    for known in ("current", "suspended", "unreachable"):
        pairs.pop(known)
    print_pairs(pairs.items())
    if history:
        columns = ("recorded at", "digest", "scopes", "states")
        print_table("Earlier revisions, newest first", columns, [_history_row(item) for item in response.history])


def _history_row(record: "Record") -> tuple[str, str, str, str]:
    from discreet.cli.shapes import flat
    from discreet.cli.times import format_micros

    recorded = format_micros(record.recorded_at.ToMicroseconds())
    return recorded, record.digest[:12], flat(record.scopes), states(record)


def _suspended(record: "Record") -> str:
    from discreet.cli.telling import at

    if not record.suspended:
        return ""
    return f"suspended until {at(record.suspended_until)}" if record.HasField("suspended_until") else "suspended"


def states(record: "Record") -> str:
    """What hides a record, in words, or that nothing of its own does."""
    successor = record.superseded_by
    found = [
        "revoked" if record.HasField("retention_revoke") else "",
        f"held by {len(record.hold_ids)}" if record.hold_ids else "",
        _suspended(record),
        "unreachable" if record.unreachable else "",
        f"superseded by {successor.record_id} {successor.version}" if record.HasField("superseded_by") else "",
        "current" if record.current else "not current",
    ]
    return ", ".join(filter(None, found))


@index.command("list", epilog="\b\nExample:\n  discreet --tenant marlowe index list --label peps --current -o jsonl")
@click.option("--label", default="", metavar="LABEL", help="Only records of this source.")
@click.option("--record", "record_id", default="", metavar="RECORD_ID", help="Only versions of this record.")
@click.option("--current", "current_only", is_flag=True, help="Only current versions.")
@click.option("--limit", type=click.IntRange(1, LIST_MAX), default=100, show_default=True, help="At most so many.")
@shared_options
def list_records(label: str, record_id: str, current_only: bool, limit: int) -> None:
    """List record versions."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.paging import pages
    from discreet.cli.printing import note, print_table, print_trees
    from discreet.cli.shapes import flat, to_tree
    from discreet.v1.index_pb2 import ListRecordsRequest

    request = ListRecordsRequest(
        tenant=settings.tenant, source_label=label, record_id=record_id, current_only=current_only
    )
    with connect(settings, "operator") as line:
        records, more = pages(lambda size, token: _page(line, request, size, token), limit)
    if settings.output != "pretty":
        print_trees(settings, "records", (to_tree(record) for record in records))
    else:
        rows = [(item.record_id, item.version, item.source_label, item.digest[:12], flat(item.scopes), states(item))
                for item in records]  # fmt: skip
        print_table("", ("record", "version", "source", "digest", "scopes", "states"), rows)
    if more:
        note(f"discreet: there are more than {limit}; give a larger --limit")


def _page(line: "Line", request: "ListRecordsRequest", size: int, token: str) -> "tuple[list[Record], str]":
    from discreet.v1.index_pb2_grpc import IndexServiceStub

    request.page_size = size
    request.page_token = token
    answer = line.call(IndexServiceStub(line.channel).ListRecords, request)
    return list(answer.records), answer.next_page_token
