"""The webhook of the policy's source: a POST has the ref read at once, and can do nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from discreet.server.config import load_config, parse_webhook
from discreet.server.errors import ConfigRefused, ListenRefused
from discreet.server.policies.webhook import BODY_BYTES_MAX, SECRET_BYTES_MAX, PolicyWebhook, secret_of
from discreet.server.wire.http import CONNECTIONS_MAX
from tests.server.cli.command import discreet
from tests.server.policies.revisions import LISTED, in_force
from tests.server.scraping import request
from tests.server.support import PolicyRepo, config_of, in_process, spawn

SECRET = b"s3cret-of-the-hook"


def post(body: bytes = b"{}", *, signature: str = "", length: int | None = None) -> bytes:
    """A POST as a Git host sends it."""
    told = f"Content-Length: {len(body) if length is None else length}\r\n"
    signed = f"X-Hub-Signature-256: {signature}\r\n" if signature else ""
    return f"POST /any?x=1 HTTP/1.1\r\nHost: x\r\n{told}{signed}\r\n".encode() + body


def signature(body: bytes, secret: bytes = SECRET) -> str:
    """The signature of a body."""
    return "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()


class Hook:
    """A listener that counts the looks it causes."""

    def __init__(self, secret: bytes | None) -> None:
        self.looks = 0
        self.listener = PolicyWebhook(self._look, secret)
        self.address = ""

    def _look(self) -> None:
        self.looks += 1


@contextlib.asynccontextmanager
async def hook(secret: bytes | None = None) -> AsyncIterator[Hook]:
    """One that listens on a free port."""
    one = Hook(secret)
    one.address = await one.listener.start("127.0.0.1", 0)
    try:
        yield one
    finally:
        await one.listener.stop()


async def test_a_post_causes_a_look_and_nothing_else_does() -> None:
    """REV-14: 202 at any path; other methods are 405; what has no length, or too much, is no request of ours."""
    async with hook() as one:
        assert (await request(one.address, post())).startswith(b"HTTP/1.1 202 ")
        assert (await request(one.address, post(b""))).startswith(b"HTTP/1.1 202 ")
        assert one.looks == 2
        asked = {
            b"GET / HTTP/1.1\r\n\r\n": b"HTTP/1.1 405 ",
            b"HEAD / HTTP/1.1\r\n\r\n": b"HTTP/1.1 405 ",
            b"PUT / HTTP/1.1\r\nContent-Length: 0\r\n\r\n": b"HTTP/1.1 405 ",
            b"POST / HTTP/1.1\r\n\r\n": b"HTTP/1.1 411 ",
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": b"HTTP/1.1 411 ",
            b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx": b"HTTP/1.1 411 ",
            b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n": b"HTTP/1.1 411 ",
            post(b"", length=BODY_BYTES_MAX + 1): b"HTTP/1.1 413 ",
            post(b"", length=10**30): b"HTTP/1.1 413 ",
        }
        for data, begins in asked.items():
            assert (await request(one.address, data)).startswith(begins), data
        assert one.looks == 2


async def test_with_a_secret_only_signed_bodies_count() -> None:
    """GIT-04: the HMAC is of the very bytes; another secret, body, form, or none at all is 403 and causes no look."""
    body = b'{"ref":"refs/heads/main"}' * 10_000
    async with hook(SECRET) as one:
        assert (await request(one.address, post(body, signature=signature(body)))).startswith(b"HTTP/1.1 202 ")
        wrong = (
            "",
            signature(body, b"another"),
            signature(body + b" "),
            signature(body).removeprefix("sha256="),
            signature(body).upper(),
            "sha256=",
            "sha256=\xff",
        )
        for given in wrong:
            assert (await request(one.address, post(body, signature=given))).startswith(b"HTTP/1.1 403 "), given
        twice = post(body, signature=signature(body)).replace(b"Host: x", b"X-Hub-Signature-256: " + b"x")
        assert (await request(one.address, twice)).startswith(b"HTTP/1.1 403 ")
        assert one.looks == 1


async def test_the_largest_body_is_taken_without_being_held() -> None:
    """One byte more is refused before it is read."""
    body = b"x" * BODY_BYTES_MAX
    async with hook(SECRET) as one:
        assert (await request(one.address, post(body, signature=signature(body)))).startswith(b"HTTP/1.1 202 ")
        assert one.looks == 1


async def test_half_a_request_and_many_silent_ones_cause_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that ends early is answered by nothing; connections are bounded, and closed at the end."""
    monkeypatch.setattr("discreet.server.wire.http.REQUEST_S", 0.2)
    async with hook() as one:
        host, _, port = one.address.rpartition(":")
        assert await request(one.address, post(b"x", length=2)[:-1]) == b""
        monkeypatch.undo()
        silent = [await asyncio.open_connection(host, int(port)) for _ in range(CONNECTIONS_MAX)]
        assert await request(one.address, post()) == b""
        assert one.looks == 0
    for _, writer in silent:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def test_a_push_comes_into_force_by_its_webhook_alone(place: Path, repo: PolicyRepo) -> None:
    """F2: with an hour between two looks, the POST has the ref read; what it says of refs and commits is not read."""
    config = config_of(place, repo.path, poll_s=3_600.0, policy_webhook=("127.0.0.1", 0))
    async with in_process(config) as running:
        newest = repo.commit({"sources.yaml": LISTED})
        lie = b'{"ref":"refs/heads/other","after":"' + b"0" * 40 + b'"}'
        assert (await request(running.server.webhook_address, post(lie))).startswith(b"HTTP/1.1 202 ")
        await in_force(running, newest)


