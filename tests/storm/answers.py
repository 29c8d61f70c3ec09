"""What a client of a storm writes down of each answer. No I/O but that of the given file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Answer(NamedTuple):
    """One answer, on the monotonic clock of the machine in nanoseconds.

    `shown`: the index of the set that its content shows; 0: no revision decided any of it. `status`: that of a call
    that was not answered, else empty.
    """

    client: str
    server: str
    began: int
    ended: int
    number: int
    commit: str
    digest: str
    shown: int
    segments: int
    decided: int
    status: str
    wrong: tuple[str, ...]
    ordered: bool
    """Whether the client had nothing else under way on its connection."""

    def line(self) -> str:
        """As a line of a file."""
        return json.dumps(self) + "\n"


def read_answers(files: Iterator[Path]) -> Iterator[Answer]:
    """What clients wrote down. A last line that a killed client left unfinished is none."""
    for file in files:
        with file.open() as lines:
            for line in lines:
                if line.endswith("\n"):
                    answer = Answer(*json.loads(line))
                    yield answer._replace(wrong=tuple(answer.wrong))
