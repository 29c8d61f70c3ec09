"""Holders, purge orders and what became of them, over either database, in SQLAlchemy Core.

`discreet.server.ports_authority.PurgeWork` is the contract. Must open no connections and decide nothing.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from discreet.policy.facts import Micros, Ref
from discreet.policy.words import HolderKind, PurgeItemKind, PurgeState
from discreet.server.ports_authority import Answer, HolderRow, ItemRow, OrderRow, PartRow
from discreet.server.stores import tables
from discreet.server.stores import tables_authority as kept
from discreet.server.stores.rows import canonical
from discreet.server.stores.transaction import Transaction, parts

_holder = kept.holder_event.c
_order = kept.purge_order.c
_item = kept.purge_item.c
_part = kept.purge_part.c
_post = kept.holder_post.c
_notice = kept.purge_notice.c
_root = tables.ledger_root.c
_latest = tables.record_latest.c

ORDER_NAMES = (
    "order_id", "extent", "actor", "reason", "ticket", "at", "purge_not_before", "due_at", "recheck_after", "records",
    "segments", "seq",
)  # fmt: skip
ITEM_NAMES = ("order_id", "item", "kind", "digest", "ledger_id", "record_id", "version", "label", "store_by")
HOLDER_NAMES = ("holder", "kind", "labels", "webhook_url", "webhook_secret", "at", "ends")
DONE = (int(PurgeState.PURGED), int(PurgeState.NOT_FOUND))
UNDONE = (int(PurgeState.OPEN), int(PurgeState.FAILED), int(PurgeState.UNCONFIRMED))
"""The stored states."""
PART_NAMES = ("holder", "state", "available_at", "due_at", "answers", "recheck", "failure", "answered_at")
ORDER = sa.select(*(_order[name] for name in ORDER_NAMES))
PART = sa.select(*(_item[name] for name in ITEM_NAMES), *(_part[name] for name in PART_NAMES)).join_from(
    kept.purge_part, kept.purge_item, sa.and_(_item.order_id == _part.order_id, _item.item == _part.item)
)


def read_holders(connection: sa.Connection, tenant: str, *, removed: bool = False) -> tuple[HolderRow, ...]:
    """Holders as they stand, in the order of their names."""
    wanted = sa.select(*(_holder[name] for name in HOLDER_NAMES)).where(_holder.tenant == tenant, last_events())
    wanted = wanted.order_by(_holder.holder)
    found = (holder_row(row) for row in connection.execute(wanted))
    return tuple(row for row in found if removed or not row.removed)


def last_events() -> sa.ColumnElement[bool]:
    """The condition that a row of `holder_event` is its holder's last: what counts."""
    return _holder.seq.in_(sa.select(sa.func.max(_holder.seq)).group_by(_holder.tenant, _holder.holder))


def read_order(connection: sa.Connection, tenant: str, order_id: str) -> OrderRow | None:
    """One order by its id."""
    row = connection.execute(ORDER.where(_order.tenant == tenant, _order.order_id == order_id)).first()
    return None if row is None else OrderRow(*row)


def holder_row(row: Sequence[Any]) -> HolderRow:
    """The holder of a row that has HOLDER_NAMES."""
    secret = None if row[4] is None else bytes(row[4])
    return HolderRow(
        row[0], HolderKind(row[1]), tuple(json.loads(row[2])), row[3], secret, Micros(row[5]), bool(row[6])
    )


def item_row(row: Sequence[Any]) -> ItemRow:
    """The item of a row that begins with ITEM_NAMES."""
    return ItemRow(row[0], row[1], PurgeItemKind(row[2]), row[3], row[4], Ref(row[5], row[6]), row[7], row[8])


def part_row(row: Sequence[Any]) -> PartRow:
    """The part of a row that has ITEM_NAMES and then PART_NAMES."""
    state = PurgeState(row[10])
    return PartRow(item_row(row), row[9], state, row[11], row[12], row[13], bool(row[14]), row[15], row[16])


def concerns(holder: HolderRow, item: ItemRow) -> bool:
    """True where the holder may keep copies of the item."""
    if item.kind is PurgeItemKind.SEGMENT:
        return holder.kind is HolderKind.SEGMENT_STORE
    return holder.kind is HolderKind.DOCUMENT_STORE and (not holder.labels or item.label in holder.labels)


_MOVE = (
    sa.update(kept.purge_part)
    .where(
        _part.order_id == sa.bindparam("of_order"),
        _part.item == sa.bindparam("of_item"),
        _part.holder == sa.bindparam("of_holder"),
    )
    .values(
        state=sa.bindparam("to_state"),
        available_at=sa.bindparam("to_time"),
        answers=sa.bindparam("to_answers"),
        recheck=sa.bindparam("to_recheck"),
        failure=sa.bindparam("to_failure"),
        answered_at=sa.bindparam("to_answered"),
    )
)


