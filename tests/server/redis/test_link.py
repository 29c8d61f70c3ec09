"""Commands to Redis: bounded, never mixed up, and never an exception for whoever asks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from discreet.server.cache.address import Address, parse_redis
from discreet.server.cache.door import Door
from discreet.server.cache.link import ANSWER_S, PAUSE_MAX_S, WAITING_MAX, Link
from discreet.server.ports_cache import CacheCounts, Trouble
from tests.server.redis.relay import Relay
from tests.server.support import eventually
from tests.valkey_server import ValkeyServer

SLACK_S = 3.0
"""What a machine that is busy may add to a bound; without the bound there would be no end at all."""


def link_to(url: str) -> Link:
    """A line to that address."""
    return Link(Door(parse_redis(url)), CacheCounts())


@pytest.fixture
async def link(relay: Relay) -> AsyncIterator[Link]:
    """A line through the relay."""
    made = link_to(relay.url)
    yield made
    await made.stop()


async def answered(link: Link, *words: str | bytes | int) -> object:
    """The reply once there is one: after a failure it is asked again."""
    replies: list[object] = []

    async def asked() -> bool:
        answer = await link.ask(*words)
        replies.append(answer.reply)
        return answer.trouble is None

    await eventually(asked)
    return replies[-1]


async def refused(link: Link, trouble: Trouble, *words: str) -> None:
    """Returns once a command fails with that trouble."""

    async def failed() -> bool:
        return (await link.ask(*words)).trouble is trouble

    await eventually(failed)


async def test_the_reply_of_a_cancelled_call_never_reaches_the_next_caller(
    link: Link, relay: Relay, own: Redis
) -> None:
    """Each call has its own answer, wherever the call before it was cancelled (redis-py#2624, #2665)."""
    names = [f"k{number}" for number in range(40)]
    for name in names:
        await own.set(name, name)
    relay.delay_s = 0.005
    for turn, name in enumerate(names):
        call = asyncio.create_task(link.ask("GET", name))
        for _ in range(turn):  # cancelled a step of the loop later each time: before, while and after it is sent
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait({call})
        other = names[turn - 1]
        assert await answered(link, "GET", other) == other.encode()


async def test_callers_at_once_have_each_their_own_answer(link: Link, own: Redis) -> None:
    """One connection, one exchange at a time; what is more than can wait is not asked."""
    names = [f"k{number}" for number in range(WAITING_MAX)]
    for name in names:
        await own.set(name, name)
    answers = await asyncio.gather(*(link.ask("GET", name) for name in [*names, "one too many"]))
    for name, answer in zip(names, answers[:-1], strict=True):
        assert answer.reply == name.encode() or answer.trouble is Trouble.SLOW
    assert answers[0].reply == names[0].encode()
    assert answers[-1].trouble is Trouble.SLOW


async def test_no_exchange_waits_longer_than_the_bound(link: Link, relay: Relay) -> None:
    """A line that is silent, old or new, costs each caller the bound once; then nothing is asked for a while."""
    await answered(link, "PING")
    relay.silence()
    for _ in range(3):
        began = time.monotonic()
        answer = await link.ask("PING")
        assert answer.trouble is Trouble.SLOW
        assert time.monotonic() - began < ANSWER_S + SLACK_S
    assert relay.accepted <= 2
    relay.speak()
    assert await answered(link, "PING") == b"PONG"


async def test_a_failure_is_followed_by_a_pause_that_grows_and_ends(valkey: ValkeyServer) -> None:
    """A server that is gone is not asked at every call, and found again within the longest pause."""
    link = link_to(valkey.url)
    assert await answered(link, "PING") == b"PONG"
    valkey.kill()
    pauses = []
    for _ in range(5):
        await asyncio.sleep(link.pause.left_s)
        assert (await link.ask("PING")).trouble is Trouble.UNREACHABLE
        pauses.append(link.pause.left_s)
        assert (await link.ask("PING")).trouble is Trouble.UNREACHABLE
    assert pauses[0] < pauses[2] < pauses[4] <= PAUSE_MAX_S
    valkey.start()
    assert await answered(link, "PING") == b"PONG"
    assert link.pause.left_s == 0
    await link.stop()


@pytest.mark.parametrize("credentials", ["", ":wrong@", "nobody:wrong@"])
async def test_a_password_that_is_missing_or_wrong_is_told_as_denied(credentials: str) -> None:
    """NOAUTH and WRONGPASS are one trouble, and the right password none."""
    server = ValkeyServer(requirepass="right")
    try:
        link = link_to(server.url.replace("//", f"//{credentials}"))
        await refused(link, Trouble.DENIED, "PING")
        await link.stop()
        allowed = link_to(server.url.replace("//", "//:right@"))
        assert await answered(allowed, "PING") == b"PONG"
        await allowed.stop()
    finally:
        server.stop()


async def test_rights_that_are_missing_are_told_as_denied(own: Redis, valkey: ValkeyServer) -> None:
    """A user who may not do this command: NOPERM."""
    await own.acl_setuser("ana", enabled=True, passwords=["+p"], commands=["+get"], keys=["*"])
    link = link_to(valkey.url.replace("//", "//ana:p@"))
    assert await answered(link, "GET", "k") is None
    await refused(link, Trouble.DENIED, "SET", "k", "v")
    await link.stop()


async def test_a_full_server_still_gives_what_it_has(link: Link, own: Redis) -> None:
    """Out of memory is told, and neither ends the connection nor begins a pause."""
    await own.set("k", "v")
    await own.config_set("maxmemory", "1")
    await own.config_set("maxmemory-policy", "noeviction")
    await refused(link, Trouble.FULL, "SET", "other", "v")
    assert await answered(link, "GET", "k") == b"v"


@pytest.mark.parametrize(
    "said",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"*" * 4_096 + b"\r\n", b"$-7\r\n", b":x\r\n", b"$99999999\r\nshort",
     b"*1\r\n" * 5_000, b"\0" * 100, b"-\r\n", b"", b"$3\r\nabcde\r\n"],
)  # fmt: skip
async def test_whatever_another_server_says_is_an_answer_or_a_trouble(said: bytes) -> None:
    """A port that is no Redis raises nothing, ends within the bound, and is not believed to be one."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read(1)
            writer.write(said)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    link = link_to(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    answer = await link.ask("GET", "k")
    assert answer.trouble is not None or answer.reply in (b"", b"abc")
    await link.stop()
    server.close()


async def test_a_host_that_no_name_server_knows_is_a_trouble() -> None:
    """A name that cannot be looked up costs no more than the bound."""
    link = Link(Door(Address("no-such-host.invalid")), CacheCounts())
    assert (await link.ask("PING")).trouble in (Trouble.UNREACHABLE, Trouble.SLOW)
    await link.stop()


async def test_stopping_ends_what_is_under_way(link: Link, relay: Relay) -> None:
    """A caller that waits while the server stops is told, at once."""
    await answered(link, "PING")
    relay.silence()
    call = asyncio.create_task(link.ask("PING"))
    await asyncio.sleep(0)
    await link.stop()
    assert (await call).trouble is Trouble.UNREACHABLE


async def test_a_unix_socket_and_another_database_are_reached(place: object) -> None:
    """The other ways to a server: a socket file, a database that is not the first."""
    server = ValkeyServer(unixsocket=f"{place}/v.sock")
    try:
        link = link_to(f"unix://{place}/v.sock?db=2")
        assert await answered(link, "SET", "k", "in two") == b"OK"
        client = server.client()
        assert await client.get("k") is None
        await client.aclose()
        other = link_to(server.url.replace("/0", "/2"))
        assert await answered(other, "GET", "k") == b"in two"
        await other.stop()
        await link.stop()
    finally:
        server.stop()
