"""Facts as rows: the one place that knows how a record is laid out in columns. Must know nothing of connections.

Collections are canonical JSON: sorted keys, no spaces, ASCII, no NaN. So equal facts are equal text on either database.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from discreet.policy.facts import (
    NOTHING_STANDS,
    Attributes,
    Freeze,
    GrantFacts,
    Hold,
    LedgerFacts,
    PrincipalGrants,
    RecordFacts,
    Ref,
    Revoke,
    Standing,
    Target,
)
from discreet.policy.words import Grounding, Origin, RecordKind
from discreet.server.ports import LEDGER_ROOTS_MAX

RECORD_COLUMNS = (
    "record_id",
    "version",
    "revision",
    "kind",
    "digest",
    "source_label",
    "collector",
    "recorded_at",
    "is_current",
    "as_of",
    "basis",
    "scopes",
    "attributes",
    "assessment_expires_at",
    "superseded_by_id",
    "superseded_by_version",
    "suspended",
    "unreachable",
    "revoked",
    "origin",
    "own_source",
    "of_refs",
    "fields",
    "formula",
    "inputs",
    "step",
    "settled",
    "roots",
    "suspended_until",
)
LEDGER_COLUMNS = (
    "ledger_id",
    "principal_id",
    "session_id",
    "answer_id",
    "segment_id",
    "segment_digest",
    "grounding",
    "segment",
    "seq",
    "committed_at",
    "store_by",
    "need_numbers",
    "need_advice",
)

STANDING_COLUMNS = (
    "seq",
    "tenant",
    "fact",
    "fact_id",
    "label",
    "record_id",
    "version",
    "actor",
    "reason",
    "ticket",
    "at",
    "until",
)
SOURCE_REVOKE, FREEZE, HOLD = "source-revoke", "freeze", "hold"
"""The facts of `standing_event`."""

_KINDS = {kind.value: kind for kind in RecordKind}
_ORIGINS = {origin.value: origin for origin in Origin}
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def canonical(value: object) -> str:
    """The canonical JSON of a value.

    >>> canonical({"b": (1, 2.0), "a": None})
    '{"a":null,"b":[1,2.0]}'
    """
    return _encode(value)


def record_row(tenant: str, record: RecordFacts, revision: int) -> dict[str, object]:
    """The columns of a record revision."""
    successor = record.superseded_by
    return {
        "tenant": tenant,
        "record_id": record.record_id,
        "version": record.version,
        "revision": revision,
        "kind": int(record.kind),
        "digest": record.digest,
        "source_label": record.source_label,
        "collector": record.collector,
        "recorded_at": record.recorded_at,
        "is_current": record.current,
        "as_of": record.as_of,
        "basis": record.basis,
        "scopes": _text(record.scopes),
        "attributes": _text(record.attributes),
        "assessment_expires_at": record.assessment_expires_at,
        "superseded_by_id": None if successor is None else successor.record_id,
        "superseded_by_version": None if successor is None else successor.version,
        "suspended": record.suspended,
        "unreachable": record.unreachable,
        "revoked": None if record.revoked is None else _revoke_text(record.revoked, revision),
        "origin": int(record.origin),
        "own_source": record.own_source,
        "of_refs": _text(record.of),
        "fields": _text(record.fields),
        "formula": record.formula,
        "inputs": _text(record.inputs),
        "step": record.step,
        "settled": _text(record.settled),
        "roots": _text(record.roots),
        "suspended_until": record.suspended_until,
    }


def record_facts(row: Sequence[Any]) -> RecordFacts:
    """The record of a row that has RECORD_COLUMNS in their order."""
    return RecordFacts(
        row[0],
        row[1],
        row[2],
        _KINDS[row[3]],
        row[4],
        row[5],
        row[6],
        row[7],
        bool(row[8]),
        row[9],
        row[10],
        () if row[11] == "[]" else tuple(json.loads(row[11])),
        _mapping(row[12]),
        row[13],
        None if row[14] is None else Ref(row[14], row[15]),
        bool(row[16]),
        row[28],
        bool(row[17]),
        revoke_of(row[18]),
        _ORIGINS[row[19]],
        bool(row[20]),
        refs(row[21]),
        _mapping(row[22]),
        row[23],
        refs(row[24]),
        row[25],
        () if row[26] == "[]" else tuple(json.loads(row[26])),
        refs(row[27]),
    )


def revoke_of(text: str | None) -> Revoke | None:
    """The retention revoke of a record's column."""
    return None if text is None else Revoke(**json.loads(text))


