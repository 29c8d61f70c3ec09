"""Who and what the demo is about: a tenant, its people, and the proposals that its index holds."""

from dataclasses import dataclass

from discreet.cli.peps import Pep, read_peps
from discreet.client import Binding

STYLE, ZEN, WSGI, WSGI_NEXT, HINTS = "pep-0008", "pep-0020", "pep-0333", "pep-3333", "pep-0484"
WALRUS, JOKE, NONE_AWARE, OLD_DRAFT, BATTERIES = "pep-0572", "pep-0401", "pep-0505", "pep-9002", "pep-0594"
REJECTED = "pep-0601"
OTHERS = (
    "pep-0001", "pep-0007", "pep-0100", "pep-0201", "pep-0227", "pep-0234", "pep-0238", "pep-0255", "pep-0257",
    "pep-0279", "pep-0282", "pep-0285", "pep-0289", "pep-0302", "pep-0308", "pep-0318", "pep-0328", "pep-0342",
    "pep-0343", "pep-0380", "pep-0386", "pep-0405", "pep-0435", "pep-0440", "pep-0492", "pep-0498", "pep-0517",
    "pep-0557", "pep-0634",
)  # fmt: skip
PROPOSALS = frozenset(
    {STYLE, ZEN, WSGI, WSGI_NEXT, HINTS, WALRUS, JOKE, NONE_AWARE, OLD_DRAFT, BATTERIES, REJECTED, *OTHERS}
)
NOTE, NOTE_TEXT = "note-17", "Between us: the walrus was a mistake."


@dataclass(frozen=True, slots=True)
class Shelf:
    """The versions of the proposals that the demo uses, as the data file has them."""

    versions: dict[str, list[Pep]]

    def current(self, record_id: str) -> Binding:
        """A binding to a proposal's last version, as an agent has it that has just read it."""
        return self._binding(self.versions[record_id][-1])

    def earlier(self, record_id: str, back: int = 1) -> Binding:
        """A binding to an earlier version."""
        return self._binding(self.versions[record_id][-1 - back])

    def everything(self) -> list[Pep]:
        """All versions, in the order of their numbers."""
        return [pep for peps in self.versions.values() for pep in peps]

    @staticmethod
    def _binding(pep: Pep) -> Binding:
        return Binding(pep.document_id, str(pep.version), pep.digest)


def read_shelf() -> Shelf:
    """The proposals of the demo, read from the packaged data."""
    versions: dict[str, list[Pep]] = {}
    for pep in read_peps():
        if pep.document_id in PROPOSALS:
            versions.setdefault(pep.document_id, []).append(pep)
    return Shelf(versions)
