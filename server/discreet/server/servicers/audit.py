"""What was decided and done, from the stored rows and from nothing else; and the ends of the chain they are in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from discreet.policy.codec import Malformed
from discreet.policy.codec.values import stamp_of
from discreet.policy.facts import Micros
from discreet.policy.idents import SHORT_BYTES_MAX, text_problem
from discreet.policy.problems import PolicyProblems
from discreet.policy.snapshot import Snapshot
from discreet.policy.words import AuditAct, Moment, Reason, Verdict, Word
from discreet.server.calls import Call
from discreet.server.errors import NotFound
from discreet.server.identity.access import tenants_of
from discreet.server.policies.aside import aside
from discreet.server.policies.compile import compile_row
from discreet.server.policies.follower import Policies
from discreet.server.ports import Store
from discreet.server.ports_authority import Look, Released
from discreet.server.ports_found import ActFilter, AuditFilter, AuditHit
from discreet.server.servicers import fields
from discreet.server.servicers.audit_reads import Reads
from discreet.server.servicers.explaining import lines_of
from discreet.server.servicers.paging import cursor_of, page_token
from discreet.v1 import audit_pb2 as pb

T = TypeVar("T")

RULE_BYTES_MAX = 256
_ACTS = (AuditAct.CHANGE, AuditAct.REFUSED, AuditAct.SHOWN, AuditAct.READ)
"""What QueryActs finds."""
_UNASKED = tuple(act.value for act in _ACTS if act is not AuditAct.READ)
"""What it finds unless it is told: else the newest acts would soon be the auditors' own."""


class Auditing:
    """Answers AuditService."""

    def __init__(self, store: Store, policies: Policies, reads: Reads, timeout_s: float) -> None:
        self._store = store
        self._reads = reads
        self._policies = policies
        self._timeout_s = timeout_s

    async def query_decisions(self, call: Call, request: pb.QueryDecisionsRequest) -> pb.QueryDecisionsResponse:
        """Decisions that match all filters, newest first, a page at a time."""
        wanted = _filter(call, request)
        size = fields.page_size(request.page_size)
        before = _before(request)
        found = await self._within(call, self._store.find_decisions(wanted, before, size + 1))
        more = len(found) > size
        decisions = [_record(hit)[1] for hit in found[:size]]
        await self._within(call, self._confirm(decisions))
        await self._reads.put(call, request, f"found {len(decisions)}")
        return pb.QueryDecisionsResponse(
            decisions=decisions,
            next_page_token=page_token(request, found[size - 1].position) if more else "",
        )

    async def query_acts(self, call: Call, request: pb.QueryActsRequest) -> pb.QueryActsResponse:
        """Changes, refusals and reports that match all filters, newest first, a page at a time."""
        wanted = _act_filter(call, request)
        size = fields.page_size(request.page_size)
        before = _before(request)
        found = await self._within(call, self._store.find_acts(wanted, before, size + 1))
        more = len(found) > size
        acts = [_act(hit.body) for hit in found[:size]]
        await self._reads.put(call, request, f"found {len(acts)}")
        return pb.QueryActsResponse(
            acts=acts,
            next_page_token=page_token(request, found[size - 1].position) if more else "",
        )

    async def explain(self, call: Call, request: pb.ExplainRequest) -> pb.ExplainResponse:
        """One decision whole, with lines for people."""
        tenants = tenants_of(call.caller, request.tenant)
        fields.check(
            text_problem(request.decision_id, SHORT_BYTES_MAX), "decision_id", "give one that an answer carried"
        )
        wanted = AuditFilter(tenants=tenants, decision_id=request.decision_id)
        found = await self._within(call, self._store.find_decisions(wanted, None, 1))
        if not found:
            await self._reads.put(call, request, "found none")
            raise NotFound("decision_id: there is no such decision in the tenants of this identity")
        row, record = _record(found[0])
        named = bool(record.decision.rule or record.decision.observed_rules)
        snapshot = await self._within(call, self._snapshot(row.policy.number)) if named else None
        released = await self._within(call, self._released(row.tenant, record.decision.ledger_id))
        record.confirmed = released is not None and released.confirmed
        await self._reads.put(call, request, "found it")
        return pb.ExplainResponse(
            decision=record,
            facts=row.facts,
            lines=lines_of(row, record.decision, snapshot, released),
            principal_attributes=row.principal_attributes,
            claimed_scopes=row.claimed_scopes,
            locale=row.locale,
            need_numbers=row.need_numbers,
            need_advice=row.need_advice,
        )

    async def list_chain_heads(self, call: Call, _request: pb.ListChainHeadsRequest) -> pb.ListChainHeadsResponse:
        """The ends of the audit chain, to be kept elsewhere."""
        found = await self._within(call, self._store.chain_heads())
        return pb.ListChainHeadsResponse(
            epoch=found.epoch,
            at=stamp_of(found.at),
            heads=[pb.ChainHead(writer=one.writer, link=one.link, hash=one.hash) for one in found.heads],
        )

    async def _confirm(self, decisions: Sequence[pb.DecisionRecord]) -> None:
        """Says of each decision that names a ledger entry whether that one was reported as shown, all in one look."""
        named: dict[str, set[str]] = {}
        for one in decisions:
            if one.decision.ledger_id:
                named.setdefault(one.tenant, set()).add(one.decision.ledger_id)
        if not named:
            return

        def look(at: Look) -> set[tuple[str, str]]:
            found = ((tenant, at.released(tenant, sorted(ids))) for tenant, ids in named.items())
            return {(tenant, name) for tenant, entries in found for name, one in entries.items() if one.confirmed}

        confirmed = await self._store.look(look)
        for one in decisions:
            one.confirmed = (one.tenant, one.decision.ledger_id) in confirmed

    async def _released(self, tenant: str, ledger_id: str) -> Released | None:
        """The entry that a decision made or was about, as it stands now."""
        if not ledger_id:
            return None
        return (await self._store.look(lambda at: at.released(tenant, [ledger_id]))).get(ledger_id)

    async def _snapshot(self, number: int) -> Snapshot | None:
        """The revision that a decision was made under; None where it cannot be had any more."""
        held = self._policies.snapshot
        if held is not None and held.number == number:
            return held
        policy = await self._store.policy_row(number) if number else None
        try:
            return await aside(compile_row, policy) if policy is not None else None
        except PolicyProblems:
            return None

    async def _within(self, call: Call, work: Awaitable[T]) -> T:
        async with asyncio.timeout(call.time_left_s(self._timeout_s)):
            return await work


