"""`discreet index` commands that change what may be shown: each is one call and prints the token of the new state."""

from typing import TYPE_CHECKING, TypeVar

import click

from discreet.cli.errors import InputError
from discreet.cli.settings import Settings, current, shared_options
from discreet.cli.waiting import wait_for_servers, wait_option

if TYPE_CHECKING:
    from google.protobuf.message import Message

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


def _done(settings: Settings, said: str, answer: "Message", wait: float | None) -> None:
    from discreet.cli.printing import print_tree
    from discreet.cli.telling import say

    token = getattr(answer, "token", "")
    if settings.output != "pretty":
        print_tree(settings, {"token": token})
    else:
        say(said, token)
    wait_for_servers(settings, wait, answer)


@_change
@click.command(
    epilog="\b\nExample:\n  discreet index supersede pep-0333 35 --by pep-3333 30 --reason 'PEP 3333 replaces it'"
)
@click.argument("record_id")
@click.argument("version")
@click.option("--by", nargs=2, metavar="RECORD_ID VERSION", help="The successor; it must exist.")
@click.option("--clear", is_flag=True, help="Name no successor any more.")
@_reason
@wait_option
@shared_options
def supersede(
    record_id: str, version: str, by: tuple[str, str] | None, clear: bool, reason: str, wait: float | None
) -> None:
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
        answer = line.call(_stub(line).Supersede, request)
    said = f"superseded by {by[0]} {by[1]}" if by else "superseded by nothing"
    _done(settings, f"{record_id} {version}: {said}", answer, wait)


_SUSPEND_EPILOG = """\b
Examples:
  discreet index suspend pep-0020 33 --reason 'under review'
  discreet index suspend pep-0020 33 --until +2h --reason 'under review'
"""


@_change
@click.command(epilog=_SUSPEND_EPILOG)
@click.argument("record_id")
@click.argument("version")
@click.option(
    "--until",
    metavar="TIME",
    help="It ends by itself then: RFC 3339, or a span ahead such as +2h. Else only `resume` ends it.",
)
@_reason
@wait_option
@shared_options
def suspend(record_id: str, version: str, until: str | None, reason: str, wait: float | None) -> None:
    """Hide a version at once, until `resume` or until a time. Again: replaces the time."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.telling import timestamp
    from discreet.v1.index_pb2 import SuspendRequest

    request = SuspendRequest(tenant=settings.tenant, record=_ref(record_id, version), reason=reason)
    if until:
        request.until.CopyFrom(timestamp(until))
    with connect(settings, "operator") as line:
        answer = line.call(_stub(line).Suspend, request)
    _done(settings, f"{record_id} {version}: suspended{f' until {until}' if until else ''}", answer, wait)


@_change
@click.command(epilog="\b\nExample:\n  discreet index resume pep-0020 33 --reason 'review done'")
@click.argument("record_id")
@click.argument("version")
@_reason
@wait_option
@shared_options
def resume(record_id: str, version: str, reason: str, wait: float | None) -> None:
    """End a suspension."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.v1.index_pb2 import ResumeRequest

    request = ResumeRequest(tenant=settings.tenant, record=_ref(record_id, version), reason=reason)
    with connect(settings, "operator") as line:
        answer = line.call(_stub(line).Resume, request)
    _done(settings, f"{record_id} {version}: resumed", answer, wait)


@_change
@click.command(epilog="\b\nExample:\n  discreet index scopes pep-0020 33 peps-drafts --reason 'drafts only'")
@click.argument("record_id")
@click.argument("version")
@click.argument("scopes", nargs=-1, metavar="[SCOPE]...")
@click.option("--none", "nobody", is_flag=True, help="No scope at all: nobody reads it.")
@_reason
@wait_option
@shared_options
def scopes(
    record_id: str, version: str, scopes: tuple[str, ...], nobody: bool, reason: str, wait: float | None
) -> None:
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
        answer = line.call(_stub(line).SetScopes, request)
    _done(settings, f"{record_id} {version}: scopes {', '.join(scopes) or 'none'}", answer, wait)


@_change
@click.command(epilog="\b\nExample:\n  discreet index assess pep-0020 33 --until +90d --reason 'reviewed by the desk'")
@click.argument("record_id")
@click.argument("version")
@click.option("--until", metavar="TIME", help="Eligible until then: RFC 3339, or a span ahead such as +90d.")
@click.option("--unknown", is_flag=True, help="Eligibility is unknown from now on.")
@_reason
@wait_option
@shared_options
def assess(record_id: str, version: str, until: str | None, unknown: bool, reason: str, wait: float | None) -> None:
    """Say until when a version is assessed as eligible."""
    if bool(until) == unknown:
        raise InputError("neither or both of --until and --unknown", "give one of them")
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.telling import timestamp
    from discreet.v1.index_pb2 import RecordAssessmentRequest

    request = RecordAssessmentRequest(tenant=settings.tenant, record=_ref(record_id, version), reason=reason)
    if until:
        request.expires_at.CopyFrom(timestamp(until))
    with connect(settings, "operator") as line:
        answer = line.call(_stub(line).RecordAssessment, request)
    _done(
        settings,
        f"{record_id} {version}: {f'eligible until {until}' if until else 'eligibility unknown'}",
        answer,
        wait,
    )


@_change
@click.command(epilog="\b\nExample:\n  discreet index unreachable pep-0020 33 --reason 'the wiki is down'")
@click.argument("record_id")
@click.argument("version")
@click.option("--reachable", is_flag=True, help="It can be reached again.")
@_reason
@wait_option
@shared_options
def unreachable(record_id: str, version: str, reachable: bool, reason: str, wait: float | None) -> None:
    """Say that the original cannot be reached now, or can again."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.v1.index_pb2 import MarkUnreachableRequest

    request = MarkUnreachableRequest(
        tenant=settings.tenant, record=_ref(record_id, version), reachable=reachable, reason=reason
    )
    with connect(settings, "operator") as line:
        answer = line.call(_stub(line).MarkUnreachable, request)
    _done(settings, f"{record_id} {version}: {'reachable' if reachable else 'unreachable'}", answer, wait)
