"""Leaves out of records what their purge takes: their attributes, fields and formula, once it is due.

A version falls with everything that it rests on. Under a hold it is kept, and shown as little. The rows of its
revisions stay as they are (docs/decisions/0056): what is left out here is what is given out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from discreet.policy.facts import FactIds, Facts, Micros, RecordFacts
from discreet.server.calls import Call
from discreet.server.servicers.index.transacting import Transacting


async def without_fallen(
    transacting: Transacting, call: Call, tenant: str, records: Sequence[RecordFacts]
) -> list[RecordFacts]:
    """The records, those whose purge is due without content. Of one version all revisions are judged by the latest."""
    refs = tuple(dict.fromkeys(ref for record in records for ref in (record.ref, *record.roots)))
    if not refs:
        return []
    facts = await transacting.read(call, transacting.store.fetch(tenant, FactIds(refs, "")))
    now = (await transacting.read(call, transacting.store.head())).now
    return [_emptied(record) if _is_due(record, facts, now) else record for record in records]


def _is_due(record: RecordFacts, facts: Facts, now: Micros) -> bool:
    found = [facts.records.get(ref) for ref in (record.ref, *record.roots)]
    revokes = [facts.standing.revoke_of(one) for one in found if one is not None]
    return any(revoke is not None and revoke.purge_not_before <= now for revoke in revokes)


def _emptied(record: RecordFacts) -> RecordFacts:
    return replace(record, attributes={}, fields={}, formula="")
