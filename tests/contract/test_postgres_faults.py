"""PostgreSQL when things go wrong in it, made by real sessions, processes and limits; nothing is raised by hand."""

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import psycopg
import pytest

from discreet.policy.facts import Ref
from discreet.server.ports import Exists, Job, JobOutcome, OutcomeUnknown, Recorded, Store, StoreError
from discreet.server.stores import postgres_connect, postgres_record
from tests.contract.chains import verified_heads
from tests.contract.databases import ON_POSTGRESQL, Database
from tests.contract.holding import Holder, row_held
from tests.contract.making import audit, entry, facts_of, job, put, record, revisions, suspend
from tests.postgres_server import PostgresServer

A = Ref("doc/a", "1")
BLOCKED = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    " AND state = 'active'"
)
NEXT_LINK = "INSERT INTO audit_link SELECT max(writer) - 2, %d, ''::bytea, ''::bytea, 0, '', 0, 0 FROM audit_writer"
"""A row in the place of the next link of the lane of commits: whoever wants to write it waits for this session."""
MEGABYTE = 1024 * 1024
LINES = 40


async def made_on(store: Store) -> Job:
    """A commit that is good as long as nothing changes."""
    return job(await store.head(), entry(*revisions(await facts_of(store, A))))


async def recorded(store: Store, made: Job) -> JobOutcome:
    (outcome,) = await store.record([made])
    return outcome


@asynccontextmanager
async def session(database: Database) -> AsyncIterator[psycopg.AsyncConnection]:
    """Somebody else's connection."""
    async with await psycopg.AsyncConnection.connect(database.url) as connection:
        yield connection


