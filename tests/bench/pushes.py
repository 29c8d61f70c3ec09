"""From the end of a `git push` to the first decision under it: with a webhook, and by polling alone.

A server on SQLite follows the branch of a bare repository. Each push changes a rule of 100 and brings its tests, which
the server runs. The clock starts when `git push` has returned; then the webhook is called, as a Git host does, and a
client asks one question after the other until an answer names the commit. That answer is checked, too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import grpc

from discreet.v1 import common_pb2, disclosure_pb2
from tests.bench import scenario, sidecar
from tests.bench.report import Row

PUSHES = 20
CASES = 20
"""Tests of the set."""
ASKED_WITHIN_S = 60.0
GOAL_S = 0.25
POLLS_S = {True: 60.0, False: 1.0}
"""With a webhook polling would only help it; without one it is as often as by default."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A server that follows a repository, and where pushes come from."""

    agent: str
    webhook: str
    work: Path


def measure() -> list[Row]:
    """Two rows: with the webhook, and by polling."""
    return [_row(webhook) for webhook in (True, False)]


def _row(webhook: bool) -> Row:
    with TemporaryDirectory(prefix="dpush-") as home, _followed(Path(home), webhook) as followed:
        took = sorted(_pushed(followed, number, webhook) for number in range(1, PUSHES + 1))
    how = f"POST to the webhook; the goal is {GOAL_S} s" if webhook else f"polled every {POLLS_S[webhook]:.0f} s"
    return Row(
        name=f"the end of a `git push` to the first decision under it, {'with' if webhook else 'without'} a webhook",
        own=f"p50 {_at(took, 0.5):.0f} ms, p99 {_at(took, 0.99):.0f} ms",
        note=f"{PUSHES} pushes, one after the other, {how}; {scenario.RULES} rules, {CASES} tests of the set, SQLite",
    )


def _at(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))] * 1_000


@contextmanager
def _followed(home: Path, webhook: bool) -> Iterator[Followed]:
    bare, work = home / "policy.git", home / "work"
    _git(home, "init", "-q", "--bare", "-b", "main", str(bare))
    _git(home, "init", "-q", "-b", "main", str(work))
    _git(work, "remote", "add", "origin", str(bare))
    _commit(work, 0)
    _git(work, "push", "-q", "origin", "main")
    command = [sys.executable, "-m", "discreet.cli", "serve", "--policy", str(bare), "--poll", str(POLLS_S[webhook])]
    command += ["--db", str(home / "discreet.db"), "--state", str(home / "state"), "--socket-dir", str(home / "run")]
    command += ["--policy-webhook", "127.0.0.1:0", "--log-level", "warning"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = next((said for said in process.stdout if said.startswith("READY ")), "")
            if not line:
                raise RuntimeError("the server ended while it was starting; its log says why")
            ready = json.loads(line.removeprefix("READY "))
            own = sidecar.Sidecar(home / "run", process.pid)
            sidecar.fill(own)
            yield Followed(own.target("agent"), f"http://{ready['policy_webhook']}/", work)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def _pushed(followed: Followed, number: int, webhook: bool) -> float:
    """Seconds from the end of a push to the first answer under it."""
    question = scenario.questions(1, 1)[0]
    body = scenario.check_request(question).SerializeToString()
    with grpc.insecure_channel(followed.agent) as channel:
        ask: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(sidecar.CHECK)
        ask(body, timeout=30)
        commit = _commit(followed.work, number)
        _git(followed.work, "push", "-q", "origin", "main")
        began = time.perf_counter()
        if webhook:
            with urllib.request.urlopen(urllib.request.Request(followed.webhook, b"{}", method="POST"), timeout=30):
                pass
        while time.perf_counter() - began < ASKED_WITHIN_S:
            answer = disclosure_pb2.CheckResponse.FromString(ask(body, timeout=30))
            if answer.policy.commit == commit:
                taken = time.perf_counter() - began
                _check(answer, question)
                return taken
    raise AssertionError(f"push {number} is not in force after {ASKED_WITHIN_S:.0f} s")


def _check(answer: disclosure_pb2.CheckResponse, question: scenario.Question) -> None:
    allowed = tuple(one.verdict == common_pb2.VERDICT_ALLOW for one in answer.results)
    if allowed != question.right:
        raise AssertionError(f"answered {allowed}, and {question.right} is right")


def _commit(work: Path, number: int) -> str:
    """The commit of a set whose last rule is another one each time."""
    files = scenario.policy_files() | {"bench_test.yaml": _tests()}
    files["rules.yaml"] = files["rules.yaml"].replace(f"never-{scenario.RULES - 3}", f"never-again-{number}")
    for name, content in files.items():
        (work / name).write_text(content)
    _git(work, "add", "-A")
    _git(work, "commit", "-q", "-m", f"push {number}")
    return _git(work, "rev-parse", "HEAD")


def _tests() -> str:
    label = scenario.LISTED[0]
    record = (
        f'  - {{record-id: doc, version: "1", source-label: {label}, scopes: [public],'
        " assessment-expires-at: 2030-01-01T00:00:00Z, attributes: {review_state: approved, export_ok: true}}\n"
    )
    allowed = "expect: {verdict: ALLOW, rule: retrieve}"
    cases = "".join(
        f"  - {{name: case {number}, moment: RETRIEVE, principal: reader-{number}, bindings: [doc], {allowed}}}\n"
        for number in range(CASES)
    )
    return (
        "apiVersion: discreet/v1\nkind: PolicyTest\nname: bench\nnow: 2026-01-01T00:00:00Z\nrecords:\n"
        f"{record}cases:\n{cases}"
    )


def _git(directory: Path, *arguments: str) -> str:
    who = {f"GIT_{role}_{what}": "bench@localhost" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "HOME": str(directory), "GIT_CONFIG_NOSYSTEM": "1", **who}
    done = subprocess.run(["git", *arguments], cwd=directory, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()
