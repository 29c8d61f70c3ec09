"""Credentials in the address of a policy source are in nothing that the server says, writes or shows."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import sys
import traceback
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from discreet.server.policies.errors import SourceUnavailable
from discreet.server.policies.git_library import DAMAGE, UNREACHED
from discreet.server.policies.origin import TEXT_BYTES_MAX, without_credentials
from discreet.server.policies.sources import RemoteSource
from discreet.v1 import policy_pb2
from tests.server.scraping import request
from tests.server.support import Lines, PolicyRepo, audit_rows, config_of, eventually, in_process

SECRET = "tok3n-AB"
ANSWERS = {
    "wrong password": "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n",
    "no such repository": "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    "elsewhere": "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/q.git/info/refs\r\nContent-Length: 0\r\n\r\n",
    "broken": "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
    "odd": "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello",
    "cut off": "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n001e",
    "no HTTP": "SSH-2.0-x\r\n",
    "nothing": "",
}


@contextlib.asynccontextmanager
async def host(answer: str) -> AsyncIterator[int]:
    """The port of a Git host that says the same to everybody."""

    async def told(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer.encode())
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(told, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize("said", ANSWERS)
@pytest.mark.parametrize("form", [f"{SECRET}:x@", f"user:{SECRET}@", f"{SECRET}@"])
async def test_whatever_a_host_answers_no_error_or_log_holds_them(
    place: Path, caplog: pytest.LogCaptureFixture, said: str, form: str
) -> None:
    """GIT-04: at the debug level of every library, in the error, its causes and its traceback, and in the clone."""
    caplog.set_level(logging.DEBUG)
    async with host(ANSWERS[said]) as port:
        source = RemoteSource(f"http://{form}127.0.0.1:{port}/p.git", "", "", place / "git")
        with pytest.raises(SourceUnavailable) as caught:
            await asyncio.to_thread(source.resolve)
    error = caught.value
    told = "".join(traceback.format_exception_only(error)) + repr(error) + repr(error.__cause__)
    assert SECRET not in told + caplog.text + source.shown
    assert f"http://127.0.0.1:{port}/p.git@HEAD" in str(error)
    for path in (place / "git").rglob("*"):
        assert SECRET not in str(path)
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()


@pytest.mark.parametrize("ref", ["refs/heads/main", "refs/heads/wrong"])
async def test_a_server_that_cannot_read_its_source_shows_them_nowhere(place: Path, repo: PolicyRepo, ref: str) -> None:
    """GIT-04: log at debug, status, metrics, audit, list of revisions: none holds them; the host is named."""
    async with in_process(config_of(place, repo.path)):
        pass
    async with host(ANSWERS["no such repository"]) as port:
        url = f"http://{SECRET}:x@127.0.0.1:{port}/policies.git?key={SECRET}"
        config = config_of(place, url, ref=ref, metrics=("127.0.0.1", 0), log_level="debug")
        async with in_process(config) as running:
            status = await running.lines.operator.status()
            assert f"http://127.0.0.1:{port}/policies.git@{ref}" in status.policy_error
            revisions = await running.lines.auditor.call(policy_pb2.ListRevisionsRequest())
            metrics = await request(running.server.metrics_address, b"GET /metrics HTTP/1.1\r\n\r\n")
            shown = f"{status}{revisions}{metrics!r}{audit_rows(running.server.config.db)}"
        assert SECRET not in shown + running.log.getvalue()


def test_every_error_of_the_library_is_foreseen() -> None:
    """GIT-12: none of them may end the server: each is a source that cannot be read now. Those left out cannot come.

    Nothing is committed, checked out, hooked or sent from here, and neither ssh nor a forbidden transport is asked for.
    """
    modules = ("client", "errors", "file", "refs", "pack", "protocol", "object_store", "objects", "repo", "config")
    found = {
        one
        for name in modules
        for one in vars(importlib.import_module(f"dulwich.{name}")).values()
        if isinstance(one, type) and issubclass(one, Exception) and one.__module__.startswith("dulwich")
    }
    left = {one.__name__ for one in found if not issubclass(one, (*DAMAGE, *UNREACHED, ValueError))}
    assert left <= {
        "CommitError", "DefaultIdentityNotFound", "HookError", "InvalidUserIdentity", "NoIndexPresent",
        "StrangeHostname", "TransportNotAllowed", "WorkingTreeModifiedError",
    }  # fmt: skip


async def test_credentials_that_expire_keep_the_last_good_revision(place: Path, repo: PolicyRepo) -> None:
    """GIT-12: refused while it runs: the server goes on, says why, and the lag grows."""
    async with in_process(config_of(place, repo.path)) as running:
        before = (await running.lines.operator.status()).policy
    async with (
        host(ANSWERS["wrong password"]) as port,
        in_process(config_of(place, f"http://u:{SECRET}@127.0.0.1:{port}/p.git")) as running,
    ):

        async def says_so() -> bool:
            status = await running.lines.operator.status()
            return "HTTPUnauthorized" in status.policy_error and status.policy_lag_ms > 0

        await eventually(says_so)
        status = await running.lines.operator.status()
        assert (status.policy, status.ready) == (before, True)
        assert not running.server.failed.is_set()


async def test_no_list_of_processes_shows_them(place: Path, repo: PolicyRepo) -> None:
    """GIT-04, RPC-05: from the configuration file they reach no argument, no environment and no child."""
    async with host(ANSWERS["wrong password"]) as port:
        file = place / "discreet-server.yaml"
        file.write_text(
            f"policy: 'http://{SECRET}:x@127.0.0.1:{port}/p.git'\ndb: {place}/discreet.db\nsocket-dir: s\n"
            "state-dir: state\nlog-level: debug\npoll-s: 0.05\ndrain-s: 0.0\n"
        )
        log = place / "log"
        with log.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "discreet.cli", "serve", "--config", str(file),
                stdout=asyncio.subprocess.PIPE, stderr=errors,
            )  # fmt: skip
        assert process.stdout is not None
        ready = await asyncio.wait_for(process.stdout.readline(), 30)
        lines = Lines(json.loads(ready.removeprefix(b"READY "))["sockets"])
        assert "cannot be fetched" in (await lines.operator.status()).policy_error
        proc = Path("/proc") / str(process.pid)
        assert SECRET.encode() not in (proc / "cmdline").read_bytes() + (proc / "environ").read_bytes()
        children = "".join(task.read_text() for task in proc.glob("task/*/children"))
        assert children.split() == []
        await lines.close()
        process.terminate()
        rest = await process.stdout.read()
        assert await asyncio.wait_for(process.wait(), 20) == 0
    assert SECRET.encode() not in ready + rest + log.read_bytes()


@pytest.mark.parametrize(
    "address, left",
    [
        (f"https://{SECRET}@git.example/p.git", "https://git.example/p.git"),
        (f"https://u:{SECRET}@git.example:8443/p.git?a=b#c", "https://git.example:8443/p.git"),
        (f"https://u:{SECRET}@[::1]:8443/p.git", "https://[::1]:8443/p.git"),
        (f"ssh://u:{SECRET}@git.example/~/p.git", "ssh://git.example/~/p.git"),
        (f"{SECRET}@git.example:p.git", "git.example:p.git"),
        (f"https://git.example/p.git?token={SECRET}", "https://git.example/p.git"),
        (f"https://git.example/p.git#{SECRET}", "https://git.example/p.git"),
        (f"https://u:{SECRET}/x@git.example/p.git", "https://..."),
        (f"https://u:a?{SECRET}@git.example/p.git", "https://..."),
        (f"https://u:a#{SECRET}@git.example/p.git", "https://..."),
        (f"https://a@{SECRET}@git.example/p.git", "https://git.example/p.git"),
        ("/srv/policies@2", "/srv/policies@2"),
        ("", ""),
    ],
)
def test_an_address_is_recorded_without_them(address: str, left: str) -> None:
    """GIT-04: user, password, query and fragment are cut; of an address that cannot be taken apart nothing is kept."""
    assert without_credentials(address) == left
    assert len(left.encode()) <= TEXT_BYTES_MAX
