"""Console blocks of a document: the commands that people are told to type, and what they are said to print.

A block is fenced with ```console; a command begins with `$ ` and goes on in lines that begin with `> `. Ids, times,
tokens and commits differ from run to run and count as equal.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COLUMNS = "118"
_CHANGING = (
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "TIME"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"token [\w-]{30,}"), "token TOKEN"),
    (re.compile(r"\([0-9a-f]{12}\)"), "(COMMIT)"),
    (re.compile(r"[─\s]+"), " "),
)


@dataclass(frozen=True, slots=True)
class Typed:
    """One command with what the document says it prints."""

    command: str
    printed: str


def typed(document: Path) -> Iterator[Typed]:
    """The commands of a document, in order."""
    for block in BLOCK.findall(document.read_text(encoding="utf-8")):
        lines = block.splitlines()
        starts = [n for n, line in enumerate(lines) if line.startswith("$ ")]
        assert starts[:1] == [0], "a console block begins with a command"
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            more = start + 1
            while more < end and lines[more].startswith("> "):
                more += 1
            command = "\n".join(line[2:] for line in lines[start:more])
            yield Typed(command, "\n".join(lines[more:end]))


def steady(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return text.strip()


def environment(directory: Path) -> dict[str, str]:
    """Where the commands run: this installation first on the path, sockets and state in a place of their own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DISCREET_", "GIT_", "XDG_"))}
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(directory),
        "XDG_RUNTIME_DIR": str(directory / "run"),
        "XDG_STATE_HOME": str(directory / "state"),
        "COLUMNS": COLUMNS,
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "Dora",
        "GIT_CONFIG_KEY_1": "user.email",
        "GIT_CONFIG_VALUE_1": "dora@marlowe.example",
    }


@contextmanager
def served(command: str, directory: Path, env: dict[str, str]) -> Iterator[None]:
    """The server that a document starts in another terminal, from when it is ready until the block ends."""
    with subprocess.Popen(
        command.split(), cwd=directory, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("READY "), "the server ended"
            yield
        finally:
            process.terminate()
            process.wait(30)


def printed(command: str, directory: Path, env: dict[str, str]) -> str:
    """What a command prints, both streams together, with `exit N` where it does not end with 0."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=directory, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return "\n".join(line for line in lines if line)