async def test_many_posts_at_once_are_one_look(place: Path, repo: PolicyRepo) -> None:
    """REV-18: whoever asks while a look is under way gets one more after it, and all of them the same one."""
    config = config_of(place, repo.path, poll_s=3_600.0, policy_webhook=("127.0.0.1", 0))
    async with in_process(config) as running:
        looks = 0
        inner = running.server.policies._source
        assert inner is not None
        resolve = inner.resolve

        def counted() -> object:
            nonlocal looks
            looks += 1
            return resolve()

        inner.resolve = counted  # type: ignore[method-assign,assignment] # the real one, counted
        newest = repo.commit({"sources.yaml": LISTED})
        for _ in range(4):
            answers = await asyncio.gather(*(request(running.server.webhook_address, post()) for _ in range(10)))
            assert all(answer.startswith(b"HTTP/1.1 202 ") for answer in answers)
        await in_force(running, newest)
        assert 1 <= looks <= 8


async def test_a_secret_is_read_from_its_file_and_is_told_nowhere(place: Path, repo: PolicyRepo) -> None:
    """GIT-04: as an option or a key of the file; the start says where it listens; the secret is in no log."""
    file = place / "secret"
    file.write_bytes(SECRET + b"\r\n")
    spawned = await spawn(
        place, repo.path, policy_webhook=["127.0.0.1", 0], policy_webhook_secret_file=str(file), log_level="debug"
    )
    address = str(spawned.ready["policy_webhook"])
    assert (await request(address, post())).startswith(b"HTTP/1.1 403 ")
    assert (await request(address, post(signature=signature(b"{}")))).startswith(b"HTTP/1.1 202 ")
    assert await spawned.terminate() == 0
    assert SECRET not in (place / "log").read_bytes()


def test_a_secret_has_to_be_there(tmp_path: Path) -> None:
    """No file, an empty one, one that is too large: refused without its content; a line end is no part of it."""
    file = tmp_path / "secret"
    for content in (b"", b"\r\n", b"x" * (SECRET_BYTES_MAX + 1)):
        file.write_bytes(content)
        with pytest.raises(ConfigRefused, match="must hold 1 to 4096 bytes"):
            secret_of(file)
    with pytest.raises(ConfigRefused, match="cannot be read"):
        secret_of(tmp_path / "nothing")
    file.write_bytes(b"x" * SECRET_BYTES_MAX + b"\n")
    assert secret_of(file) == b"x" * SECRET_BYTES_MAX
    assert secret_of(None) is None


@pytest.mark.parametrize(
    "given", ["0.0.0.0:80", "10.0.0.1:0", "[::]:0", "example.org:80", ":1", "1", "", "127.0.0.1:x"]
)
def test_only_loopback_is_listened_on(given: str) -> None:
    """Beyond it belongs a proxy that speaks TLS."""
    with pytest.raises(ConfigRefused, match=r"policy-webhook: "):
        parse_webhook(given)


async def test_a_place_that_is_taken_refuses_the_start(place: Path, repo: PolicyRepo) -> None:
    """The error names the option and the address."""
    async with hook() as taken:
        port = int(taken.address.rpartition(":")[2])
        with pytest.raises(ListenRefused, match=f"policy-webhook: 127.0.0.1:{port}"):
            async with in_process(config_of(place, repo.path, policy_webhook=("127.0.0.1", port))):
                pass


def test_the_file_and_the_options_mean_the_same(place: Path) -> None:
    """A secret without a listener is a mistake; the path of the secret is relative to the file."""
    file = place / "discreet-server.yaml"
    file.write_text('policy: /p\npolicy-webhook: "localhost:0"\npolicy-webhook-secret-file: hook.secret\n')
    config = load_config(file, {})
    assert (config.policy_webhook, config.policy_webhook_secret_file) == (("127.0.0.1", 0), place / "hook.secret")
    file.write_text("policy: /p\npolicy-webhook-secret-file: hook.secret\n")
    with pytest.raises(ConfigRefused, match="without policy-webhook"):
        load_config(file, {})
    ended = discreet("serve", "--policy", str(place), "--policy-webhook", "0.0.0.0:1")
    assert (ended.code, "policy-webhook: must be 127.0.0.1:PORT" in ended.err) == (2, True)
