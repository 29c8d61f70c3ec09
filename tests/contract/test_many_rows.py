"""Many rows are appended as they are given, by a way of their own, on either database."""

from dataclasses import replace

from discreet.policy.facts import Micros, Ref, Revoke
from discreet.policy.words import HolderKind, PurgeItemKind, PurgeState, TombstoneKind
from discreet.server.ports import Store, Work
from discreet.server.ports_authority import HolderRow, ItemRow, OrderRow, TombstoneFilter, TombstoneRow
from discreet.server.stores.many import AT_ONCE, MANY
from tests.contract.databases import Database
from tests.contract.making import LABEL, TENANT, facts_of, put, record

NAMES = ("", "plain", "a,b", '"quoted"', "{brace}", "back\\slash", "NULL", "é 語 𝄞", "%s :name ?", "it's", " ", "\t\n")
ORDER = OrderRow("o-1", "x", "op", "why", "T-1", Micros(1), Micros(2), Micros(3), None, 0, 0)


def items(count: int) -> list[ItemRow]:
    """Items of both kinds whose texts are such as a database might take for something else."""
    made = []
    for number in range(1, count + 1):
        name = NAMES[number % len(NAMES)]
        if number % 3:
            kind, ref = PurgeItemKind.RECORD, Ref(f"{name}{number}", name)
            made.append(ItemRow("o-1", number, kind, f"d{number}", ref=ref, label=name))
        else:
            kind, until = PurgeItemKind.SEGMENT, Micros(2**62 + number) if number % 2 else None
            made.append(ItemRow("o-1", number, kind, name, f"led-{number}", store_by=until))
    return made


async def test_an_order_of_many_items_reads_as_it_was_written(store: Store, database: Database) -> None:
    """B7: text, numbers, nothing at all; more than one statement's worth; a part for each holder it concerns."""
    given = items(AT_ONCE + MANY)

    def work(index: Work) -> None:
        for name, kind in (("store", HolderKind.SEGMENT_STORE), ("vectors", HolderKind.DOCUMENT_STORE)):
            index.purges.write_holder(TENANT, HolderRow(name, kind, (), "", None, index.now), "op", "why")
        index.purges.write_order(TENANT, ORDER, given)

    await store.change(work)
    found = database.rows(
        "SELECT order_id, item, kind, digest, ledger_id, record_id, version, label, store_by FROM purge_item"
        " ORDER BY item"
    )
    assert [
        ItemRow(row[0], row[1], PurgeItemKind(row[2]), row[3], row[4], Ref(row[5], row[6]), row[7], row[8])
        for row in found
    ] == given
    parts = database.rows(
        "SELECT item, holder, state, available_at, due_at, answers, recheck, failure, answered_at FROM purge_part"
        " ORDER BY item"
    )
    wanted = [(one.item, "store" if one.kind is PurgeItemKind.SEGMENT else "vectors") for one in given]
    assert [tuple(row[:2]) for row in parts] == wanted
    assert {(*row[2:6], bool(row[6]), *row[7:]) for row in parts} == {(int(PurgeState.OPEN), 2, 3, 0, False, "", None)}


async def test_many_records_and_tombstones_read_as_they_were_written(store: Store) -> None:
    """B7: what many rows say of a version is what one row would: flags, times, nothing, and its revoke."""
    revoke = Revoke("op", "why", "T-1", Micros(1), Micros(1), 5, "o-1")
    many = [
        replace(
            record(f"doc/{number}"),
            basis=NAMES[number % len(NAMES)],
            as_of=Micros(2**60) if number % 2 else None,
            suspended=number % 3 == 0,
            revoked=revoke if number % 5 == 0 else None,
        )
        for number in range(MANY * 2)
    ]
    await put(store, *many)
    found = await facts_of(store, *(one.ref for one in many))
    said = [replace(found[one.ref], revision=0, recorded_at=one.recorded_at) for one in many]
    assert said == [replace(one, revision=0) for one in many]
    stones = [
        TombstoneRow(f"t-{number:04}", TombstoneKind.DIGEST, f"d{number}", Ref(NAMES[number % len(NAMES)], LABEL))
        for number in range(MANY * 2)
    ]
    await store.change(lambda index: index.authority.write_tombstones(TENANT, stones))
    kept = await store.look(lambda look: look.tombstones(TENANT, TombstoneFilter(), "", MANY * 3))
    assert [one._replace(at=stones[0].at) for one in kept] == stones
