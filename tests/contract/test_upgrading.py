"""An older schema: refused by whoever serves, upgraded by its operator alone, whole or not at all, rows and all."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from discreet.policy.facts import FactIds
from discreet.policy.words import AuditAct
from discreet.server.ports import Exists, Recorded, Store, StoreError
from discreet.server.ports_found import ActFilter
from discreet.server.stores import open_store, schema
from discreet.server.stores.keeping import look_over, postgres, upgrade_database
from tests.contract.chains import verified_heads
from tests.contract.databases import ON_POSTGRESQL, Database
from tests.contract.making import ALICE, TENANT, entry, job, put, record
from tests.contract.older import AT, COMMITTED, DOC, EPOCH, KEY, REVOKES, engine_of, make_first_schema
from tests.postgres_server import PostgresServer
from tests.server.cli.command import discreet


@pytest.fixture
def older(request: pytest.FixtureRequest, tmp_path: Path, postgres: PostgresServer) -> Database:
    """A database of schema 0001 with rows in it, of each kind in turn."""
    found = Database(request.param, str(tmp_path / "old.db"))
    if request.param == "postgresql":
        found.url = postgres.fresh_database()
    make_first_schema(found.url)
    return found


ON_BOTH = pytest.mark.parametrize("older", ["sqlite", "postgresql"], indirect=True)


async def refused(url: str) -> str:
    with pytest.raises(StoreError) as refusal:
        await open_store(url).open()
    return str(refusal.value)


def names(database: Database) -> set[str]:
    with engine_of(database.url) as engine:
        return set(sa.inspect(engine).get_table_names())


@ON_BOTH
async def test_an_older_database_is_served_only_once_its_operator_has_upgraded_it(older: Database) -> None:
    """A12, F4: nothing is changed by a start; the refusal names the command; then everything of before is there."""
    before = names(older)
    message = await refused(older.url)
    assert all(word in message for word in ("schema 0001", schema.SCHEMA, "`discreet db upgrade`"))
    assert names(older) == before
    looked = discreet("db", "check", "--db", older.url, "-o", "json")
    assert (looked.code, looked.tree["faults"][0]["remedy"]) == (7, "run `discreet db upgrade`")
    done = discreet("db", "upgrade", "--db", older.url)
    assert (done.code, done.out) == (0, f"upgraded from schema 0001 to {schema.SCHEMA}\n")
    assert "nothing to do" in discreet("db", "upgrade", "--db", older.url).out
    await holds_what_it_held(older)
    report = look_over(older.url)
    assert (report.faults, report.head and report.head.epoch) == ([], EPOCH)
    await older.close()


async def holds_what_it_held(older: Database) -> None:
    """Records, grants, ledger, keys and audit of before are read, and events go on after the last one."""
    store = await older.open()
    facts = await store.fetch(TENANT, FactIds((DOC.ref,), ALICE, (COMMITTED.ledger_id,)))
    found = facts.records[DOC.ref]
    assert (found.digest, found.revision, found.revoked and found.revoked.ticket) == (DOC.digest, 5, "T-1")
    assert [(one.scope, one.generation) for one in facts.grants.grants] == [("desk", 1)]
    assert facts.ledger[COMMITTED.ledger_id].segment == COMMITTED.segment
    roots = older.rows("SELECT root_id, root_version, record_id, version FROM record_root ORDER BY root_id")
    assert roots == [('doc/"b"', "2", "q/a", "1"), ("doc/a", "1", "q/a", "1")]
    await finds_the_acts_of_before(store)
    oldest = facts.receipt_keys[0]
    assert (oldest.key_id, bytes(oldest.secret)) == (KEY["key_id"], KEY["secret"])
    assert [row.commit for row in [await store.policy_row(0)] if row] == ["c" * 40]
    head = await store.head()
    assert (head.epoch, head.seq, head.policy_revision) == (EPOCH, 5, 1)
    (again,) = await store.record([job(head, COMMITTED, grants_revision=2)])
    assert isinstance(again, Exists)
    assert again.same
    assert await put(store, record("doc/b")) == 6
    made = job(await store.head(), entry((record("doc/b").ref, 6)), grants_revision=2)
    assert isinstance((await store.record([made]))[0], Recorded)
    verified_heads(older)


async def finds_the_acts_of_before(store: Store) -> None:
    """Each row that holds no decision is found once; one whose bytes cannot be read, by the columns of its row."""
    found = await store.find_acts(ActFilter(), None, 2 * REVOKES)
    assert len(found) == REVOKES + 2
    assert [hit.position[0] - AT for hit in found[:3]] == [3, 2, 1]
    wanted = ActFilter((TENANT,), (AuditAct.CHANGE,), "RevokeRetention", "olga", "", *DOC.ref, "T-1", "order-1")
    assert await store.find_acts(wanted, None, 2 * REVOKES) == found[2:]
    assert await store.find_acts(ActFilter(method="Suspend"), None, 9) == found[1:2]
    assert await store.find_acts(ActFilter(acts=(AuditAct.REFUSED,)), None, 9) == found[:2]


@ON_BOTH
async def test_an_upgrade_that_fails_changes_nothing(older: Database) -> None:
    """A12: all migrations land or none does; what is served by the older Discreet goes on being what it was."""
    with engine_of(older.url) as engine, engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE purge_order (theirs integer)"))
    before = names(older)
    with pytest.raises(StoreError, match="purge_order"):
        upgrade_database(older.url)
    assert names(older) == before
    assert "schema 0001" in await refused(older.url)
    with engine_of(older.url) as engine, engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE purge_order"))
    assert upgrade_database(older.url) == ("0001", schema.SCHEMA)
    assert look_over(older.url).faults == []


async def test_what_is_empty_or_newer_or_not_there_is_not_upgraded(
    database: Database, tmp_path: Path, postgres: PostgresServer
) -> None:
    """A12: each refusal says what would be right, and makes nothing."""
    database.rows("UPDATE alembic_version SET version_num = '9999' RETURNING 1")
    for url, words in (
        (database.url, "a newer Discreet"),
        (str(tmp_path / "none.db"), "is no file"),
        (postgres.fresh_database(), "is empty"),
    ):
        done = discreet("db", "upgrade", "--db", url)
        assert (done.code, words in done.err) == (5, True), done.err
    assert not (tmp_path / "none.db").exists()


@ON_POSTGRESQL
async def test_a_database_that_servers_have_open_is_neither_upgraded_nor_adopted(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F1: what runs was made for the schema and the epoch that are there."""
    monkeypatch.setattr(postgres, "SETTLED_S", 0)
    store = await database.open()
    for act in (("upgrade",), ("adopt", "--reason", "why")):
        done = discreet("db", *act, "--db", database.url)
        assert (done.code, "stop them first" in done.err) == (5, True), done.err
    await store.close()
    database.opened.clear()
    assert discreet("db", "upgrade", "--db", database.url).code == 0
