"""Bounds of the index and of the configuration.

Taken at the limit, refused one past it, and nothing is written then.
"""

from __future__ import annotations

import pytest

from discreet.policy.facts import FactIds, Facts, PrincipalGrants, Ref
from discreet.policy.words import Role
from discreet.server.config import ServerConfig
from discreet.server.errors import ConfigRefused
from discreet.server.identity.callers import IDENTITIES_MAX, TENANTS_MAX, Identity
from discreet.server.reading.cache import VERSIONS_PER_ID_MAX, FactCache
from discreet.server.servicers.index.grants import GRANTS_PER_PRINCIPAL_MAX
from discreet.server.servicers.index.records import HISTORY_MAX
from discreet.server.servicers.index.registering import ROOTS_MAX
from discreet.v1 import common_pb2, index_pb2
from tests.server.support import TENANT, Running, binding, check, digest, document, ref, segment, verdicts

CREATED, REFUSED = index_pb2.PutOutcome.KIND_CREATED, index_pb2.PutOutcome.KIND_REFUSED
QUOTES = 4


def _grant(scope: str) -> index_pb2.GrantScopeRequest:
    return index_pb2.GrantScopeRequest(tenant=TENANT, principal_id="ana", scope=scope, reason="joined")


async def test_a_principal_holds_so_many_grants_and_no_more(running: Running) -> None:
    """F1: one past the limit is refused and writes nothing; room that is made is room again."""
    operator = running.lines.operator
    for number in range(GRANTS_PER_PRINCIPAL_MAX):
        await operator.call(_grant(f"scope-{number}"))
    before = (await running.server.store.head()).seq
    error = await operator.refused(_grant("one-more"))
    assert error.code().name == "FAILED_PRECONDITION"
    assert f"holds {GRANTS_PER_PRINCIPAL_MAX} grants already" in str(error.details())
    assert (await running.server.store.head()).seq == before
    await operator.call(
        index_pb2.WithdrawScopeRequest(tenant=TENANT, principal_id="ana", scope="scope-0", reason="left")
    )
    await operator.call(_grant("one-more"))


def _quote(record_id: str, documents: range) -> index_pb2.EvidenceInput:
    """A quote taken from documents of the handbook."""
    return index_pb2.EvidenceInput(
        record_id=record_id, version="1", digest=digest(record_id), source_label="handbook", scopes=["public"],
        origin=index_pb2.ORIGIN_COLLECTED, of=[ref(f"pages/{number}") for number in documents],
    )  # fmt: skip


def _sum(record_id: str, *inputs: str) -> index_pb2.EvidenceInput:
    """A figure computed from quotes."""
    return index_pb2.EvidenceInput(
        record_id=record_id, version="1", digest=digest(record_id), source_label="sums", scopes=["public"],
        origin=index_pb2.ORIGIN_DERIVED, formula="count them", inputs=[ref(one) for one in inputs],
    )  # fmt: skip


async def test_a_figure_rests_on_so_many_records_and_no_more(running: Running) -> None:
    """A19: quotes and the documents behind them count.

    One past the limit is COST_EXCEEDED, and hides no other input.
    """
    pages = ROOTS_MAX - QUOTES
    share = pages // QUOTES
    collector = running.lines.collector
    await collector.put(*(document(f"pages/{number}") for number in range(pages + 1)))
    quotes = [_quote(f"quotes/{n}", range(n * share, (n + 1) * share)) for n in range(QUOTES)]
    quotes.append(_quote("quotes/wide", range((QUOTES - 1) * share, pages + 1)))
    assert [one.kind for one in (await collector.evidence(*quotes)).outcomes] == [CREATED] * (QUOTES + 1)
    narrow = [f"quotes/{n}" for n in range(QUOTES - 1)]
    put = await collector.evidence(_sum("sums/past", *narrow, "quotes/wide"), _sum("sums/at", *narrow, "quotes/3"))
    assert [one.kind for one in put.outcomes] == [REFUSED, CREATED]
    assert put.outcomes[0].reason == common_pb2.REASON_COST_EXCEEDED


async def test_a_history_shows_so_many_revisions_and_no_more(running: Running) -> None:
    """B5: the newest come first; what is older than the limit stays in the index and out of the answer."""
    await running.lines.collector.put(document())
    for number in range(HISTORY_MAX + 1):
        scopes = index_pb2.SetScopesRequest(tenant=TENANT, record=ref(), scopes=[f"s{number}"], reason="moved")
        await running.lines.operator.call(scopes)
    answer = await running.lines.operator.get("handbook/leave", "1", history=True)
    assert len(answer.history) == HISTORY_MAX
    assert list(answer.record.scopes) == [f"s{HISTORY_MAX}"]
    assert list(answer.history[0].scopes) == [f"s{HISTORY_MAX - 1}"]


@pytest.mark.parametrize(
    "identities, past",
    [
        (tuple(Identity(f"a{n}", Role.AGENT) for n in range(IDENTITIES_MAX)), False),
        (tuple(Identity(f"a{n}", Role.AGENT) for n in range(IDENTITIES_MAX + 1)), True),
        ((Identity("a", Role.AGENT, tuple(f"t{n}" for n in range(TENANTS_MAX))),), False),
        ((Identity("a", Role.AGENT, tuple(f"t{n}" for n in range(TENANTS_MAX + 1))),), True),
        ((), True),
        ((Identity("a", Role.AGENT, ()),), True),
    ],
    ids=["identities at", "identities past", "tenants at", "tenants past", "no identity", "no tenant"],
)
def test_identities_and_their_tenants_are_bounded(identities: tuple[Identity, ...], *, past: bool) -> None:
    """A configuration names 1 to 64 identities, each entitled to 1 to 1,000 tenants or to all."""
    if not past:
        assert ServerConfig(policy="/p", identities=identities).identities == identities
        return
    with pytest.raises(ConfigRefused, match="identities"):
        ServerConfig(policy="/p", identities=identities)


async def test_a_question_may_name_more_versions_of_a_record_than_are_kept(running: Running) -> None:
    """B4: what the cache has no room for is read anew, and answered like the rest."""
    numbers = [str(number) for number in range(VERSIONS_PER_ID_MAX + 6)]
    await running.lines.collector.put(*(document(version=number) for number in numbers))
    asked = check(*(segment(f"s{number}", binding(version=number)) for number in numbers))
    wanted = [("WITHHOLD", "VERSION_MISMATCH")] * (len(numbers) - 1) + [("ALLOW", "NONE")]
    for _ in range(2):
        assert verdicts(await running.lines.agent.check(asked)) == wanted


def test_so_many_versions_of_a_record_are_kept_and_no_more() -> None:
    """F1: at the limit all are held, its current one among them; one past it they make room."""
    cache, refs = FactCache("e", 0), [Ref("a", str(number)) for number in range(VERSIONS_PER_ID_MAX)]
    for ref_ in refs[:-1]:
        cache.put("acme", FactIds((ref_,), "ana"), Facts("e", 1, {}, {}, PrincipalGrants()))
    assert all(cache.facts("acme", FactIds((ref_,), "ana"), 1) is not None for ref_ in refs[:-1])
    cache.put("acme", FactIds((refs[-1],), "ana"), Facts("e", 1, {}, {}, PrincipalGrants()))
    assert cache.facts("acme", FactIds((refs[0],), "ana"), 1) is None
    assert cache.facts("acme", FactIds((refs[-1],), "ana"), 1) is not None
