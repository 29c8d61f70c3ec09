"""Opening a store: what is kept, what is refused, and that the refusal says what is wrong."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from discreet.policy.facts import FactIds, Ref
from discreet.server.ports import Store, StoreError
from discreet.server.stores import open_store, schema, sqlite_files, sqlite_path
from discreet.server.stores.keeping import upgrade_database
from discreet.server.stores.metadata import metadata
from discreet.server.stores.postgres_connect import Kind, connect, connect_sync, parse_address
from tests.contract.databases import ON_POSTGRESQL, ON_SQLITE, Database
from tests.contract.making import ALICE, TENANT, entry, facts_of, grant, job, put, record, revisions
from tests.postgres_server import PostgresServer

A = Ref("doc/a", "1")
HOLDER = """
import asyncio, sys
from discreet.server.stores import open_store

async def hold():
    await open_store(sys.argv[1]).open()
    print("open", flush=True)
    await asyncio.Event().wait()

asyncio.run(hold())
"""


async def refused(url: str) -> str:
    """Why a store cannot be opened."""
    with pytest.raises(StoreError) as refusal:
        await open_store(url).open()
    return str(refusal.value)


@pytest.mark.parametrize(
    "address",
    ["host=db password=tok3n-AB", "dbname = x password=tok3n-AB", "service=x", "user=ana password='tok3n-AB'"],
)
def test_the_other_spelling_of_an_address_is_no_file(address: str) -> None:
    """OBS-03: it would make a file with the password in its name, and serve an empty index from it."""
    with pytest.raises(StoreError, match="postgresql://") as refusal:
        open_store(address)
    assert "tok3n" not in str(refusal.value)


async def test_reopening_keeps_everything(database: Database) -> None:
    """F4, B5: what was answered as durable is there after a restart: numbers, facts, ledger, keys, epoch."""
    store = await database.open()
    await put(store, record())
    await grant(store, "desk")
    made = job(await store.head(), entry(*revisions(await facts_of(store, A))), grants_revision=2)
    await store.record([made])
    ids = FactIds((A,), ALICE, (made.entries[0].ledger_id,))
    head, facts = await store.head(), await store.fetch(TENANT, ids)
    await store.close()
    again = await database.open()
    assert (await again.head())[:4] == head[:4]
    assert await again.fetch(TENANT, ids) == facts
    assert facts.ledger[made.entries[0].ledger_id].segment == made.entries[0].segment


async def test_each_database_has_an_epoch_and_a_receipt_key_of_its_own(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    """F1: tokens of one database mean nothing to another, though both were made by the same code."""
    seen = set()
    for url in (str(tmp_path / "a.db"), f"sqlite:///{tmp_path / 'b.db'}", postgres.fresh_database()):
        store = open_store(url)
        head = await store.open()
        facts = await store.fetch(TENANT, FactIds((), ALICE))
        assert (head.seq, head.changed_seq, head.policy_revision, facts.epoch) == (0, 0, 0, head.epoch)
        assert len(head.epoch) == 32
        assert int(head.epoch, 16) >= 0
        assert [len(key.secret) for key in facts.receipt_keys] == [32]
        seen |= {head.epoch, facts.receipt_keys[0].key_id, facts.receipt_keys[0].secret}
        await store.close()
    assert len(seen) == 9


async def test_an_old_receipt_key_is_followed_by_a_new_one(database: Database) -> None:
    """B12: receipts are signed with a key of limited life; older ones go on verifying, the newest comes last."""
    ids = FactIds((), ALICE)
    store = await database.open()
    (first,) = (await store.fetch(TENANT, ids)).receipt_keys
    await store.close()
    store = await database.open()
    assert (await store.fetch(TENANT, ids)).receipt_keys == (first,)
    await store.close()
    aged = f"UPDATE receipt_key SET created_at = created_at - {schema.RECEIPT_KEY_LIFE_US} RETURNING 1"
    database.rows(aged)
    store = await database.open()
    kept, second = (await store.fetch(TENANT, ids)).receipt_keys
    assert kept == first
    assert (second.key_id == first.key_id, second.secret == first.secret) == (False, False)


async def test_the_migrations_make_the_tables_that_the_code_uses(database: Database) -> None:
    """The schema of the migrations and the tables of the code are the same, on both databases."""
    await database.open()
    url = f"sqlite:///{database.url}" if database.kind == "sqlite" else database.url.replace("://", "+psycopg://")
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


def test_the_code_names_the_last_migration() -> None:
    """An upgrade that the code does not know of would never be run."""
    scripts = ScriptDirectory(str(schema.MIGRATIONS))
    assert scripts.get_current_head() == schema.SCHEMA
    assert {script.revision for script in scripts.walk_revisions()} == {schema.SCHEMA, *schema.OLDER}


async def test_a_newer_schema_is_refused(database: Database) -> None:
    """A12: a server that does not know the schema decides nothing on it, and names both."""
    database.rows("UPDATE alembic_version SET version_num = '9999' RETURNING 1")
    message = await refused(database.url)
    assert "9999" in message
    assert schema.SCHEMA in message


async def test_a_database_of_something_else_is_left_alone(tmp_path: Path, postgres: PostgresServer) -> None:
    """A database that holds foreign tables is refused before anything is made in it."""
    for database in (Database("sqlite", str(tmp_path / "other.db")), Database("postgresql", postgres.fresh_database())):
        if database.kind == "sqlite":
            sqlite3.connect(database.url).execute("CREATE TABLE theirs (x integer)").connection.close()
        else:
            database.rows("CREATE TABLE theirs (x integer)")
        assert "not Discreet's" in await refused(database.url)


@ON_SQLITE
async def test_a_second_server_on_the_file_is_refused_and_told_of_the_first(database: Database) -> None:
    """DB-01: several writers on one file starve each other, so there is one; the lock dies with its process."""
    command = (sys.executable, "-c", HOLDER, database.url)
    holder = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"open\n"
    assert f"process {holder.pid} on " in await refused(database.url)
    holder.kill()
    await holder.wait()
    store = await database.open()
    assert f"process {os.getpid()} on " in await refused(database.url)
    await store.close()


@ON_SQLITE
async def test_a_second_server_is_refused_under_any_name_of_the_file(database: Database, tmp_path: Path) -> None:
    """DB-01: the lock is of the file, not of a name: a link lets no second server in, nor an operator's command."""
    there = sqlite_path(database.url)
    link = tmp_path / "link.db"
    link.symlink_to(there)
    store = await database.open()
    assert f"process {os.getpid()} on " in await refused(str(link))
    with pytest.raises(StoreError, match=f"process {os.getpid()} on "):
        upgrade_database(str(link))
    await store.close()
    by_link = open_store(str(link))
    await by_link.open()
    assert f"process {os.getpid()} on " in await refused(database.url)
    await by_link.close()


