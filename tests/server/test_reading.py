"""Facts for decisions: as of a head read after the call arrived, whatever is cached."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.facts import FactIds, Facts, GrantFacts, Micros, PrincipalGrants, RecordFacts, Ref
from discreet.policy.words import RecordKind
from discreet.server.clock import SystemClock
from discreet.server.ports import Change, ChangeKind, DatabaseChanged, Work
from discreet.server.reading.cache import FactCache
from discreet.server.reading.heads import SharedHeads
from discreet.server.reading.reader import FactReader
from discreet.server.stores import open_store
from tests.server.faults import FaultyStore

CLOCK = SystemClock()
EPOCH = "ab" * 16


def record(record_id: str, version: str, *, roots: tuple[Ref, ...] = (), basis: str = "") -> RecordFacts:
    """A current document."""
    return RecordFacts(
        record_id,
        version,
        0,
        RecordKind.DOCUMENT,
        "d" * 64,
        "handbook",
        "collector",
        Micros(1),
        True,
        basis=basis,
        roots=roots,
    )


def put(tenant: str, *records: RecordFacts) -> Callable[[Work], int]:
    """Work that writes records."""
    return lambda index: index.write_records(tenant, [(one, one.record_id) for one in records])


def give(tenant: str, principal_id: str, grant: GrantFacts) -> Callable[[Work], int]:
    """Work that writes a grant."""
    return lambda index: index.write_grant(tenant, principal_id, grant)


@pytest.fixture
async def store(place: Path) -> AsyncIterator[FaultyStore]:
    """An open SQLite store that counts its calls."""
    inside = open_store(str(place / "discreet.db"))
    await inside.open()
    yield FaultyStore(inside)
    await inside.close()


async def test_random_changes_and_reads_give_what_an_uncached_read_gives(store: FaultyStore) -> None:
    """F1: at every step the cached reader says what the store says itself, absent records and grants included."""
    reader = FactReader(store, await store.head(), CLOCK)
    rng = random.Random(7)
    names = [f"r{i}" for i in range(4)]
    for _ in range(300):
        tenant, name, who = rng.choice(["acme", "bolt"]), rng.choice(names), rng.choice(["ana", "bo"])
        match rng.randrange(5):
            case 0:
                version, basis = rng.choice("12"), str(rng.random())
                roots = (Ref(rng.choice(names), "1"),) if rng.random() < 0.5 else ()
                await store.change(put(tenant, replace(record(name, version, roots=roots), basis=basis)))
            case 1:
                grant = GrantFacts(f"s{rng.randrange(3)}", rng.randrange(1, 10**6), 0, Micros(1))
                await store.change(give(tenant, who, grant))
            case _:
                refs = tuple(Ref(rng.choice(names), rng.choice("12")) for _ in range(rng.randrange(3)))
                ids = FactIds(tuple(dict.fromkeys(refs)), who)
                found = (await reader.read(tenant, ids)).facts
                plain = await store.fetch(tenant, ids)
                assert found.grants == plain.grants
                asked = [plain.records[ref] for ref in ids.records if ref in plain.records]
                for ref in [*ids.records, *(root for one in asked for root in one.roots)]:
                    assert found.records.get(ref) == plain.records.get(ref)
                for ref in ids.records:
                    assert found.current.get(ref.record_id) == plain.current.get(ref.record_id)
    assert reader.hits > 20
    assert reader.misses > 20


async def test_a_read_that_is_warm_asks_for_nothing_but_the_head(store: FaultyStore) -> None:
    """The warm path is one head read; a hit, a miss that is known and an absence alike (F11)."""
    await store.change(put("acme", record("known", "1")))
    reader = FactReader(store, await store.head(), CLOCK)
    for name in ("known", "unknown"):
        ids = FactIds((Ref(name, "1"),), "ana")
        await reader.read("acme", ids)
        store.calls.clear()
        await reader.read("acme", ids)
        assert store.calls == ["head"]


async def test_a_change_is_seen_by_the_next_read(store: FaultyStore) -> None:
    """A cached record counts only if no change names it since."""
    await store.change(put("acme", record("a", "1"), record("b", "1")))
    reader = FactReader(store, await store.head(), CLOCK)
    ids = FactIds((Ref("a", "1"),), "ana")
    await reader.read("acme", ids)
    await store.change(put("acme", replace(record("a", "1"), suspended=True)))
    assert (await reader.read("acme", ids)).facts.records[Ref("a", "1")].suspended
    store.calls.clear()
    await store.change(put("acme", replace(record("b", "1"), suspended=True)))
    await reader.read("acme", ids)
    assert "fetch" not in store.calls


async def test_more_changes_than_can_be_applied_forget_everything(
    store: FaultyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the limit of pages the cache is emptied instead; nothing outdated is left."""
    monkeypatch.setattr("discreet.server.reading.reader.CHANGES_PAGE", 2)
    monkeypatch.setattr("discreet.server.reading.reader.CHANGES_PAGES_MAX", 2)
    await store.change(put("acme", record("a", "1")))
    reader = FactReader(store, await store.head(), CLOCK)
    ids = FactIds((Ref("a", "1"),), "ana")
    await reader.read("acme", ids)
    for number in range(9):
        await store.change(put("acme", record(f"other-{number}", "1")))
    await store.change(put("acme", replace(record("a", "1"), suspended=True)))
    assert (await reader.read("acme", ids)).facts.records[Ref("a", "1")].suspended


