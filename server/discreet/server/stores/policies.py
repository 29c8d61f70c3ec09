"""Policy revisions, their origins and pins, and the servers of a database, in SQLAlchemy Core. Must open nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from discreet.policy.facts import Micros
from discreet.server.ports import ChangeKind
from discreet.server.ports_policy import Beat, Origin, Pin, PolicyName, PolicyRow, Revision, ServerRow
from discreet.server.stores import tables, tables_policy
from discreet.server.stores.transaction import Transaction

_policy = tables.policy_revision.c
_origin = tables_policy.policy_origin.c
_pin = tables_policy.policy_pin.c
_server = tables_policy.server.c
_NAME = (_policy.number, _policy.commit_id, _policy.digest, _policy.dirty, _policy.published_at)
_ORIGIN = (
    _origin.publisher, _origin.source, _origin.ref, _origin.author, _origin.subject, _origin.committed_at,
    _origin.rolled_back_to, _origin.reason,
)  # fmt: skip

BEAT_COLUMNS = [column.name for column in tables_policy.server.columns]
_KEPT = {"instance", "started_at"}
_SET = ", ".join(f"{name} = excluded.{name}" for name in BEAT_COLUMNS if name not in _KEPT)
BEAT = (
    f"INSERT INTO server ({', '.join(BEAT_COLUMNS)}) VALUES ({{values}}) ON CONFLICT (instance) DO UPDATE SET {_SET},"  # noqa: S608 - names of columns alone
    " started_at = CASE WHEN server.run = excluded.run THEN server.started_at ELSE excluded.started_at END"
    " WHERE server.run = excluded.run OR server.ended OR server.seen_at + server.lease <= excluded.seen_at"
)
"""Tells of a server, unless another process of its name lives."""


def beat_values(beat: Beat, now: Micros | None) -> dict[str, object]:
    """The columns of the row; without `now` those that the database's clock fills are left out."""
    policy = beat.policy or PolicyName(0, "", "", False, Micros(0))
    values: dict[str, object] = {
        "instance": beat.instance,
        "run": beat.run,
        "version": beat.version,
        "engine": beat.engine,
        "lease": beat.lease,
        "acked_seq": beat.acked_seq,
        "policy_number": policy.number,
        "policy_commit": policy.commit,
        "policy_digest": policy.digest,
        "policy_dirty": policy.dirty,
        "policy_published_at": policy.published_at,
        "environment": beat.environment,
        "lag": beat.lag,
        "read_age": beat.read_age,
        "problem": beat.problem,
        "ended": beat.ended,
    }
    return values if now is None else values | {"started_at": now, "seen_at": now}


def policy_row(connection: sa.Connection, number: int) -> PolicyRow | None:
    """A published revision; 0: the one in force."""
    row = connection.execute(_wanted(number, *_NAME, _policy.bundle)).first()
    if row is None:
        return None
    return PolicyRow(row.number, row.commit_id, row.digest, bool(row.dirty), bytes(row.bundle), row.published_at)


def policy_name(connection: sa.Connection, number: int) -> PolicyName | None:
    """A published revision without its bundle; 0: the one in force."""
    row = connection.execute(_wanted(number, *_NAME)).first()
    return _name(row) if row is not None else None


