"""Groups, the audit chain, and outcomes that got lost on the way."""

import asyncio
from dataclasses import replace

import pytest

from discreet.policy.facts import Ref
from discreet.server.ports import Exists, Job, OutcomeUnknown, Overtaken, Recorded, Store, StoreError, Work
from discreet.server.stores import open_store, postgres_lane, sqlite_writer
from tests.contract.breaking import breaker
from tests.contract.chains import named_heads, verified_heads
from tests.contract.databases import ON_POSTGRESQL, ON_SQLITE, Database
from tests.contract.holding import row_held
from tests.contract.making import TENANT, audit, decision, entry, facts_of, job, put, record, revisions, suspend

A = Ref("doc/a", "1")


async def bases_of(store: Store) -> tuple[tuple[Ref, int], ...]:
    await put(store, record())
    return revisions(await facts_of(store, A))


async def test_calls_that_wait_together_share_a_link(store: Store, database: Database) -> None:
    """F7: what arrives while a transaction runs goes into the next one, and the chain holds over all of it."""
    bases = await bases_of(store)
    head = await store.head()
    async with row_held(database, store) as holder:
        calls = [asyncio.create_task(store.record([job(head, entry(*bases))])) for _ in range(60)]
        await holder.waiting(1)
    outcomes = [outcome for (outcome,) in await asyncio.gather(*calls)]
    assert sorted(one.seq for one in outcomes if isinstance(one, Recorded)) == list(range(2, 62))
    assert database.rows("SELECT count(*) FROM audit_link")[0][0] <= 2
    assert sum(n for n, _ in verified_heads(database).values()) <= 2


async def test_a_bad_job_fails_alone(store: Store, database: Database) -> None:
    """F7, DB-02: a group with jobs that the database refuses is repeated one by one; the others are recorded."""
    bases = await bases_of(store)
    head = await store.head()
    first = entry(*bases)
    await store.record([job(head, first)])
    good = [job(head, entry(*bases)) for _ in range(20)]
    twice = entry(*bases)
    bad = [
        replace(job(head, entry(*bases)), audit=audit(session_id="\ud800")),
        replace(job(head, entry(*bases)), audit=audit(at=2**70)),
        job(head, replace(entry(*bases), ledger_id=first.ledger_id)),
        job(head, twice, replace(twice, ledger_id="f" * 32)),
        Job(replace(audit(), principal_id="\udfff")),
    ]
    async with row_held(database, store) as holder:
        calls = [asyncio.create_task(store.record([one])) for one in (*good[:10], *bad, *good[10:])]
        await holder.waiting(1)
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    refused = outcomes[10 : 10 + len(bad)]
    assert all(isinstance(one, StoreError) and not isinstance(one, OutcomeUnknown) for one in refused)
    assert all(str(2**70) not in str(one) for one in refused)
    held = [one[0] for one in (*outcomes[:10], *outcomes[10 + len(bad) :]) if isinstance(one, list)]
    assert sorted(one.seq for one in held if isinstance(one, Recorded)) == list(range(3, 23))
    assert database.rows("SELECT count(*) FROM ledger") == [(21,)]
    verified_heads(database)


@ON_SQLITE
async def test_a_writer_outlives_what_it_does_not_expect(store: Store, database: Database) -> None:
    """AUD-07, A12: with the row of the order gone every call is told so at once, and all is well when it is back."""
    bases = await bases_of(store)
    made = job(await store.head(), entry(*bases))
    (row,) = database.rows("SELECT * FROM authority")
    database.rows("DELETE FROM authority")
    for _ in range(2):
        with pytest.raises(OutcomeUnknown, match="the writer failed"):
            await asyncio.wait_for(store.record([made]), 30)
    database.rows(f"INSERT INTO authority VALUES {row!r}")
    assert [type(one) for one in await asyncio.wait_for(store.record([made]), 30)] == [Recorded]
    verified_heads(database)


