"""What is looked up while the authority row is held goes by indexes, on either database, however much there is.

SQLite has no statistics unless somebody asks for them, and nobody does; PostgreSQL gathers its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import pytest
import sqlalchemy as sa

from discreet.policy.facts import Ref, Target
from discreet.policy.words import PurgeItemKind
from discreet.server.ports import Store, Work
from discreet.server.ports_authority import RecordQuery
from discreet.server.ports_found import ActFilter
from discreet.server.replaying import statements
from discreet.server.stores.acts import find_acts
from discreet.server.stores.purge_look import SqlPurgeLook
from discreet.server.stores.queries import LAST_STANDING
from discreet.server.stores.work import SqlWork
from tests.contract.databases import Database
from tests.contract.making import TENANT

REFS = [Ref(f"doc/{number}", "1") for number in range(3)]
LOOKUPS: Mapping[str, Callable[[Work], object]] = {
    "segments on versions": lambda work: work.authority.resting(TENANT, REFS),
    "segments on a source": lambda work: work.authority.resting(TENANT, [], "l-7"),
    "versions of a source": lambda work: work.authority.under(TENANT, "l-7"),
    "whether a source has versions": lambda work: work.authority.has_label(TENANT, "l-7"),
    "versions of a record": lambda work: work.authority.versions(TENANT, "doc/1"),
    "records of a query": lambda work: work.authority.find_records(TENANT, RecordQuery(label="l-7"), 10),
    "what was built on versions": lambda work: work.authority.built_on(TENANT, REFS),
    "what was built on a source": lambda work: work.authority.built_on(TENANT, [], "l-7"),
    "tombstones": lambda work: work.authority.tombstones(TENANT, ["d" * 64], ["doc/1"], ["l-7"]),
    "what stands": lambda work: work.authority.standing(TENANT),
    "items under a hold on a version": lambda work: work.authority.held_parts(TENANT, Target("", "doc/1", "1")),
    "items under a hold on a source": lambda work: work.authority.held_parts(TENANT, Target("l-7")),
    "items that come free with a version": lambda work: work.authority.freed_items(
        TENANT, "h", Target("", "doc/1", "1")
    ),
    "items that come free with a source": lambda work: work.authority.freed_items(TENANT, "h", Target("l-7")),
    "items that a holder answers": lambda work: work.purges.part(TENANT, "store", [("order", 1), ("order", 2)]),
    "roots of segments": lambda work: work.purges.roots(TENANT, ["led-1", "led-2"]),
}
SMALL = {"holder_event", "standing_event", "tombstone_lift"}
"""Tables that grow with what operators decide about a tenant as a whole, and not with records or segments."""
WHOLE = re.compile(r"SCAN (?!wanted|CONSTANT|\d)|Seq Scan|\(tenant=\?\)$|Index Cond: \(tenant = '\w+'::text[^()]*\)$")
RECORDS, SEGMENTS, PER_LABEL = 4_000, 12_000, 8
SERIES = {
    "sqlite": "WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i < {last}) ",
    "postgresql": "WITH g AS (SELECT i FROM generate_series(0, {last}) s(i)) ",
}
RECORD = (
    "tenant,record_id,version,revision,kind,digest,source_label,collector,recorded_at,is_current,basis,scopes,attributes,"
    "suspended,unreachable,origin,own_source,of_refs,fields,formula,inputs,step,settled,roots"
)


def filled(database: Database) -> None:
    """Records of many sources, segments on them, and an item of an order for each segment."""
    no, empty = ("0", "x''") if database.kind == "sqlite" else ("false", "''::bytea")
    label = f"'l-' || (i / {PER_LABEL})"
    record, segment = "'acme', 'doc/' || i, '1', 1", "'led-' || i, 'acme', 's', 'a' || i, 'g'"
    kind = int(PurgeItemKind.SEGMENT)
    facts = f"1, 'd', {label}, 'c', 1, NOT {no}, '', '[]', '{{}}'"
    rest = f"{no}, {no}, 1, {no}, '[]', '{{}}', '', '[]', '', '[]', '[]'"
    needs = f"{no}, {no}, NULL, 1, 1, i, 1, 1, 1, 1"
    for last, table, values in (
        (RECORDS, f"record_revision ({RECORD})", f"{record}, {facts}, {rest}"),
        (RECORDS, "record_latest", f"{record}, NOT {no}, {label}, 'x' || i"),
        (RECORDS, "record_root", f"'doc/' || (i % {RECORDS // 2}), '1', 'acme', 'doc/' || i, '1'"),
        (RECORDS, "tombstone", "'t' || i, 'acme', 1, 'd' || i, 'doc/' || i, '1', 'l' || i, 'order', 1, 1"),
        (SEGMENTS, "ledger", f"{segment}, {empty}, 'p', 'd' || i, 1, {empty}, {needs}"),
        (SEGMENTS, "ledger_root", f"'led-' || i, 'acme', 'doc/' || (i % {RECORDS}), '1', 1"),
        (0, "purge_order", "'order', 'acme', 1, '', '', '', '', 1, 1, 1, NULL, 0, 0"),
        (SEGMENTS, "purge_item", f"'order', i, 'acme', {kind}, 'led-' || i, '', '', '', 'd', 1"),
        (SEGMENTS, "purge_part", f"'order', i, 'store', 'acme', 2, 1, 1, 1, {no}, '', NULL"),
        (SEGMENTS, "purge_answer", f"'order', i, 'store', 1, 'acme', 3, '', {no}, 1, 1"),
    ):  # fmt: skip
        series = SERIES[database.kind].format(last=last)
        insert = f"INSERT INTO {table} "
        database.rows((insert + series if database.kind == "sqlite" else series + insert) + f"SELECT {values} FROM g")
    if database.kind == "postgresql":
        database.rows("ANALYZE")


def plans(work: Work, ask: Callable[[Work], object]) -> list[str]:
    """The plan of each statement that a lookup runs, line by line."""
    connection = cast("SqlWork", work)._connection
    asked: list[tuple[str, Any]] = []

    def seen(*arguments: Any) -> None:
        asked.append((arguments[2], arguments[3]))

    sa.event.listen(connection, "before_cursor_execute", seen)
    ask(work)
    sa.event.remove(connection, "before_cursor_execute", seen)
    explain = "EXPLAIN QUERY PLAN " if connection.dialect.name == "sqlite" else "EXPLAIN "
    looked_up = [(text, values) for text, values in asked if not text.startswith("SET ")]
    return [str(row[-1]) for text, values in looked_up for row in connection.exec_driver_sql(explain + text, values)]


async def test_lookups_inside_the_row_use_indexes(store: Store, database: Database) -> None:
    """B7, F3: a revoke or a hold reads what it covers and no more, since all else waits for the row meanwhile."""
    filled(database)
    whole: dict[str, list[str]] = {}
    for name, ask in LOOKUPS.items():
        lines = await store.change(partial(plans, ask=ask))
        assert lines != [], name
        whole[name] = [line for line in lines if WHOLE.search(line) and not any(small in line for small in SMALL)]
    assert {name: lines for name, lines in whole.items() if lines} == {}


REPLAYED: Mapping[str, tuple[Mapping[str, sa.TextClause], list[object]]] = {
    "versions": (statements.VERSIONS, ["doc/1", "doc/2"]),
    "records": (statements.RECORDS, [["doc/1", "1", 1], ["doc/2", "1", 1]]),
    "grants": (statements.GRANTS, ["p"]),
    "segments": (statements.LEDGER, ["led-1", "led-2"]),
    "roots of segments": (statements.LEDGER_ROOTS, ["led-1", "led-2"]),
}


async def test_a_replay_looks_its_facts_up_by_their_keys(store: Store, database: Database) -> None:
    """F8: what a decision rested on is read in as many steps however long the history is."""
    filled(database)

    def asked(of: Mapping[str, sa.TextClause], keys: list[object]) -> Callable[[Work], object]:
        values = {"tenant": TENANT, "keys": statements.canonical(keys)}

        def ask(work: Work) -> object:
            connection = cast("SqlWork", work)._connection
            if database.kind == "postgresql":  # else it reads a table whole that is small for 100 keys
                connection.execute(sa.text("SET LOCAL enable_seqscan = off"))
            return connection.execute(of[database.kind], values).all()

        return ask

    for name, (of, keys) in REPLAYED.items():
        lines = await store.change(partial(plans, ask=asked(of, keys)))
        assert lines != [], name
        assert [line for line in lines if re.search(r"SCAN t\b|Seq Scan on \w+ t\b", line)] == [], (name, lines)


def many_acts(database: Database) -> None:
    """Acts of two tenants with the rows that they stand for; few share a value."""
    each = "'m' || (i / 8), 'a' || (i / 8), 'p' || (i / 8), 'r' || (i / 8), '1', 't' || (i / 8), 's' || (i / 8)"
    empty = "x''" if database.kind == "sqlite" else "''::bytea"
    for writer, tenant in enumerate((TENANT, "bolt")):
        for table, values in (
            ("audit_act", f"i, {writer}, i, '{tenant}', i, 0, 3, {each}"),
            ("audit_row", f"{writer}, i, 0, '{tenant}', 'q' || i, 3, i, '', '', {empty}"),
        ):
            series = SERIES[database.kind].format(last=RECORDS)
            insert = f"INSERT INTO {table} "
            said = insert + series if database.kind == "sqlite" else series + insert
            database.rows(f"{said}SELECT {values} FROM g")
    if database.kind == "postgresql":
        database.rows("ANALYZE audit_act, audit_row")


ASKED: Sequence[Mapping[str, Any]] = [
    {"method": "m7"},
    {"actor": "a7"},
    {"principal_id": "p7"},
    {"record_id": "r7"},
    {"ticket": "t7"},
    {"subject_id": "s7"},
]


async def test_acts_are_found_by_an_index_in_the_order_of_the_answer(store: Store, database: Database) -> None:
    """F7: who did what is answered from the end of an index, by each filter alone, of one tenant and of all."""
    many_acts(database)

    async def lines(wanted: ActFilter, before: tuple[int, int, int] | None) -> list[str]:
        def ask(work: Work) -> object:
            return find_acts(cast("SqlWork", work)._connection, wanted, before, 10)

        return await store.change(partial(plans, ask=ask))

    for before in (None, (RECORDS // 2, 0, 9)):
        for wanted in (ActFilter(), ActFilter((TENANT,))):
            found = await lines(wanted, before)
            assert [line for line in found if re.search("Seq Scan|TEMP B-TREE|Sort", line)] == [], (wanted, found)
        for one in ASKED:  # PostgreSQL sorts what is few enough
            found = await lines(ActFilter((TENANT,))._replace(**one), before)
            assert [line for line in found if re.search("Seq Scan|SCAN|TEMP B-TREE", line)] == [], (one, found)
            found = await lines(ActFilter()._replace(**one), before)
            assert [line for line in found if re.search("Seq Scan|SCAN", line)] == [], (one, found)


def standing_events(database: Database, tenant: str, count: int) -> None:
    """Freezes of a tenant that were ended: two events each."""
    no, yes = ("0", "1") if database.kind == "sqlite" else ("false", "true")
    first = database.rows("SELECT coalesce(max(seq), 0) FROM standing_event")[0][0] + 1
    series = SERIES[database.kind].format(last=2 * count - 1)
    values = f"{first} + i, '{tenant}', 'freeze', '{tenant}-f' || (i / 2), CASE i % 2 WHEN 0 THEN {no} ELSE {yes} END"
    insert = "INSERT INTO standing_event "
    chosen = f"SELECT {values}, '', '', '', 'op', 'why', '', 1, 1 FROM g"
    database.rows((insert + series if database.kind == "sqlite" else series + insert) + chosen)
    if database.kind == "postgresql":
        database.rows("ANALYZE standing_event")


def steps(work: Work, ask: Callable[[Work], object]) -> int:
    """How many steps SQLite takes for a lookup."""
    raw = cast("Any", cast("SqlWork", work)._connection.connection.driver_connection)
    taken = [0]

    def count() -> int:
        taken[0] += 1
        return 0

    raw.set_progress_handler(count, 1)
    ask(work)
    raw.set_progress_handler(None, 1)
    return taken[0]


def last_standing(tenant: str) -> Callable[[Work], object]:
    """Reads the last standing event, as each fetch does."""
    text = sa.text(LAST_STANDING.format(tenant=":tenant"))
    return lambda work: cast("SqlWork", work)._connection.execute(text, {"tenant": tenant}).scalar_one()


async def test_a_tenant_pays_for_no_other_tenants_freezes_and_holds(store: Store, database: Database) -> None:
    """B8 in kind: each fetch reads the tenant's last standing event, at the end of an index, and what stands for it."""
    for tenant in (TENANT, ""):
        standing_events(database, tenant, 5)
    last = last_standing(TENANT)
    if database.kind == "postgresql":
        standing_events(database, "bolt", 3_000)
        lines = await store.change(partial(plans, ask=last))
        assert sum("Backward using standing_event_tenant" in line for line in lines) == 2, lines
        assert not any("Seq Scan" in line for line in lines)
        return
    few = await store.change(partial(steps, ask=last))
    stands = await store.change(partial(steps, ask=what_stands))
    standing_events(database, "bolt", 3_000)
    assert await store.change(partial(steps, ask=what_stands)) < stands + 10
    standing_events(database, TENANT, 3_000)
    assert await store.change(partial(steps, ask=last)) == few


