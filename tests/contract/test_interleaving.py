"""A commit against a change, in either order, with the order forced: who comes first in the row's queue wins (B6)."""

import asyncio

import psycopg
import pytest

from discreet.policy.facts import FactIds, Ref
from discreet.server.ports import Job, JobOutcome, Overtaken, Recorded, Store, StoreError
from discreet.server.stores import postgres_connect
from tests.contract.databases import ON_POSTGRESQL, Database
from tests.contract.holding import Holder, row_held
from tests.contract.making import ALICE, TENANT, audit, entry, facts_of, grant, job, put, record, revisions, suspend

A = Ref("doc/a", "1")


async def commit(store: Store) -> "asyncio.Task[list[JobOutcome]]":
    """A commit on the present facts, under way."""
    found = await facts_of(store, A)
    made = job(await store.head(), entry(*revisions(found)))
    return asyncio.create_task(store.record([made]))


async def test_a_revocation_committed_first_makes_the_publication_fail(store: Store, database: Database) -> None:
    """B6: the change was first in the queue, so the commit behind it is overtaken and names what changed."""
    await put(store, record())
    async with row_held(database, store) as holder:
        found = await facts_of(store, A)
        made = job(await store.head(), entry(*revisions(found)))
        changing = asyncio.create_task(suspend(store, A))
        await holder.waiting(1)
        committing = asyncio.create_task(store.record([made]))
        await holder.waiting(2)
    seq = await changing
    (outcome,) = await committing
    assert isinstance(outcome, Overtaken)
    assert (outcome.records, outcome.head.seq) == ((A,), seq)
    assert database.rows("SELECT count(*) FROM ledger") == [(0,)]


async def test_a_publication_committed_first_stands(store: Store, database: Database) -> None:
    """B6: the commit was first in the queue, so it stands under the lower number and the change comes after it."""
    await put(store, record())
    async with row_held(database, store) as holder:
        committing = await commit(store)
        await holder.waiting(1)
        changing = asyncio.create_task(suspend(store, A))
        await holder.waiting(2)
    (outcome,) = await committing
    assert isinstance(outcome, Recorded)
    assert await changing == outcome.seq + 1
    assert (await facts_of(store, A))[A].suspended
    later = job(await store.head(), entry((A, outcome.seq - 1)))
    assert isinstance((await store.record([later]))[0], Overtaken)


async def test_a_grant_given_while_a_commit_waits_overtakes_it(store: Store, database: Database) -> None:
    """B6: grants are read again inside the lock."""
    await put(store, record())
    async with row_held(database, store) as holder:
        found = await facts_of(store, A)
        made = job(await store.head(), entry(*revisions(found)))
        granting = asyncio.create_task(grant(store, "desk"))
        await holder.waiting(1)
        committing = asyncio.create_task(store.record([made]))
        await holder.waiting(2)
    await granting
    (outcome,) = await committing
    assert isinstance(outcome, Overtaken)
    assert outcome.grants


async def test_an_assessment_that_ends_while_a_commit_waits_overtakes_it(store: Store, database: Database) -> None:
    """B6: validity is compared with the clock when the row is held, not when the decision was made."""
    await put(store, record())
    found = await facts_of(store, A)
    async with row_held(database, store) as holder:
        head = await store.head()
        made = job(head, entry(*revisions(found), valid_until=head.now + 50_000))
        committing = asyncio.create_task(store.record([made]))
        await holder.waiting(1)
        for _ in range(1_000):
            if (await store.head()).now >= head.now + 50_000:
                break
            await asyncio.sleep(0.005)
    (outcome,) = await committing
    assert isinstance(outcome, Overtaken)
    assert outcome.expired


@ON_POSTGRESQL
async def test_checks_are_answered_while_a_change_holds_the_row(database: Database) -> None:
    """A12: reads and the audit rows of Checks wait for no index change, however long it holds the row."""
    store = await database.open()
    await put(store, record())
    async with row_held(database, store):
        assert (await store.head()).seq == 1
        assert set((await store.fetch(TENANT, FactIds((A,), ALICE))).records) == {A}
        (outcome,) = await store.record([Job(audit())])
        assert isinstance(outcome, Recorded)
        assert outcome.seq == 0


@ON_POSTGRESQL
async def test_a_lock_that_comes_free_in_time_is_waited_for(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DB-02: 55P03 is tried again, for commits and for changes; the caller sees nothing of it."""
    monkeypatch.setattr(postgres_connect, "LOCK_TIMEOUT_MS", 100)
    store = await database.open()
    await put(store, record())
    async with row_held(database, store) as holder:
        committing = await commit(store)
        changing = asyncio.create_task(put(store, record("doc/b")))
        await holder.waiting(2)
        await holder.fewer(2)  # one of them has run out of time, and will come back
    (outcome,) = await committing
    assert isinstance(outcome, Recorded)
    assert {await changing, outcome.seq} == {2, 3}


@ON_POSTGRESQL
async def test_a_lock_that_stays_is_given_up_with_an_error(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """DB-01, DB-02: attempts are bounded; then the caller reads that nothing was written, and it was not."""
    monkeypatch.setattr(postgres_connect, "LOCK_TIMEOUT_MS", 20)
    store = await database.open()
    await put(store, record())
    async with row_held(database, store):
        with pytest.raises(StoreError, match="55P03"):
            await (await commit(store))
        with pytest.raises(StoreError, match="55P03"):
            await put(store, record("doc/b"))
    assert (await store.head()).seq == 1
    assert isinstance((await (await commit(store)))[0], Recorded)


@ON_POSTGRESQL
async def test_a_deadlock_is_tried_again(database: Database) -> None:
    """DB-02: 40P01, forced with a foreign session that holds the next link and then wants the row."""
    store = await database.open()
    await put(store, record())
    async with (
        await psycopg.AsyncConnection.connect(database.url) as foreign,
        await psycopg.AsyncConnection.connect(database.url, autocommit=True) as watch,
    ):
        await foreign.execute("SET deadlock_timeout = '1min'")
        link = "INSERT INTO audit_link SELECT max(writer) - 2, 1, ''::bytea, ''::bytea, 0, '', 0, 0 FROM audit_writer"
        await foreign.execute(link)
        committing = await commit(store)
        await Holder(watch).waiting(1)
        await foreign.execute("SELECT 1 FROM authority FOR UPDATE")  # returns once the store's attempt was ended
        await foreign.rollback()
    assert isinstance((await committing)[0], Recorded)
