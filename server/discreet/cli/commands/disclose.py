"""`discreet check` and `discreet commit`: one question from a file, its answer as a table or as JSON."""

from typing import TYPE_CHECKING

import click

from discreet.cli.errors import InputError
from discreet.cli.exit_codes import ExitCode
from discreet.cli.settings import Settings, current, shared_options

if TYPE_CHECKING:
    from discreet.cli.reading import Tree
    from discreet.v1.disclosure_pb2 import CheckResponse, CommitResponse, SegmentResult

_CHECK_EPILOG = """\b
Example:
  discreet check - <<'END'
  tenant: marlowe
  moment: RETRIEVE
  principal: {id: ana}
  session_id: s-1
  segments:
    - id: seg-1
      kind: answer
      grounding: BOUND
      bindings:
        - {record_id: pep-0020, version: "1", digest: 0a4f...}
  END

Field names are those of CheckRequest in discreet/v1/disclosure.proto; enum words may be short. REPLAY and
EXPORT take ledger_ids in place of segments. Exit code: 0 all ALLOW, 10 something WITHHOLD, 11 something PURGE.
"""
_COMMIT_EPILOG = """\b
Example:
  discreet commit answer.yaml

The file is as for `check`, without `moment`, with `answer_id`, and with a digest for each segment.
Repeating a commit is safe: it gives the same ledger id and a fresh verdict.
Exit code: 0 all ALLOW, 10 something WITHHOLD, 11 something PURGE.
"""


@click.command(epilog=_CHECK_EPILOG)
@click.argument("file", metavar="FILE|-")
@shared_options
@click.pass_context
def check(ctx: click.Context, file: str) -> None:
    """Ask what may be shown now (JSON or YAML from FILE, or - for standard input)."""
    settings = current()
    tree = request_tree(file, settings)
    from discreet.cli.connection import connect
    from discreet.cli.messages import build
    from discreet.v1.disclosure_pb2 import CheckRequest
    from discreet.v1.disclosure_pb2_grpc import DisclosureServiceStub

    request = build(CheckRequest, tree)
    with connect(settings, "agent") as line:
        response = line.call(DisclosureServiceStub(line.channel).Check, request)
    _print(settings, response, [(result, "") for result in response.results])
    ctx.exit(_exit_code(list(response.results), len(request.segments) or len(request.ledger_ids)))


@click.command(epilog=_COMMIT_EPILOG)
@click.argument("file", metavar="FILE|-")
@shared_options
@click.pass_context
def commit(ctx: click.Context, file: str) -> None:
    """Commit segments that are about to be published: the only permission (JSON or YAML from FILE, or -)."""
    settings = current()
    tree = request_tree(file, settings)
    from discreet.cli.connection import connect
    from discreet.cli.messages import build
    from discreet.v1.disclosure_pb2 import CommitRequest
    from discreet.v1.disclosure_pb2_grpc import DisclosureServiceStub

    request = build(CommitRequest, tree)
    with connect(settings, "agent") as line:
        response = line.call(DisclosureServiceStub(line.channel).Commit, request)
    _print(settings, response, [(item.result, item.ledger_id) for item in response.results])
    ctx.exit(_exit_code([item.result for item in response.results], len(request.segments)))


def request_tree(file: str, settings: Settings) -> "Tree":
    """The request of a file as plain values, with the tenant and locale of the options. Raises InputError."""
    from discreet.cli.reading import parse_text, read_source

    tree = parse_text(read_source(file), "standard input" if file == "-" else file)
    if isinstance(tree, dict):
        for name, given in (("tenant", settings.tenant), ("locale", settings.locale)):
            if given and tree.setdefault(name, given) != given:
                raise InputError(f"{name} differs from --{name}", "give it once")
    return tree


def _exit_code(results: "list[SegmentResult]", asked: int) -> ExitCode:
    from discreet.v1.common_pb2 import VERDICT_ALLOW, VERDICT_PURGE

    verdicts = {result.verdict for result in results}
    if VERDICT_PURGE in verdicts:
        return ExitCode.PURGE
    # Whatever else is read, an unknown verdict or a missing result included, means withhold.
    return ExitCode.OK if verdicts == {VERDICT_ALLOW} and len(results) == asked else ExitCode.WITHHELD


def _print(
    settings: Settings, response: "CheckResponse | CommitResponse", results: "list[tuple[SegmentResult, str]]"
) -> None:
    from discreet.cli.printing import print_tree
    from discreet.cli.shapes import to_tree

    if settings.output != "pretty":
        print_tree(settings, to_tree(response))
        return
    from discreet.cli.results import print_results

    print_results(response.policy, response.instance, results)
