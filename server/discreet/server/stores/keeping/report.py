"""What was found when a database was looked over. Must know no database."""

from dataclasses import dataclass, field

from discreet.server.ports import Adoption, Head


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong, and what would be right."""

    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy}"


@dataclass(slots=True)
class Report:
    """A database as it was found. Where it has no schema that this code knows, what lies in tables is left out."""

    kind: str
    shown: str
    version: str
    bound_to: str
    """Where the database is now: on PostgreSQL its system and timeline."""
    schema: str | None = None
    head: Head | None = None
    adoptions: list[Adoption] = field(default_factory=list)
    durability: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    """Rows of the tables that grow."""
    faults: list[Fault] = field(default_factory=list)

    def fault(self, what: str, remedy: str) -> None:
        """Adds what is wrong and what would be right."""
        self.faults.append(Fault(what, remedy))