@ON_POSTGRESQL
async def test_a_paused_backend_that_holds_the_row_leaves_an_unknown_outcome_and_one_commit(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DB-02: SIGSTOP amid a commit: unknown is said, others are refused in time; once it goes on it is there, once."""
    monkeypatch.setattr(postgres_connect, "LOCK_TIMEOUT_MS", 20)
    other = await database.open()
    monkeypatch.setattr(postgres_connect, "LOCK_TIMEOUT_MS", 60_000)
    monkeypatch.setattr(postgres_connect, "STATEMENT_TIMEOUT_MS", 60_000)
    store = await database.open()
    await put(store, record())
    assert isinstance(await recorded(store, await made_on(store)), Recorded)
    monkeypatch.setattr(postgres_connect, "LOCK_TIMEOUT_MS", 20)
    monkeypatch.setattr(postgres_record, "ANSWER_TIMEOUT_S", 1.0)
    made = await made_on(store)
    async with (
        session(database) as foreign,
        await psycopg.AsyncConnection.connect(database.url, autocommit=True) as watch,
    ):
        await foreign.execute(NEXT_LINK.encode() % 2)
        committing = asyncio.create_task(recorded(store, made))
        await Holder(watch).waiting(1)
        ((pid,),) = await (await watch.execute(BLOCKED)).fetchall()
        os.kill(pid, signal.SIGSTOP)
        try:
            await foreign.rollback()
            with pytest.raises(OutcomeUnknown, match="not known"):
                await committing
            with pytest.raises(StoreError, match="55P03"):
                await put(other, record("doc/b"))
            assert isinstance(await recorded(store, Job(audit())), Recorded)
        finally:
            os.kill(pid, signal.SIGCONT)
    outcome = await until_free(store, replace(made, audit=audit(body=b"again")))
    assert isinstance(outcome, Exists)
    assert outcome.same
    assert isinstance(await recorded(store, await made_on(store)), Recorded)
    assert database.rows("SELECT count(*), max(seq) FROM ledger") == [(3, 4)]
    verified_heads(database)


async def until_free(store: Store, made: Job) -> JobOutcome:
    """The outcome of a commit that is repeated as long as the row is not free."""
    for _ in range(LINES):
        try:
            return await recorded(store, made)
        except StoreError:
            continue
    return await recorded(store, made)


CHILD = """
import asyncio, os, signal, sys
from discreet.server.ports import StoreError
from discreet.server.stores import open_store, postgres_connect
from tests.contract.making import TENANT, record

postgres_connect.IDLE_IN_TRANSACTION_TIMEOUT_MS = 2_000  # far from what a slow machine takes between statements

def work(work):
    print("holds", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    return work.write_records(TENANT, [(record("doc/late"), "doc/late")])

async def change():
    store = open_store(sys.argv[1])
    await store.open()
    try:
        await store.change(work)
        print("written", flush=True)
    except StoreError as error:
        print("refused:", error, flush=True)

asyncio.run(change())
"""


@ON_POSTGRESQL
async def test_a_paused_server_loses_the_row_and_cannot_write_when_it_wakes(database: Database) -> None:
    """DB-02, B6: SIGSTOP of a process amid a change: the database ends its transaction; others go on, in order."""
    store = await database.open()
    await put(store, record())
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, database.url, stdout=asyncio.subprocess.PIPE, env=os.environ | {"PYTHONPATH": "."}
    )
    try:
        assert child.stdout is not None
        assert await child.stdout.readline() == b"holds\n"
        # Else a slow child might stop itself only after it was told to go on.
        stopped = await asyncio.to_thread(os.waitid, os.P_PID, child.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert stopped is not None
        assert stopped.si_code == os.CLD_STOPPED
        assert isinstance(await recorded(store, await made_on(store)), Recorded)
        seq = await suspend(store, A)
        child.send_signal(signal.SIGCONT)
        said = (await child.stdout.readline()).decode()
        assert said.startswith("refused: the change could not be written"), said
        await child.wait()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    assert (await store.head()).seq == seq == 3
    assert await facts_of(store, Ref("doc/late", "1")) == {}


@ON_POSTGRESQL
async def test_a_client_that_sleeps_on_the_row_is_waited_for_and_no_longer(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DB-02: idle in transaction with the row; the statement's own limit ends the wait, too; checks go on."""
    monkeypatch.setattr(postgres_connect, "LOCK_TIMEOUT_MS", 0)
    monkeypatch.setattr(postgres_connect, "STATEMENT_TIMEOUT_MS", 100)
    store = await database.open()
    await put(store, record())
    made = await made_on(store)
    async with row_held(database, store):
        for refused in (recorded(store, made), put(store, record("doc/b"))):
            with pytest.raises(StoreError, match="57014") as refusal:
                await refused
            assert not isinstance(refusal.value, OutcomeUnknown)
        assert isinstance(await recorded(store, Job(audit())), Recorded)
    assert (await store.head()).seq == 1
    assert isinstance(await recorded(store, made), Recorded)


@ON_POSTGRESQL
async def test_a_serialization_failure_is_tried_again_and_seen_by_nobody(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DB-02: 40001, as PostgreSQL raises it where lines are REPEATABLE READ: commits and changes are repeated."""
    rules = postgres_connect.settings
    monkeypatch.setattr(
        postgres_connect,
        "settings",
        lambda kind, address: rules(kind, address).replace("'read committed'", "'repeatable read'"),
    )
    store = await database.open()
    await put(store, record())
    made = await made_on(store)
    async with (
        session(database) as foreign,
        await psycopg.AsyncConnection.connect(database.url, autocommit=True) as watch,
    ):
        await foreign.execute("UPDATE authority SET seq = seq")
        waiting = [asyncio.create_task(recorded(store, made)), asyncio.create_task(put(store, record("doc/b")))]
        await Holder(watch).waiting(2)
        await foreign.commit()  # both waited on a row that is another one now, which their snapshot does not have
    outcomes = await asyncio.gather(*waiting)
    assert isinstance(outcomes[0], Recorded)
    assert {outcomes[1], outcomes[0].seq} == {2, 3}
    assert database.rows("SELECT count(*) FROM ledger") == [(1,)]
    verified_heads(database)


@ON_POSTGRESQL
async def test_a_nightly_job_at_any_isolation_ends_no_commit(database: Database) -> None:
    """DB-02: a database set to SERIALIZABLE, and a job that rewrites the index: the job may fail, no commit does."""
    name = psycopg.conninfo.conninfo_to_dict(database.url)["dbname"]
    database.rows(f'ALTER DATABASE "{name}" SET default_transaction_isolation = serializable')
    store = await database.open()
    await put(store, *(record(f"doc/{number}") for number in range(200)), record())
    bases = revisions(await facts_of(store, A))
    head = await store.head()

    async def rewrite() -> int:
        failed = 0
        async with session(database) as foreign:
            for _ in range(20):
                try:
                    await foreign.execute("SELECT count(*) FROM ledger")
                    await foreign.execute("UPDATE record_latest SET skeleton = skeleton")
                    await foreign.execute("UPDATE authority SET seq = seq")
                    await foreign.commit()
                except psycopg.errors.SerializationFailure:
                    failed += 1
                    await foreign.rollback()
        return failed

    async def caller() -> list[JobOutcome]:
        return [await recorded(store, job(head, entry(*bases))) for _ in range(40)]

    nightly = asyncio.create_task(rewrite())
    outcomes = [outcome for part in await asyncio.gather(*(caller() for _ in range(4))) for outcome in part]
    await nightly
    assert {type(outcome) for outcome in outcomes} == {Recorded}
    assert database.rows("SELECT count(*), max(seq) - min(seq) FROM ledger") == [(160, 159)]


async def test_a_full_disk_records_nothing_and_is_got_over() -> None:
    """F7, AUD-07: a table that cannot grow: told so, nothing of it is written; with space again all is well."""
    server = PostgresServer()
    try:
        database = Database("postgresql", server.fresh_database())
        store = await database.open()
        await put(store, record())
        await database.close()
        server.kill()
        server.start(file_bytes_max=16 * MEGABYTE)  # the log is written in files of that size
        store = await database.open()
        written, big = 0, await made_on(store)
        with pytest.raises(StoreError, match="could not extend file") as refusal:
            for _ in range(8):
                big = job(await store.head(), entry((A, 1)), body=secrets.token_bytes(4 * MEGABYTE))
                await recorded(store, big)
                written += 1
        assert not isinstance(refusal.value, OutcomeUnknown)
        assert (
            database.rows("SELECT count(*) FROM audit_row")
            == [(written,)]
            == database.rows("SELECT count(*) FROM ledger")
        )
        await database.close()
        server.kill()
        server.start()
        store = await database.open()
        assert isinstance(await recorded(store, big), Recorded)
        verified_heads(database)
        await database.close()
    finally:
        server.stop()


@ON_POSTGRESQL
async def test_a_database_that_turns_read_only_records_nothing(database: Database) -> None:
    """F7, A12: refused at the start and while it runs, with PostgreSQL's own words; got over when it is lifted."""
    name = psycopg.conninfo.conninfo_to_dict(database.url)["dbname"]
    store = await database.open()
    await put(store, record())
    database.rows(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    await database.close()
    with pytest.raises(StoreError, match="read-only"):
        await database.open()
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only'.encode())
    store = await database.open()
    assert isinstance(await recorded(store, await made_on(store)), Recorded)
