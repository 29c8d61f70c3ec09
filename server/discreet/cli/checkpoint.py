"""Where an import stands, in a small file beside its input: so that `--resume` goes on, and only with the same input.

A checkpoint says what the server has acknowledged. It is written whole or not at all. Must know nothing of calls.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from discreet.cli.errors import InputError

VERSION = 1
BAD_KEPT_MAX = 1_000


@dataclass(slots=True)
class Checkpoint:
    """Of one input at one server: lines up to `lines` are dealt with; `bad`: those of them that were not registered."""

    input_sha256: str
    target: str
    tenant: str
    lines: int = 0
    last: tuple[str, str] = ("", "")
    """Record id and version of the last line that the server acknowledged."""
    bad: list[tuple[int, str]] = field(default_factory=list)
    bad_more: int = 0
    version: int = VERSION

    def add_bad(self, number: int, why: str) -> None:
        """Keeps a bad line; past a maximum they are only counted."""
        if any(known == number for known, _ in self.bad):
            return
        if len(self.bad) < BAD_KEPT_MAX:
            self.bad.append((number, why))
        else:
            self.bad_more += 1

    @property
    def bad_count(self) -> int:
        """How many lines were not registered."""
        return len(self.bad) + self.bad_more


def place_of(source: Path) -> Path:
    """Where the checkpoint of an input lies."""
    return source.with_name(f"{source.name}.discreet-import")


def save(place: Path, checkpoint: Checkpoint) -> None:
    """Writes the checkpoint, whole or not at all. Raises InputError where its directory cannot be written."""
    aside = place.with_name(f"{place.name}.new")
    try:
        aside.write_text(json.dumps(asdict(checkpoint), ensure_ascii=True), encoding="utf-8")
        aside.replace(place)
    except OSError as error:
        raise InputError(f"{place}: {(error.strerror or 'cannot be written').lower()}",
                         "name another place with --checkpoint, or none with --no-checkpoint") from None  # fmt: skip


def load(place: Path, wanted: Checkpoint) -> Checkpoint | None:
    """The checkpoint of the same input, server and tenant as `wanted`; None where there is none. Else InputError."""
    try:
        tree = json.loads(place.read_text(encoding="utf-8"))
        found = Checkpoint(**{**tree, "last": tuple(tree["last"]), "bad": [tuple(item) for item in tree["bad"]]})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError):
        raise InputError(f"{place} cannot be read as a checkpoint", "import without --resume") from None
    if found.version != VERSION:
        raise InputError(f"{place} was written by another version of discreet", "import without --resume")
    for name, what in (("input_sha256", "file"), ("target", "server"), ("tenant", "tenant")):
        if getattr(found, name) != getattr(wanted, name):
            raise InputError(
                f"the {what} is not the one that {place} was written for",
                "import without --resume: what is there already stays UNCHANGED",
            )
    return found
