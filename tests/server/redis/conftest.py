"""A real Valkey for each test, a client of the test's own, and a line to the server that can fail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from redis.asyncio import Redis

from tests.server.redis.relay import Relay
from tests.valkey_server import ValkeyServer


@pytest.fixture
def valkey() -> Iterator[ValkeyServer]:
    """A server that may be killed."""
    server = ValkeyServer()
    yield server
    server.stop()


@pytest.fixture
async def own(valkey: ValkeyServer) -> AsyncIterator[Redis]:
    """The test's own client."""
    client = valkey.client()
    yield client
    await client.aclose()


@pytest.fixture
async def relay(valkey: ValkeyServer) -> AsyncIterator[Relay]:
    """A line to the server that can fail."""
    line = Relay(valkey.port)
    await line.start()
    yield line
    await line.stop()
