"""`verify_chain`: each kind of change to a stored audit is named, by its row; what is sound is called so."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from discreet.policy.facts import Ref
from discreet.server.ports import Job, Recorded, Store
from discreet.server.stores.keeping import ExportedHead, verify_chain
from tests.contract.databases import Database
from tests.contract.making import audit, decision, entry, facts_of, job, put, record, revisions
from tests.contract.test_keeping import harm

LINKS = 4
ROWS = 5


def row(link: int, number: int) -> Job:
    """One row with bytes of its own, found by one decision."""
    return Job(audit(body=b"row %d of %d" % (number, link), decisions=(decision(),)))


async def write(store: Store) -> None:
    """Links of several rows each: what is recorded together is one link."""
    for link in range(1, LINKS + 1):
        done = await store.record([row(link, number) for number in range(1, ROWS + 1)])
        assert all(isinstance(one, Recorded) for one in done)


async def heads_of(store: Store, place: str = "an export") -> list[ExportedHead]:
    """What an export now would keep."""
    found = await store.chain_heads()
    return [ExportedHead(one.writer, one.link, one.hash, place) for one in found.heads]


@pytest.fixture
async def written(database: Database) -> tuple[Database, int, list[ExportedHead]]:
    """A closed database with one chain of five rows a link; the writer's number, and the heads that were exported."""
    store = await database.open()
    await write(store)
    heads = await heads_of(store)
    await database.close()
    ((writer,),) = database.rows("SELECT DISTINCT writer FROM audit_row")
    return database, writer, heads


def found(database: Database, exported: Sequence[ExportedHead] = ()) -> list[str]:
    """All that is wrong, in words without the request's random id."""
    done = verify_chain(database.url, exported)
    assert done.count == len(done.findings)
    return [str(replace(one, request_id="")) for one in done.findings]


def test_a_sound_chain_is_called_so_and_counted(written: tuple[Database, int, list[ExportedHead]]) -> None:
    """F7: nothing is found, and how much was looked at is said."""
    database, _, heads = written
    done = verify_chain(database.url, heads)
    assert (done.findings, done.links, done.rows, done.writers) == ([], LINKS, LINKS * ROWS, 1)


WHERE = "writer = {w} AND n = 2"
SHIFT = (
    f"DELETE FROM audit_row WHERE {WHERE} AND ordinal = 1",
    *(f"UPDATE audit_row SET ordinal = {at} WHERE {WHERE} AND ordinal = {at + 1}" for at in range(1, ROWS - 1)),
)
COPY = "SELECT writer, n, {to}, tenant, request_id, act, at, principal_id, session_id, {body} FROM audit_row"
INSERT = "INSERT INTO audit_row (writer, n, ordinal, tenant, request_id, act, at, principal_id, session_id, body) "
TAMPERED: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "a row is missing": (
        (f"DELETE FROM audit_row WHERE {WHERE} AND ordinal = 3",),
        ["row 4 of link 2 of writer {w} is missing"],
    ),
    "a row is altered": (
        (f"UPDATE audit_row SET body = <forged> WHERE {WHERE} AND ordinal = 3",),
        ["row 4 of link 2 of writer {w} was altered"],
    ),
    "two rows change places": (
        (
            f"UPDATE audit_row SET ordinal = 99 WHERE {WHERE} AND ordinal = 1",
            f"UPDATE audit_row SET ordinal = 1 WHERE {WHERE} AND ordinal = 3",
            f"UPDATE audit_row SET ordinal = 3 WHERE {WHERE} AND ordinal = 99",
        ),
        [
            "row 2 of link 2 of writer {w} is not where it was: it is row 4",
            "row 4 of link 2 of writer {w} is not where it was: it is row 2",
        ],
    ),
    "a row is put in": (
        (INSERT + COPY.format(to=ROWS, body="<forged>") + f" WHERE {WHERE} AND ordinal = 0",),
        ["row 6 of link 2 of writer {w} was inserted"],
    ),
    "a row is put in twice": (
        (INSERT + COPY.format(to=ROWS, body="body") + f" WHERE {WHERE} AND ordinal = 0",),
        ["row 6 of link 2 of writer {w} was inserted"],
    ),
    "a row is taken out and the rest moved up": (
        SHIFT,
        [
            *(f"row {at} of link 2 of writer {{w}} is not where it was: it is row {at + 1}" for at in (2, 3, 4)),
            "row 2 of link 2 of writer {w} is missing",
        ],
    ),
    "a link is missing": (
        (f"DELETE FROM audit_row WHERE {WHERE}", f"DELETE FROM audit_link WHERE {WHERE}"),
        ["link 2 of writer {w} is missing: what its rows are found by is there"],
    ),
    "a link is missing and its rows are there": (
        (f"DELETE FROM audit_link WHERE {WHERE}",),
        ["link 2 of writer {w} is missing: 5 rows that say they are of it are there"],
    ),
    "digests are made to fit an altered row": (
        (
            f"UPDATE audit_row SET body = <forged> WHERE {WHERE} AND ordinal = 0",
            f"UPDATE audit_link SET digests = <{'x' * 32 * ROWS}> WHERE {WHERE}",
        ),
        ["link 2 of writer {w} was altered: its hash is not that of what it says", "*"],
    ),
    "digests alone are altered": (
        (f"UPDATE audit_link SET digests = <{'x' * 32 * ROWS}> WHERE {WHERE}",),
        ["link 2 of writer {w} was altered: its hash is not that of what it says; its rows as they are make its hash"],
    ),
    "a link names another before it": (
        (f"UPDATE audit_link SET prev = <{'x' * 32}> WHERE {WHERE}",),
        [
            "link 2 of writer {w} was altered: its hash is not that of what it says",
            "link 2 of writer {w} was altered: it, or the one before it: it names another one",
        ],
    ),
    "the end of a chain is missing and its decisions are there": (
        tuple(f"DELETE FROM {name} WHERE writer = {{w}} AND n = 4" for name in ("audit_row", "audit_link")),
        [
            "link 4 of writer {w} is missing: what its rows are found by is there",
            "link 4 of writer {w} is missing: an export names it",
        ],
    ),
}
"""Statements, and what is to be found; `*`: and more. Rows hold bytes that no server writes: columns say nothing."""