def ended_holds(database: Database, count: int) -> None:
    """Holds of the tenant that were lifted, and one that stands."""
    standing_events(database, TENANT, count)
    database.rows("UPDATE standing_event SET fact = 'hold', label = 'l-0'")
    database.rows("DELETE FROM standing_event WHERE ends AND seq = (SELECT max(seq) FROM standing_event)")


def held_items(work: Work) -> object:
    """What a holder's line asks whenever something moved."""
    return SqlPurgeLook(cast("SqlWork", work)._connection, work.now).held(TENANT, "store", 10)


async def test_what_is_held_is_asked_of_each_item_and_not_of_each_hold_that_ever_was(
    store: Store, database: Database
) -> None:
    """B7, F3: with years of lifted holds behind it, a holder's line is answered as soon as on its first day."""
    filled(database)
    ended_holds(database, 5)
    if database.kind == "postgresql":
        lines = await store.change(partial(plans, ask=held_items))
        assert any("hashed SubPlan" in line for line in lines), lines
        return
    few = await store.change(partial(steps, ask=held_items))
    assert few < SEGMENTS * 100
    more = 3_000
    ended_holds(database, more)
    assert await store.change(partial(steps, ask=held_items)) - few < more * 2_000


KINDS = {
    "a source": "label = 'l-0', record_id = '', version = ''",
    "a record": "label = '', record_id = 'doc/1', version = ''",
    "a version": "label = '', record_id = 'doc/1', version = '1'",
}


