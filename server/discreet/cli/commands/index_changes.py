"""`discreet index` commands that change what may be shown: each is one call and prints the token of the new state."""

from typing import TYPE_CHECKING, TypeVar

import click

from discreet.cli.errors import InputError
from discreet.cli.settings import Settings, current, shared_options

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp

    from discreet.cli.connection import Line
    from discreet.v1.common_pb2 import RecordRef
    from discreet.v1.index_pb2_grpc import IndexServiceStub

C = TypeVar("C", bound=click.Command)

_reason = click.option("--reason", required=True, help="Why; it is recorded.")
CHANGES: list[click.Command] = []


def _change(command: C) -> C:
    CHANGES.append(command)
    return command


def _ref(record_id: str, version: str) -> "RecordRef":
    from discreet.v1.common_pb2 import RecordRef

    return RecordRef(record_id=record_id, version=version)


def _stub(line: "Line") -> "IndexServiceStub":
    from discreet.v1.index_pb2_grpc import IndexServiceStub

    return IndexServiceStub(line.channel)


def _timestamp(value: str) -> "Timestamp":
    import time

    from google.protobuf.timestamp_pb2 import Timestamp

    from discreet.cli.times import parse_moment_of_time

    found = Timestamp()
    found.FromMicroseconds(parse_moment_of_time(value, time.time_ns() // 1_000))
    return found


def _done(settings: Settings, said: str, token: str) -> None:
    from discreet.cli.printing import console as terminal
    from discreet.cli.printing import print_tree, text

    if settings.output != "pretty":
        print_tree(settings, {"token": token})
    else:
        terminal().print(text(said), text(f"(token {token})", "dim"), soft_wrap=True)


@_change
@click.command(
    epilog="\b\nExample:\n  discreet index supersede pep-0333 35 --by pep-3333 30 --reason 'PEP 3333 replaces it'"
)
@click.argument("record_id")
@click.argument("version")
@click.option("--by", nargs=2, metavar="RECORD_ID VERSION", help="The successor; it must exist.")
@click.option("--clear", is_flag=True, help="Name no successor any more.")
@_reason
@shared_options
def supersede(record_id: str, version: str, by: tuple[str, str] | None, clear: bool, reason: str) -> None:
    """Name the successor of a version. Hides it, deletes nothing."""
    if bool(by) == clear:
        raise InputError("neither or both of --by and --clear", "name a successor with --by, or give --clear")
    settings = current()
    from discreet.cli.connection import connect
    from discreet.v1.index_pb2 import SupersedeRequest

    request = SupersedeRequest(tenant=settings.tenant, record=_ref(record_id, version), clear=clear, reason=reason)
    if by:
        request.successor.CopyFrom(_ref(*by))
    with connect(settings, "operator") as line:
        token = line.call(_stub(line).Supersede, request).token
    said = f"superseded by {by[0]} {by[1]}" if by else "superseded by nothing"
    _done(settings, f"{record_id} {version}: {said}", token)


@_change
@click.command(epilog="\b\nExample:\n  discreet index suspend pep-0020 33 --reason 'under review'")
@click.argument("record_id")
@click.argument("version")
@_reason
@shared_options
def suspend(record_id: str, version: str, reason: str) -> None:
    """Hide a version at once, until `resume`."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.v1.index_pb2 import SuspendRequest

    request = SuspendRequest(tenant=settings.tenant, record=_ref(record_id, version), reason=reason)
    with connect(settings, "operator") as line:
        token = line.call(_stub(line).Suspend, request).token
    _done(settings, f"{record_id} {version}: suspended", token)


@_change
@click.command(epilog="\b\nExample:\n  discreet index resume pep-0020 33 --reason 'review done'")
@click.argument("record_id")
@click.argument("version")
@_reason
@shared_options
def resume(record_id: str, version: str, reason: str) -> None:
    """End a suspension."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.v1.index_pb2 import ResumeRequest

    request = ResumeRequest(tenant=settings.tenant, record=_ref(record_id, version), reason=reason)
    with connect(settings, "operator") as line:
        token = line.call(_stub(line).Resume, request).token
    _done(settings, f"{record_id} {version}: resumed", token)


@_change
@click.command(epilog="\b\nExample:\n  discreet index scopes pep-0020 33 peps-drafts --reason 'drafts only'")
@click.argument("record_id")
@click.argument("version")
@click.argument("scopes", nargs=-1, metavar="[SCOPE]...")
@click.option("--none", "nobody", is_flag=True, help="No scope at all: nobody reads it.")
@_reason
@shared_options
def scopes(record_id: str, version: str, scopes: tuple[str, ...], nobody: bool, reason: str) -> None:
    """Replace the scopes of which a reader needs one."""
    if bool(scopes) == nobody:
        raise InputError(
            "neither or both of SCOPE and --none", "name the scopes, or give --none so that nobody reads it"
        )
    settings = current()
    from discreet.cli.connection import connect
    from discreet.v1.index_pb2 import SetScopesRequest

    request = SetScopesRequest(tenant=settings.tenant, record=_ref(record_id, version), scopes=scopes, reason=reason)
    with connect(settings, "operator") as line:
        token = line.call(_stub(line).SetScopes, request).token
    _done(settings, f"{record_id} {version}: scopes {', '.join(scopes) or 'none'}", token)


@_change
@click.command(epilog="\b\nExample:\n  discreet index assess pep-0020 33 --until +90d --reason 'reviewed by the desk'")
@click.argument("record_id")
@click.argument("version")
@click.option("--until", help="Eligible until then: RFC 3339, or a span ahead such as +90d.")
@click.option("--unknown", is_flag=True, help="Eligibility is unknown from now on.")
@_reason
@shared_options
def assess(record_id: str, version: str, until: str | None, unknown: bool, reason: str) -> None:
    """Say until when a version is assessed as eligible."""
    if bool(until) == unknown:
        raise InputError("neither or both of --until and --unknown", "give one of them")
    settings = current()
    from discreet.cli.connection import connect
    from discreet.v1.index_pb2 import RecordAssessmentRequest

    request = RecordAssessmentRequest(tenant=settings.tenant, record=_ref(record_id, version), reason=reason)
    if until:
        request.expires_at.CopyFrom(_timestamp(until))
    with connect(settings, "operator") as line:
        token = line.call(_stub(line).RecordAssessment, request).token
    _done(settings, f"{record_id} {version}: {f'eligible until {until}' if until else 'eligibility unknown'}", token)


@_change
@click.command(epilog="\b\nExample:\n  discreet index unreachable pep-0020 33 --reason 'the wiki is down'")
@click.argument("record_id")
@click.argument("version")
@click.option("--reachable", is_flag=True, help="It can be reached again.")
@_reason
@shared_options
def unreachable(record_id: str, version: str, reachable: bool, reason: str) -> None:
    """Say that the original cannot be reached now, or can again."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.v1.index_pb2 import MarkUnreachableRequest

    request = MarkUnreachableRequest(
        tenant=settings.tenant, record=_ref(record_id, version), reachable=reachable, reason=reason
    )
    with connect(settings, "operator") as line:
        token = line.call(_stub(line).MarkUnreachable, request).token
    _done(settings, f"{record_id} {version}: {'reachable' if reachable else 'unreachable'}", token)


_REVOKE_EPILOG = """\b
Example:
  discreet index revoke pep-0020 33 --reason 'erasure request' --ticket LEGAL-7 --dry-run
  discreet index revoke pep-0020 33 --reason 'erasure request' --ticket LEGAL-7

Everything else only hides; this makes every stored copy one to be purged, and cannot be taken back for this version.
"""


@_change
@click.command(epilog=_REVOKE_EPILOG)
@click.argument("record_id")
@click.argument("version")
@_reason
@click.option("--ticket", required=True, help="The ticket that asked for it.")
@click.option("--purge-not-before", help="Withhold at once, purge from then on: RFC 3339 or a span ahead such as +2d.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--dry-run-digest", default="", help="The digest that the dry run gave; refused where it differs.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared_options
def revoke(  # one parameter an option
    record_id: str, version: str, reason: str, ticket: str, purge_not_before: str | None, dry_run: bool,
    dry_run_digest: str, yes: bool,
) -> None:  # fmt: skip
    """Revoke the retention of a version: its copies are purged. Cannot be undone."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.printing import note, print_tree
    from discreet.cli.shapes import to_tree
    from discreet.v1.index_pb2 import RevokeRetentionRequest

    request = RevokeRetentionRequest(
        tenant=settings.tenant, record=_ref(record_id, version), reason=reason, ticket=ticket, dry_run=True,
        dry_run_digest=dry_run_digest,
    )  # fmt: skip
    if purge_not_before:
        request.purge_not_before.CopyFrom(_timestamp(purge_not_before))
    with connect(settings, "operator") as line:
        response = line.call(_stub(line).RevokeRetention, request)
        if not dry_run:
            if not yes:
                note(f"{record_id} {version} is revoked for good; committed segments that rest on it: "
                     f"{response.affected_segments}")  # fmt: skip
                click.confirm("Revoke it?", abort=True, err=True)
            request.dry_run = False
            response = line.call(_stub(line).RevokeRetention, request)
    if settings.output != "pretty":
        print_tree(settings, to_tree(response))
        return
    said = "would be revoked; nothing was done" if dry_run else "revoked for good"
    segments = f"; committed segments that rest on it: {response.affected_segments}"
    _done(settings, f"{record_id} {version}: {said}{segments}", response.token)
    if dry_run and response.dry_run_digest:
        note(f"digest of this dry run: {response.dry_run_digest}")
