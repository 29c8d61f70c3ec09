"""What a call is given: records, roots, current versions, grants and ledger entries, as of one state."""

import asyncio
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.facts import FactIds, GrantFacts, Micros, RecordFacts, Ref, Revoke
from discreet.policy.words import Grounding, Origin, RecordKind
from discreet.server.ports import Store, Work
from discreet.server.stores.rows import RECORD_COLUMNS, canonical, record_facts, record_row
from tests.contract.databases import Database
from tests.contract.making import (
    ALICE,
    LABEL,
    TENANT,
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
FULL = replace(
    record("évidence/ä", "v 2"),
    kind=RecordKind.EVIDENCE,
    as_of=Micros(-5),
    basis="GAAP",
    scopes=("desk", "public"),
    attributes={"status": "Final", "n": 3, "x": 1.0, "deep": {"list": [1, None, True, "\u0000é"]}, "null": None},
    superseded_by=Ref("doc/b", "1"),
    suspended=True,
    unreachable=True,
    revoked=Revoke("op", "wrong", "T-1", Micros(5), Micros(9), 0),
    origin=Origin.DERIVED,
    of=(Ref("doc/a", "1"),),
    fields={"price": 2**62, "share": -0.5},
    formula="a / b",
    inputs=(Ref("doc/b", "1"), Ref("doc/c", "1")),
    roots=(Ref("doc/a", "1"), Ref("doc/b", "1"), Ref("doc/c", "1")),
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


async def test_every_fact_of_a_record_comes_back_as_it_was_written(store: Store) -> None:
    """B5: on both databases, with texts of any script, empty and full; the revision and the revoke's event are set."""
    await put(store, *(record(name) for name in ("doc/a", "doc/b", "doc/c")))
    seq = await put(store, FULL)
    assert FULL.revoked is not None
    expected = replace(FULL, revision=seq, revoked=replace(FULL.revoked, seq=seq))
    assert (await facts_of(store, FULL.ref))[FULL.ref] == expected
    assert await store.get_record(TENANT, FULL.record_id, "", 0) == [expected]
    plain = (await facts_of(store, A))[A]
    assert plain == record(revision=plain.revision)
    again = await store.change(lambda work: work.write_records(TENANT, [(replace(expected, suspended=False), "e")]))
    later = (await facts_of(store, FULL.ref))[FULL.ref]
    assert later == replace(expected, suspended=False, revision=again)


@given(st.dictionaries(TEXT, VALUES, max_size=4), st.lists(TEXT, max_size=3), TEXT)
def test_values_keep_their_types_in_rows(attributes: dict[str, object], scopes: list[str], basis: str) -> None:
    """Integers stay integers and doubles doubles: conditions tell them apart. Equal facts are equal rows."""
    made = replace(record(), attributes=attributes, fields=attributes, scopes=tuple(scopes), basis=basis)
    row = record_row(TENANT, made, 7)
    back = record_facts([row[name] for name in RECORD_COLUMNS])
    assert back == replace(made, revision=7)
    assert canonical(back.attributes) == canonical(attributes)  # which tells 1 from 1.0, as == does not
    assert row == record_row(TENANT, back, 7)


async def test_a_fetch_has_roots_and_current_versions_of_what_was_asked(store: Store) -> None:
    """B4, B9: the roots of records and of current versions come along, and nothing else does."""
    await put(store, *(record(name) for name in ("doc/a", "doc/b", "doc/c", "doc/d")))
    await put(store, replace(FULL, version="1", current=False, roots=(A,)))
    await put(store, replace(FULL, version="2", roots=(Ref("doc/b", "1"), Ref("doc/gone", "1"))))
    asked = (Ref(FULL.record_id, "1"), Ref("doc/c", "9"), Ref("nothing", "1"))
    facts = await store.fetch(TENANT, FactIds(asked, ALICE))
    assert set(facts.records) == {asked[0], A, Ref("doc/b", "1")}
    assert {name: one.version for name, one in facts.current.items()} == {FULL.record_id: "2", "doc/c": "1"}
    assert (facts.epoch, facts.seq) == (await store.head())[:2]
    assert all(one.ref == ref for ref, one in facts.records.items())


async def test_a_tenant_reads_its_own_records_alone(store: Store) -> None:
    """REV-08: tenant, record id and version are parts of a key, never one joined text."""
    await put(store, record("eu:7", "1"), tenant="marlowe")
    await put(store, record("7", "1"), tenant="marlowe:eu")
    assert set(await facts_of(store, Ref("eu:7", "1"), Ref("7", "1"), tenant="marlowe")) == {Ref("eu:7", "1")}
    assert set(await facts_of(store, Ref("eu:7", "1"), Ref("7", "1"), tenant="marlowe:eu")) == {Ref("7", "1")}
    assert await facts_of(store, Ref("eu", "7:1"), Ref("eu:7", "1"), tenant="other") == {}
    assert await store.list_records("marlowe", "", "", False, None, 10) == [
        (await facts_of(store, Ref("eu:7", "1"), tenant="marlowe"))[Ref("eu:7", "1")]
    ]


async def test_ids_are_compared_by_exact_code_points(store: Store) -> None:
    """A2: case, accents and look-alike letters make different ids, and order is that of code points."""
    names = ["Doc", "doc", "dоc", "doc ", "dóc", "do\u0301c", "ß", "ss"]
    await put(store, *(record(name) for name in names))
    facts = await store.fetch(TENANT, FactIds(tuple(Ref(name, "1") for name in names), ALICE))
    assert len(facts.records) == len(names)
    listed = await store.list_records(TENANT, "", "", False, None, 100)
    assert [one.record_id for one in listed] == sorted(names)


async def test_ledger_entries_come_with_the_facts_of_their_roots(store: Store) -> None:
    """F6, B1: what was shown can be judged again by its ledger id, in its own tenant alone."""
    await put(store, record(), record("doc/b"))
    bases = revisions(await facts_of(store, A, Ref("doc/b", "1")))
    made = entry(*bases)
    (outcome,) = await store.record([job(await store.head(), made)])
    await suspend(store, A)
    await put(store, record("doc/b", "2"))
    facts = await store.fetch(TENANT, FactIds((), ALICE, (made.ledger_id, "0" * 32)))
    (found,) = facts.ledger.values()
    assert facts.ledger == {made.ledger_id: found}
    assert found.roots == (A, Ref("doc/b", "1"))
    assert (found.segment, found.segment_digest, found.grounding) == (made.segment, "d" * 64, Grounding.BOUND)
    assert (found.session_id, found.answer_id, found.segment_id) == made.key[1:]
    assert (found.principal_id, found.need_numbers, found.need_advice) == (ALICE, False, True)
    assert found.store_by - found.committed_at == 1_000_000
    assert found.seq == getattr(outcome, "seq", None)
    assert facts.records[A].suspended
    assert not facts.records[Ref("doc/b", "1")].current
    assert facts.current["doc/b"].version == "2"
    other = await store.fetch("other", FactIds((), ALICE, (made.ledger_id,)))
    assert (other.ledger, other.records) == ({}, {})


async def test_a_new_current_version_takes_over(store: Store, database: Database) -> None:
    """B2: one version of a record is current; the one before gets a revision that says so, under the same number."""
    first = await put(store, record("doc/a", "1"))
    second = await put(store, record("doc/a", "2"))
    assert second == first + 1
    history = await store.get_record(TENANT, "doc/a", "1", 10)
    assert [(one.revision, one.current) for one in history] == [(second, False), (first, True)]
    assert await store.get_record(TENANT, "doc/a", "1", 0) == history[:1]
    (current,) = await store.get_record(TENANT, "doc/a", "", 0)
    assert (current.version, current.revision) == ("2", second)
    third = await put(store, record("doc/a", "3"), record("doc/a", "4"), record("doc/a", "5", current=False))
    assert third == second + 1
    listed = await store.list_records(TENANT, "", "doc/a", False, None, 10)
    assert [(one.version, one.current, one.revision) for one in listed] == [
        ("1", False, second),
        ("2", False, third),
        ("3", False, third),
        ("4", True, third),
        ("5", False, third),
    ]
    assert database.rows("SELECT count(*) FROM record_revision") == [(7,)]
    back = await put(store, record("doc/a", "1"))
    assert [one.version for one in await store.list_records(TENANT, "", "", True, None, 10)] == ["1"]
    assert (await facts_of(store, Ref("doc/a", "4")))[Ref("doc/a", "4")].revision == back


async def test_a_version_that_stands_twice_in_one_write_gets_two_revisions(store: Store) -> None:
    """B5: nothing that was registered is lost, in the order in which it was given."""
    one, two = record(), replace(record(), basis="later")
    last = await store.change(lambda work: work.write_records(TENANT, [(one, "k"), (record("doc/b"), "b"), (two, "k")]))
    history = await store.get_record(TENANT, "doc/a", "1", 5)
    assert [(found.basis, found.revision, found.current) for found in history] == [("later", last, True), ("", 1, True)]


async def test_an_index_change_reads_what_it_wrote(store: Store) -> None:
    """F2: within its transaction a change sees its own records, grants and numbers."""
    await put(store, record("doc/z"))

    def work(work: Work) -> None:
        seq = work.write_records(TENANT, [(record(), "k"), (record("doc/b"), "k")])
        assert (seq, work.head.seq, work.head.changed_seq) == (3, 3, 3)
        assert work.record(TENANT, A) == record(revision=2)
        assert work.record(TENANT, Ref("doc/a", "9")) is None
        assert work.current(TENANT, "doc/b") == record("doc/b", revision=3)
        assert set(work.records(TENANT, [A, A, Ref("doc/b", "1"), Ref("no", "1")])) == {A, Ref("doc/b", "1")}
        assert set(work.currents(TENANT, ["doc/a", "doc/z", "no"])) == {"doc/a", "doc/z"}
        assert work.records("other", [A]) == {}
        assert abs(work.now - work.head.now) == 0

    await store.change(work)


async def test_a_lookalike_of_the_same_source_is_found(store: Store) -> None:
    """A2: an id whose skeleton another id of its source has is named that other; its own versions are none."""

    def work(work: Work) -> list[str | None]:
        work.write_records(TENANT, [(record("Doc"), "doc"), (record("Doc", "2"), "doc"), (record("x"), "x")])
        return [
            work.lookalike(TENANT, LABEL, "d0c", "doc"),
            work.lookalike(TENANT, LABEL, "Doc", "doc"),
            work.lookalike(TENANT, "else", "d0c", "doc"),
            work.lookalike("other", LABEL, "d0c", "doc"),
            work.lookalike(TENANT, LABEL, "y", "y"),
        ]

    assert await store.change(work) == ["Doc", None, None, None, None]


async def test_records_are_listed_in_pages(store: Store) -> None:
    """Each record once, in the order of id and version, whatever the page's size; by label, by id, current alone."""
    made = [record(f"doc/{number % 7}", str(number)) for number in range(30)]
    await put(store, *made)
    await put(store, replace(record("doc/other"), source_label="else"))
    for size in (1, 7, 100):
        seen: list[RecordFacts] = []
        while True:
            after = (seen[-1].record_id, seen[-1].version) if seen else None
            page = await store.list_records(TENANT, LABEL, "", False, after, size)
            seen += page
            if len(page) < size:
                break
        assert [one.ref for one in seen] == sorted(one.ref for one in made)
    assert len(await store.list_records(TENANT, "", "", False, None, 100)) == 31
    assert len(await store.list_records(TENANT, "", "doc/3", False, None, 100)) == 4
    current = await store.list_records(TENANT, LABEL, "", True, None, 100)
    assert [one.version for one in current] == ["28", "29", "23", "24", "25", "26", "27"]
    assert await store.get_record(TENANT, "no", "", 3) == []


async def test_a_grant_given_again_stands_again(store: Store) -> None:
    """DB-05: grant, withdraw, grant: the third state is a new generation that stands; history shows all three."""
    first = await grant(store, "desk")
    assert await withdraw(store, "desk") == 1
    assert (await store.fetch(TENANT, FactIds((), ALICE))).grants.grants == ()
    assert (await store.fetch(TENANT, FactIds((), ALICE))).grants.revision == first + 1
    third = await grant(store, "desk")
    grants = (await store.fetch(TENANT, FactIds((), ALICE))).grants
    assert [(one.scope, one.generation, one.revision) for one in grants.grants] == [("desk", 2, third)]
    assert grants.revision == third
    history = await store.list_grants(TENANT, "", True, None, 10)
    assert [(one.grant.generation, one.grant.revision, one.withdrawn) for one in history] == [
        (1, first, True),
        (2, third, False),
    ]
    assert [one.grant.generation for one in await store.list_grants(TENANT, ALICE, False, None, 10)] == [2]
    assert await withdraw(store, "desk") == 1
    assert await withdraw(store, "desk") == 0


async def test_a_grant_given_again_in_the_same_transaction_stands(store: Store) -> None:
    """DB-05: the withdrawn row is no obstacle, in one transaction either; several standing grants end together."""

    def work(work: Work) -> None:
        for generation, until in ((1, None), (2, Micros(9))):
            work.write_grant(TENANT, ALICE, GrantFacts("desk", generation, 0, Micros(1), until))
        assert work.withdraw(TENANT, ALICE, "desk") == 2
        assert work.grants(TENANT, ALICE).grants == ()
        assert work.generation(TENANT, ALICE, "desk") == 2
        work.write_grant(TENANT, ALICE, GrantFacts("desk", 3, 0, Micros(5), Micros(8)))
        work.write_grant(TENANT, ALICE, GrantFacts("other", 1, 0, Micros(5)))
        assert [one.generation for one in work.grants(TENANT, ALICE).grants] == [3, 1]
        assert work.grants(TENANT, "bob").revision == 0

    await store.change(work)
    grants = (await store.fetch(TENANT, FactIds((), ALICE))).grants
    assert grants.grants == (
        GrantFacts("desk", 3, 4, Micros(5), Micros(8)),
        GrantFacts("other", 1, 5, Micros(5), None),
    )
    assert grants.revision == 5
    assert [one.withdrawn for one in await store.list_grants(TENANT, ALICE, True, None, 10)] == [
        True,
        True,
        False,
        False,
    ]
    page = await store.list_grants(TENANT, "", True, (ALICE, "desk", 1), 2)
    assert [(one.grant.scope, one.grant.generation) for one in page] == [("desk", 2), ("desk", 3)]
    assert (await store.fetch("other", FactIds((), ALICE))).grants.grants == ()


async def test_a_fetch_sees_a_change_whole_or_not_at_all(store: Store) -> None:
    """F2, B9: two records that change together are never seen apart, and the facts' seq is that of the state seen."""
    b = Ref("doc/b", "1")
    await put(store, record(), record("doc/b"))

    async def change() -> None:
        for number in range(30):
            await put(store, *(replace(record(name), basis=str(number)) for name in ("doc/a", "doc/b")))

    async def look() -> set[bool]:
        seen = set()
        for _ in range(60):
            facts = await store.fetch(TENANT, FactIds((A, b), ALICE))
            seen.add(facts.records[A].basis == facts.records[b].basis and facts.seq == facts.records[b].revision)
        return seen

    _, *seen = await asyncio.gather(change(), look(), look())
    assert seen == [{True}, {True}]
