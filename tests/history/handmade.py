"""A small history made by hand in which everything is right: each test of the checker breaks one thing in it."""

from __future__ import annotations

from dataclasses import replace

from tests.history.events import NEVER, Call, Change, Outcome, Told
from tests.history.final import (
    AuditEntry,
    Final,
    GrantState,
    Item,
    LedgerRow,
    Order,
    Part,
    RecordState,
    StandingState,
)

A, B, DESKED = "b0000/r00@1", "b0000/r01@1", "b0000/r03@1"
WALL = 1_000_000


def call(name: str, began: int, ended: int, *, seq: int = -1, policy: int = 1, **fields: object) -> Call:
    """A call by client and method (`ana commit`), with its times in milliseconds."""
    client, method = name.split()
    made = Call(
        client, began, method, began * 10**6, ended * 10**6, WALL + ended * 1_000, Outcome.ANSWERED, seq, policy
    )
    return replace(made, principal="p0", **fields)  # type: ignore[arg-type] # the fields of a Call


def told(verdict: str, *refs: str, key: str = "", ledger_id: str = "", order: str = "", reason: str = "") -> Told:
    """What an answer said of a segment."""
    return Told(key, ledger_id, "text", refs, verdict, reason or {"ALLOW": "NONE"}.get(verdict, "SUSPENDED"), order)


def committed(name: str, began: int, ended: int, seq: int, ledger_id: str, *refs: str) -> Call:
    """A commit of one segment, that was written."""
    said = told("ALLOW", *refs, key=f"s/{ledger_id}/s0", ledger_id=ledger_id, order="COMMITTED")
    return call(f"{name} commit", began, ended, seq=seq, told=(said,))


def changed(name: str, began: int, ended: int, seq: int, mark: str, register: str, key: str, **fields: object) -> Call:
    """A change that was written; it blocks unless told otherwise."""
    made = replace(Change(register, (key,), True, mark), **fields)  # type: ignore[arg-type] # the fields of a Change
    return call(f"{name} Change", began, ended, seq=seq, change=made)


def state(seq: int, **fields: object) -> RecordState:
    """A revision of a record that everybody may read."""
    fresh = RecordState(seq, False, 0, "", False, NEVER, False, ("public",), NEVER, False)
    return replace(fresh, **fields)  # type: ignore[arg-type] # the fields of a RecordState


def calls() -> list[Call]:
    """A commit, a suspension, a refusal, a resumption, a replay, a revoke, a purge; all one after the other."""
    purge = told("PURGE", A, ledger_id="l1", reason="RETENTION_REVOKED")
    return [
        committed("ana", 1, 2, 4, "l1", A),
        changed("bo", 3, 4, 5, "h:1", "suspended", f"ref:{A}"),
        call("ana commit", 5, 6, seq=5, told=(told("WITHHOLD", A, key="s/x/s0", order="REFUSED"),)),
        changed("bo", 7, 8, 6, "h:2", "suspended", f"ref:{A}", blocks=False),
        call("ana replay", 9, 10, seq=6, told=(told("ALLOW", A, ledger_id="l1"),)),
        changed("bo", 11, 12, 8, "h:3", "revoked", f"ref:{A}"),
        call("ana replay", 13, 14, seq=8, told=(purge,)),
        committed("ana", 15, 16, 9, "l2", B),
        changed("bo", 17, 18, 10, "h:4", "held", f"ref:{A}", instance="hold-1"),
        call("ana report", 18, 19, told=(Told("", "l2", "", (), "CONFIRMED", "", decided=False),)),
        call("ana replay", 19, 20, seq=10, told=(told("WITHHOLD", A, ledger_id="l1", reason="LEGAL_HOLD"),)),
    ]


def final() -> Final:
    """What the database holds after it."""
    revoked = {"revoked": True, "order_id": "o1"}
    part = Part("store", "PURGED", ("FAILED", "PURGED"))
    return Final(
        seq=10,
        policy=1,
        numbered={"change": [1, 2, 3, 5, 6, 7, 10], "ledger": [4, 9], "purge_order": [8]},
        ledger={
            "l1": LedgerRow("l1", "s/l1/s0", 4, 1, (1, 1), (A,)),
            "l2": LedgerRow("l2", "s/l2/s0", 9, 1, (1, 5), (B,)),
        },
        shown=frozenset({"l2"}),
        audit=[
            AuditEntry((1, 1), committed=("l1",)),
            AuditEntry((1, 2), "h:1", 5),
            AuditEntry((1, 3), "h:2", 6),
            AuditEntry((1, 4), "h:3", 7),
            AuditEntry((1, 5), committed=("l2",)),
            AuditEntry((1, 6), "h:4", 10),
        ],
        records={
            A: [state(1), state(5, suspended=True), state(6), state(7, **revoked)],
            B: [state(2)],
            DESKED: [state(3, scopes=("desk",))],
        },
        grants={"p0": [GrantState(3, "desk", 1, False)]},
        standing=[StandingState(10, "hold", "hold-1", False, "", A, NEVER)],
        withheld={1: frozenset({"table"})},
        orders=[Order("o1", 8, 0, (Item(1, "l1", "", (part,)), Item(2, "", A, ())))],
        holders={"store": "SEGMENT_STORE"},
        done={"o1": True},
    )
