"""`discreet policy rollback` and `unpin`: an earlier revision in force again, and what it left let in again."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from discreet.cli.errors import FAILED_PRECONDITION, NOT_FOUND, CliError, InputError
from discreet.cli.settings import current, shared_options
from discreet.cli.waiting import wait_for_servers, wait_option

if TYPE_CHECKING:
    from discreet.cli.connection import Line

_ROLLBACK_EPILOG = """\b
Examples:
  discreet policy rollback 41 --reason 'withholds every figure'
  discreet policy rollback 41 --if-in-force 42 --reason 'withholds every figure' --wait

The earlier set comes into force as a new revision. The commit that it leaves is pinned out: nothing publishes it again
until the ref has moved to another commit, or `discreet policy unpin` takes the pin away.
"""
_UNPIN_EPILOG = """\b
Examples:
  discreet policy unpin 3f2c9b1e0a77 --reason 'the figures were mended at their source'
  discreet policy unpin --reason 'all is well again'
"""
_PIN = re.compile(r"[0-9a-f]{4,64}", re.ASCII)


@click.command(epilog=_ROLLBACK_EPILOG)
@click.argument("number", type=click.IntRange(1), metavar="NUMBER")
@click.option("--reason", required=True, help="Why; it is recorded.")
@click.option(
    "--if-in-force", "expected", type=click.IntRange(1), metavar="NUMBER", help="Only if this one is in force still."
)
@wait_option
@shared_options
def rollback(number: int, reason: str, expected: int | None, wait: float | None) -> None:
    """Bring an earlier revision into force again, and pin out the commit that it leaves."""
    from discreet.cli.connection import connect
    from discreet.cli.policy_publishing import patient
    from discreet.cli.telling import tell
    from discreet.v1.policy_pb2 import RollbackRevisionRequest
    from discreet.v1.policy_pb2_grpc import PolicyServiceStub

    settings = patient(current())
    request = RollbackRevisionRequest(number=number, reason=reason, expected_number=expected or 0)
    with connect(settings, "publisher") as line, _in_words({"number": f"revision {number}: ", "expected_number": ""}):
        response = line.call(PolicyServiceStub(line.channel).RollbackRevision, request)
    name = response.revision.commit or response.revision.digest
    pinned = f"; {response.pinned[:12]} is pinned out" if response.pinned else ""
    said = f"revision {response.revision.number} is in force: that of revision {number}, {name[:12]}{pinned}"
    tell(settings, said, response)
    wait_for_servers(settings, wait, response, "publisher")


@click.command(epilog=_UNPIN_EPILOG)
@click.argument("pinned", required=False, default="", metavar="[COMMIT]")
@click.option("--reason", required=True, help="Why; it is recorded.")
@shared_options
def unpin(pinned: str, reason: str) -> None:
    """Let a commit that was rolled back come into force again; without COMMIT, all of them."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.telling import tell
    from discreet.v1.policy_pb2 import UnpinRevisionRequest
    from discreet.v1.policy_pb2_grpc import PolicyServiceStub

    with connect(settings, "publisher") as line, _in_words({"pinned": ""}):
        request = UnpinRevisionRequest(pinned=_whole(line, pinned), reason=reason)
        response = line.call(PolicyServiceStub(line.channel).UnpinRevision, request)
    tell(settings, f"unpinned: {', '.join(one[:12] for one in response.unpinned)}", response)


@contextmanager
def _in_words(fields: Mapping[str, str]) -> Iterator[None]:
    """Has refusals name what was typed in place of the field of the message that holds it."""
    try:
        yield
    except CliError as error:
        field, _, said = error.message.partition(": ")
        if error.status in {FAILED_PRECONDITION, NOT_FOUND} and field in fields:
            error.message = fields[field] + said.partition(";")[0]
            error.hint = "see `discreet policy revisions`"
        raise


def _whole(line: "Line", pinned: str) -> str:
    """What a pin names, where its beginning was typed. Raises InputError where that is none or several."""
    if not pinned:
        return ""
    if not _PIN.fullmatch(pinned):
        raise InputError(f"{pinned} is no commit", "write what `discreet policy revisions` lists as pinned out")
    from discreet.v1.policy_pb2 import ListRevisionsRequest
    from discreet.v1.policy_pb2_grpc import PolicyServiceStub

    pins = line.call(PolicyServiceStub(line.channel).ListRevisions, ListRevisionsRequest(page_size=1)).pins
    found = sorted({pin.pinned for pin in pins if pin.pinned.startswith(pinned)})
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{pinned} is the beginning of {len(found)} pins", "write more of it")
    known = ", ".join(pin.pinned[:12] for pin in pins)
    raise InputError(f"{pinned} is not pinned out", f"pinned out: {known}" if known else "nothing is pinned out")
