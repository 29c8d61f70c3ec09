"""Finding decisions in the audit: every filter, and pages that lose nothing and repeat nothing."""

import random
from dataclasses import replace
from functools import partial
from typing import Any

from discreet.policy.facts import Micros
from discreet.policy.words import Moment, Reason, Verdict
from discreet.server.ports import AuditRecord, DecisionKey, Job, Store, Work
from discreet.server.ports_found import AuditFilter, AuditHit
from tests.contract.making import audit, decision

AT = 1_800_000_000_000_000


async def pages(store: Store, wanted: AuditFilter, size: int) -> list[AuditHit]:
    """All hits, page by page."""
    seen: list[AuditHit] = []
    while True:
        page = await store.find_decisions(wanted, seen[-1].position if seen else None, size)
        seen += page
        if len(page) < size:
            return seen


async def test_paging_over_equal_times_loses_and_repeats_nothing(store: Store) -> None:
    """AUD-04: 1,200 decisions of one time, in pages of 100 while more arrive: each once, newest first."""
    rows = [Job(audit(at=AT, decisions=tuple(decision() for _ in range(6)))) for _ in range(200)]
    await store.record(rows)
    expected = [key.decision_id for row in rows for key in row.audit.decisions]
    seen: list[AuditHit] = []
    while len(seen) < len(expected):
        page = await store.find_decisions(AuditFilter(), seen[-1].position if seen else None, 100)
        assert len(page) == 100
        seen += page
        await store.record([Job(audit(at=AT, decisions=(decision(),)))])
    assert [hit.decision_id for hit in reversed(seen)] == expected
    assert [hit.position for hit in seen] == sorted({hit.position for hit in seen}, reverse=True)
    assert len(await pages(store, AuditFilter(), 101)) == len(expected) + 12


async def test_pages_cross_writers_and_changes(store: Store) -> None:
    """AUD-04: rows of commits, Checks and changes have one order, by time and then by place."""
    made = []
    for number in range(9):
        row = audit(at=AT + number // 4, decisions=(decision(), decision()))
        made.append(row)
        if number % 3 == 0:
            await store.change(partial(_add, row))
        else:
            await store.record([Job(row)])
    seen = await pages(store, AuditFilter(), 2)
    assert sorted(hit.decision_id for hit in seen) == sorted(key.decision_id for row in made for key in row.decisions)
    assert [hit.position for hit in seen] == sorted((hit.position for hit in seen), reverse=True)
    assert [hit.position[0] for hit in seen] == sorted((row.at for row in made for _ in (1, 2)), reverse=True)


def _add(row: AuditRecord, work: Work) -> None:
    work.audit(row)


def random_rows(chance: random.Random) -> list[AuditRecord]:
    """Rows whose columns have few values each, so that filters meet often."""

    def key() -> DecisionKey:
        return decision(
            verdict=chance.choice(list(Verdict)),
            reason=chance.choice((Reason.NONE, Reason.STALE, Reason.SUSPENDED)),
            rule=chance.choice(("r1", "r2")),
            moment=chance.choice(list(Moment)),
            policy_revision=chance.choice((1, 2)),
            record_ids=tuple(chance.choices(("doc/a", "doc/b", "doc/c"), k=chance.randrange(4))),
            labels=tuple(chance.choices(("handbook", "peps"), k=chance.randrange(3))),
        )

    return [
        audit(
            tenant=chance.choice(("acme", "other")),
            at=AT + chance.randrange(10),
            principal_id=chance.choice(("alice", "bob")),
            session_id=chance.choice(("s-1", "s-2")),
            body=b"row %d" % number,
            decisions=tuple(key() for _ in range(chance.randrange(4))),
        )
        for number in range(120)
    ]


def matches(row: AuditRecord, key: DecisionKey, wanted: AuditFilter) -> bool:
    """The filter in plain words."""
    given = {
        "principal_id": row.principal_id,
        "session_id": row.session_id,
        **{name: getattr(key, name) for name in ("verdict", "rule", "moment", "policy_revision", "decision_id")},
    }
    return (
        all(not getattr(wanted, name) or getattr(wanted, name) == value for name, value in given.items())
        and (not wanted.reasons or key.reason in wanted.reasons)
        and (wanted.tenants is None or row.tenant in wanted.tenants)
        and (not wanted.record_id or wanted.record_id in key.record_ids)
        and (not wanted.source_label or wanted.source_label in key.labels)
        and (wanted.since is None or row.at >= wanted.since)
        and (wanted.until is None or row.at < wanted.until)
    )


async def test_every_filter_finds_what_a_plain_filter_finds(store: Store) -> None:
    """F7: principal, session, document, source, verdict, reason, rule, moment, revision, time, alone and together."""
    chance = random.Random(7)
    rows = random_rows(chance)
    await store.record([Job(row) for row in rows])
    known = next(key for row in rows for key in row.decisions)
    parts: dict[str, list[Any]] = {
        "tenants": [None, ("acme",), ("acme", "other"), ("nobody",), ()],
        "principal_id": ["", "alice"],
        "session_id": ["", "s-2"],
        "record_id": ["", "doc/a", "doc/none"],
        "source_label": ["", "peps"],
        "verdict": [0, Verdict.WITHHOLD],
        "reasons": [(), (Reason.STALE,), (Reason.STALE, Reason.SUSPENDED)],
        "rule": ["", "r2"],
        "moment": [0, Moment.PUBLISH],
        "since": [None, Micros(AT + 3)],
        "until": [None, Micros(AT + 7)],
        "policy_revision": [0, 2],
        "decision_id": ["", known.decision_id],
    }
    alone = [AuditFilter(**{name: value}) for name, values in parts.items() for value in values]
    several = {name: values for name, values in parts.items() if name != "decision_id"}
    mixed = [
        AuditFilter(**{name: chance.choice([values[0], *values]) for name, values in several.items()})
        for _ in range(60)
    ]
    for wanted in (*alone, *mixed):
        expected = {key.decision_id: row.body for row in rows for key in row.decisions if matches(row, key, wanted)}
        assert {hit.decision_id: hit.body for hit in await pages(store, wanted, 50)} == expected, wanted


async def test_a_decision_is_found_under_its_own_tenant_alone(store: Store) -> None:
    """REV-08: a tenant's query shows nothing of another one's, whatever ids they share."""
    mine = audit(tenant="marlowe", decisions=(decision(record_ids=("eu:7",), labels=("l",)),))
    theirs = replace(mine, tenant="marlowe:eu", request_id="f" * 32, decisions=(decision(record_ids=("7",)),))
    await store.record([Job(mine), Job(theirs)])
    for tenant, row in (("marlowe", mine), ("marlowe:eu", theirs)):
        hits = await store.find_decisions(AuditFilter((tenant,)), None, 10)
        assert [hit.decision_id for hit in hits] == [row.decisions[0].decision_id]
    assert await store.find_decisions(AuditFilter(("marlowe",), record_id="7"), None, 10) == []
