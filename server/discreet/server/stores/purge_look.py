"""Reads of holders and purge orders over either database, in SQLAlchemy Core; `ports_purge.PurgeLook` is the contract.

What stands over an item (a hold, its time) is worked out in the query, so that lists, counts and deliveries agree.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from discreet.policy.facts import Micros
from discreet.policy.words import HolderKind, PurgeState
from discreet.server.ports_authority import OrderRow
from discreet.server.ports_purge import Late, OrderCounts, PartCounts, PartKey, Posting, PurgeMark, Shown
from discreet.server.stores import purge_holds, tables
from discreet.server.stores import tables_authority as kept
from discreet.server.stores.purge_work import (
    DONE,
    HOLDER_NAMES,
    ITEM_NAMES,
    ORDER,
    PART_NAMES,
    UNDONE,
    holder_row,
    last_events,
    part_row,
    read_order,
)
from discreet.server.stores.transaction import parts

_holder = kept.holder_event.c
_post = kept.holder_post.c
_order = kept.purge_order.c
_item = kept.purge_item.c
_part = kept.purge_part.c
_answer = kept.purge_answer.c
_notice = kept.purge_notice.c
_ledger = tables.ledger.c

_OF_ITEM = kept.purge_part.join(kept.purge_item, sa.and_(_item.order_id == _part.order_id, _item.item == _part.item))
_NAMED = _OF_ITEM.outerjoin(
    tables.ledger, sa.and_(_ledger.tenant == _item.tenant, _ledger.ledger_id == _item.ledger_id)
)
_ANSWERED_WHILE_HELD = sa.exists().where(
    _answer.order_id == _part.order_id, _answer.item == _part.item, _answer.holder == _part.holder, _answer.held
)
_UNDONE = _part.state.in_(UNDONE)
_ANY_PART = sa.exists().where(_part.order_id == _order.order_id)
_TENANTS = sa.select(_holder.tenant).distinct().subquery()
_NEWEST = sa.select(sa.func.max(_order.seq)).where(_order.tenant == _TENANTS.c.tenant).scalar_subquery()
_MARK = sa.select(
    *(
        sa.func.coalesce(sa.select(sa.func.max(seq)).scalar_subquery(), 0)
        for seq in (kept.standing_event.c.seq, _holder.seq)
    ),
    sa.func.coalesce(sa.select(sa.func.max(_NEWEST)).select_from(_TENANTS).scalar_subquery(), 0),
)
NOTICES: Final = ("overdue", "failed")


class SqlPurgeLook:
    """One state of the database; see the port."""

    def __init__(self, connection: sa.Connection, now: Micros) -> None:
        self._connection = connection
        self._now = now
        found = purge_holds.covered(connection)
        self._none_held = found is None
        held = sa.false() if found is None else found
        self._of: sa.FromClause = kept.purge_part if found is None else _OF_ITEM
        """What conditions are over: the items are needed only where a hold stands."""
        fresh = sa.and_(_part.state == int(PurgeState.OPEN), _part.answers == 0, _part.available_at > now)
        self._held = held
        self._state = sa.case(
            (_part.state.in_(DONE), _part.state),
            (held, int(PurgeState.HELD)),
            (fresh, int(PurgeState.SCHEDULED)),
            else_=_part.state,
        )
        self._overdue = sa.and_(_UNDONE, _part.due_at < now, sa.not_(held))
        self._failed = sa.and_(_UNDONE, _part.failure != "", sa.not_(held))

    def _shown(self) -> sa.Select[Any]:
        named = (_ledger.session_id, _ledger.answer_id, _ledger.segment_id)
        columns = (*(_item[name] for name in ITEM_NAMES), *(_part[name] for name in PART_NAMES), *named)
        return sa.select(*columns, self._state, _ANSWERED_WHILE_HELD).select_from(_NAMED)

    def _rows(self, wanted: sa.Select[Any]) -> list[Shown]:
        return [_shown_row(row) for row in self._connection.execute(wanted)]

    def deliverable(self, tenant: str, holder: str, limit: int) -> Sequence[Shown]:
        """Items that the holder is to be asked for now; those due first come first."""
        found: list[Shown] = []
        for state in UNDONE:  # one at a time, so that the index gives the order, however much is open
            mine = (_part.tenant == tenant, _part.holder == holder, _part.state == state)
            wanted = self._shown().where(*mine, _part.available_at <= self._now, sa.not_(self._held))
            found += self._rows(wanted.order_by(_part.available_at, _part.order_id, _part.item).limit(limit))
        found.sort(key=lambda shown: (shown.part.available_at, shown.part.item.order_id, shown.part.item.item))
        return found[:limit]

    def held(self, tenant: str, holder: str, limit: int) -> Sequence[PartKey]:
        """Items that a hold covers, not done, and whose time has come, or that failed: those may be tried unasked."""
        if self._none_held:
            return ()
        asked_for = sa.or_(_part.available_at <= self._now, _part.state == int(PurgeState.FAILED))
        mine = (_part.tenant == tenant, _part.holder == holder, _UNDONE, asked_for)
        wanted = sa.select(_part.order_id, _part.item).select_from(self._of).where(*mine, self._held)
        rows = self._connection.execute(wanted.order_by(_part.order_id, _part.item).limit(limit))
        return [(order_id, item) for order_id, item in rows]

    def mark(self) -> PurgeMark:
        """What tells that something moved: the ends of indexes."""
        row = self._connection.execute(_MARK).one()
        return PurgeMark(row[0], row[1], row[2])

    def next_due(self, tenant: str, holder: str) -> Micros | None:
        """When the next item of the holder becomes due."""
        times = []
        for state in UNDONE:
            mine = (_part.tenant == tenant, _part.holder == holder, _part.state == state)
            wanted = sa.select(_part.available_at).where(*mine, _part.available_at > self._now)
            times.append(self._connection.execute(wanted.order_by(_part.available_at).limit(1)).scalar())
        return min((time for time in times if time is not None), default=None)

    def parts(self, tenant: str, holder: str, keys: Sequence[PartKey]) -> Mapping[PartKey, Shown]:
        """Named items of a holder's part."""
        by_order: dict[str, list[int]] = {}
        for order_id, number in keys:
            by_order.setdefault(order_id, []).append(number)
        found = {}
        for order_id, numbers in by_order.items():
            mine = (_part.tenant == tenant, _part.holder == holder, _part.order_id == order_id)
            for some in parts(numbers):
                for shown in self._rows(self._shown().where(*mine, _part.item.in_(some))):
                    found[order_id, shown.part.item.item] = shown
        return found

    def open_items(self, tenant: str) -> Mapping[str, int]:
        """By holder: items that are neither purged nor not there."""
        wanted = sa.select(_part.holder, sa.func.count()).where(_part.tenant == tenant, _UNDONE)
        return {row[0]: row[1] for row in self._connection.execute(wanted.group_by(_part.holder))}

    def orders(
        self, tenant: str, before: int | None, limit: int, *, open_only: bool, overdue_only: bool
    ) -> Sequence[OrderRow]:
        """Orders with a smaller seq, newest first."""
        wanted = ORDER.where(_order.tenant == tenant)
        if before is not None:
            wanted = wanted.where(_order.seq < before)
        if open_only:
            waiting = sa.and_(sa.not_(_ANY_PART), _order.purge_not_before > self._now)
            wanted = wanted.where(sa.or_(self._has(_UNDONE), waiting))
        if overdue_only:
            wanted = wanted.where(self._has(self._overdue))
        return [OrderRow(*row) for row in self._connection.execute(wanted.order_by(_order.seq.desc()).limit(limit))]

    def _has(self, condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
        inner = sa.select(sa.literal(1)).select_from(self._of).where(_part.order_id == _order.order_id, condition)
        return inner.correlate(kept.purge_order).exists()

    def order(self, tenant: str, order_id: str) -> OrderRow | None:
        """One by its id."""
        return read_order(self._connection, tenant, order_id)

    def order_parts(self, tenant: str, order_ids: Sequence[str]) -> Mapping[str, Sequence[PartCounts]]:
        """How far each part of each order is, in the order of the holders' names."""
        found: dict[str, list[PartCounts]] = {}
        for some in parts(dict.fromkeys(order_ids)):
            mine = (_part.tenant == tenant, _part.order_id.in_(some))
            for (order_id, _), counts in self._counts((_part.order_id, _part.holder), *mine):
                found.setdefault(order_id, []).append(counts)
        return found

    def holder_parts(self, tenant: str) -> Sequence[PartCounts]:
        """How far each holder is with all orders together."""
        return [counts for _, counts in self._counts((_part.holder,), _part.tenant == tenant)]

    def _counts(
        self, key: tuple[sa.Column[str], ...], *mine: sa.ColumnElement[bool]
    ) -> list[tuple[tuple[str, ...], PartCounts]]:
        """Counts by a key that ends with the holder, in the order of the key."""
        late = sa.case((self._overdue, 1), else_=0).label("late")
        each = sa.select(*key, self._state.label("shown"), late).select_from(self._of).where(*mine).subquery()
        by = (*(each.c[column.key] for column in key), each.c.shown)
        wanted = sa.select(*by, sa.func.count(), sa.func.sum(each.c.late)).group_by(*by).order_by(*by)
        found: dict[tuple[str, ...], tuple[dict[PurgeState, int], list[int]]] = {}
        for row in self._connection.execute(wanted):
            *of, shown, count, overdue = row
            states, times = found.setdefault(tuple(of), ({}, []))
            states[PurgeState(shown)] = count
            times.append(int(overdue))
        failures = self._failures(key, *mine)
        return [
            (of, PartCounts(of[-1], states, sum(times), failures.get(of, ""))) for of, (states, times) in found.items()
        ]

    def _failures(self, key: tuple[sa.Column[str], ...], *mine: sa.ColumnElement[bool]) -> dict[tuple[str, ...], str]:
        """By key: why the item failed that failed last, of those that are not done."""
        place = sa.func.row_number().over(partition_by=key, order_by=_part.answered_at.desc()).label("place")
        ranked = sa.select(*key, _part.failure, place).where(*mine, _UNDONE, _part.failure != "").subquery()
        rows = self._connection.execute(sa.select(ranked).where(ranked.c.place == 1))
        return {tuple(row[: len(key)]): row[len(key)] for row in rows}

    def items(
        self, tenant: str, order_id: str, holder: str, after: tuple[str, int] | None, limit: int
    ) -> Sequence[Shown]:
        """Items of an order in the order of (holder, item), after the given one."""
        wanted = self._shown().where(_part.tenant == tenant, _part.order_id == order_id)
        if holder:
            wanted = wanted.where(_part.holder == holder)
        if after is not None:
            place = sa.tuple_(sa.literal(after[0], _part.holder.type), sa.literal(after[1], _part.item.type))
            wanted = wanted.where(sa.tuple_(_part.holder, _part.item) > place)
        return self._rows(wanted.order_by(_part.holder, _part.item).limit(limit))

    def order_counts(self, tenant: str | None) -> OrderCounts:
        """Orders by how they stand; None: of every tenant."""
        mine = [_part.tenant == tenant] if tenant is not None else []
        held = sa.and_(_UNDONE, self._held)
        marks = [sa.func.max(sa.case((mark, 1), else_=0)) for mark in (self._overdue, self._failed, held)]
        by_order = sa.select(_part.order_id, *marks).select_from(self._of).where(*mine, _UNDONE)
        rows = self._connection.execute(by_order.group_by(_part.order_id)).all()
        of = [_order.tenant == tenant] if tenant is not None else []
        total = self._connection.execute(sa.select(sa.func.count()).select_from(kept.purge_order).where(*of)).scalar()
        waiting = sa.select(sa.func.count()).select_from(kept.purge_order)
        waiting = waiting.where(*of, _order.purge_not_before > self._now, sa.not_(_ANY_PART))
        still = len(rows) + int(self._connection.execute(waiting).scalar_one())
        overdue, failed, under_hold = (sum(int(row[place]) for row in rows) for place in (1, 2, 3))
        return OrderCounts(still, overdue, failed, under_hold, int(total or 0) - still)

    def open_by_kind(self) -> Mapping[HolderKind, int]:
        """Items that are neither purged nor not there, of every tenant, by the kind of their holder."""
        kinds = sa.select(_holder.tenant, _holder.holder, _holder.kind).where(last_events()).subquery()
        same = sa.and_(kinds.c.tenant == _part.tenant, kinds.c.holder == _part.holder)
        wanted = sa.select(kinds.c.kind, sa.func.count()).select_from(kept.purge_part.join(kinds, same))
        found = dict.fromkeys(HolderKind, 0)
        for kind, count in self._connection.execute(wanted.where(_UNDONE).group_by(kinds.c.kind)):
            found[HolderKind(kind)] = count
        return found

    def late(self, limit: int) -> Sequence[Late]:
        """Orders with items that are overdue or failed, and of which no notice was taken."""
        found: list[Late] = []
        for notice, mark in zip(NOTICES, (self._overdue, self._failed), strict=True):
            known = sa.exists().where(_notice.order_id == _part.order_id, _notice.notice == notice)
            wanted = sa.select(_part.tenant, _part.order_id, sa.func.count()).select_from(self._of)
            wanted = wanted.where(mark, sa.not_(known)).group_by(_part.tenant, _part.order_id)
            rows = self._connection.execute(wanted.order_by(_part.order_id).limit(limit))
            found += [Late(tenant, order_id, notice, count) for tenant, order_id, count in rows]
        return found

    def postings(self) -> Sequence[Posting]:
        """Holders with a webhook, of every tenant, that may be posted to."""
        posts = (_post.claimed_until, _post.instance, _post.failures, _post.last_failure)
        columns = (_holder.tenant, *(_holder[name] for name in HOLDER_NAMES), *posts)
        same = sa.and_(_post.tenant == _holder.tenant, _post.holder == _holder.holder)
        wanted = sa.select(*columns).select_from(kept.holder_event.outerjoin(kept.holder_post, same))
        wanted = wanted.where(last_events(), _holder.webhook_url != "", sa.not_(_holder.ends))
        rows = self._connection.execute(wanted.order_by(_holder.tenant, _holder.holder))
        return [
            Posting(row[0], holder_row(row[1:8]), Micros(row[8] or 0), row[9] or "", row[10] or 0, row[11] or "")
            for row in rows
        ]

    def posting(self, tenant: str) -> Mapping[str, tuple[int, str]]:
        """By holder: how many posts failed since the last that did not, and why the last one did."""
        wanted = sa.select(_post.holder, _post.failures, _post.last_failure).where(_post.tenant == tenant)
        return {row[0]: (row[1], row[2]) for row in self._connection.execute(wanted)}


def _shown_row(row: Sequence[Any]) -> Shown:
    part = part_row(row)
    named = (row[17] or "", row[18] or "", row[19] or "")
    return Shown(part, PurgeState(row[20]), named, bool(row[21]))
