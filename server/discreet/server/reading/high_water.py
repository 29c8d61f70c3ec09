"""The highest state that this server has seen of each database, on disk: what comes back below it is not served.

A restored backup or a copy that lags may lack a revoke. One small file an epoch, so that several databases may share a
state directory, and a new database is nothing that was seen before. Where an operator adopted a database
(docs/decisions/0059), the marks of the epochs that it stands in for name the one that replaced them, so that none of
their databases is served again. Must not know stores.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from discreet.server.errors import StoreRefused
from discreet.server.ports import Adoption, Head

DIGITS_MAX = 20
"""A mark is one number of at most so many digits."""
LINKS_MAX = 1_000
"""So many replacements are followed from one mark to the one that counts."""
UNREADABLE = 2**63 - 1
"""Stands for a mark that is there and cannot be read: only an operator who was told so accepts it."""
REPLACED = "replaced by "
EPOCH = re.compile("[0-9a-f]{32}")
ADOPT = "run `discreet db adopt`"


class Mark(NamedTuple):
    """What was seen of an epoch. `replaced_by`: the epoch of the database that was adopted in its place."""

    seq: int
    replaced_by: str = ""


class Damaged(ValueError):
    """A mark's file holds something else. It is never taken for "nothing was seen"."""


class HighWater:
    """The marks of one server. `note` runs beside the event loop; nobody else writes between two calls of it."""

    def __init__(self, state_dir: Path) -> None:
        self._directory = state_dir / "high-water"
        self._noted = -1

    def admit(self, head: Head, adoptions: Sequence[Adoption] = ()) -> None:
        """Takes the head that a store opened with as the mark from now on.

        StoreRefused where `require` refuses, and where the mark cannot be kept: a server that forgets what it saw could
        not tell the next time.
        """
        stood_in_for = self.require(head, adoptions)
        try:
            # Before the new mark: a crash between leaves the old ones refused, and the new one to be admitted again.
            for epoch, mark in stood_in_for.items():
                self._write(epoch, mark._replace(replaced_by=head.epoch))
            self.note(head)
        except OSError as error:
            raise self._unusable(error) from None

    def require(self, head: Head, adoptions: Sequence[Adoption] = ()) -> dict[str, Mark]:
        """The marks that a database of a new epoch stands in for, by epoch; nothing is written.

        StoreRefused where a later state was seen of this database, or of one that it stands in for, beyond what an
        operator accepted, and where the marks cannot be read.
        """
        try:
            mark = self.read(head.epoch)
            if mark is None:
                return self._stood_in_for(adoptions)
            _require(head, mark)
            return {}
        except Damaged as error:
            raise StoreRefused(
                f"{error}: is damaged, so that nobody knows what was seen of the database; where it has lost nothing,"
                f" or what it lost is accepted, {ADOPT}"
            ) from None
        except OSError as error:
            raise self._unusable(error) from None

    def seen(self, head: Head, adoptions: Sequence[Adoption]) -> dict[str, int]:
        """Every mark that an adoption of this database stands in for: of its epoch, earlier ones and their heirs."""
        epochs = [head.epoch, *_accepted(adoptions)]
        return {name: mark.seq for epoch in epochs for name, mark in self.family(epoch).items()}

    def ahead(self, head: Head, adoptions: Sequence[Adoption]) -> dict[str, int]:
        """The marks that this database is behind, by epoch: what an adoption would lose."""
        reached = {**_accepted(adoptions), head.epoch: head.seq}
        heirs = {list(found)[-1] for epoch in reached if (found := self.family(epoch))}
        return {
            epoch: seq
            for epoch, seq in self.seen(head, adoptions).items()
            if epoch in {*heirs, head.epoch} and seq > reached.get(epoch, -1)
        }

    def note(self, head: Head) -> None:
        """Raises the mark to a head, durably. OSError where that fails, ValueError where the file is damaged."""
        if head.seq <= self._noted:
            return
        mark = self.read(head.epoch) or Mark(-1)
        if mark.seq < head.seq:
            self._write(head.epoch, mark._replace(seq=head.seq))
        self._noted = head.seq

    def read(self, epoch: str) -> Mark | None:
        """The mark of an epoch; None where there is none yet. Raises Damaged with the name of the file."""
        path = self._path(epoch)
        try:
            lines = path.read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            return None
        except UnicodeError:
            raise Damaged(path) from None
        number, *rest = lines or [""]
        links = [line.removeprefix(REPLACED) for line in rest if line.startswith(REPLACED)]
        if not (number.isdigit() and len(number) <= DIGITS_MAX) or len(rest) > 1 or len(links) != len(rest):
            raise Damaged(path)
        return Mark(int(number), *links)

    def knows(self, head: Head, adoptions: Sequence[Adoption]) -> bool:
        """Whether anything was seen of a database, or of one that it stands in for."""
        return any(self.read_any(epoch) is not None for epoch in (head.epoch, *_accepted(adoptions)))

    def read_any(self, epoch: str) -> Mark | None:
        """As `read`, but a mark that cannot be read counts as higher than any number."""
        try:
            return self.read(epoch)
        except Damaged:
            return Mark(UNREADABLE)

    def family(self, epoch: str) -> dict[str, Mark]:
        """The marks of an epoch and of those that replaced it one after the other; the last one is what counts."""
        found: dict[str, Mark] = {}
        while epoch not in found and len(found) <= LINKS_MAX and (mark := self.read_any(epoch)) is not None:
            found[epoch] = mark
            epoch = mark.replaced_by or epoch
        return found

    def _stood_in_for(self, adoptions: Sequence[Adoption]) -> dict[str, Mark]:
        """Follows the adoptions of a database whose epoch was not seen before; empty where no other was seen either."""
        accepted = _accepted(adoptions)
        last = dict(list(self.family(epoch).items())[-1] for epoch in accepted if self.read_any(epoch) is not None)
        if any(mark.seq > accepted.get(epoch, -1) for epoch, mark in last.items()):
            raise StoreRefused(
                "the database was adopted by an operator, but not in place of all that this server has seen of it, so"
                f" that a revoke may be missing; where that is meant, {ADOPT} with this server's --state, and start"
                " again"
            )
        return last

    def _unusable(self, error: OSError) -> StoreRefused:
        place = error.filename or self._directory
        return StoreRefused(f"{place}: cannot be kept: {error.strerror}; name a directory with --state")

    def _path(self, epoch: str) -> Path:
        if EPOCH.fullmatch(epoch) is None:
            raise StoreRefused("the database's epoch is no epoch: 32 hexadecimal digits are right")
        return self._directory / epoch

    def _write(self, epoch: str, mark: Mark) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(epoch)
        part = path.with_suffix(f".{os.getpid()}")
        with part.open("w", encoding="ascii") as file:
            file.write(f"{mark.seq}\n" + (f"{REPLACED}{mark.replaced_by}\n" if mark.replaced_by else ""))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)


