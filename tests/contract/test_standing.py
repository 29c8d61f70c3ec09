"""Standing facts, tombstones, approvals and what a revoke looks up, on every store; their place in the one order."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from discreet.policy.facts import FactIds, Freeze, Hold, Micros, Ref, Revoke, Target
from discreet.policy.words import HolderKind, PurgeItemKind, PurgeState, TombstoneKind
from discreet.server.ports import ChangeKind, JobOutcome, Overtaken, Recorded, Store, Work
from discreet.server.ports_authority import (
    ApprovalRow,
    HolderRow,
    ItemRow,
    OrderRow,
    RecordQuery,
    TombstoneFilter,
    TombstoneRow,
)
from discreet.server.stores import authority_work
from tests.contract.databases import Database
from tests.contract.holding import row_held
from tests.contract.making import ALICE, LABEL, TENANT, entry, facts_of, job, put, record, revisions

A, B, C = Ref("doc/a", "1"), Ref("doc/b", "1"), Ref("doc/c", "1")
FAR = Micros(2**60)
Fact = Callable[[Work], int]


def order(order_id: str = "o-1", due: int = 0) -> OrderRow:
    """A purge order that nothing is in."""
    return OrderRow(order_id, "x", "op", "why", "T-1", Micros(1), Micros(due), FAR, None, 0, 0)


def revoked_source(work: Work) -> int:
    """The source of every record is revoked."""
    return work.authority.revoke_source(TENANT, LABEL, order(due=7))


def frozen_source(work: Work) -> int:
    """The source is frozen."""
    return work.authority.write_freeze(TENANT, Freeze("f-1", LABEL, "op", "why", Micros(1), FAR))


def frozen_everything(work: Work) -> int:
    """Every tenant is frozen."""
    return work.authority.write_freeze("", Freeze("f-2", "", "op", "why", Micros(1), FAR, True))


def held_version(work: Work) -> int:
    """One version is under a legal hold."""
    hold = Hold("h-1", Target(record_id="doc/a", version="1"), "op", "why", "T-1", Micros(1))
    return work.authority.write_hold(TENANT, hold)


FACTS: dict[str, Fact] = {
    "source revoked": revoked_source,
    "source frozen": frozen_source,
    "everything frozen": frozen_everything,
    "version held": held_version,
}


async def committing(store: Store) -> "asyncio.Task[list[JobOutcome]]":
    """A commit on the present facts, under way."""
    facts = await store.fetch(TENANT, FactIds((A,), ALICE))
    made = job(await store.head(), entry(*revisions(dict(facts.records))))
    return asyncio.create_task(store.record([replace(made, standing=(TENANT, facts.standing.revision))]))


@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS)
async def test_what_came_to_stand_first_makes_the_publication_fail(
    store: Store, database: Database, fact: Fact
) -> None:
    """B6: a source revoke, freeze or hold that was first in the queue overtakes the commit, which says so."""
    await put(store, record())
    async with row_held(database, store) as holder:
        made = job(await store.head(), entry(*revisions(await facts_of(store, A))))
        changing = asyncio.create_task(store.change(fact))
        await holder.waiting(1)
        waiting = asyncio.create_task(store.record([replace(made, standing=(TENANT, 0))]))
        await holder.waiting(2)
    seq = await changing
    (outcome,) = await waiting
    assert isinstance(outcome, Overtaken)
    assert (outcome.standing, outcome.records, outcome.grants, outcome.policy) == (True, (), False, False)
    assert outcome.head.changed_seq == seq
    assert database.rows("SELECT count(*) FROM ledger") == [(0,)]


@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS)
async def test_a_publication_that_came_first_stands(store: Store, database: Database, fact: Fact) -> None:
    """B6: the commit has the lower number; later ones, decided on what stands now, are not overtaken by it again."""
    await put(store, record())
    async with row_held(database, store) as holder:
        waiting = await committing(store)
        await holder.waiting(1)
        changing = asyncio.create_task(store.change(fact))
        await holder.waiting(2)
    (outcome,) = await waiting
    assert isinstance(outcome, Recorded)
    assert await changing == outcome.seq + 1
    (again,) = await (await committing(store))
    assert isinstance(again, Recorded)


@pytest.mark.parametrize("fact", [revoked_source, frozen_source, held_version])
async def test_what_stands_for_one_tenant_overtakes_no_other(store: Store, fact: Fact) -> None:
    """B6: another tenant's commits go on; what stands for every tenant is for all."""
    await put(store, record(), tenant="other")
    facts = await store.fetch("other", FactIds((A,), ALICE))
    made = job(
        await store.head(), replace(entry(*revisions(dict(facts.records))), key=entry().key._replace(tenant="other"))
    )
    await store.change(fact)
    (outcome,) = await store.record([replace(made, standing=("other", 0))])
    assert isinstance(outcome, Recorded)
    await store.change(frozen_everything)
    (outcome,) = await store.record([replace(made, standing=("other", 0))])
    assert not isinstance(outcome, Recorded)


