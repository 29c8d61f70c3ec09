"""One order: commits and changes are numbered as they land, and a commit holds only on what it was decided on."""

import asyncio
import sqlite3

import pytest

from discreet.policy.facts import FactIds, Micros, Ref
from discreet.server.ports import Exists, Head, NaturalKey, Overtaken, Recorded, Store, StoreError, Work
from discreet.server.ports_policy import Origin, PolicyRow
from discreet.server.stores import sqlite_connect
from tests.contract.databases import ON_SQLITE, Database
from tests.contract.making import (
    ALICE,
    TENANT,
    audit,
    entry,
    facts_of,
    grant,
    job,
    put,
    record,
    revisions,
    suspend,
    withdraw,
)

A = Ref("doc/a", "1")
B = Ref("doc/b", "1")


def policy(number: int = 0) -> PolicyRow:
    return PolicyRow(number, "c" * 40, "d" * 64, False, b"bundle", Micros(7))


async def test_numbers_have_no_gaps_under_concurrency(store: Store, database: Database) -> None:
    """B6, DB-01: with many callers at once, every event has its own number and none is missing."""
    await put(store, record())
    head = await store.head()
    bases = revisions(await facts_of(store, A))

    async def commit() -> list[int]:
        outcomes = [(await store.record([job(head, entry(*bases))]))[0] for _ in range(10)]
        return [outcome.seq for outcome in outcomes if isinstance(outcome, Recorded)]

    async def change(number: int) -> list[int]:
        return [await put(store, record(f"doc/other-{number}", str(version))) for version in range(5)]

    seqs = [*await asyncio.gather(*(commit() for _ in range(12)), *(change(number) for number in range(4)))]
    assert sorted(seq for part in seqs for seq in part) == list(range(head.seq + 1, head.seq + 141))
    assert (await store.head()).seq == head.seq + 140
    assert database.rows("SELECT count(DISTINCT seq) FROM ledger") == [(120,)]


async def test_number_order_is_the_order_in_which_callers_see_it(store: Store) -> None:
    """B6: a commit that begins after another one was answered has a higher number; its clock does not step back."""
    await put(store, record())
    bases = revisions(await facts_of(store, A))
    seen = []
    for _ in range(5):
        (outcome,) = await store.record([job(await store.head(), entry(*bases))])
        assert isinstance(outcome, Recorded)
        seen.append(outcome)
    assert [one.seq for one in seen] == sorted(one.seq for one in seen)
    assert [one.now for one in seen] == sorted(one.now for one in seen)


async def overtaken(
    store: Store,
    database: Database,
    head: Head,
    *bases: tuple[Ref, int],
    grants_revision: int = 0,
    valid_until: int | None = None,
) -> Overtaken:
    """The outcome of a commit that must fail, which leaves nothing behind."""
    before = await store.head()
    counts = [database.rows(f"SELECT count(*) FROM {name}") for name in ("ledger", "ledger_root", "audit_row")]
    (outcome,) = await store.record(
        [job(head, entry(*bases, valid_until=valid_until), grants_revision=grants_revision)]
    )
    assert isinstance(outcome, Overtaken)
    assert (await store.head()).seq == before.seq == outcome.head.seq
    assert counts == [database.rows(f"SELECT count(*) FROM {name}") for name in ("ledger", "ledger_root", "audit_row")]
    return outcome


async def test_a_changed_record_overtakes(store: Store, database: Database) -> None:
    """B6, B2: a commit judged on an earlier revision writes nothing and names the record that changed, and no other."""
    await put(store, record(), record("doc/b"))
    bases = revisions(await facts_of(store, A, B))
    head = await store.head()
    seq = await suspend(store, A)
    outcome = await overtaken(store, database, head, *bases)
    assert outcome.records == (A,)
    assert (outcome.policy, outcome.grants, outcome.expired) == (False, False, False)
    assert outcome.head.changed_seq == seq


async def test_a_record_that_does_not_exist_overtakes(store: Store, database: Database) -> None:
    """B2: nothing rests on a record that the index does not hold, nor on one of another tenant."""
    await put(store, record(), tenant="other")
    assert (await overtaken(store, database, await store.head(), (A, 1))).records == (A,)


async def test_a_new_policy_overtakes(store: Store, database: Database) -> None:
    """B6, F5: a commit decided under an earlier policy revision is decided again."""
    await put(store, record())
    bases = revisions(await facts_of(store, A))
    head = await store.head()
    assert await store.change(lambda work: work.policies.publish(0, policy(), Origin("server"))) == 1
    outcome = await overtaken(store, database, head, *bases)
    assert (outcome.policy, outcome.grants, outcome.expired, outcome.records) == (True, False, False, ())
    assert outcome.head.policy_revision == 1


async def test_a_changed_grant_overtakes(store: Store, database: Database) -> None:
    """B6: giving and withdrawing a scope both overtake; another principal's grants do not."""
    await put(store, record())
    bases = revisions(await facts_of(store, A))
    head = await store.head()
    await grant(store, "desk", principal_id="bob")
    (outcome,) = await store.record([job(head, entry(*bases))])
    assert isinstance(outcome, Recorded)
    seq = await grant(store, "desk")
    assert (await overtaken(store, database, head, *bases)).grants
    await withdraw(store, "desk")
    assert (await overtaken(store, database, head, *bases, grants_revision=seq)).grants


