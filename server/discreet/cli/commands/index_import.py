"""`discreet index import`: many records from a JSONL file, with a progress bar, resumable, every bad line named."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.errors import InputError, Unreachable
from discreet.cli.exit_codes import ExitCode
from discreet.cli.settings import Settings, current, shared_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.cli.checkpoint import Checkpoint
    from discreet.cli.connection import Line
    from discreet.cli.lines import Bad, Good, Skipped
    from discreet.cli.reading import Tree

BAD_SHOWN_MAX = 50

_EPILOG = """\b
Example:
  discreet --tenant marlowe index import records.jsonl.gz
  discreet --tenant marlowe index import records.jsonl.gz --resume

Each line is one JSON object: the fields of a document (or, with "kind": "evidence", of a piece of evidence), times as
RFC 3339 with an offset. docs/index-import.md describes it.
Importing never removes anything; importing again changes nothing.
"""


@click.command("import", epilog=_EPILOG)
@click.argument("file", metavar="FILE|-")
@click.option("--resume", is_flag=True, help="Go on behind the last line that the server acknowledged.")
@click.option("--strict", is_flag=True, help="Stop at the first bad line.")
@click.option("--batch", type=click.IntRange(1, 500), default=500, show_default=True, help="Records a call.")
@click.option("--checkpoint", "place", metavar="FILE", help="Where to note how far it got (default: beside FILE).")
@click.option("--no-checkpoint", is_flag=True, help="Note nothing; --resume is then not possible.")
@shared_options
@click.pass_context
def import_command(
    ctx: click.Context, file: str, resume: bool, strict: bool, batch: int, place: str | None, no_checkpoint: bool
) -> None:
    """Register many records from a JSONL file (plain or gzip, or - for standard input)."""
    settings = current()
    noted = _place(file, place, no_checkpoint)
    if resume and noted is None:
        raise InputError("--resume needs a checkpoint", "import a file, without --no-checkpoint")
    from discreet.cli.connection import connect

    with connect(settings, "collector") as line:
        state = _state(settings, file, noted, resume, line)
        try:
            kinds = _run(settings, line, file, state, noted, strict=strict, batch=batch)
        except Unreachable as lost:
            how = "go on with --resume" if noted is not None else "import again, which is harmless"
            raise Unreachable(f"{lost.message} (acknowledged up to line {state.lines:,})", how) from None
    _report(settings, state, kinds)
    ctx.exit(ExitCode.USAGE if state.bad_count else ExitCode.OK)


def _place(file: str, place: str | None, none: bool) -> Path | None:
    from discreet.cli.checkpoint import place_of

    if none or (file == "-" and place is None):
        return None
    return Path(place) if place else place_of(Path(file))


def _state(settings: Settings, file: str, noted: Path | None, resume: bool, line: "Line") -> "Checkpoint":
    from discreet.cli.checkpoint import Checkpoint, load
    from discreet.cli.lines import digest_of
    from discreet.cli.printing import note

    fresh = Checkpoint("" if file == "-" else digest_of(Path(file)), line.target, settings.tenant)
    if not resume or noted is None:
        return fresh
    if file == "-":
        raise InputError("standard input cannot be resumed", "import a file")
    found = load(noted, fresh)
    if found is None:
        note("nothing to resume; importing from the first line")
        return fresh
    _check_last(settings, line, found)
    note(f"resuming behind line {found.lines:,}")
    return found


def _check_last(settings: Settings, line: "Line", found: "Checkpoint") -> None:
    """Refuses to skip lines where the server no longer holds what it acknowledged: another or a restored database."""
    from discreet.v1.index_pb2 import GetRecordRequest
    from discreet.v1.index_pb2_grpc import IndexServiceStub

    if not found.last[0]:
        return
    request = GetRecordRequest(tenant=settings.tenant, record_id=found.last[0], version=found.last[1])
    try:
        line.call(IndexServiceStub(line.channel).GetRecord, request)
    except InputError:
        raise InputError(
            "the server does not hold what the checkpoint says it acknowledged", "import without --resume"
        ) from None


def _run(
    settings: Settings, line: "Line", file: str, state: "Checkpoint", noted: Path | None, *, strict: bool, batch: int
) -> "Counter[str]":
    from discreet.cli.checkpoint import save
    from discreet.cli.importing import batches, send
    from discreet.cli.lines import read_lines
    from discreet.cli.printing import note
    from discreet.cli.progress import bar

    kinds: Counter[str] = Counter()
    told = state.bad_count
    total = Path(file).stat().st_size if file != "-" else None
    with bar(total, quiet=settings.output != "pretty") as advance:
        found = batches(_until_bad(read_lines(file, state.lines), strict), batch)
        for done in send(line, settings.tenant, found):
            kinds += done.kinds
            for item in done.bad:
                state.add_bad(item.number, item.why)
                if told < BAD_SHOWN_MAX:
                    note(f"line {item.number}: {item.why}")
                told += 1
            state.lines = max(state.lines, done.last_line)
            state.last = done.last if done.last[0] else state.last
            if noted is not None:
                save(noted, state)
            advance(done.read, sum(kinds.values()))
            if strict and done.bad:
                break
    if noted is not None and state.bad_count == 0:
        noted.unlink(missing_ok=True)
    return kinds


def _until_bad(items: "Iterator[Good | Bad | Skipped]", strict: bool) -> "Iterator[Good | Bad | Skipped]":
    from discreet.cli.lines import Bad

    for item in items:
        yield item
        if strict and isinstance(item, Bad):
            return


def _report(settings: Settings, state: "Checkpoint", kinds: "Counter[str]") -> None:
    from discreet.cli.printing import note, print_tree

    if settings.output != "pretty":
        outcomes = {kind.lower(): kinds[kind] for kind in ("CREATED", "UPDATED", "UNCHANGED", "REFUSED")}
        bad: list[Tree] = [{"line": number, "why": why} for number, why in state.bad]
        print_tree(settings, {"lines": state.lines, **outcomes, "bad_lines": state.bad_count, "bad": bad})
        return
    counted = ", ".join(f"{count:,} {kind.lower()}" for kind, count in sorted(kinds.items())) or "nothing sent"
    note(f"{state.lines:,} lines read: {counted}; {state.bad_count:,} bad lines")
    if state.bad_count > BAD_SHOWN_MAX:
        note(f"the first {BAD_SHOWN_MAX} bad lines are shown above; -o json lists up to 1,000")
    if state.bad_count:
        note("discreet: not every line was registered; mend the lines above and import the file again")
