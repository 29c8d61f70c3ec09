"""Finding changes, refusals and reports in the audit: every filter, and pages that lose nothing and repeat nothing."""

import random
from dataclasses import replace
from functools import partial
from typing import Any

from discreet.policy.facts import Micros
from discreet.policy.words import AuditAct
from discreet.server.ports import AuditRecord, Job, Store, Work
from discreet.server.ports_found import ActFilter, ActHit, ActKey, AuditFilter
from tests.contract.making import audit, decision

AT = 1_800_000_000_000_000
ACTS = (AuditAct.CHANGE, AuditAct.REFUSED, AuditAct.SHOWN)


def act(number: int, kind: AuditAct = AuditAct.CHANGE, at: int = AT, **key: str) -> AuditRecord:
    """A row without decisions; its bytes name it."""
    found_by = ActKey(**{"method": "Suspend", "actor": "olga", **key})
    return replace(audit(at=at, body=b"act %d" % number), act=kind, found_by=found_by)


async def pages(store: Store, wanted: ActFilter, size: int) -> list[ActHit]:
    """All hits, page by page."""
    seen: list[ActHit] = []
    while True:
        page = await store.find_acts(wanted, seen[-1].position if seen else None, size)
        seen += page
        if len(page) < size:
            return seen


async def written(store: Store, row: AuditRecord, changes: bool) -> None:
    """Puts a row on record: within a change of the index, or by itself."""
    await (store.change(partial(_add, row)) if changes else store.record([Job(row)]))


def _add(row: AuditRecord, work: Work) -> None:
    work.audit(row)


async def test_paging_over_equal_times_loses_and_repeats_nothing(store: Store) -> None:
    """AUD-04: acts of one time, some in one transaction, while more arrive: each once, newest first."""
    rows = [act(number) for number in range(120)]
    await store.record([Job(row) for row in rows])
    seen: list[ActHit] = []
    while len(seen) < len(rows):
        seen += await store.find_acts(ActFilter(), seen[-1].position if seen else None, 7)
        await store.record([Job(act(1_000 + len(seen)))])
    assert [hit.body for hit in reversed(seen)][-len(rows) :] == [row.body for row in rows]
    assert [hit.position for hit in seen] == sorted({hit.position for hit in seen}, reverse=True)


async def test_acts_and_decisions_are_found_apart_whoever_wrote_them(store: Store) -> None:
    """F7: a change's transaction and the record's own write the same columns; a decision is no act."""
    rows = [act(number, at=AT + number // 3) for number in range(8)]
    for number, row in enumerate(rows):
        await written(store, row, changes=number % 2 == 0)
        await store.record([Job(audit(at=AT, decisions=(decision(),)))])
    seen = await pages(store, ActFilter(), 3)
    assert sorted(hit.body for hit in seen) == sorted(row.body for row in rows)
    assert [hit.position for hit in seen] == sorted((hit.position for hit in seen), reverse=True)
    assert len(await store.find_decisions(AuditFilter(), None, 100)) == len(rows)


def random_rows(chance: random.Random) -> list[AuditRecord]:
    """Rows whose columns have few values each, so that filters meet often."""
    return [
        replace(
            act(
                number,
                chance.choice(ACTS),
                AT + chance.randrange(10),
                method=chance.choice(("Suspend", "Approve")),
                actor=chance.choice(("olga", "omar")),
                record_id=chance.choice(("", "doc/a", "doc/b")),
                version=chance.choice(("", "1", "2")),
                ticket=chance.choice(("", "T-1")),
                subject_id=chance.choice(("", "order-1", "hold-1")),
            ),
            tenant=chance.choice(("", "acme", "other")),
            principal_id=chance.choice(("", "alice", "bob")),
        )
        for number in range(150)
    ]


def matches(row: AuditRecord, wanted: ActFilter) -> bool:
    """The filter in plain words."""
    assert row.found_by is not None
    given = {**row.found_by._asdict(), "principal_id": row.principal_id}
    return (
        all(getattr(wanted, name) in ("", value) for name, value in given.items())
        and (not wanted.acts or row.act in wanted.acts)
        and (wanted.tenants is None or row.tenant in wanted.tenants)
        and (wanted.since is None or row.at >= wanted.since)
        and (wanted.until is None or row.at < wanted.until)
    )


PARTS: dict[str, list[Any]] = {
    "tenants": [None, ("acme",), ("acme", "other"), ("nobody",), ()],
    "acts": [(), (AuditAct.REFUSED,), ACTS],
    "method": ["", "Approve", "Nothing"],
    "actor": ["", "omar"],
    "principal_id": ["", "alice"],
    "record_id": ["", "doc/a", "doc/none"],
    "version": ["", "2"],
    "ticket": ["", "T-1"],
    "subject_id": ["", "hold-1"],
    "since": [None, Micros(AT + 3)],
    "until": [None, Micros(AT + 7)],
}


async def test_every_filter_finds_what_a_plain_filter_finds(store: Store) -> None:
    """F7: tenant, act, method, actor, principal, record, version, ticket, subject, time, alone and together."""
    chance = random.Random(11)
    rows = random_rows(chance)
    await store.record([Job(row) for row in rows])
    alone = [ActFilter(**{name: value}) for name, values in PARTS.items() for value in values]
    mixed = [
        ActFilter(**{name: chance.choice([values[0], values[0], *values]) for name, values in PARTS.items()})
        for _ in range(80)
    ]
    for wanted in (*alone, *mixed):
        expected = sorted(row.body for row in rows if matches(row, wanted))
        found = [hit.body for hit in await pages(store, wanted, 40)]
        assert (sorted(found), len(found)) == (expected, len(set(found))), wanted
