"""`discreet index revoke`: the only act that leads to PURGE, for one version or for many. Looks before it asks."""

from typing import TYPE_CHECKING

import click

from discreet.cli.errors import InputError
from discreet.cli.settings import Settings, current, shared_options
from discreet.cli.waiting import wait_for_servers, wait_option

if TYPE_CHECKING:
    from discreet.cli.connection import Line
    from discreet.cli.reading import Tree
    from discreet.v1.index_pb2 import RevokeRetentionRequest, RevokeRetentionResponse

_EPILOG = """\b
Examples:
  discreet index revoke pep-0020 33 --reason 'erasure request' --ticket LEGAL-7 --dry-run
  discreet index revoke pep-0020 33 --reason 'erasure request' --ticket LEGAL-7
  discreet index revoke pep-0020 --all-versions --reason 'erasure request' --ticket LEGAL-7
  discreet index revoke --source old-wiki --reason 'licence ended' --ticket LEGAL-8 --purge-not-before +2d
  discreet index revoke --query-label news --query-as-of-before 90d --reason 'retention' --ticket R-1 --dry-run
  discreet index revoke --file versions.csv --reason 'erasure request' --ticket LEGAL-9

Everything else only hides; this makes every stored copy one to be purged, and cannot be taken back for what it covers.
A file names one version a line: record_id and version, apart by a space or a comma, or as JSON.
The --query options together are one query: it takes what fits all of them at that moment, and nothing that comes later.
"""
_QUERY = {"label": "source_label", "prefix": "record_id_prefix", "scope": "scope", "collector": "collector"}


