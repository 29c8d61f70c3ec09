"""ReportShown: what was released to a reader is on record as shown. It decides nothing and changes no decision.

An entry of another principal or session, or of another tenant, is as one that never was (F11): one look at the ledger
answers for all ids alike, and every report leaves one audit row whatever became of it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

from discreet.policy.codec import encode_shown, parse_report_shown
from discreet.policy.facts import Micros
from discreet.policy.request import ShownReport
from discreet.policy.words import ShownKind
from discreet.server.auditing import shown_of
from discreet.server.calls import Call
from discreet.server.errors import Unavailable
from discreet.server.identity.access import tenant_of
from discreet.server.ports import Job, Recorded, StoreError
from discreet.server.ports_authority import Look, Released
from discreet.server.servicers.asking import Asking


class Reporting:
    """Answers ReportShown."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def report_shown(self, call: Call, data: bytes) -> bytes:
        """The bytes of a ReportShownResponse. Raises Malformed, Denied, and Unavailable: repeat it, it is safe to."""
        report = parse_report_shown(data)
        tenant = tenant_of(call.caller, report.tenant)
        try:
            async with asyncio.timeout(call.time_left_s(self._asking.timeout_s)):
                outcomes = await self._report(call, report, tenant)
        except (StoreError, TimeoutError) as error:
            self._asking.audit_failed(call, error)
            raise Unavailable(
                "the report could not be made durable, or the store did not say in time; repeat it, it is safe to"
            ) from None
        return encode_shown(call.request_id, tuple(outcomes.items()))

    async def _report(self, call: Call, report: ShownReport, tenant: str) -> dict[str, ShownKind]:
        def look(at: Look) -> tuple[Micros, Mapping[str, Released]]:
            return at.now, at.released(tenant, report.ledger_ids)

        now, found = await self._asking.store.look(look)
        outcomes = {ledger_id: _outcome(report, found.get(ledger_id)) for ledger_id in report.ledger_ids}
        confirmed = [ledger_id for ledger_id, kind in outcomes.items() if kind is ShownKind.CONFIRMED]
        counts = Counter(outcomes.values())
        detail = ", ".join(f"{counts[kind]} {kind.short}" for kind in ShownKind)
        record = shown_of(call, report, tenant, now, self._asking.instance, confirmed, detail)
        job = Job(record, shown=tuple((tenant, ledger_id) for ledger_id in confirmed))
        (written,) = await self._asking.store.record([job])
        if not isinstance(written, Recorded):
            raise StoreError("the report was not written")
        return outcomes


def _outcome(report: ShownReport, entry: Released | None) -> ShownKind:
    if entry is None or (entry.principal_id, entry.session_id) != (report.principal.id, report.session_id):
        return ShownKind.UNKNOWN
    return ShownKind.ALREADY_CONFIRMED if entry.confirmed else ShownKind.CONFIRMED