def refs(text: str) -> tuple[Ref, ...]:
    """The record versions that canonical JSON names."""
    return () if text == "[]" else tuple(Ref(record_id, version) for record_id, version in json.loads(text))


def too_much(asked: Iterable[str], roots: Mapping[str, Sequence[Ref]]) -> frozenset[str]:
    """Entries that are given without roots, where LEDGER_ROOTS_MAX + 1 roots were read in the order of the question.

    The one in which there were too many, which may have more, and all after it, which may have any.
    """
    count = 0
    ordered = list(asked)
    for place, ledger_id in enumerate(ordered):
        count += len(roots.get(ledger_id, ()))
        if count > LEDGER_ROOTS_MAX:
            return frozenset(ordered[place:])
    return frozenset()


def ledger_facts(row: Sequence[Any], roots: Iterable[Ref], *, beyond: bool = False) -> LedgerFacts:
    """The committed segment of a row that has LEDGER_COLUMNS in their order."""
    return LedgerFacts(
        ledger_id=row[0],
        principal_id=row[1],
        session_id=row[2],
        answer_id=row[3],
        segment_id=row[4],
        segment_digest=row[5],
        grounding=Grounding(row[6]),
        segment=bytes(row[7]),
        roots=() if beyond else tuple(roots),
        seq=row[8],
        committed_at=row[9],
        store_by=row[10],
        need_numbers=bool(row[11]),
        need_advice=bool(row[12]),
        beyond=beyond,
    )


def grant_facts(row: Sequence[Any]) -> GrantFacts:
    """The grant of a row (scope, generation, seq, not_before, expires_at)."""
    return GrantFacts(scope=row[0], generation=row[1], revision=row[2], not_before=row[3], expires_at=row[4])


def standing_grants(events: Sequence[Sequence[Any]]) -> PrincipalGrants:
    """What stands of one principal's events (scope, generation, seq, not_before, expires_at, withdrawn)."""
    ended = {(row[0], row[1]) for row in events if row[5]}
    standing = tuple(grant_facts(row) for row in events if not row[5] and (row[0], row[1]) not in ended)
    return PrincipalGrants(standing, max((row[2] for row in events), default=0))


def standing_of(revision: int, rows: Iterable[Sequence[Any]]) -> Standing:
    """What stands, of rows that have STANDING_COLUMNS in their order and that no later row ends."""
    revoked: dict[str, Revoke] = {}
    freezes: list[Freeze] = []
    holds: dict[Target, tuple[Hold, ...]] = {}
    for seq, tenant, fact, fact_id, label, record_id, version, actor, reason, ticket, at, until in rows:
        if fact == SOURCE_REVOKE:
            revoked.setdefault(label, Revoke(actor, reason, ticket, at, until, seq, fact_id))
        elif fact == FREEZE:
            freezes.append(Freeze(fact_id, label, actor, reason, at, until, not tenant))
        else:
            target = Target(label, record_id, version)
            holds[target] = (*holds.get(target, ()), Hold(fact_id, target, actor, reason, ticket, at))
    return Standing(revision, revoked, tuple(freezes), holds) if revision else NOTHING_STANDS


def _mapping(text: str) -> Attributes:
    return {} if text == "{}" else json.loads(text)


def _text(value: object) -> str:
    if not value:
        return "[]" if isinstance(value, tuple) else "{}"
    return _encode(value)


def revoke_parts(revoke: Revoke) -> tuple[str, str]:
    """What stands in a record's column before and after the number of the event that revoked."""
    place = '"seq":0'
    head, tail = _revoke_text(replace(revoke, seq=0), 0).split(place)
    return head + place[:-1], tail


def _revoke_text(revoke: Revoke, revision: int) -> str:
    """A revoke that names no event yet was made by this one."""
    return _encode(
        {
            "actor": revoke.actor,
            "reason": revoke.reason,
            "ticket": revoke.ticket,
            "revoked_at": revoke.revoked_at,
            "purge_not_before": revoke.purge_not_before,
            "seq": revoke.seq or revision,
            "order_id": revoke.order_id,
        }
    )