@ON_SQLITE
async def test_a_file_with_two_names_is_refused(database: Database, tmp_path: Path) -> None:
    """DB-01, A12: under each name SQLite keeps a log of its own, so that a revoke under one would be lost."""
    await (await database.open()).close()
    other = tmp_path / "other.db"
    other.hardlink_to(sqlite_path(database.url))
    for name in (database.url, str(other)):
        assert "has another name, too" in await refused(name)
        with pytest.raises(StoreError, match="has another name, too"):
            upgrade_database(name)
    other.unlink()
    await (await database.open()).close()


async def test_places_that_cannot_hold_a_store_are_refused(tmp_path: Path) -> None:
    """A12: each refusal names the place and what would be right."""
    (tmp_path / "text.db").write_text("not a database, but long enough to be read as the head of one" * 20)
    for url, words in (
        (str(tmp_path), "is a directory"),
        (str(tmp_path / "no" / "x.db"), "does not exist"),
        (str(tmp_path / "text.db"), "not a database"),
        ("/dev/null", "not a regular file"),
    ):
        assert words in await refused(url)
    for url in ("", ":memory:", "sqlite://", "mysql://host/x", "sqlite:///:memory:", "file:x?mode=memory"):
        with pytest.raises(StoreError, match="name a file"):
            open_store(url)