async def test_every_outcome_of_a_group_is_that_of_its_own_job(store: Store, database: Database) -> None:
    """F5: held, overtaken, repeated and audit-only jobs in one call keep their places."""
    bases = await bases_of(store)
    head = await store.head()
    made = entry(*bases)
    await store.record([job(head, made)])
    again = job(head, replace(made, ledger_id="e" * 32))
    stale = job(head, entry((A, 99)))
    outcomes = await store.record([job(head, entry(*bases)), stale, Job(audit()), again, job(head, entry(*bases))])
    assert [type(one) for one in outcomes] == [Recorded, Overtaken, Recorded, Exists, Recorded]
    assert [one.seq for one in outcomes if isinstance(one, Recorded)] == [3, 0, 4]
    assert database.rows("SELECT count(*) FROM audit_row") == [(4,)]
    verified_heads(database)


async def test_the_chain_holds_over_commits_checks_changes_and_restarts(database: Database) -> None:
    """F7: every row is in a link, every link follows from the one before, new writers name the heads of dead ones."""
    store = await database.open()
    bases = await bases_of(store)
    head = await store.head()
    for number in range(5):
        await store.record([Job(audit(body=b"check %d" % number, decisions=(decision(), decision())))])
        await store.record([job(head, entry(*bases), body=b"commit %d" % number)])
        await store.change(lambda work: work.audit(audit(body=b"change")))
    before = verified_heads(database)
    assert sum(len(part) for part in database.rows("SELECT ordinal FROM audit_row")) == 15
    await store.close()
    again = await database.open()
    await asyncio.gather(*(again.record([job(head, entry(*bases))]) for _ in range(8)))
    after = verified_heads(database)
    assert before.items() <= after.items()
    assert {(name, n, link.hex()) for name, (n, link) in before.items()} <= named_heads(database)


async def test_an_altered_row_breaks_the_chain(store: Store, database: Database) -> None:
    """F7: the check above would notice: it recomputes from the stored bytes."""
    await store.record([Job(audit(body=b"true"))])
    verified_heads(database)
    database.rows("UPDATE audit_row SET body = ? RETURNING 1", [b"false"])
    with pytest.raises(AssertionError):
        verified_heads(database)