async def test_an_expired_assessment_overtakes(store: Store, database: Database) -> None:
    """B2, B6: the earliest end of what a segment rests on is compared with the database's clock inside the lock."""
    await put(store, record())
    bases = revisions(await facts_of(store, A))
    head = await store.head()
    outcome = await overtaken(store, database, head, *bases, valid_until=head.now)
    assert (outcome.policy, outcome.grants, outcome.expired, outcome.records) == (False, False, True, ())
    (held,) = await store.record([job(head, entry(*bases, valid_until=head.now + 3_600_000_000))])
    assert isinstance(held, Recorded)


async def test_a_call_of_several_segments_is_written_whole_or_not_at_all(store: Store, database: Database) -> None:
    """F5: one overtaken segment keeps the others of its call back, to be decided again together."""
    await put(store, record(), record("doc/b"))
    head = await store.head()
    bases = revisions(await facts_of(store, A, B))
    await suspend(store, B)
    (outcome,) = await store.record([job(head, entry(bases[0]), entry(bases[1]))])
    assert isinstance(outcome, Overtaken)
    assert database.rows("SELECT count(*) FROM ledger") == [(0,)]


async def test_a_repeat_returns_what_was_committed(store: Store, database: Database) -> None:
    """A commit sent again under its natural key is the same commit, even where its facts have changed since."""
    await put(store, record())
    bases = revisions(await facts_of(store, A))
    head = await store.head()
    key = NaturalKey(TENANT, "s-1", "answer-1", "seg-1")
    first = entry(*bases, key=key)
    await store.record([job(head, first)])
    await suspend(store, A)
    (outcome,) = await store.record([job(head, entry(*bases, key=key))])
    assert outcome == Exists({key: first.ledger_id}, same=True)
    assert await store.find_commits([key, key._replace(segment_id="no")]) == {key: (first.ledger_id, first.fingerprint)}
    assert database.rows("SELECT count(*) FROM audit_row") == [(1,)]


async def test_a_key_taken_by_something_else_writes_nothing_of_the_call(store: Store, database: Database) -> None:
    """F5: another digest, binding or principal under a natural key refuses the whole call, what is new in it too."""
    await put(store, record())
    bases = revisions(await facts_of(store, A))
    head = await store.head()
    key = NaturalKey(TENANT, "s-1", "answer-1", "seg-1")
    first = entry(*bases, key=key)
    await store.record([job(head, first)])
    (outcome,) = await store.record([job(head, entry(*bases), entry(*bases, key=key, fingerprint=b"other" * 8))])
    assert outcome == Exists({key: first.ledger_id}, same=False)
    assert database.rows("SELECT count(*) FROM ledger") == [(1,)]


async def test_natural_keys_are_compared_part_by_part(store: Store) -> None:
    """REV-08: parts that would be equal when joined by a separator are different keys."""
    await put(store, record(), tenant="marlowe:eu")
    await put(store, record(), tenant="marlowe")
    head = await store.head()
    keys = [
        NaturalKey("marlowe:eu", "7", "a", "s"),
        NaturalKey("marlowe", "eu:7", "a", "s"),
        NaturalKey("marlowe", "eu", "7:a", "s"),
        NaturalKey("marlowe", "eu", "7", "a:s"),
        NaturalKey("marlowe", "eu|7", "a%", "s"),
        NaturalKey("marlowe", "eu", "7|a%", "s"),
    ]
    for key in keys:
        found = await facts_of(store, A, tenant=key.tenant)
        (outcome,) = await store.record([job(head, entry(*revisions(found), key=key))])
        assert isinstance(outcome, Recorded)
    assert set(await store.find_commits(keys)) == set(keys)


async def test_the_ledger_row_its_roots_and_the_audit_row_land_together(store: Store, database: Database) -> None:
    """F4, F7: a commit leaves segment, roots and audit row in one transaction, tied by the chain's link."""
    await put(store, record(), record("doc/b"))
    head = await store.head()
    bases = revisions(await facts_of(store, A, B))
    made = job(head, entry(*bases))
    (outcome,) = await store.record([made])
    assert isinstance(outcome, Recorded)
    assert database.rows("SELECT ledger_id, seq, committed_at, store_by FROM ledger") == [
        (made.entries[0].ledger_id, outcome.seq, outcome.now, outcome.now + 1_000_000)
    ]
    roots = database.rows("SELECT record_id, version, revision FROM ledger_root ORDER BY record_id")
    assert roots == sorted((*ref, revision) for ref, revision in bases)
    tied = "SELECT a.request_id FROM ledger l JOIN audit_row a ON a.writer = l.writer AND a.n = l.n"
    assert database.rows(tied) == [(made.audit.request_id,)]
    resting = await store.change(lambda work: work.authority.resting(TENANT, [A]))
    assert [one.ledger_id for one in resting] == [made.entries[0].ledger_id]