def test_a_network_file_system_is_known_by_its_mount() -> None:
    """DB-01: locks over a network are not to be trusted, so such a place is refused; the nearest mount counts."""
    mounts = "/dev/a / ext4 rw 0 0\nhost:/e /srv/data nfs4 rw 0 0\n/dev/b /srv/data/local ext4 rw 0 0\nbroken\n"
    assert sqlite_files.file_system(Path("/srv/data/x"), mounts) in sqlite_files.NETWORK_FILE_SYSTEMS
    assert sqlite_files.file_system(Path("/srv/data/local"), mounts) == "ext4"
    assert sqlite_files.file_system(Path("/srv/database"), mounts) == "ext4"
    assert sqlite_files.file_system(Path("/x"), "") == ""


async def test_no_error_repeats_the_password(postgres: PostgresServer) -> None:
    """Refusals name host and database; what is secret in an address stays there."""
    socket = postgres.url().partition("host=")[2]
    for url in (
        f"postgresql://nobody-here:tops3cret@/nowhere?host={socket}",
        "postgresql://u:tops3cret@127.0.0.1:1/x",
        "postgresql://u:tops3cret@host:notaport/x",
        "postgresql://u:tops3cret@host/x?nonsense=tops3cret",
    ):
        with pytest.raises(StoreError) as refusal:
            await open_store(url).open()
        assert "tops3cret" not in str(refusal.value)
        assert refusal.value.__cause__ is None


@ON_POSTGRESQL
async def test_another_database_behind_the_address_is_refused(database: Database) -> None:
    """F1, A12: a copy or a restored backup carries an epoch of another system, and nothing is decided on it."""
    database.rows("UPDATE authority SET bound_to = '42:00000001' RETURNING 1")
    assert "42:00000001" in await refused(database.url)


@ON_POSTGRESQL
async def test_a_line_that_leads_elsewhere_is_noticed(database: Database) -> None:
    """F1: after a failover a line made anew ends at another system or timeline, and is refused."""
    elsewhere = replace(parse_address(database.url), schema="public", bound_to="42:00000001")
    with pytest.raises(StoreError, match="another database than before"):
        await connect(elsewhere, Kind.READER)
    with pytest.raises(StoreError, match="another database than before"):
        connect_sync(elsewhere, Kind.INDEXER)


async def test_a_login_that_may_not_make_roles_is_told_what_to_run(postgres: PostgresServer) -> None:
    """A13: without roles of least right nothing is served; the message has the SQL, and running it is enough."""
    server = PostgresServer()
    try:
        server.execute("CREATE ROLE plain LOGIN")
        server.execute("CREATE DATABASE plain OWNER plain")
        url = server.url("plain", "plain")
        message = await refused(url)
        assert "may not make the roles" in message
        for line in message.splitlines()[1:]:
            server.execute(line)
        await works(open_store(url))
    finally:
        server.stop()


async def test_a_server_that_does_not_write_through_is_refused() -> None:
    """F7: with fsync off a commit is not durable, so none is made. On 16, for a login that may make roles (A13)."""
    server = PostgresServer(version=16, settings={"fsync": "off"})
    try:
        url = server.fresh_database()
        assert "fsync = off" in await refused(url)
        server.kill()
        server.start({"fsync": "on"})
        server.execute("CREATE ROLE maker LOGIN CREATEROLE")
        server.execute("CREATE DATABASE maker OWNER maker")
        await works(open_store(server.url("maker", "maker")))
    finally:
        server.stop()


async def works(store: Store) -> None:
    """A store that opens, registers, commits and reads."""
    await store.open()
    await put(store, record())
    await store.record([job(await store.head(), entry(*revisions(await facts_of(store, A))))])
    assert (await store.head()).seq == 2
    await store.close()
