"""`discreet policy explain`: why a question is decided as it is, under a policy set as it lies in a folder."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.errors import InputError, PolicySetError
from discreet.cli.exit_codes import ExitCode
from discreet.cli.settings import Settings, current, shared_options

if TYPE_CHECKING:
    from discreet.cli.policy_ledger import Given
    from discreet.policy.explain import Explanation
    from discreet.policy.facts import LedgerFacts
    from discreet.policy.problems import PolicyProblems
    from discreet.policy.request import Request, Segment
    from discreet.policy.snapshot import Snapshot
    from discreet.policy.testing.situation import Situation
    from discreet.v1.disclosure_pb2 import CheckRequest

_EPILOG = """\b
Examples:
  discreet policy explain question.yaml --policy policies --facts policies/notes_test.yaml
  discreet policy explain question.yaml --policy policies --server

The request is as for `discreet check`; a binding without a digest takes that of the record. The file says under
`ledger` what was shown before: asked about at REPLAY and EXPORT, parents of segments else.
Exit code: 0 all ALLOW, 10 something WITHHOLD, 11 something PURGE.
"""


@click.command(epilog=_EPILOG)
@click.argument("request", metavar="REQUEST|-")
@click.option(
    "--policy", "folder", type=click.Path(path_type=Path), required=True, metavar="DIR", help="The policy set."
)
@click.option("--environment", default="", metavar="NAME", help="Environment of the policy set, where it declares any.")
@click.option(
    "--facts", type=click.Path(path_type=Path), metavar="FILE", help="Take facts, grants and clock from a PolicyTest."
)
@click.option(
    "--server",
    "from_server",
    is_flag=True,
    help="Take facts and grants from a running server, and the time from this machine.",
)
@click.option("--caller", default="agent", metavar="NAME", help="The identity that asks (default: agent).")
@click.option("--at", metavar="TIME", help="The time to decide at, in place of the clock.")
@shared_options
@click.pass_context
def explain(
    ctx: click.Context,
    request: str,
    folder: Path,
    environment: str,
    facts: Path | None,
    from_server: bool,
    caller: str,
    at: str | None,
) -> None:
    """Show each gate and each rule, with the value of every part of its condition, for a question."""
    settings = current()
    if (facts is None) is not from_server:
        raise InputError("facts come from one place", "give either --facts FILE or --server")
    from discreet.cli.commands.disclose import request_tree
    from discreet.cli.messages import build
    from discreet.cli.policy_ledger import entries, without_ledger
    from discreet.cli.times import parse_rfc3339
    from discreet.policy.explain import explain as explained
    from discreet.policy.facts import Caller, Micros
    from discreet.policy.words import Role
    from discreet.v1.disclosure_pb2 import CheckRequest

    tree, ledger = without_ledger(request_tree(request, settings))
    message = build(CheckRequest, tree)
    given = entries(ledger, message)
    snapshot = _compiled(settings, folder, environment)
    situation = _of_file(settings, facts, snapshot) if facts else _of_server(settings, message, given, snapshot)
    question = _question(message, given, situation)
    released, stored = _released(message, given, situation)
    now = Micros(parse_rfc3339(at)) if at else situation.now
    asking = Caller(caller, Role.AGENT, None)
    known = replace(situation.facts(question.principal.id), ledger=released)
    found = explained(snapshot, known, asking, now, question, stored=stored)
    _print(settings, found)
    ctx.exit(_exit_code(found))


def _compiled(settings: Settings, folder: Path, environment: str) -> "Snapshot":
    from discreet.cli.commands.policy import read_folder
    from discreet.policy.compile import compile_set
    from discreet.policy.problems import PolicyProblems

    try:
        return compile_set(read_folder(folder), commit="", number=2, dirty=True, environment=environment)
    except PolicyProblems as wrong:
        raise _refused(settings, wrong, f"in {folder}") from None


def _refused(settings: Settings, wrong: "PolicyProblems", where: str) -> PolicySetError:
    from discreet.cli.policy_problems import print_problems

    print_problems(settings, wrong.problems)
    count = len(wrong.problems) + wrong.more
    return PolicySetError(f"{count} problem{'' if count == 1 else 's'} {where}", "nothing was decided")


def _of_file(settings: Settings, facts: Path, snapshot: "Snapshot") -> "Situation":
    from discreet.cli.reading import read_source
    from discreet.policy.problems import PolicyProblems
    from discreet.policy.testing.situation import situation_of

    try:
        return situation_of(facts.as_posix(), read_source(str(facts)), snapshot)
    except PolicyProblems as wrong:
        raise _refused(settings, wrong, f"in {facts}") from None


def _of_server(
    settings: Settings, message: "CheckRequest", given: "tuple[Given, ...]", snapshot: "Snapshot"
) -> "Situation":
    from discreet.cli.connection import connect
    from discreet.cli.policy_facts import facts_of
    from discreet.policy.problems import PolicyProblems
    from discreet.policy.testing.situation import situation_of

    with connect(settings, "operator") as line:
        data = facts_of(line, message, [*message.segments, *(entry.segment for entry in given)])
    try:
        return situation_of("(server)", data, snapshot)
    except PolicyProblems as wrong:
        raise _refused(settings, wrong, "in the answers of the server") from None


def _question(message: "CheckRequest", given: "tuple[Given, ...]", situation: "Situation") -> "Request":
    """The question; a binding without a digest takes that of its record, in the entries too. Raises InputError."""
    from discreet.policy.codec import Malformed, parse_check
    from discreet.policy.facts import Ref

    for segment in (*message.segments, *(entry.segment for entry in given)):
        for binding in segment.bindings:
            record = situation.records.get(Ref(binding.record_id, binding.version))
            if not binding.digest and record is not None:
                binding.digest = record.digest
    try:
        return parse_check(message.SerializeToString()).request
    except Malformed as wrong:
        raise InputError(str(wrong)) from None


def _released(
    message: "CheckRequest", given: "tuple[Given, ...]", situation: "Situation"
) -> "tuple[dict[str, LedgerFacts], dict[str, Segment]]":
    """The entries of the file as the ledger would hold them, and their segments. Raises InputError."""
    from discreet.cli.policy_ledger import parsed
    from discreet.policy.codec import Malformed

    ledger: dict[str, LedgerFacts] = {}
    stored: dict[str, Segment] = {}
    for at, entry in enumerate(given):
        unknown = next((name for name in entry.segment.parents if name not in ledger), None)
        if unknown is not None:
            raise InputError(
                f"ledger[{at}].segment.parents names no entry before it", "put what it was made from first"
            )
        try:
            segment = parsed(entry, message)
        except Malformed as wrong:
            raise InputError(str(wrong).replace("segments[0]", f"ledger[{at}].segment", 1)) from None
        stored[entry.ledger_id] = segment
        ledger[entry.ledger_id] = situation.released(
            entry.ledger_id, segment, principal_id=entry.principal_id, session_id=entry.session_id, needs=entry.needs,
            above=[root for name in entry.segment.parents for root in ledger[name].roots],
        )  # fmt: skip
    return ledger, stored


def _print(settings: Settings, found: "tuple[Explanation, ...]") -> None:
    from discreet.cli.policy_explaining import explanation_tree, print_explanations
    from discreet.cli.printing import print_trees

    if settings.output == "pretty":
        print_explanations(found)
    else:
        print_trees(settings, "segments", [explanation_tree(one) for one in found])


def _exit_code(found: "tuple[Explanation, ...]") -> ExitCode:
    from discreet.policy.words import Verdict

    verdicts = {one.decision.verdict for one in found}
    if Verdict.PURGE in verdicts:
        return ExitCode.PURGE
    return ExitCode.OK if verdicts == {Verdict.ALLOW} else ExitCode.WITHHELD