@click.command(epilog=_EPILOG)
@click.argument("record_id", required=False, default="")
@click.argument("version", required=False, default="")
@click.option("--all-versions", is_flag=True, help="Every version of RECORD_ID; new ones are refused from then on.")
@click.option(
    "--source", default="", metavar="LABEL", help="A whole source, with whatever would be registered under it."
)
@click.option("--file", "file", metavar="FILE|-", help="The versions that a file names, or standard input.")
@click.option("--query-label", default="", metavar="LABEL", help="Query: records of this source.")
@click.option("--query-prefix", default="", metavar="TEXT", help="Query: records whose ids begin with this text.")
@click.option("--query-scope", default="", metavar="SCOPE", help="Query: records that have this scope.")
@click.option("--query-collector", default="", metavar="NAME", help="Query: records that this collector registered.")
@click.option(
    "--query-as-of-before",
    metavar="TIME",
    help="Query: records that speak of a time before this one; RFC 3339, or a span back such as 90d.",
)
@click.option(
    "--query-attribute", multiple=True, metavar="NAME=VALUE", help="Query: records with this value of an attribute."
)
@click.option("--reason", required=True, help="Why; it is recorded.")
@click.option("--ticket", required=True, help="The ticket that asked for it.")
@click.option(
    "--purge-not-before",
    metavar="TIME",
    help="Withhold at once, purge from then on: RFC 3339 or a span ahead such as +2d.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option(
    "--dry-run-digest", default="", metavar="DIGEST", help="The digest that the dry run gave; refused where it differs."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@wait_option
@shared_options
def revoke(
    reason: str, ticket: str, purge_not_before: str | None, dry_run: bool, dry_run_digest: str, yes: bool,
    wait: float | None, **extent: "str | bool | tuple[str, ...] | None",
) -> None:  # fmt: skip
    """Revoke the retention of versions: their copies are purged. Cannot be undone."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.messages import build
    from discreet.cli.telling import timestamp
    from discreet.v1.index_pb2 import RevokeRetentionRequest

    tree, said = _extent(extent)
    request = build(RevokeRetentionRequest, tree)
    request.tenant, request.reason, request.ticket = settings.tenant, reason, ticket
    request.dry_run, request.dry_run_digest = True, dry_run_digest
    if extent["file"]:
        _add_file(request, str(extent["file"]))
    if extent["query_as_of_before"]:
        request.query.as_of_before.CopyFrom(timestamp(str(extent["query_as_of_before"])))
    if purge_not_before:
        request.purge_not_before.CopyFrom(timestamp(purge_not_before))
    with connect(settings, "operator") as line:
        response = _call(line, request)
        if not dry_run:
            if not yes:
                _ask(said, response)
                request.dry_run_digest = response.dry_run_digest
            request.dry_run = False
            response = _call(line, request)
    _print(settings, said, response, dry_run=dry_run)
    if not dry_run:
        wait_for_servers(settings, wait, response)


def _call(line: "Line", request: "RevokeRetentionRequest") -> "RevokeRetentionResponse":
    from discreet.v1.index_pb2_grpc import IndexServiceStub

    return line.call(IndexServiceStub(line.channel).RevokeRetention, request)


def _extent(given: "dict[str, str | bool | tuple[str, ...] | None]") -> "tuple[dict[str, Tree], str]":
    """The fields of the one extent that the options give, and its name for people."""
    record_id, version, source = str(given["record_id"]), str(given["version"]), str(given["source"])
    query = {field: str(given[f"query_{name}"]) for name, field in _QUERY.items() if given[f"query_{name}"]}
    asks = bool(query or given["query_as_of_before"] or given["query_attribute"])
    if sum(map(bool, (record_id, source, given["file"], asks))) != 1:
        raise InputError(
            "not exactly one of RECORD_ID, --source, --file and --query-...", "say what is to be revoked, in one way"
        )
    if bool(given["all_versions"]) == bool(version) and (record_id or given["all_versions"]):
        raise InputError("neither or both of VERSION and --all-versions", "name a version, or give --all-versions")
    if given["all_versions"] and not record_id:
        raise InputError("--all-versions without RECORD_ID", "name the record")
    if source:
        return {"source_label": source}, f"source {source}"
    if given["file"]:
        return {}, str(given["file"])
    if asks:
        assert isinstance(given["query_attribute"], tuple)
        attributes = dict(map(_attribute, given["query_attribute"]))
        return {"query": {**query, **({"attributes": attributes} if attributes else {})}}, "the query"
    if version:
        return {"record": {"record_id": record_id, "version": version}}, f"{record_id} {version}"
    return {"all_versions_of": record_id}, f"all versions of {record_id}"


def _attribute(text: str) -> "tuple[str, Tree]":
    """NAME=VALUE: JSON where the value is JSON, else text."""
    import json

    from discreet.cli.reading import parse_json

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError("--query-attribute is not NAME=VALUE", "write for example status=Draft or pages=12")
    try:
        return name, parse_json(value)
    except json.JSONDecodeError:
        return name, value


def _add_file(request: "RevokeRetentionRequest", file: str) -> None:
    from discreet.cli.naming_versions import read_versions

    request.records.records.extend(read_versions(file))


def _ask(said: str, response: "RevokeRetentionResponse") -> None:
    from discreet.cli.printing import note

    note(
        f"{said}: {response.affected_versions} versions are revoked for good; committed segments that rest on them: "
        f"{response.affected_segments}; built on them, to be purged with them: {response.derived_versions}"
    )
    click.confirm("Revoke?", abort=True, err=True)


def _print(settings: Settings, said: str, response: "RevokeRetentionResponse", *, dry_run: bool) -> None:
    from discreet.cli.printing import note, print_table
    from discreet.cli.telling import tell

    many = response.affected_versions != 1
    covered = f"{response.affected_versions} versions " if many else ""
    done = "would be revoked; nothing was done" if dry_run else "revoked for good"
    line = f"{said}: {covered}{done}; committed segments that rest on {'them' if many else 'it'}: "
    tell(settings, f"{line}{response.affected_segments}", response)
    if settings.output != "pretty":
        return
    if dry_run and many:
        rows = [(ref.record_id, ref.version) for ref in response.sample]
        print_table("", ("record", "version"), rows)
        if response.affected_versions > len(rows):
            note(f"... the first {len(rows)} of {response.affected_versions}")
    for count, what in (
        (response.derived_versions, "more were built on them and fall with them: their copies are purged, too"),
        (response.already_revoked, "were revoked before and stay as they are"),
        (response.without_time, "were left out: they state no time, or one that lies ahead"),
    ):
        if count:
            note(f"{count} {what}")
    if response.purge_order_id:
        note(f"purge order {response.purge_order_id}")
    if dry_run:
        note(f"digest of this dry run: {response.dry_run_digest}")
