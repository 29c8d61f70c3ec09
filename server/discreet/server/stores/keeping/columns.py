"""The columns by which audit rows are found, against what the rows themselves say. Must not write.

The chain is over the rows' bytes alone: a column that was changed beside them would hide a row from whoever asks.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from google.protobuf.message import DecodeError

from discreet.server.stores import tables
from discreet.server.stores.chain import PLACE_BITS
from discreet.server.stores.keeping.finding import Finding, Tampering
from discreet.v1 import audit_pb2

STREAMED = {"yield_per": 500}
_decision = tables.audit_decision.c
_DECISIONS = sa.select(tables.audit_decision).order_by(_decision.writer, _decision.place)
_SAME = ("decision_id", "verdict", "reason", "rule")

Row = Any


class Columns:
    """Goes through what decisions are found by, in the order of the links."""

    def __init__(self, connection: sa.Connection) -> None:
        self._rows: Iterator[Row] = iter(connection.execute(_DECISIONS, execution_options=STREAMED))
        self._next: Row = next(self._rows, None)

    def before(self, writer: int, n: int) -> set[tuple[int, int]]:
        """Places before a link, and after the one before it, that decisions say there were."""
        return self._left((writer, n))

    def rest(self) -> set[tuple[int, int]]:
        """Places behind the last link that decisions say there were."""
        return self._left(None)

    def differing(self, writer: int, n: int, size: int, held: Sequence[Row]) -> Iterator[Finding]:
        """What differs for the rows of a link, which had so many of them. Which are gone is the chain's to tell."""
        keys: dict[int, list[Row]] = {}
        while self._next is not None and self._place() == (writer, n):
            keys.setdefault(int(self._next.ordinal), []).append(self._next)
            self._next = next(self._rows, None)
        for row in held:
            differ = _differ(row, keys.pop(int(row.ordinal), []))
            if differ:
                detail = f"what it is found by does not say what it says: {', '.join(differ)}"
                yield Finding(Tampering.ALTERED, writer, n, int(row.ordinal) + 1, str(row.request_id), detail)
        for ordinal in sorted(one for one in keys if one >= size):
            yield Finding(Tampering.INSERTED, writer, n, ordinal + 1, detail="decisions are found that no row holds")

    def _left(self, until: tuple[int, int] | None) -> set[tuple[int, int]]:
        places: set[tuple[int, int]] = set()
        while self._next is not None and (until is None or self._place() < until):
            places.add(self._place())
            self._next = next(self._rows, None)
        return places

    def _place(self) -> tuple[int, int]:
        return self._next.writer, self._next.place >> PLACE_BITS


def _differ(row: Row, keys: Sequence[Row]) -> list[str]:
    """Names of columns that are not what the row's bytes say; none where those are no row, which the chain tells."""
    try:
        said = audit_pb2.AuditRow.FromString(bytes(row.body))
    except DecodeError:
        return []
    plain = (said.tenant, said.request_id, said.act, said.at.ToMicroseconds())
    names = ("tenant", "request_id", "act", "at")
    differ = [name for name, value in zip(names, plain, strict=True) if getattr(row, name) != value]
    person = said.principal_id or said.change.principal_id
    differ += [name for name, value in (("principal_id", person), ("session_id", said.session_id))
               if getattr(row, name) != value]  # fmt: skip
    if len(keys) != len(said.decisions):
        return [*differ, f"{len(keys)} of {len(said.decisions)} decisions"]
    for key, decision in zip(keys, said.decisions, strict=True):
        differ += [name for name in _SAME if getattr(key, name) != getattr(decision, name)]
        beside = (
            said.tenant,
            said.at.ToMicroseconds(),
            person,
            said.session_id,
            said.moment,
            said.policy.number,
            row.n,
        )
        told = (key.tenant, key.at, key.principal_id, key.session_id, key.moment, key.policy_revision, key.n)
        if told != beside:
            differ.append("a decision's call")
    return list(dict.fromkeys(differ))