def _before(request: pb.QueryDecisionsRequest | pb.QueryActsRequest) -> tuple[int, int, int] | None:
    """The place that a page begins behind."""
    cursor = cursor_of(request, request.page_token, int, int, int)
    return (int(cursor[0]), int(cursor[1]), int(cursor[2])) if cursor is not None else None


def _times(request: pb.QueryDecisionsRequest | pb.QueryActsRequest) -> tuple[Micros | None, Micros | None]:
    since, until = fields.optional_time(request, "since"), fields.optional_time(request, "until")
    if since is not None and until is not None and until < since:
        raise Malformed("until", "is before since", "give a later time")
    return since, until


def _filter(call: Call, request: pb.QueryDecisionsRequest) -> AuditFilter:
    since, until = _times(request)
    if request.policy_revision >= 1 << 63:
        raise Malformed("policy_revision", "is too large")
    return AuditFilter(
        tenants=tenants_of(call.caller, request.tenant),
        principal_id=fields.principal(request.principal_id, "principal_id") if request.principal_id else "",
        session_id=fields.optional_text(request.session_id, "session_id", SHORT_BYTES_MAX),
        record_id=fields.record_id(request.record_id, "record_id") if request.record_id else "",
        source_label=fields.label(request.source_label, "source_label") if request.source_label else "",
        verdict=_word(Verdict, request.verdict, "verdict"),
        reasons=_reasons(_word(Reason, request.reason, "reason")),
        rule=fields.optional_text(request.rule, "rule", RULE_BYTES_MAX),
        moment=_word(Moment, request.moment, "moment"),
        since=since,
        until=until,
        policy_revision=request.policy_revision,
    )


def _act_filter(call: Call, request: pb.QueryActsRequest) -> ActFilter:
    since, until = _times(request)
    if request.act and request.act not in {act.value for act in _ACTS}:
        known = ", ".join(act.short for act in _ACTS)
        raise Malformed("act", "is none that is found here", f"give one of {known}; QueryDecisions finds decisions")
    if request.version and not request.record_id:
        raise Malformed("version", "stands without record_id", "name the record too")
    return ActFilter(
        tenants=tenants_of(call.caller, request.tenant),
        acts=(int(request.act),) if request.act else _UNASKED,
        method=fields.optional_text(request.method, "method", SHORT_BYTES_MAX),
        actor=fields.optional_text(request.actor, "actor", SHORT_BYTES_MAX),
        principal_id=fields.principal(request.principal_id, "principal_id") if request.principal_id else "",
        record_id=fields.record_id(request.record_id, "record_id") if request.record_id else "",
        version=fields.version(request.version, "version") if request.version else "",
        ticket=fields.optional_text(request.ticket, "ticket", SHORT_BYTES_MAX),
        subject_id=fields.optional_text(request.subject_id, "subject_id", SHORT_BYTES_MAX),
        since=since,
        until=until,
    )


def _word(words: type[Word], number: int, path: str) -> int:
    if number and number not in [int(word) for word in words]:
        choices = ", ".join(word.short for word in words)
        raise Malformed(path, "is a number without a meaning here", f"give one of {choices}")
    return number


def _reasons(reason: int) -> tuple[int, ...]:
    """The causes to look for: what a reader was told as NOT_AVAILABLE stands under its cause."""
    if reason == Reason.NOT_AVAILABLE:
        return tuple(int(cause) for cause in Reason if cause.looks_unavailable)
    return (reason,) if reason else ()


def _record(hit: AuditHit) -> tuple[pb.AuditRow, pb.DecisionRecord]:
    row = pb.AuditRow()
    row.ParseFromString(hit.body)
    decision = next(one for one in row.decisions if one.decision_id == hit.decision_id)
    return row, pb.DecisionRecord(
        at=row.at,
        request_id=row.request_id,
        tenant=row.tenant,
        act=row.act,
        caller=row.caller,
        moment=row.moment,
        principal_id=row.principal_id,
        session_id=row.session_id,
        answer_id=row.answer_id,
        policy=row.policy,
        token=row.token,
        decision=decision,
    )


def _act(body: bytes) -> pb.ActRecord:
    row = pb.AuditRow.FromString(body)
    return pb.ActRecord(
        at=row.at,
        request_id=row.request_id,
        tenant=row.tenant,
        act=row.act,
        instance=row.instance,
        caller=row.caller,
        change=row.change,
        session_id=row.session_id,
        shown_ledger_ids=row.shown_ledger_ids,
    )
