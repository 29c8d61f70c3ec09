"""Worlds decided and written down as a server does, and replayed from the row. It judges nothing itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet.policy.codec import CallRecord, CommitOutcome, ReadingRecord, audit_row, segment_bytes
from discreet.policy.codec.recorded import RecordedCall, recorded_call
from discreet.policy.decision import Decided
from discreet.policy.facts import LedgerFacts
from discreet.policy.replay import Replayed, Under, replay, wants
from discreet.policy.snapshot import Snapshot
from discreet.policy.words import AuditAct, OrderKind
from tests.policy.decide.world import World, edit, token


def recorded(world: World, decided: Decided | None = None, **changes: Any) -> bytes:
    """The audit row of a check of the world, or what `changes` make of it."""
    found = decided if decided is not None else world.ask()
    call = CallRecord(
        act=AuditAct.CHECK,
        request=world.request,
        request_id="request-1",
        at=world.now,
        instance="instance-1",
        caller=world.caller,
        snapshot=world.policy,
        facts=world.facts,
        token=token(),
        decision_ids=[f"decision-{i}" for i in range(len(found.results))],
        policy_age_us=world.policy_age_us,
    )
    return audit_row(found, replace(call, **changes))


def read_back(row: bytes) -> RecordedCall:
    """The call of a row that is one of Check or Commit."""
    call = recorded_call(row)
    assert call is not None
    return call


def replayed(world: World, row: bytes | None = None, candidate: Snapshot | None = None) -> tuple[Replayed, ...]:
    """The results of a check's row, on the world's own facts, under its own policy and a candidate (the same)."""
    call = read_back(row if row is not None else recorded(world))
    facts = [kept(world).facts for _ in wants(call)]
    return replay(call, Under.of(world.policy), Under.of(candidate or world.policy), facts)


def kept(world: World) -> World:
    """The world with the bytes of its stored segments in the ledger, where a database has them."""
    ledger: dict[str, LedgerFacts] = {
        name: edit(entry, segment=segment_bytes(world.stored[name]) if name in world.stored else entry.segment)
        for name, entry in world.ledger.items()
    }
    return edit(world, ledger=ledger)


def committed(world: World, earlier: World) -> tuple[bytes, list[World]]:
    """The row of a commit of the world's segments and of those of `earlier`, and the worlds of its two reads.

    `earlier` was committed before: the world as at REPLAY, by ledger id, as it is read a little later.
    """
    again, fresh = earlier.ask(), world.ask()
    names = [earlier.stored[name].id for name in earlier.ledger_ids]
    repeated = [one._replace(key=name) for one, name in zip(again.results, names, strict=True)]
    decided = Decided(
        (*repeated, *fresh.results), tuple({**dict(again.records_read), **dict(fresh.records_read)}.items())
    )
    outcomes = [CommitOutcome(OrderKind.REPEATED, token(), name) for name in earlier.ledger_ids]
    outcomes += [CommitOutcome(OrderKind.COMMITTED, token(), f"new-{i}") for i in range(len(fresh.results))]
    segments = (*(earlier.stored[name] for name in earlier.ledger_ids), *world.segments)
    row = recorded(
        world, decided, act=AuditAct.COMMIT, outcomes=outcomes, repeated_under=ReadingRecord(earlier.now, token(), 7),
        request=replace(world.request, segments=segments, answer_id="answer-1", commit=True),
        decision_ids=[f"decision-{i}" for i in range(len(decided.results))],
    )  # fmt: skip
    return row, [kept(world), kept(earlier)]