def _move(answer: Answer, n: int, now: Micros) -> dict[str, object]:
    """The values of _MOVE: where an answer leaves its item."""
    key = {"of_order": answer.order_id, "of_item": answer.item, "of_holder": answer.holder}
    to = {"to_state": int(answer.state), "to_time": answer.available_at, "to_recheck": answer.recheck}
    return key | to | {"to_answers": n, "to_failure": answer.reason, "to_answered": now}


class SqlPurges:
    """Part of an index transaction; see the port."""

    def __init__(self, on: Transaction) -> None:
        self._on = on

    def holders(self, tenant: str, *, removed: bool = False) -> tuple[HolderRow, ...]:
        """Holders in the order of their names."""
        return read_holders(self._on.connection, tenant, removed=removed)

    def write_holder(self, tenant: str, row: HolderRow, actor: str, reason: str) -> int:
        """Registers, changes or removes a holder."""
        seq = self._on.event()
        what = {"holder": row.holder, "ends": row.removed, "kind": int(row.kind), "labels": canonical(row.labels)}
        where = {"webhook_url": row.webhook_url, "webhook_secret": row.webhook_secret}
        said = {"seq": seq, "tenant": tenant, "actor": actor, "reason": reason, "at": row.at}
        self._on.insert("holder_event", [what | where | said])
        return seq

    def write_order(self, tenant: str, order: OrderRow, items: Sequence[ItemRow]) -> int:
        """An order with its items, and a part for every holder that it concerns."""
        seq = self._on.event()
        self._on.insert("purge_order", [order._asdict() | {"tenant": tenant, "seq": seq}])
        self._on.insert("purge_item", [_item_values(tenant, item) for item in items])
        self._write_parts(tenant, order, items, self.holders(tenant))
        return seq

    def _write_parts(self, tenant: str, order: OrderRow, items: Iterable[ItemRow], holders: Sequence[HolderRow]) -> int:
        fresh = {"tenant": tenant, "state": int(PurgeState.OPEN), "answers": 0, "recheck": False, "failure": ""}
        fresh |= {"available_at": order.purge_not_before, "due_at": order.due_at, "answered_at": None}
        rows = [
            fresh | {"order_id": item.order_id, "item": item.item, "holder": holder.holder}
            for item in items
            for holder in holders
            if concerns(holder, item)
        ]
        self._on.insert("purge_part", rows)
        return len(rows)

    def add_parts(self, tenant: str, row: HolderRow) -> int:
        """Parts in all orders for items that the holder has no part in yet."""
        mine = sa.and_(_part.order_id == _item.order_id, _part.item == _item.item, _part.holder == row.holder)
        wanted = sa.select(*(_item[name] for name in ITEM_NAMES)).where(
            _item.tenant == tenant, sa.not_(sa.exists().where(mine))
        )
        by_order: dict[str, list[ItemRow]] = {}
        for found in self._on.rows(wanted.order_by(_item.order_id, _item.item)):
            by_order.setdefault(found[0], []).append(item_row(found))
        added = 0
        for order_id, items in by_order.items():
            order = self.order(tenant, order_id)
            if order is not None:
                late = Micros(self._on.head.now + order.due_at - order.purge_not_before)
                due = order._replace(due_at=max(order.due_at, late))
                added += self._write_parts(tenant, due, items, [row])
        return added

    def put_off(self, tenant: str, items: Iterable[tuple[str, int]]) -> None:
        """Gives the open parts of the items as long from now on as their order gave them at first."""
        by_order: dict[str, list[int]] = {}
        for order_id, number in items:
            by_order.setdefault(order_id, []).append(number)
        for order_id, numbers in by_order.items():
            order = self.order(tenant, order_id)
            if order is None:
                continue
            due = Micros(self._on.head.now + order.due_at - order.purge_not_before)
            mine = (_part.order_id == order_id, _part.tenant == tenant, _part.state.in_(UNDONE), _part.due_at < due)
            for some in parts(dict.fromkeys(numbers)):
                late = sa.update(kept.purge_part).where(*mine, _part.item.in_(some))
                self._on.connection.execute(late.values(due_at=due))

    def order(self, tenant: str, order_id: str) -> OrderRow | None:
        """One by its id."""
        return read_order(self._on.connection, tenant, order_id)

    def part(self, tenant: str, holder: str, items: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], PartRow]:
        """Named items of a holder's part."""
        by_order: dict[str, list[int]] = {}
        for order_id, number in items:
            by_order.setdefault(order_id, []).append(number)
        found = {}
        for order_id, numbers in by_order.items():
            mine = (_part.tenant == tenant, _part.holder == holder, _part.order_id == order_id)
            for some in parts(numbers):
                for row in self._on.rows(PART.where(*mine, _part.item.in_(some))):
                    found[order_id, row[1]] = part_row(row)
        return found

    def write_answers(self, tenant: str, answers: Sequence[Answer]) -> int:
        """Puts answers on record and moves their items; one number for all."""
        seq = self._on.event()
        before: dict[tuple[str, str, int], PartRow] = {}
        for holder in {answer.holder for answer in answers}:
            keys = [(answer.order_id, answer.item) for answer in answers if answer.holder == holder]
            before |= {(holder, *key): row for key, row in self.part(tenant, holder, keys).items()}
        rows, moves = [], []
        for answer in answers:
            n = before[answer.holder, answer.order_id, answer.item].answers + 1
            key = {"order_id": answer.order_id, "item": answer.item, "holder": answer.holder}
            said = {"outcome": int(answer.outcome), "reason": answer.reason, "held": answer.held}
            rows.append(key | said | {"n": n, "tenant": tenant, "seq": seq, "at": self._on.head.now})
            moves.append(_move(answer, n, self._on.head.now))
        self._on.insert("purge_answer", rows)
        if moves:
            self._on.connection.execute(_MOVE, moves)
        return seq

    def roots(self, tenant: str, ledger_ids: Sequence[str]) -> Mapping[str, tuple[tuple[Ref, str], ...]]:
        """Every root of committed segments, with the label it has now."""
        return read_roots(self._on.connection, tenant, ledger_ids)

    def open_items(self, tenant: str, holder: str) -> int:
        """How many items of a holder are neither purged nor not there."""
        mine = (_part.tenant == tenant, _part.holder == holder, _part.state.in_(UNDONE))
        counted = sa.select(sa.func.count()).select_from(kept.purge_part).where(*mine)
        return int(self._on.connection.execute(counted).scalar_one())

    def is_open(self, tenant: str, order_id: str) -> bool:
        """True where an item of any part of the order is neither purged nor not there."""
        mine = (_part.tenant == tenant, _part.order_id == order_id, _part.state.in_(UNDONE))
        return self._on.connection.execute(sa.select(_part.item).where(*mine).limit(1)).first() is not None

    def claim_post(self, tenant: str, holder: str, instance: str, until: Micros) -> bool:
        """True where no other server posts to the holder until then."""
        mine = (_post.tenant == tenant, _post.holder == holder)
        now = self._on.head.now
        found = self._on.connection.execute(sa.select(_post.instance, _post.claimed_until).where(*mine)).first()
        if found is None:
            row = {"tenant": tenant, "holder": holder, "claimed_until": until, "instance": instance}
            self._on.insert("holder_post", [row | {"failures": 0, "last_failure": ""}])
            return True
        if found.instance != instance and found.claimed_until > now:
            return False
        claim = {"claimed_until": until, "instance": instance}
        self._on.connection.execute(sa.update(kept.holder_post).where(*mine).values(**claim))
        return True

    def note_post(self, tenant: str, holder: str, until: Micros, failure: str) -> None:
        """How a post went, and until when none is made."""
        failures = _post.failures + 1 if failure else 0
        values = {"claimed_until": until, "failures": failures, "last_failure": failure}
        mine = (_post.tenant == tenant, _post.holder == holder)
        self._on.connection.execute(sa.update(kept.holder_post).where(*mine).values(**values))

    def take_notice(self, tenant: str, order_id: str, notice: str) -> bool:
        """True for the one that takes notice first."""
        known = (_notice.order_id == order_id, _notice.notice == notice)
        if self._on.connection.execute(sa.select(_notice.seq).where(*known)).first() is not None:
            return False
        row = {"order_id": order_id, "notice": notice, "tenant": tenant, "seq": self._on.event()}
        self._on.insert("purge_notice", [row | {"at": self._on.head.now}])
        return True


