"""How many roots one fetch gives, on either store: what a call reads of the ledger has an end."""

from __future__ import annotations

from discreet.policy.facts import FactIds, Ref
from discreet.server.ports import LEDGER_ROOTS_MAX, Recorded, Store
from tests.contract.databases import Database
from tests.contract.making import ALICE, TENANT, entry, facts_of, job, put, record
from tests.contract.test_plans import SERIES

DOC = record()


def more_roots(database: Database, ledger_id: str, count: int) -> None:
    """Writes roots of an entry, past the store: no commit could write as many."""
    series = SERIES[database.kind].format(last=count - 1)
    values = f"SELECT '{ledger_id}', '{TENANT}', 'x/' || i, '1', 1 FROM g"
    insert = "INSERT INTO ledger_root "
    database.rows(f"{insert}{series}{values}" if database.kind == "sqlite" else f"{series}{insert}{values}")


async def test_more_roots_than_a_fetch_gives_are_left_out_and_said_to_be(store: Store, database: Database) -> None:
    """B1, B3: entries come with all of their roots or with none, and say which; the order of the question decides."""
    await put(store, DOC)
    (known,) = (await facts_of(store, DOC.ref)).values()
    entries = [entry((DOC.ref, known.revision)) for _ in range(4)]
    (written,) = await store.record([job(await store.head(), *entries)])
    assert isinstance(written, Recorded)
    names = [one.ledger_id for one in entries]
    more_roots(database, names[1], LEDGER_ROOTS_MAX - 2)

    async def found(*asked: str) -> list[tuple[int, bool]]:
        facts = await store.fetch(TENANT, FactIds((), ALICE, asked))
        assert DOC.ref in facts.records
        return [(len(facts.ledger[name].roots), facts.ledger[name].beyond) for name in asked]

    whole, left_out = (LEDGER_ROOTS_MAX - 1, False), (0, True)
    assert await found(names[0], names[1]) == [(1, False), whole]
    assert await found(names[1], names[0]) == [whole, (1, False)]
    assert await found(*names) == [(1, False), whole, left_out, left_out]
    more = await store.fetch(TENANT, FactIds((), ALICE, (names[2], "0" * 32)))
    assert more.ledger[names[2]].roots == (Ref("doc/a", "1"),)
    assert list(more.ledger) == [names[2]]