async def test_a_change_that_raises_leaves_nothing(store: Store, database: Database) -> None:
    """F2: an index change lands whole or not at all; the exception is the caller's own."""
    await put(store, record())
    before = await store.head()

    def work(work: Work) -> None:
        work.write_records(TENANT, [(record("doc/c"), "doc/c")])
        work.withdraw(TENANT, ALICE, "desk")
        work.policies.publish(0, policy(), Origin("server"))
        work.audit(audit())
        assert work.head.policy_revision == 1
        raise KeyError("changed my mind")

    with pytest.raises(KeyError, match="changed my mind"):
        await store.change(work)
    after = await store.head()
    assert after[:4] == before[:4]
    assert await facts_of(store, Ref("doc/c", "1")) == {}
    assert database.rows("SELECT count(*) FROM audit_row") == [(0,)]
    assert await store.policy_row(0) is None


async def test_a_policy_is_published_only_over_the_one_it_was_made_for(store: Store) -> None:
    """F2: publication compares and sets; the loser learns it and changes nothing."""
    assert await store.change(lambda work: work.policies.publish(0, policy(), Origin("server"))) == 1
    assert await store.change(lambda work: work.policies.publish(0, policy(), Origin("server"))) is None
    assert (
        await store.change(lambda work: work.policies.publish(1, policy()._replace(commit="e" * 40), Origin("server")))
        == 2
    )
    assert (await store.head()).policy_revision == 2
    in_force = await store.policy_row(0)
    assert in_force is not None
    assert (in_force.number, in_force.commit, in_force.bundle, in_force.published_at) == (2, "e" * 40, b"bundle", 7)
    assert await store.policy_row(1) == policy(1)
    assert await store.policy_row(9) is None


async def test_the_tail_names_what_changed_in_order(store: Store) -> None:
    """F1: events that changed facts can be followed; commits are not among them and move changed_seq not at all."""
    await put(store, record(), record("doc/b"))
    head = await store.head()
    await store.record([job(head, entry(*revisions(await facts_of(store, A))))])
    await grant(store, "desk")
    await store.change(lambda work: work.policies.publish(0, policy(), Origin("server")))
    changes = await store.changes(0, 100)
    assert [(change.seq, change.kind.value, change.tenant, change.id) for change in changes] == [
        (1, "record", TENANT, "doc/a"),
        (2, "record", TENANT, "doc/b"),
        (4, "grants", TENANT, ALICE),
        (5, "policy", "", ""),
    ]
    assert await store.changes(2, 1) == changes[2:3]
    after = await store.head()
    assert (after.seq, after.changed_seq) == (5, 5)
    await store.record([job(after, entry(*revisions(await facts_of(store, A))), grants_revision=4)])
    later = await store.head()
    assert (later.seq, later.changed_seq, later.epoch) == (6, 5, head.epoch)


async def test_1500_operations_of_8_callers_meet_no_lock(store: Store, database: Database) -> None:
    """DB-01: callers that read a grant, then write the ledger, beside a reader that stays and a backup: no error."""
    await put(store, record())
    bases = revisions(await facts_of(store, A))
    head = await store.head()

    async def caller() -> int:
        held = 0
        for _ in range(94):
            await store.fetch(TENANT, FactIds((A,), ALICE))
            (outcome,) = await store.record([job(head, entry(*bases))])
            held += isinstance(outcome, Recorded)
        return held

    with database.snapshot() as backup:
        copying = asyncio.create_task(asyncio.to_thread(backup))
        assert sum(await asyncio.gather(*(caller() for _ in range(8)))) == 752
        await copying
    assert database.rows("SELECT count(*) FROM ledger") == [(752,)]
    assert database.rows("SELECT max(seq) - min(seq) FROM ledger") == [(751,)]


@ON_SQLITE
async def test_a_file_that_stays_locked_is_given_up_with_an_error(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DB-01: past its time limit a write is an error that says so, nothing of it is written, and later ones succeed."""
    monkeypatch.setattr(sqlite_connect, "BUSY_TIMEOUT_MS", 20)
    store = await database.open()
    await put(store, record())
    made = job(await store.head(), entry(*revisions(await facts_of(store, A))))
    foreign = sqlite3.connect(database.url, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked"):
        await store.record([made])
    with pytest.raises(StoreError, match="locked"):
        await suspend(store, A)
    assert set(await facts_of(store, A)) == {A}
    foreign.execute("ROLLBACK")
    foreign.close()
    assert isinstance((await store.record([made]))[0], Recorded)
    assert database.rows("SELECT count(*) FROM audit_row") == [(1,)]


async def test_a_closed_store_refuses(database: Database) -> None:
    """A12: after its end a store answers with an error, never with what it knew."""
    store = await database.open()
    await store.close()
    for call in (store.head(), store.record([job(Head("", 0, 0, 0, Micros(0)), entry())]), store.changes(0, 1)):
        with pytest.raises(StoreError):
            await call
