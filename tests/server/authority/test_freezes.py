"""Freezes: withheld at once, for a time, by source, tenant or everything; nothing is deleted."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from discreet.policy.words import Role
from discreet.server.identity.callers import Identity
from discreet.v1 import authority_pb2
from tests.server.authority.acts import ALLOWED, SAID, ahead, answer, freeze, seen, unfreeze
from tests.server.support import (
    TENANT,
    PolicyRepo,
    Running,
    audit_rows,
    binding,
    check,
    commit,
    commit_verdicts,
    config_of,
    document,
    in_process,
    segment,
    verdicts,
)

FROZEN = [("WITHHOLD", "FROZEN")]


async def listed(server: Running, tenant: str = TENANT) -> list[authority_pb2.FreezeInfo]:
    """The freezes that stand."""
    request = authority_pb2.ListFreezesRequest(tenant=tenant)
    return list((await answer(server.lines.auditor, request, authority_pb2.ListFreezesResponse)).freezes)


@pytest.mark.parametrize("what", [{"source_label": "handbook"}, {}, {"tenant": "", "everything": True}])
async def test_a_freeze_withholds_at_once_and_shows_again_when_it_ends(either: Running, what: dict[str, Any]) -> None:
    """B8: at RETRIEVE, PUBLISH, REPLAY and Commit; unfreezing shows again, and nothing is lost in between."""
    await either.lines.collector.put(document(), document("mixed/other", source_label="mixed"))
    made = (await either.lines.agent.commit(commit())).results[0].ledger_id
    other = check(segment("s", binding("mixed/other")))
    done = await freeze(either.lines.operator, **what)
    assert await seen(either, made) == [FROZEN] * 3
    assert commit_verdicts(await either.lines.agent.commit(commit(answer="answer-2"))) == FROZEN
    assert verdicts(await either.lines.agent.check(other)) == (ALLOWED if "source_label" in what else FROZEN)
    (info,) = await listed(either)
    everything = "everything" in what
    assert (info.freeze_id, info.tenant, info.actor) == (done.freeze_id, "" if everything else TENANT, "operator")
    await unfreeze(either.lines.operator, done.freeze_id, "" if everything else TENANT)
    assert await seen(either, made) == [ALLOWED] * 3
    assert await listed(either) == []


async def test_a_freeze_ends_by_itself(running: Running) -> None:
    """B8: past its end it withholds nothing, is not listed, and cannot be ended."""
    await running.lines.collector.put(document())
    until = ahead(2)
    done = await freeze(running.lines.operator, until=until)
    assert await seen(running) == [FROZEN] * 2
    while True:
        found = await listed(running)
        if (await running.server.store.head()).now >= until.ToMicroseconds():
            break
        assert [info.freeze_id for info in found] == [done.freeze_id]
    assert await listed(running) == []
    assert await seen(running) == [ALLOWED] * 2
    request = authority_pb2.UnfreezeRequest(freeze_id=done.freeze_id, **SAID)
    assert (await running.lines.operator.refused(request)).code().name == "NOT_FOUND"


async def test_a_freeze_has_an_end_within_31_days(running: Running) -> None:
    """No end, one that is past and one too far ahead are malformed; it never stands for good."""
    for until in (None, ahead(-1), ahead(31 * 86_400 + 60)):
        request = authority_pb2.FreezeRequest(until=until, **SAID)
        error = await running.lines.operator.refused(request)
        assert (error.code().name, (error.details() or "").split(":")[0]) == ("INVALID_ARGUMENT", "until")
    await freeze(running.lines.operator, until=ahead(31 * 86_400 - 60))


async def test_everything_is_for_who_is_entitled_to_everything(place: object, repo: PolicyRepo) -> None:
    """An operator of one tenant freezes that one, and neither freezes nor unfreezes all of them."""
    identities = (
        Identity("one", Role.OPERATOR, (TENANT,)),
        Identity("all", Role.OPERATOR, None),
        Identity("collector", Role.COLLECTOR, None),
        Identity("agent", Role.AGENT, None),
    )
    config = dataclasses.replace(config_of(repo.path.parent, repo.path), identities=identities)
    async with in_process(config) as running:
        await running.lines.collector.put(document(), tenant="bolt")
        request = authority_pb2.FreezeRequest(everything=True, until=ahead(60), reason="why")
        assert (await running.lines["one"].refused(request)).code().name == "PERMISSION_DENIED"
        mine = await freeze(running.lines["one"], tenant="")
        assert verdicts(await running.lines.agent.check(check(tenant="bolt"))) == ALLOWED
        done = await answer(running.lines["all"], request, authority_pb2.FreezeResponse)
        assert verdicts(await running.lines.agent.check(check(tenant="bolt"))) == FROZEN
        end = authority_pb2.UnfreezeRequest(freeze_id=done.freeze_id, **SAID)
        assert (await running.lines["one"].refused(end)).code().name == "PERMISSION_DENIED"
        foreign = authority_pb2.UnfreezeRequest(tenant="bolt", freeze_id=mine.freeze_id, reason="why")
        assert (await running.lines["all"].refused(foreign)).code().name == "NOT_FOUND"
        await unfreeze(running.lines["all"], done.freeze_id)
        assert verdicts(await running.lines.agent.check(check(tenant="bolt"))) == ALLOWED
        beside = authority_pb2.FreezeRequest(everything=True, until=ahead(60), source_label="handbook", reason="why")
        assert (await running.lines["all"].refused(beside)).code().name == "INVALID_ARGUMENT"


async def test_a_freeze_and_its_end_are_on_record(running: Running) -> None:
    """B9, A14 in kind: who froze what until when, and why; who ended it."""
    done = await freeze(running.lines.operator, source_label="handbook")
    await unfreeze(running.lines.operator, done.freeze_id)
    rows = audit_rows(running.server.config.db)[-2:]
    assert [(row.change.method, row.change.subject_id, row.change.reason) for row in rows] == [
        ("Freeze", done.freeze_id, "asked to"),
        ("Unfreeze", done.freeze_id, "over"),
    ]
    assert all(row.change.detail.startswith("source handbook until 20") for row in rows)
