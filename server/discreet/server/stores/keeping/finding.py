"""What is wrong with a stored audit, named. Must know no database."""

from dataclasses import dataclass, field
from enum import StrEnum


class Tampering(StrEnum):
    """What happened to a part of the audit."""

    MISSING = "missing"
    ALTERED = "altered"
    REORDERED = "reordered"
    INSERTED = "inserted"


@dataclass(frozen=True, slots=True)
class Finding:
    """One part of the audit that is not as it was written. `row` counts from 1; 0: the link itself, or its writer."""

    kind: Tampering
    writer: int
    link: int
    row: int = 0
    request_id: str = ""
    """Of the row, as far as anything still says it."""
    detail: str = ""

    def __str__(self) -> str:
        named = f"link {self.link} of writer {self.writer}"
        if self.row:
            named = f"row {self.row} of {named}"
        request = f" (request {self.request_id})" if self.request_id else ""
        return f"{named} {_SAID[self.kind]}{request}" + (f": {self.detail}" if self.detail else "")


@dataclass(frozen=True, slots=True)
class ExportedHead:
    """The last link of a writer, as it was when it was exported. `hash` in hex; `place`: where it is written down."""

    name: str
    link: int
    hash: str
    place: str = ""


_SAID = {
    Tampering.MISSING: "is missing",
    Tampering.ALTERED: "was altered",
    Tampering.REORDERED: "is not where it was",
    Tampering.INSERTED: "was inserted",
}


@dataclass(slots=True)
class Verified:
    """A chain that was gone through."""

    shown: str
    """The database, as it may be shown."""
    writers: int = 0
    links: int = 0
    rows: int = 0
    count: int = 0
    """How much is wrong."""
    findings: list[Finding] = field(default_factory=list)
    """What it is, up to FINDINGS_MAX."""


FINDINGS_MAX = 1_000