def _require(head: Head, mark: Mark) -> None:
    """Raises StoreRefused where a database of a known epoch is behind its mark, or was replaced."""
    if mark.replaced_by:
        raise StoreRefused(
            "the database was replaced: this server has served the one that was adopted in its place, so that what was"
            f" revoked there may be missing here; where this one is meant, {ADOPT} with this server's --state"
        )
    if mark.seq > head.seq:
        raise StoreRefused(
            f"the database went back: it is at {head.seq}, and this server has seen {mark.seq} of it, so that a revoke"
            f" may be missing (a restored backup, or a copy that lags); where that is meant, {ADOPT} with this server's"
            " --state, and start again"
        )


def epochs_of(head: Head, adoptions: Sequence[Adoption]) -> list[str]:
    """The epoch of a database, and then those that it stands in for."""
    found = dict.fromkeys([head.epoch, *_accepted(adoptions), *(one.previous for one in adoptions)])
    return [epoch for epoch in found if EPOCH.fullmatch(epoch)]


def _accepted(adoptions: Sequence[Adoption]) -> dict[str, int]:
    """Up to which number of which epochs a database stands in for others, by all that led to it."""
    accepted: dict[str, int] = {}
    for adoption in adoptions:
        for epoch, seq in adoption.accepted:
            accepted[epoch] = max(seq, accepted.get(epoch, -1))
    return accepted