def read_roots(
    connection: sa.Connection, tenant: str, ledger_ids: Sequence[str]
) -> Mapping[str, tuple[tuple[Ref, str], ...]]:
    """Every root of committed segments, with the label it has now."""
    same = sa.and_(
        _latest.tenant == _root.tenant, _latest.record_id == _root.record_id, _latest.version == _root.version
    )
    columns = (_root.ledger_id, _root.record_id, _root.version, _latest.source_label)
    joined = tables.ledger_root.join(tables.record_latest, same)
    found: dict[str, list[tuple[Ref, str]]] = {}
    for some in parts(dict.fromkeys(ledger_ids)):
        wanted = sa.select(*columns).select_from(joined).where(_root.tenant == tenant, _root.ledger_id.in_(some))
        for ledger_id, record_id, version, label in connection.execute(wanted.order_by(*columns[:3])):
            found.setdefault(ledger_id, []).append((Ref(record_id, version), label))
    return {ledger_id: tuple(roots) for ledger_id, roots in found.items()}


def _item_values(tenant: str, item: ItemRow) -> dict[str, object]:
    what = {"order_id": item.order_id, "item": item.item, "kind": int(item.kind), "digest": item.digest}
    named = {"record_id": item.ref.record_id, "version": item.ref.version, "label": item.label}
    return what | named | {"tenant": tenant, "ledger_id": item.ledger_id, "store_by": item.store_by}
