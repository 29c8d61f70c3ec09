"""The history of the Python Enhancement Proposals as index records, by the rule that docs/data.md states.

`python -m discreet.cli.peps [PEP...]` writes import lines to standard output, for `discreet index import -`.
"""

import gzip
import json
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import NamedTuple

from discreet.cli.reading import Tree

LABEL = "peps"
TENANT = "marlowe"
PUBLIC = "public"
DRAFTS = "peps-drafts"
SETTLED = frozenset({
    "Accepted", "Active", "April Fool!", "Approved", "Complete", "Final", "Finished", "Rejected", "Replaced",
    "Superseded", "Withdrawal", "Withdrawn",
})  # fmt: skip
"""Statuses whose text everybody may read. Any other one, misspelt too, is for those who hold the drafts' scope."""
SETTLED_UNTIL = "2099-12-31T00:00:00Z"
DRAFT_LIFE = timedelta(days=730)
DATA = "demo_data/peps-index.jsonl.gz"


class Pep(NamedTuple):
    """One version of one proposal, as the data file has it."""

    document_id: str
    version: int
    digest: str
    committed_at: str
    status: str
    type: str
    superseded_by: tuple[int, ...]


class Supersession(NamedTuple):
    """A proposal's last version with the proposal that replaced it, at its last version."""

    record_id: str
    version: str
    by_record_id: str
    by_version: str


def read_peps() -> Iterator[Pep]:
    """Every version in the order of the file: first-parent order of the history; versions of a proposal ascend."""
    with files("discreet.cli").joinpath(DATA).open("rb") as raw, gzip.open(raw, "rt", encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line)
            yield Pep(
                row["document_id"], row["version"], row["content_sha256"], row["committed_at"], row["status"],
                row["type"], tuple(row["superseded_by"]),
            )  # fmt: skip


def to_line(pep: Pep) -> dict[str, Tree]:
    """The import line of a version: fields of DocumentInput."""
    settled = pep.status in SETTLED
    line: dict[str, Tree] = {
        "record_id": pep.document_id,
        "version": str(pep.version),
        "digest": pep.digest,
        "source_label": LABEL,
        "as_of": pep.committed_at,
        "scopes": [PUBLIC if settled else DRAFTS],
        "attributes": {"status": pep.status, "type": pep.type},
        "assessment_expires_at": SETTLED_UNTIL if settled else _after(pep.committed_at, DRAFT_LIFE),
    }
    if pep.version > 1:
        line["supersedes_version"] = str(pep.version - 1)
    return line


def _after(time: str, span: timedelta) -> str:
    return (datetime.fromisoformat(time).astimezone(UTC) + span).isoformat().replace("+00:00", "Z")


def supersessions(peps: Iterable[Pep]) -> list[Supersession]:
    """For each proposal whose last version names exactly one successor that is among `peps`: the call that says so."""
    last = {pep.document_id: pep for pep in peps}
    found = []
    for pep in last.values():
        successors = [last[name] for number in pep.superseded_by if (name := f"pep-{number:04}") in last]
        if len(pep.superseded_by) == 1 and successors:
            by = successors[0]
            found.append(Supersession(pep.document_id, str(pep.version), by.document_id, str(by.version)))
    return found


def main(wanted: list[str]) -> None:
    """Writes the import lines of all proposals, or of those named."""
    for pep in read_peps():
        if not wanted or pep.document_id in wanted:
            sys.stdout.write(json.dumps(to_line(pep)) + "\n")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BrokenPipeError:
        sys.stderr.close()