async def test_facts_stand_until_they_are_ended(store: Store) -> None:
    """B8: each is read as it was written, with every change announced, and is gone once it is ended."""
    for fact in FACTS.values():
        await store.change(fact)
    facts = await store.look(lambda look: look.standing(TENANT))
    assert facts.revoked_sources == {
        LABEL: Revoke("op", "why", "T-1", facts.revoked_sources[LABEL].revoked_at, Micros(7), 1, "o-1")
    }
    assert [(one.freeze_id, one.label, one.everywhere) for one in facts.freezes] == [
        ("f-1", LABEL, False),
        ("f-2", "", True),
    ]
    assert [one.hold_id for holds in facts.holds.values() for one in holds] == ["h-1"]
    other = await store.look(lambda look: look.standing("other"))
    assert ([one.freeze_id for one in other.freezes], other.revoked_sources, other.holds) == (["f-2"], {}, {})
    ends: list[Fact] = [
        lambda work: work.authority.end_freeze(TENANT, "f-1", "op", "why"),
        lambda work: work.authority.end_freeze("", "f-2", "op", "why"),
        lambda work: work.authority.end_hold(TENANT, "h-1", "op", "why", "T-2"),
        lambda work: work.authority.end_source_revoke(TENANT, "o-1", "op", "why", "T-2"),
    ]
    seqs = [await store.change(end) for end in ends]
    assert seqs == [5, 6, 7, 8]
    gone = await store.look(lambda look: look.standing(TENANT))
    assert (gone.revision, gone.revoked_sources, gone.freezes, gone.holds) == (8, {}, (), {})
    changes = await store.changes(0, 10)
    assert [(one.seq, one.kind, one.tenant) for one in changes] == [
        (seq, ChangeKind.STANDING, "" if seq in (3, 6) else TENANT) for seq in range(1, 9)
    ]


async def test_a_query_finds_page_by_page_what_is_not_revoked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """RET-09: the limit counts what would be revoked; what is revoked and what has no time is counted apart."""
    monkeypatch.setattr(authority_work, "PAGE", 3)
    now = (await store.head()).now
    records = [replace(record(f"doc/{number}"), as_of=Micros(now - 1_000_000 * (number + 1))) for number in range(8)]
    records[2] = replace(records[2], revoked=Revoke("op", "why", "T-1", now, now, 0, "o-1"))
    records[5] = replace(records[5], as_of=None)
    records[6] = replace(records[6], as_of=Micros(now + 3_600_000_000))
    await put(store, *records, record("other/x"))
    query = RecordQuery(id_prefix="doc/", as_of_before=now)
    found = await store.change(lambda work: work.authority.find_records(TENANT, query, 5))
    assert [one.record_id for one in found.records] == ["doc/0", "doc/1", "doc/3", "doc/4", "doc/7"]
    assert (found.revoked, found.without_time, found.more, [one.order_id for one in found.terms]) == (
        1,
        2,
        False,
        ["o-1"],
    )
    less = await store.change(lambda work: work.authority.find_records(TENANT, query, 4))
    assert (len(less.records), less.more) == (4, True)
    exactly = replace(query, as_of_before=records[4].as_of)
    (only,) = (await store.change(lambda work: work.authority.find_records(TENANT, exactly, 4))).records
    assert only.record_id == "doc/7"
    nobody = await store.change(lambda work: work.authority.find_records("other", query, 4))
    assert nobody.records == ()


async def test_what_is_under_a_source_and_what_rests_on_it(store: Store) -> None:
    """B7: segments are found by any of their roots, each once; under a source, those with a root not revoked itself."""
    revoke = Revoke("op", "why", "T-1", Micros(1), Micros(1), 0, "o-1")
    await put(store, record(), record("doc/b"), replace(record("doc/c"), source_label="news"))
    facts = await facts_of(store, A, B, C)
    made = [entry(*revisions({ref: facts[ref] for ref in refs})) for refs in ((A,), (A, B), (C,), (B, C))]
    for one in made:
        await store.record([job(await store.head(), one)])
    ids = [one.ledger_id for one in made]

    async def resting(*refs: Ref, label: str = "") -> list[str]:
        found = await store.change(lambda work: work.authority.resting(TENANT, refs, label))
        return [one.ledger_id for one in found]

    assert await resting(A) == sorted(ids[:2])
    assert await resting(A, C) == sorted(ids)
    assert await resting(Ref("doc/a", "2")) == []
    assert await resting(label=LABEL) == sorted([ids[0], ids[1], ids[3]])
    await put(store, replace(facts[A], revoked=revoke))
    assert await resting(label=LABEL) == sorted([ids[1], ids[3]])
    under = await store.change(lambda work: work.authority.under(TENANT, LABEL))
    assert [(one.ref, one.revoke is not None) for one in under] == [(A, True), (B, False)]


