"""`rediss://`: a server whose certificate is trusted and names it, and no other."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from discreet.server.cache.address import parse_redis
from discreet.server.cache.door import Door
from discreet.server.cache.link import Link
from discreet.server.ports_cache import CacheCounts, CacheState
from tests.server.redis.kept import BUNDLE, DIGEST, kept
from tests.server.redis.relay import Relay
from tests.valkey_server import ValkeyServer

PEM = Path(__file__).with_name("tls.pem")
"""A certificate for 127.0.0.1 with its key, of use to nobody."""


@pytest.fixture
async def secured(valkey: ValkeyServer) -> AsyncIterator[Relay]:
    """The server behind TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    line = Relay(valkey.port, tls=context)
    await line.start()
    yield line
    await line.stop()


async def test_a_server_that_is_trusted_is_used(secured: Relay) -> None:
    """Copies and bell go through TLS."""
    async with kept(f"{secured.url}?ca-file={PEM}") as one:
        one.cache.put(DIGEST, BUNDLE)
        assert await one.given() == BUNDLE
        assert one.cache.state is CacheState.UP


@pytest.mark.parametrize("kind", ["unknown certificate", "another host"])
async def test_a_server_that_is_not_is_refused(kind: str, secured: Relay) -> None:
    """Neither a certificate that nobody vouches for, nor one of another host, gets as much as a command."""
    url = secured.url
    if kind == "another host":
        url = url.replace("127.0.0.1", "localhost") + f"?ca-file={PEM}"
    link = Link(Door(parse_redis(url)), CacheCounts())
    assert (await link.ask("PING")).trouble is not None
    await link.stop()