async def test_a_full_queue_is_refused_at_once(
    store: Store, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A12: a slow database is felt as a refusal, not as growing memory; who waits already is served."""
    bases = await bases_of(store)
    head = await store.head()
    monkeypatch.setattr(postgres_lane, "QUEUE_MAX", 3)
    monkeypatch.setattr(sqlite_writer, "QUEUE_MAX", 3)
    async with row_held(database, store) as holder:
        first = asyncio.create_task(store.record([job(head, entry(*bases))]))
        await holder.waiting(1)
        calls = [asyncio.create_task(store.record([job(head, entry(*bases))])) for _ in range(6)]
        await asyncio.sleep(0)
        refused = [call for call in calls if call.done()]
        assert 3 <= len(refused) < 6  # how many wait depends on what is under way already
        for call in refused:
            with pytest.raises(StoreError, match="busy"):
                await call
    outcomes = await asyncio.gather(first, *(call for call in calls if call not in refused))
    assert all(isinstance(one, Recorded) for (one,) in outcomes)


async def test_a_caller_that_gave_up_harms_nobody(store: Store, database: Database) -> None:
    """A12: a cancelled call may or may not be recorded; those beside it are, and the chain holds."""
    bases = await bases_of(store)
    head = await store.head()
    async with row_held(database, store) as holder:
        calls = [asyncio.create_task(store.record([job(head, entry(*bases))])) for _ in range(6)]
        await holder.waiting(1)
        calls[0].cancel()
        calls[3].cancel()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(one, list) for one in outcomes) == 4
    verified_heads(database)


@ON_POSTGRESQL
@pytest.mark.parametrize("answered", [True, False])
async def test_a_commit_whose_line_broke_is_recorded_once(database: Database, answered: bool) -> None:
    """DB-02: whether the question or the answer was lost, the outcome is learned and the commit is there once."""
    async with breaker(database.url) as line:
        store = open_store(line.url)
        await store.open()
        bases = await bases_of(store)
        head = await store.head()
        await store.record([job(head, entry(*bases))])
        line.arm(answered=answered)
        (outcome,) = await store.record([job(head, entry(*bases))])
        assert isinstance(outcome, Recorded)
        assert (outcome.seq, line.broken) == (3, 1)
        line.arm(answered=answered)
        stale = job(head, entry((A, 99)))
        mixed = await asyncio.gather(*(store.record([one]) for one in (job(head, entry(*bases)), stale)))
        assert [type(one) for (one,) in mixed] == [Recorded, Overtaken]
        await store.record([Job(audit())])
        line.arm(answered=answered)
        assert isinstance((await store.record([Job(audit())]))[0], Recorded)
        assert line.broken == 3
        await store.close()
    assert database.rows("SELECT seq FROM ledger ORDER BY seq") == [(2,), (3,), (4,)]
    assert database.rows("SELECT count(*) FROM audit_row") == [(5,)]
    verified_heads(database)


@ON_POSTGRESQL
async def test_an_outcome_that_cannot_be_learned_is_said_to_be_unknown(database: Database) -> None:
    """DB-02: unknown is not failed; and before the next link is built, the lost one is looked up."""
    async with breaker(database.url) as line:
        store = open_store(line.url)
        await store.open()
        bases = await bases_of(store)
        head = await store.head()
        await store.record([job(head, entry(*bases))])
        line.arm(answered=True)
        line.refusing = True
        with pytest.raises(OutcomeUnknown):
            await store.record([job(head, entry(*bases))])
        with pytest.raises(StoreError):
            await store.record([job(head, entry(*bases))])
        line.refusing = False
        (outcome,) = await store.record([job(head, entry(*bases))])
        assert isinstance(outcome, Recorded)
        assert outcome.seq == 4
        await store.close()
    assert database.rows("SELECT seq FROM ledger ORDER BY seq") == [(2,), (3,), (4,)]
    verified_heads(database)


@ON_POSTGRESQL
@pytest.mark.parametrize("answered", [True, False])
async def test_a_change_whose_commit_was_lost_is_looked_up(database: Database, answered: bool) -> None:
    """DB-02: an index change is reported as made or as not made, as it is."""
    async with breaker(database.url) as line:
        store = open_store(line.url)
        await store.open()
        await put(store, record())

        def work(work: Work) -> int:
            work.audit(audit())
            return work.write_records(TENANT, [(record("doc/b"), "doc/b")])

        line.arm(b"COMMIT", answered=answered)
        if answered:
            assert await store.change(work) == 2
        else:
            with pytest.raises(StoreError, match="nothing was written"):
                await store.change(work)
        assert line.broken == 1
        assert await store.change(work) == (3 if answered else 2)
        await store.close()
    verified_heads(database)


@ON_POSTGRESQL
async def test_reads_survive_lines_that_broke(database: Database) -> None:
    """A12: a read whose line broke is asked again on a new one; one that cannot be asked is an error in time."""
    async with breaker(database.url) as line:
        store = open_store(line.url)
        head = await store.open()
        line.arm(answered=False)
        assert (await store.head())[:4] == head[:4]
        assert line.broken == 1
        line.refusing = True
        line.arm(answered=True)
        with pytest.raises(StoreError, match="cannot be reached"):
            await store.head()
        line.refusing = False
        assert (await store.head())[:4] == head[:4]
        await suspend_and_see(store)
        await store.close()


async def suspend_and_see(store: Store) -> None:
    await put(store, record())
    await suspend(store, A)
    assert (await facts_of(store, A))[A].suspended