@pytest.mark.parametrize("kind", TAMPERED)
def test_each_kind_of_change_is_named(written: tuple[Database, int, list[ExportedHead]], kind: str) -> None:
    """F7: the missing, altered, reordered or inserted row, and nothing else."""
    database, writer, heads = written
    statements, expected = TAMPERED[kind]
    harm(database, *(one.replace("{w}", str(writer)) for one in statements))
    wrong = found(database, heads)
    names = [one.replace("{w}", str(writer)) for one in expected]
    if names[-1:] == ["*"]:
        assert wrong[: len(names) - 1] == names[:-1]
    else:
        assert wrong == names


async def test_a_chain_that_is_cut_or_written_anew_is_seen_by_exported_heads(
    written: tuple[Database, int, list[ExportedHead]],
) -> None:
    """F7: without an export neither is seen, since what is left follows from its beginning; with one both are."""
    database, writer, heads = written
    last = f"writer = {writer} AND n = {LINKS}"
    harm(database, *(f"DELETE FROM {name} WHERE {last}" for name in ("audit_row", "audit_decision", "audit_link")))
    assert found(database) == []
    assert found(database, heads) == [f"link {LINKS} of writer {writer} is missing: an export names it"]
    harm(database, *(f"DELETE FROM {name}" for name in ("audit_row", "audit_decision", "audit_link", "audit_writer")))
    store = await database.open()
    await write(store)
    await database.close()
    assert found(database) == []
    assert found(database, heads) == [f"link {LINKS} of writer 0 is missing: an export names it"]


async def test_what_a_dead_writer_wrote_is_held_by_the_next(
    written: tuple[Database, int, list[ExportedHead]],
) -> None:
    """F7, A12: the next writer's first link names where the others ended; heads of those need no export any more."""
    database, writer, heads = written
    store = await database.open()
    await put(store, record())
    committed = job(await store.head(), entry(*revisions(await facts_of(store, Ref("doc/a", "1")))))
    assert isinstance((await store.record([committed]))[0], Recorded)
    later = await heads_of(store)
    await database.close()
    assert {one.name for one in later}.isdisjoint(one.name for one in heads)
    last = f"writer = {writer} AND n = {LINKS}"
    harm(database, *(f"DELETE FROM {name} WHERE {last}" for name in ("audit_row", "audit_decision", "audit_link")))
    (wrong,) = found(database)
    assert wrong.startswith(f"link {LINKS} of writer {writer} is missing: the first link of writer ")


async def test_a_chain_is_gone_through_while_servers_write(database: Database) -> None:
    """F7: one view of it, however much is recorded meanwhile; heads exported before it began are in it."""
    store = await database.open()
    await write(store)
    heads = await heads_of(store)
    looking = asyncio.create_task(asyncio.to_thread(verify_chain, database.url, heads))
    written = 0
    while not looking.done():
        assert isinstance((await store.record([row(9, written)]))[0], Recorded)
        written += 1
    assert ((await looking).findings, written > 0) == ([], True)