async def test_each_version_under_a_source_gets_a_revoke_of_its_own(store: Store) -> None:
    """B7, B9: a revision each, as if it were written alone: one number a record, nothing else of it changed."""
    revoke = Revoke("op", 'why "seq":0, {x} é', "T-1", Micros(1), Micros(2), 7, "o-1")
    own = replace(revoke, order_id="o-0", seq=0)
    others = [replace(record("doc/c"), source_label="news"), replace(record("doc/d"), revoked=own)]
    await put(store, record(), replace(record(), version="2"), record("doc/b"), *others)
    refs = (A, Ref("doc/a", "2"), B, C, Ref("doc/d", "1"))
    before, head = await facts_of(store, *refs), await store.head()

    def work(index: Work) -> tuple[int, int, int]:
        changed = index.authority.revoke_each(TENANT, LABEL, revoke, "LiftTombstone")
        return changed, index.authority.revoke_each(TENANT, LABEL, revoke, "LiftTombstone"), index.now

    changed, again, now = await store.change(work)
    after = await facts_of(store, *refs)
    assert (changed, again, (await store.head()).seq, (await store.head()).changed_seq) == (
        3, 0, head.seq + 2, head.seq + 2,
    )  # fmt: skip
    for ref, seq in ((A, 1), (Ref("doc/a", "2"), 1), (B, 2)):
        number = head.seq + seq
        mine = replace(revoke, seq=number)
        wanted = replace(before[ref], revoked=mine, recorded_at=Micros(now), step="LiftTombstone", revision=number)
        assert after[ref] == wanted
    assert (after[C], after[refs[4]]) == (before[C], before[refs[4]])
    announced = await store.changes(head.seq, 10)
    assert [(one.seq, one.kind, one.tenant, one.id) for one in announced] == [
        (head.seq + 1, ChangeKind.RECORD, TENANT, "doc/a"),
        (head.seq + 2, ChangeKind.RECORD, TENANT, "doc/b"),
    ]


async def test_what_was_built_on_a_version_or_a_source(store: Store) -> None:
    """B7: each once, however many of its roots are asked for, and however often its metadata changed since."""
    revoke = Revoke("op", "why", "T-1", Micros(1), Micros(1), 0, "o-1")
    quotes = [
        replace(record("q/a"), roots=(A, B), source_label="news"),
        replace(record("q/b"), roots=(B,)),
        replace(record("q/c"), roots=(A,), revoked=revoke),
    ]
    await put(store, record(), record("doc/b"), *quotes)
    facts = await facts_of(store, Ref("q/a", "1"))
    await put(store, replace(facts[Ref("q/a", "1")], basis="another"))

    async def built(*refs: Ref, label: str = "", tenant: str = TENANT) -> list[str]:
        found = await store.change(lambda work: work.authority.built_on(tenant, refs, label))
        return [one.record_id for one in found]

    assert await built(A) == ["q/a", "q/c"]
    assert await built(A, B) == ["q/a", "q/b", "q/c"]
    assert await built(Ref("doc/a", "2")) == []
    assert await built(label=LABEL) == ["q/a", "q/b", "q/c"]
    assert await built(label="news") == []
    assert await built(A, B, tenant="other") == []


