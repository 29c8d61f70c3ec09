"""One server on SQLite and two on PostgreSQL for all pairs, each pair on a source of its own."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest
import pytest_asyncio

from discreet.server.stores.sqlite import SqliteStore
from discreet.v1 import index_pb2
from tests.contract.databases import Database
from tests.contract.holding import POLLS_MAX, Holder, row_held
from tests.postgres_server import PostgresServer
from tests.server.authority.acts import SAID
from tests.server.pairs.changes import DESK, LABELS, READER, Stage, policy
from tests.server.support import PolicyRepo, Running, config_of, document, in_process, make_repo


@dataclass(frozen=True, slots=True)
class Pair:
    """Through `changing` changes are made, through `committing` commits; on SQLite that is one server."""

    changing: Running
    committing: Running
    repo: PolicyRepo
    database: Database
    labels: Iterator[str]

    async def stage(self) -> Stage:
        """A document that the reader may see, on a source of its own."""
        stage = Stage(self.changing, self.repo, next(self.labels))
        given = [
            document(name, source_label=stage.label, scopes=[DESK])
            for name in (stage.record_id, f"{stage.label}/other")
        ]
        await self.changing.lines.collector.put(*given)
        await stage.ask(index_pb2.GrantScopeRequest(**SAID, principal_id=READER, scope=DESK))
        return stage

    def row_held(self) -> _Held:
        """The authority row is somebody else's for as long as the block lasts."""
        return _Held(self)


class _Held:
    """Holds the row; see `tests.contract.holding`."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._inside = row_held(pair.database, pair.changing.server.store)
        self._holder: Holder | None = None

    async def __aenter__(self) -> Self:
        self._holder = await self._inside.__aenter__()
        await self._queue(lambda length: length == 0)  # the row is held once the holder has left the queue itself
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._inside.__aexit__(None, None, None)

    async def waiting(self, count: int) -> None:
        """Returns when so many wait for the row, in the order in which they were started."""
        if self._pair.database.kind == "sqlite":
            await self._queue(lambda length: length >= count)
        else:
            assert self._holder is not None
            await self._holder.waiting(count)

    async def _queue(self, enough: Callable[[int], bool]) -> None:
        """Returns when the writer's queue is so long; on PostgreSQL there is none to look at."""
        store = self._pair.changing.server.store
        if not isinstance(store, SqliteStore):
            return
        for _ in range(POLLS_MAX):
            if store._writer is not None and enough(store._writer.ordered):
                return
            await asyncio.sleep(0.005)
        raise AssertionError("the writer's queue is not as it should be")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["sqlite", "postgresql"])
async def pair(request: pytest.FixtureRequest) -> AsyncIterator[Pair]:
    """Servers on each kind of database in turn."""
    place = Path(tempfile.mkdtemp(prefix="d-"))
    repo = make_repo(place / "policy", policy())
    async with AsyncExitStack() as stack:
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        if request.param == "sqlite":
            config = config_of(place, repo.path)
            only = await stack.enter_async_context(in_process(config))
            yield Pair(only, only, repo, Database("sqlite", config.db), iter(LABELS))
            return
        server = await asyncio.to_thread(PostgresServer)
        stack.callback(server.stop)
        url = server.fresh_database()
        first = config_of(place, repo.path, db=url, instance="one")
        second = config_of(place, repo.path, db=url, instance="two", socket_dir=place / "s2", poll_s=3_600)
        one = await stack.enter_async_context(in_process(first))
        other = await stack.enter_async_context(in_process(second))
        yield Pair(one, other, repo, Database("postgresql", url), itertools.chain(LABELS))
