"""Runs the command line in this process, through its outermost edge, with standard streams of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from discreet.cli.app import run


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def tree(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


@contextlib.contextmanager
def _streams(stdin: bytes) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    out, err = io.BytesIO(), io.BytesIO()
    kept = sys.stdin, sys.stdout, sys.stderr, sys.excepthook
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8", write_through=True)
    try:
        yield out, err
    finally:
        sys.stdin, sys.stdout, sys.stderr, sys.excepthook = kept


def discreet(*args: str, stdin: bytes | str = b"") -> Outcome:
    """Runs `discreet ARGS` to its end, in no terminal of any width, whatever runs the tests."""
    os.environ.pop("COLUMNS", None)
    code: object = None
    with _streams(stdin.encode() if isinstance(stdin, str) else stdin) as (out, err):
        try:
            run(list(args))
        except SystemExit as end:
            code = end.code
        written = out.getvalue().decode(), err.getvalue().decode()
    assert isinstance(code, int), "the command line always ends with an exit code"
    return Outcome(code, *written)