async def test_a_hold_covers_records_and_the_segments_on_them(store: Store) -> None:
    """F3: by version, by record, by source; each holder's part of each item, whatever became of it."""
    await put(store, record(), replace(record("doc/c"), source_label="news"))
    facts = await facts_of(store, A, C)
    on_a, on_c = (entry(*revisions({ref: facts[ref]})) for ref in (A, C))
    await store.record([job(await store.head(), on_a, on_c)])
    items = [
        ItemRow("o-1", 1, PurgeItemKind.SEGMENT, "d" * 64, on_a.ledger_id, store_by=Micros(1)),
        ItemRow("o-1", 2, PurgeItemKind.SEGMENT, "d" * 64, on_c.ledger_id, store_by=Micros(1)),
        ItemRow("o-1", 3, PurgeItemKind.RECORD, "d" * 64, ref=A, label=LABEL),
        ItemRow("o-1", 4, PurgeItemKind.RECORD, "d" * 64, ref=C, label="news"),
    ]

    def work(work: Work) -> None:
        for name, kind in (("store", HolderKind.SEGMENT_STORE), ("vectors", HolderKind.DOCUMENT_STORE)):
            work.purges.write_holder(TENANT, HolderRow(name, kind, (), "", None, work.now), "op", "why")
        work.purges.write_order(TENANT, order(), items)

    await store.change(work)

    async def covered(target: Target, tenant: str = TENANT) -> list[tuple[int, str]]:
        found = await store.change(lambda work: work.authority.held_parts(tenant, target))
        assert {one.state for one in found} <= {PurgeState.OPEN}
        return [(one.item, one.holder) for one in found]

    for target in (Target(record_id="doc/a", version="1"), Target(record_id="doc/a"), Target(label=LABEL)):
        assert await covered(target) == [(1, "store"), (3, "vectors")]
    assert await covered(Target(label="news")) == [(2, "store"), (4, "vectors")]
    assert await covered(Target(record_id="doc/a", version="2")) == []
    assert await covered(Target(label=LABEL), "other") == []


async def test_tombstones_refuse_until_they_are_lifted(store: Store) -> None:
    """DB-05: found by digest, record and label of their tenant; a lifted one is listed where that is asked for."""
    rows = [
        TombstoneRow("t-1", TombstoneKind.DIGEST, "d" * 64, A, order_id="o-1"),
        TombstoneRow("t-2", TombstoneKind.RECORD, ref=Ref("doc/a", ""), order_id="o-1"),
        TombstoneRow("t-3", TombstoneKind.SOURCE, label=LABEL, order_id="o-2"),
    ]
    await store.change(lambda work: work.authority.write_tombstones(TENANT, rows))

    async def refusing(
        tenant: str = TENANT, digest: str = "d" * 64, name: str = "doc/a", label: str = LABEL
    ) -> list[str]:
        found = await store.change(lambda work: work.authority.tombstones(tenant, [digest], [name], [label]))
        return [one.tombstone_id for one in found]

    async def listed(wanted: TombstoneFilter, after: str = "", limit: int = 9) -> list[str]:
        found = await store.look(lambda look: look.tombstones(TENANT, wanted, after, limit))
        return [one.tombstone_id for one in found]

    assert await refusing() == ["t-1", "t-2", "t-3"]
    assert await refusing(digest="e" * 64, name="doc/b") == ["t-3"]
    assert await refusing(tenant="other") == []
    await store.change(lambda work: work.authority.lift_tombstone(TENANT, "t-2", "op", "why", "T-2"))
    assert await refusing() == ["t-1", "t-3"]
    kept = await store.change(lambda work: work.authority.tombstone(TENANT, "t-2"))
    assert kept is not None
    assert kept.lifted
    assert await listed(TombstoneFilter()) == ["t-1", "t-3"]
    assert await listed(TombstoneFilter(lifted=True), "t-1", 1) == ["t-2"]
    assert await listed(TombstoneFilter(record_id="doc/a", lifted=True)) == ["t-1", "t-2"]
    assert await listed(TombstoneFilter(digest="d" * 64)) == ["t-1"]


async def test_approvals_wait_until_they_are_settled_or_expire(store: Store) -> None:
    """Newest first, each once, with the very bytes that were asked for; one that is settled is settled for good."""
    now = (await store.head()).now

    def ask(approval_id: str, expires_at: int) -> Callable[[Work], int]:
        row = ApprovalRow(approval_id, "LiftHold", b"\x00\xff", "s", "ana", "why", "T-1", now, Micros(expires_at))
        return lambda work: work.authority.write_approval(TENANT, row)

    seqs = [await store.change(ask(f"a-{n}", now if n == 1 else FAR)) for n in range(4)]

    async def listed(settled: bool, before: int | None = None, limit: int = 9) -> list[str]:
        found = await store.look(lambda look: look.approvals(TENANT, settled, before, limit))
        return [one.approval_id for one in found]

    assert await listed(settled=False) == ["a-3", "a-2", "a-0"]
    await store.change(lambda work: work.authority.settle_approval(TENANT, "a-2", True, "bo", "fine"))
    assert await listed(settled=False) == ["a-3", "a-0"]
    assert await listed(settled=True) == ["a-3", "a-2", "a-1", "a-0"]
    assert await listed(True, seqs[2], 1) == ["a-1"]
    found = await store.change(lambda work: work.authority.approval(TENANT, "a-2"))
    assert found is not None
    assert (found.request, found.settled, found.seq) == (b"\x00\xff", ("bo", True), seqs[2])
    assert await store.change(lambda work: work.authority.approval("other", "a-2")) is None
