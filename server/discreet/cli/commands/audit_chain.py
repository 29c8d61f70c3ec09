"""`discreet audit head` and `audit verify`: the ends of the audit chain, kept elsewhere, and the chain whole."""

from typing import TYPE_CHECKING, Any

import click

from discreet.cli.errors import DatabaseFaults, InputError, Unreachable
from discreet.cli.settings import current, shared_options

if TYPE_CHECKING:
    from discreet.server.stores.keeping import ExportedHead, Verified

SHORT = 16
"""So much of a hash is shown in a table."""


@click.command(
    epilog="\b\nExample, for a line an hour to a disk that the database's owner cannot write to:\n"
    "  discreet audit head -o jsonl >> /mnt/auditors/heads.jsonl"
)
@shared_options
def head() -> None:
    """Show the ends of the audit chain: kept elsewhere, they show later whether it was cut or written anew."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.printing import print_table, print_tree
    from discreet.cli.shapes import to_tree
    from discreet.v1.audit_pb2 import ListChainHeadsRequest
    from discreet.v1.audit_pb2_grpc import AuditServiceStub

    with connect(settings, "auditor") as line:
        answer = line.call(AuditServiceStub(line.channel).ListChainHeads, ListChainHeadsRequest())
    if settings.output != "pretty":
        print_tree(settings, to_tree(answer))
        return
    rows = [(one.writer[:SHORT], str(one.link), one.hash[:SHORT]) for one in answer.heads]
    print_table("", ("writer", "last link", "its hash"), rows)


_VERIFY_EPILOG = """\b
Examples:
  discreet audit verify --db /var/lib/discreet/discreet.db --heads /mnt/auditors/heads.jsonl
  discreet audit verify --db postgresql://discreet@db/discreet -o json

Reads the database itself, in one view of it; no server is asked, and one may go on writing beside it. It reads every
row, some 20,000 a second.
"""


@click.command(epilog=_VERIFY_EPILOG)
@click.option(
    "--db", "url", metavar="FILE|URL", default="discreet.db", show_default=True,
    help="SQLite file, or URL of a PostgreSQL database.",
)  # fmt: skip
@click.option("--heads", "files", multiple=True, metavar="FILE", help="Heads exported earlier; may be given again.")
@shared_options
def verify(url: str, files: tuple[str, ...]) -> None:
    """Recompute the audit chain; name what is missing, altered, moved or put in. Exit code 7 where anything is."""
    settings = current()
    from discreet.cli.policy_problems import counted
    from discreet.cli.printing import print_table, print_tree
    from discreet.server.ports import StoreError
    from discreet.server.stores.keeping import verify_chain

    exported = [head for path in files for head in _exported(path)]
    try:
        done = verify_chain(url, exported)
    except StoreError as error:
        raise Unreachable(str(error)) from None
    if settings.output != "pretty":
        print_tree(settings, _tree(done, len(exported)))
    else:
        if done.findings:
            print_table("", ("wrong with the audit",), [(str(one),) for one in done.findings])
        said = ((done.rows, "row"), (done.links, "link"), (done.writers, "writer"))
        rows, links, writers = (counted(*one) for one in said)
        whole = f"; every exported head is in it, {len(exported)} of them" if exported and not done.count else ""
        click.echo(f"{rows} in {links} of {writers}{whole}")
    if done.count:
        raise DatabaseFaults(f"{done.count} found wrong with the audit of {done.shown}", "keep this copy as it is")


def _tree(done: "Verified", heads: int) -> dict[str, Any]:
    findings = [
        {"kind": one.kind.value, "writer": one.writer, "link": one.link, "row": one.row or None,
         "request_id": one.request_id, "detail": one.detail, "what": str(one)}
        for one in done.findings
    ]  # fmt: skip
    return {
        "database": done.shown, "writers": done.writers, "links": done.links, "rows": done.rows, "heads": heads,
        "found": done.count, "findings": findings,
    }  # fmt: skip


def _exported(path: str) -> "list[ExportedHead]":
    """The heads of a file with what `audit head` printed as JSON, once or many times. Raises InputError."""
    import json
    from pathlib import Path

    from discreet.server.stores.keeping import ExportedHead

    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--heads: {path} cannot be read: {error}") from None
    found: list[ExportedHead] = []
    decoder, at = json.JSONDecoder(), 0
    while (at := _past_blanks(text, at)) < len(text):
        line = text.count("\n", 0, at) + 1
        try:
            tree, at = decoder.raw_decode(text, at)
            when = str(tree["at"])
            found += [
                ExportedHead(str(one["writer"]), int(one["link"]), str(one["hash"]), f"the export of {when} in {path}")
                for one in tree.get("heads", ())
            ]
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InputError(
                f"--heads: {path}, line {line}: not what `discreet audit head -o jsonl` prints",
                "give the file as it was written; a line that was cut off is taken out by hand",
            ) from None
    if not found:
        raise InputError(
            f"--heads: {path} holds no head, so it would prove nothing", "give a file that was exported to"
        )
    return found


def _past_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
