"""What the story asks: sidecars about documents, the command line about policies. Compares, and decides nothing."""

import hashlib
import re
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from rich import box
from rich.table import Table

from discreet.cli.escaping import safe
from discreet.cli.printing import text, verdict_text
from discreet.cli.results import revision_words
from discreet.cli.shapes import word
from discreet.v1.common_pb2 import Grounding, Moment, Reason, Verdict
from discreet.v1.disclosure_pb2 import Binding, CheckRequest, CheckResponse, Principal, Segment
from docs.examples.fleet.sidecar import Sidecar, surroundings
from docs.examples.fleet.stage import Stage

T = TypeVar("T")

TENANT, READER, SESSION = "marlowe", "ana", "ana-1"
PAY, TRAVEL, CANTEEN = "pay", "travel", "canteen"
DONE_S = 60.0
POLL_S = 0.05
INDENT = 4
COLUMNS_MIN = 100
"""So wide are tables of commands at least: what is compared in them does not depend on the terminal."""
_TOKEN = re.compile(r"\(token ([\w-]+)\)")


class Expected(NamedTuple):
    """What both sidecars are to say about a topic of the handbook."""

    topic: str
    verdict: str
    reason: str = "NONE"


def digest_of(topic: str) -> str:
    """The digest of what the handbook says about a topic."""
    return hashlib.sha256(f"What the handbook says about {topic}.".encode()).hexdigest()


def ask_both(stage: Stage, revision: int, *expected: Expected) -> None:
    """Asks each sidecar once whether ana's agent may read this, and compares answer and revision with the story."""
    ask(stage, stage.sidecars, revision, *expected)


def ask(stage: Stage, sidecars: tuple[Sidecar, ...], revision: int, *expected: Expected) -> None:
    """As `ask_both`, of these sidecars alone."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in ("asked about", "answered by", "answer", "reason", "under revision"):
        table.add_column(column, overflow="fold")
    answers = [(sidecar, sidecar.check(_question(expected))) for sidecar in sidecars]
    for n, one in enumerate(expected):
        for sidecar, answer in answers:
            verdict, reason = _said(answer, n)
            table.add_row(
                text(f"handbook/{one.topic}"), text(answer.instance), verdict_text(verdict),
                text("" if reason == "NONE" else reason), text(revision_words(answer.policy)),
            )  # fmt: skip
            stage.teller.expect(
                f"handbook/{one.topic}, asked of {sidecar.name}",
                f"{one.verdict} {one.reason} by {sidecar.name} under revision {revision}",
                f"{verdict} {reason} by {answer.instance} under revision {answer.policy.number}",
            )
    stage.teller.out.print(table)


def _question(expected: tuple[Expected, ...]) -> CheckRequest:
    bindings = [
        Binding(record_id=f"handbook/{one.topic}", version="1", digest=digest_of(one.topic)) for one in expected
    ]
    return CheckRequest(
        tenant=TENANT,
        moment=Moment.MOMENT_RETRIEVE,
        principal=Principal(id=READER),
        session_id=SESSION,
        segments=[
            Segment(id=one.topic, kind="chunk", grounding=Grounding.GROUNDING_BOUND, bindings=[binding])
            for one, binding in zip(expected, bindings, strict=True)
        ],
    )


def _said(answer: CheckResponse, n: int) -> tuple[str, str]:
    result = answer.results[n]
    reason = word(Reason.DESCRIPTOR, result.reason) or ""
    told = f"{reason} ({result.custom_reason})" if result.custom_reason else reason
    return word(Verdict.DESCRIPTOR, result.verdict) or "", told


def run(stage: Stage, sidecar: Sidecar, *words: str) -> str:
    """Runs a command against a sidecar and prints both, but no token; returns all that it printed."""
    teller, shown = stage.teller, " ".join(_shown(stage, one) for one in words)
    teller.did(f"at {sidecar.name}", f"$ discreet {shown}")
    columns = max(teller.out.width - INDENT, COLUMNS_MIN)
    where = {"DISCREET_SOCKET_DIR": str(sidecar.settings.socket_dir), "DISCREET_TENANT": TENANT}
    env = surroundings({**where, "COLUMNS": str(columns)})
    done = subprocess.run(  # noqa: S603  (our own interpreter and module, no shell)
        [sys.executable, "-m", "discreet.cli", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env=env, cwd=stage.place, timeout=DONE_S, check=False,
    )  # fmt: skip
    for line in _TOKEN.sub("", done.stdout).splitlines():
        if line.strip():
            teller.out.print(" " * INDENT + safe(line.rstrip()), soft_wrap=True)
    teller.expect(f"exit code of discreet {shown}", "0", str(done.returncode))
    return done.stdout


def _shown(stage: Stage, argument: str) -> str:
    """An argument as one would type it: quoted where it must be, places by short names."""
    short = argument.replace(stage.postgres.url, "$DB").replace(str(stage.place), "$DEMO")
    return f"'{short}'" if " " in short else short


def expect_line(stage: Stage, said: str, what: str, pattern: str) -> None:
    """Compares one outcome with the story: whether what was printed has it."""
    flat = re.sub(r"\s+", " ", said)
    found = re.search(pattern, flat)
    stage.teller.expect(what, pattern, pattern if found else flat)


def token_of(said: str) -> str:
    """The token that a command printed; empty where it printed none."""
    found = _TOKEN.search(said)
    return found[1] if found else ""


def until(asked: Callable[[], T], wanted: Callable[[T], bool]) -> T:
    """The first answer that is as wanted, or the last one that there was time for: what it is compared with tells."""
    deadline = time.monotonic() + DONE_S
    while not wanted(answer := asked()) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return answer
