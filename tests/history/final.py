"""What a database holds when a history is over, as plain values. Must know no database: `reading_back` fills it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """A committed segment. `key`: session/answer/segment; `roots`: `record@version`."""

    ledger_id: str
    key: str
    seq: int
    policy: int
    link: tuple[int, int]
    roots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One audit row, of what it says about the order: a change by its mark, commits by their ledger ids."""

    link: tuple[int, int]
    mark: str = ""
    seq: int = 0
    committed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordState:
    """A revision of a record version."""

    seq: int
    revoked: bool
    due_us: int
    order_id: str
    suspended: bool
    suspended_until_us: int
    unreachable: bool
    scopes: tuple[str, ...]
    assessed_until_us: int
    superseded: bool


@dataclass(frozen=True, slots=True)
class GrantState:
    """A grant or its withdrawal."""

    seq: int
    scope: str
    generation: int
    withdrawn: bool


@dataclass(frozen=True, slots=True)
class StandingState:
    """A source revoke, freeze or hold, or its end."""

    seq: int
    fact: str
    fact_id: str
    ends: bool
    label: str
    ref: str
    until_us: int


@dataclass(frozen=True, slots=True)
class Part:
    """An item of an order at one holder: its stored state and the outcomes that were answered, in order."""

    holder: str
    state: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a purge order. Of `ledger_id` and `ref` one is empty."""

    item: int
    ledger_id: str
    ref: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """A purge order with its items."""

    order_id: str
    seq: int
    due_us: int
    items: tuple[Item, ...]


@dataclass(slots=True)
class Final:
    """Everything that the checker compares a history with."""

    seq: int = 0
    policy: int = 0
    numbered: dict[str, list[int]] = field(default_factory=dict)
    """Every number of the order, by the table that it stands in: one entry an event."""
    ledger: dict[str, LedgerRow] = field(default_factory=dict)
    shown: frozenset[str] = frozenset()
    """Ledger ids that are on record as shown."""
    audit: list[AuditEntry] = field(default_factory=list)
    broken_links: list[str] = field(default_factory=list)
    """What is wrong with the audit chain."""
    records: dict[str, list[RecordState]] = field(default_factory=dict)
    """By `record@version`, in the order of their numbers."""
    grants: dict[str, list[GrantState]] = field(default_factory=dict)
    """By principal, in the order of their numbers."""
    standing: list[StandingState] = field(default_factory=list)
    """In the order of their numbers."""
    withheld: dict[int, frozenset[str]] = field(default_factory=dict)
    """The kinds that each policy revision withholds."""
    orders: list[Order] = field(default_factory=list)
    holders: dict[str, str] = field(default_factory=dict)
    """The kind of each holder, all of them registered before the first revoke, for all sources."""
    done: dict[str, bool] = field(default_factory=dict)
    """What a server said of each order at the end: whether it is done."""
    asked_us: tuple[int, int] = (0, 2**63 - 1)
    """Between which moments it said so."""