def listed(work: Work) -> object:
    """What a page of orders is shown with."""
    return SqlPurgeLook(cast("SqlWork", work)._connection, work.now).order_parts(TENANT, ["order"])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_hold_is_looked_up_for_each_item_and_nothing_is_walked_for_it(
    store: Store, database: Database, kind: str
) -> None:
    """B7, B11: whatever is held; a list of orders took a minute once PostgreSQL had counted its rows."""
    filled(database)
    ended_holds(database, 900)
    database.rows(f"UPDATE standing_event SET {KINDS[kind]}")
    for further in (7, 13):
        database.rows(
            "INSERT INTO ledger_root SELECT ledger_id, tenant, 'doc/' || (CAST(substr(ledger_id, 5) AS integer) +"
            f" {further}) % {RECORDS}, version, revision FROM ledger_root WHERE revision = 1"
            f" AND record_id = 'doc/' || CAST(substr(ledger_id, 5) AS integer) % {RECORDS}"
        )
    if database.kind == "postgresql":
        database.rows("ANALYZE")
        lines = await store.change(partial(plans, ask=listed))
        assert any("hashed SubPlan" in line for line in lines), lines
        walked = re.compile(r"Seq Scan on (?!standing_event|purge_)|Semi Join")
        assert [line for line in lines if walked.search(line)] == []
        return
    assert await store.change(partial(steps, ask=listed)) < SEGMENTS * 500


def what_stands(work: Work) -> object:
    """Reads what stands, as each fetch does where anything ever did."""
    return work.authority.standing(TENANT)