def _wanted(number: int, *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    in_force = sa.select(tables.authority.c.policy_revision).scalar_subquery()
    return sa.select(*columns).where(_policy.number == (number or in_force))


def _name(row: Sequence[Any]) -> PolicyName:
    return PolicyName(row[0], row[1], row[2], bool(row[3]), row[4])


def revisions(connection: sa.Connection, before: int | None, limit: int) -> list[Revision]:
    """Published revisions, newest first, below the given number."""
    joined = tables.policy_revision.outerjoin(tables_policy.policy_origin, _origin.number == _policy.number)
    wanted = sa.select(*_NAME, *_ORIGIN).select_from(joined).order_by(_policy.number.desc()).limit(limit)
    if before is not None:
        wanted = wanted.where(_policy.number < before)
    found = [tuple(row) for row in connection.execute(wanted)]
    return [Revision(_name(row), Origin(*row[5:]) if row[5] is not None else None) for row in found]


def pins(connection: sa.Connection) -> tuple[Pin, ...]:
    """What is pinned out, newest first."""
    later = tables_policy.policy_pin.alias("later")
    newer = sa.exists().where(later.c.pinned == _pin.pinned, later.c.seq > _pin.seq)
    wanted = sa.select(_pin.pinned, _pin.actor, _pin.reason, _pin.at, _pin.seq).where(sa.not_(_pin.ends), ~newer)
    return tuple(Pin(*row) for row in connection.execute(wanted.order_by(_pin.seq.desc())))


def servers(connection: sa.Connection, seen_after: int) -> tuple[ServerRow, ...]:
    """Servers seen after that time, by instance."""
    wanted = sa.select(*tables_policy.server.columns).where(_server.seen_at > seen_after)
    return tuple(_server_row(row) for row in connection.execute(wanted.order_by(_server.instance)).mappings())


def server(connection: sa.Connection, instance: str) -> ServerRow | None:
    """The last that is known of a server of that name."""
    wanted = sa.select(*tables_policy.server.columns).where(_server.instance == instance)
    row = connection.execute(wanted).mappings().first()
    return _server_row(row) if row is not None else None


def _server_row(at: Mapping[Any, Any]) -> ServerRow:
    policy = PolicyName(
        at["policy_number"], at["policy_commit"], at["policy_digest"], bool(at["policy_dirty"]),
        at["policy_published_at"],
    )  # fmt: skip
    beat = Beat(
        at["instance"], at["run"], at["version"], at["engine"], at["lease"], at["acked_seq"],
        policy if policy.number else None, at["environment"], at["lag"], at["read_age"], at["problem"],
        bool(at["ended"]),
    )  # fmt: skip
    return ServerRow(beat, at["started_at"], at["seen_at"])


class SqlPolicies:
    """The port `PolicyWork` over the index transaction that it is part of."""

    def __init__(self, on: Transaction) -> None:
        self._on = on

    def in_force(self) -> PolicyName | None:
        """The revision in force."""
        number = self._on.head.policy_revision
        return policy_name(self._on.connection, number) if number else None

    def row(self, number: int) -> PolicyRow | None:
        """A published revision with its bundle."""
        return policy_row(self._on.connection, number) if number else None

    def publish(self, expected: int, row: PolicyRow, origin: Origin) -> int | None:
        """Publishes a revision if the one in force is still `expected`; returns its number, or None."""
        on = self._on
        if on.head.policy_revision != expected:
            return None
        number, seq = expected + 1, on.fact()
        on.changed(ChangeKind.POLICY, "", {"": seq})
        on.head = on.head._replace(policy_revision=number)
        policy = {"number": number, "commit_id": row.commit, "digest": row.digest, "dirty": row.dirty}
        on.insert("policy_revision", [policy | {"bundle": row.bundle, "published_at": row.published_at, "seq": seq}])
        on.insert("policy_origin", [{"number": number, **origin._asdict()}])
        return number

    def pins(self) -> tuple[Pin, ...]:
        """What is pinned out, newest first."""
        return pins(self._on.connection)

    def pin(self, pinned: str, actor: str, reason: str) -> int:
        """Pins out a commit or digest; returns the event's number."""
        return self._pin(pinned, actor, reason, ends=False)

    def unpin(self, pinned: str, actor: str, reason: str) -> int:
        """Ends the pins of a commit or digest; returns the event's number."""
        return self._pin(pinned, actor, reason, ends=True)

    def _pin(self, pinned: str, actor: str, reason: str, *, ends: bool) -> int:
        seq = self._on.event()
        row = {"seq": seq, "pinned": pinned, "ends": ends, "actor": actor, "reason": reason, "at": self._on.head.now}
        self._on.insert("policy_pin", [row])
        return seq

    def servers(self) -> tuple[ServerRow, ...]:
        """Servers that are live."""
        now = self._on.head.now
        return tuple(row for row in servers(self._on.connection, 0) if row.live(now))