async def test_heads_are_shared_by_who_waits_and_begin_after_they_asked(store: FaultyStore) -> None:
    """AUTHORITATIVE: two hundred waiters cost two reads, and none gets a read that began before it asked."""
    heads = SharedHeads(store, await store.head(), CLOCK)
    store.calls.clear()
    gate = store.held["head"] = asyncio.Event()
    first = asyncio.create_task(heads.read())
    await asyncio.sleep(0)
    rest = [asyncio.create_task(heads.read()) for _ in range(200)]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(first, *rest)
    assert store.calls.count("head") == 2


async def test_many_who_miss_the_same_share_one_fetch(store: FaultyStore) -> None:
    """REV-18 in kind: one load for a key, however many ask at once."""
    reader = FactReader(store, await store.head(), CLOCK)
    ids = FactIds((Ref("a", "1"),), "ana")
    await asyncio.gather(*(reader.read("acme", ids) for _ in range(50)))
    assert store.calls.count("fetch") <= 2


async def test_another_epoch_and_a_lower_order_are_not_believed(store: FaultyStore) -> None:
    """A restored or lagging database withholds."""
    opened = await store.head()
    await store.change(put("acme", record("a", "1")))
    for last in (opened._replace(epoch="cd" * 16), opened._replace(seq=10**6)):
        with pytest.raises(DatabaseChanged):
            await SharedHeads(store, last, CLOCK).read()


PARTS = st.text(st.sampled_from("a:|-/\0%"), min_size=1, max_size=4)


@given(st.sets(st.tuples(PARTS, PARTS, PARTS), min_size=2, max_size=12))
def test_no_two_keys_collide(keys: set[tuple[str, str, str]]) -> None:
    """REV-08: tenant, id and version are kept apart, whatever separators they hold."""
    cache = FactCache(EPOCH, 0)
    for number, (tenant, name, version) in enumerate(sorted(keys)):
        ref = Ref(name, version)
        facts = Facts(EPOCH, 1, {ref: record(name, version, basis=str(number))}, {}, PrincipalGrants())
        cache.put(tenant, FactIds((ref,), "ana"), facts)
    for number, (tenant, name, version) in enumerate(sorted(keys)):
        found = cache.facts(tenant, FactIds((Ref(name, version),), "ana"), 1)
        assert found is not None
        assert found.records[Ref(name, version)].basis == str(number)


def test_a_fetch_that_changes_overtook_is_not_kept() -> None:
    """What was fetched before a change that was already applied may lack it."""
    cache, ids = FactCache(EPOCH, 0), FactIds((Ref("a", "1"),), "ana")
    cache.apply([Change(5, ChangeKind.RECORD, "acme", "a")], 5)
    cache.put("acme", ids, Facts(EPOCH, 4, {}, {}, PrincipalGrants()))
    assert cache.facts("acme", ids, 5) is None


def test_what_was_fetched_later_than_the_head_is_not_mixed_in() -> None:
    """All facts of a call are of one state."""
    cache, ids = FactCache(EPOCH, 0), FactIds((Ref("a", "1"),), "ana")
    cache.put("acme", ids, Facts(EPOCH, 9, {}, {}, PrincipalGrants()))
    assert cache.facts("acme", ids, 8) is None
    assert cache.facts("acme", ids, 9) is not None


@pytest.mark.parametrize("kind, tenant", list(product([ChangeKind.RECORD, ChangeKind.GRANTS], ["acme", "bolt"])))
def test_a_change_drops_what_it_names_and_nothing_else(kind: ChangeKind, tenant: str) -> None:
    """Records by tenant and id, grants by tenant and principal."""
    cache = FactCache(EPOCH, 0)
    for one in ("acme", "bolt"):
        cache.put(one, FactIds((Ref("x", "1"),), "x"), Facts(EPOCH, 1, {}, {}, PrincipalGrants()))
    cache.apply([Change(2, kind, tenant, "x")], 2)
    kept = {one for one in ("acme", "bolt") if cache.facts(one, FactIds((Ref("x", "1"),), "x"), 2) is not None}
    assert kept == {"acme", "bolt"} - {tenant}


async def test_what_rests_on_very_much_drives_nothing_out(store: FaultyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """One question by ledger ids with very many roots leaves the others' records in memory."""
    monkeypatch.setattr("discreet.server.reading.reader.KEPT_AT_ONCE_MAX", 1)
    await store.change(put("acme", record("a", "1"), record("b", "1")))
    reader = FactReader(store, await store.head(), CLOCK)
    by_ledger_id = FactIds((Ref("a", "1"), Ref("b", "1")), "ana", ("led-1",))
    assert len((await reader.read("acme", by_ledger_id)).facts.records) == 2
    for kept, ids in ((False, FactIds((Ref("a", "1"),), "ana")), (True, FactIds((Ref("a", "1"),), "ana"))):
        store.calls.clear()
        await reader.read("acme", ids)
        assert ("fetch" not in store.calls) == kept


def test_the_cache_is_bounded() -> None:
    """At the limit it holds, one past it the least recently used goes."""
    cache = FactCache(EPOCH, 0, record_ids_max=2, principals_max=2)
    for name in "abc":
        cache.put("acme", FactIds((Ref(name, "1"),), name), Facts(EPOCH, 1, {}, {}, PrincipalGrants()))
    held = [name for name in "abc" if cache.facts("acme", FactIds((Ref(name, "1"),), name), 1) is not None]
    assert held == ["b", "c"]
