"""The columns by which audit rows are found, against what the rows themselves say. Must not write.

The chain is over the rows' bytes alone: a column that was changed beside them would hide a row from whoever asks.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from google.protobuf.message import DecodeError

from discreet.server.stores import tables
from discreet.server.stores.chain import PLACE_BITS
from discreet.server.stores.keeping.finding import Finding, Tampering
from discreet.v1 import audit_pb2

STREAMED = {"yield_per": 500}
_decision, _act = tables.audit_decision.c, tables.audit_act.c
_DECISIONS = sa.select(tables.audit_decision).order_by(_decision.writer, _decision.place)
_ACTS = sa.select(tables.audit_act).order_by(_act.writer, _act.place)
_SAME = ("decision_id", "verdict", "reason", "rule")

Row = Any
Place = tuple[int, int]


class Columns:
    """Goes through what decisions and acts are found by, in the order of the links."""

    def __init__(self, connection: sa.Connection) -> None:
        self._decisions, self._acts = _Found(connection, _DECISIONS), _Found(connection, _ACTS)

    def before(self, writer: int, n: int) -> set[Place]:
        """Places before a link, and after the one before it, that something is found at."""
        return self._decisions.left((writer, n)) | self._acts.left((writer, n))

    def rest(self) -> set[Place]:
        """Places behind the last link that something is found at."""
        return self._decisions.left(None) | self._acts.left(None)

    def differing(self, writer: int, n: int, size: int, held: Sequence[Row]) -> Iterator[Finding]:
        """What differs for the rows of a link, which had so many of them. Which are gone is the chain's to tell."""
        decisions, acts = self._decisions.take((writer, n)), self._acts.take((writer, n))
        for row in held:
            differ = _differ(row, decisions.pop(int(row.ordinal), []), acts.pop(int(row.ordinal), []))
            if differ:
                detail = f"what it is found by does not say what it says: {', '.join(differ)}"
                yield Finding(Tampering.ALTERED, writer, n, int(row.ordinal) + 1, str(row.request_id), detail)
        for ordinal in sorted(one for one in {*decisions, *acts} if one >= size):
            yield Finding(Tampering.INSERTED, writer, n, ordinal + 1, detail="something is found that no row holds")


class _Found:
    """One table that rows are found by, in the order of the links."""

    def __init__(self, connection: sa.Connection, statement: sa.Select[Any]) -> None:
        self._rows: Iterator[Row] = iter(connection.execute(statement, execution_options=STREAMED))
        self._next: Row = next(self._rows, None)

    def take(self, place: Place) -> dict[int, list[Row]]:
        """What is found at a link, by the place of its row."""
        found: dict[int, list[Row]] = {}
        while self._next is not None and self._place() == place:
            found.setdefault(int(self._next.ordinal), []).append(self._next)
            self._next = next(self._rows, None)
        return found

    def left(self, until: Place | None) -> set[Place]:
        """The places before a link, or with None all that are left."""
        places: set[Place] = set()
        while self._next is not None and (until is None or self._place() < until):
            places.add(self._place())
            self._next = next(self._rows, None)
        return places

    def _place(self) -> Place:
        return self._next.writer, self._next.place >> PLACE_BITS


def _differ(row: Row, decisions: Sequence[Row], acts: Sequence[Row]) -> list[str]:
    """Names of columns that are not what the row's bytes say; none where those are no row, which the chain tells."""
    try:
        said = audit_pb2.AuditRow.FromString(bytes(row.body))
    except DecodeError:
        return []
    at, person = said.at.ToMicroseconds(), said.principal_id or said.change.principal_id
    wanted: dict[str, object] = {
        "tenant": said.tenant, "request_id": said.request_id, "act": said.act, "at": at, "principal_id": person,
        "session_id": said.session_id,
    }  # fmt: skip
    differ = _other(row, wanted)
    call = {"tenant": said.tenant, "at": at, "principal_id": person, "n": row.n}
    if len(decisions) != len(said.decisions) or (not said.decisions) != (len(acts) == 1):
        return [*differ, f"{len(decisions)} of {len(said.decisions)} decisions, {len(acts)} acts"]
    asked = {"session_id": said.session_id, "moment": said.moment, "policy_revision": said.policy.number}
    for key, decision in zip(decisions, said.decisions, strict=True):
        differ += _other(key, {**call, **asked, **{name: getattr(decision, name) for name in _SAME}})
    change = said.change
    names = ("method", "ticket", "subject_id")
    by = {"act": said.act, "actor": said.caller.name, **{name: getattr(change, name) for name in names}}
    record = {"record_id": change.record.record_id, "version": change.record.version}
    for key in acts:
        differ += _other(key, {**call, **by, **record})
    return list(dict.fromkeys(differ))


def _other(row: Row, wanted: Mapping[str, object]) -> list[str]:
    return [name for name, value in wanted.items() if getattr(row, name) != value]
