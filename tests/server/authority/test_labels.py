"""A misspelt source is refused: nobody believes that something is frozen, kept or revoked that is not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.protobuf.message import Message

from discreet.server.ports_policy import Origin, PolicyRow
from discreet.v1 import authority_pb2, index_pb2, purge_pb2
from tests.server.authority.acts import SAID, TICKETED, ahead, freeze, hold, revoke, standing
from tests.server.support import POLICY, PolicyRepo, Running, document

Fields = dict[str, Any]


def asking(label: str, **more: Any) -> list[Message]:
    """The calls that name a source."""
    until: Fields = {"until": ahead(3_600)}
    named: Fields = {"source_label": label, **more}
    return [
        authority_pb2.FreezeRequest(**{**SAID, **until, **named}),
        purge_pb2.PlaceHoldRequest(**{**TICKETED, **named}),
        index_pb2.RevokeRetentionRequest(**{**TICKETED, **named}),
        index_pb2.RevokeRetentionRequest(**{**TICKETED, **named}, dry_run=True),
    ]


@pytest.mark.parametrize("label, hint", [("handbok", 'did you mean "handbook"?'), ("nowhere-at-all", "one of ")])
async def test_a_label_that_nothing_knows_is_not_found(either: Running, label: str, hint: str) -> None:
    """B8: with the nearest name that is declared; nothing is written, and another tenant's records count nothing."""
    await either.lines.collector.put(document())
    before = (await either.server.store.head()).seq
    for request in asking(label):
        error = await either.lines.operator.refused(request)
        told = error.details() or ""
        assert (error.code().name, told.startswith("source_label: no SourceList in force")) == ("NOT_FOUND", True)
        assert hint in told
        assert "nowhere" not in told
    assert (await either.server.store.head()).seq == before


async def test_a_source_without_records_is_frozen_kept_and_revoked(either: Running) -> None:
    """B8, F3: what a SourceList declares is known before it has a record."""
    await freeze(either.lines.operator, source_label="notes")
    await hold(either.lines.operator, source_label="notes")
    await revoke(either.lines.operator, source_label="notes")
    stands = await standing(either.server.store)
    assert (len(stands.freezes), len(stands.holds), list(stands.revoked_sources)) == (1, 1, ["notes"])


async def test_a_delisted_source_is_known_by_its_records_and_its_revoke(running: Running, repo: PolicyRepo) -> None:
    """B11: no policy takes a source out of reach of a revoke; repeating one that stands is no error."""
    await running.lines.collector.put(document())
    await revoke(running.lines.operator, source_label="notes")
    kept = [line for line in POLICY["sources.yaml"].splitlines() if "handbook" not in line and "notes" not in line]
    rules = POLICY["rules.yaml"].replace("handbook, ", "").replace("[handbook]", "[mixed]")
    repo.commit({"sources.yaml": "\n".join(kept) + "\n", "rules.yaml": rules})
    await running.server.policies.poll()
    snapshot = running.server.policies.snapshot
    assert snapshot is not None
    assert "handbook" not in snapshot.sources, running.server.policies.following.error
    await freeze(running.lines.operator, source_label="handbook")
    await hold(running.lines.operator, source_label="handbook")
    await revoke(running.lines.operator, source_label="handbook")
    await revoke(running.lines.operator, source_label="notes")
    foreign = await running.lines.operator.refused(asking("handbook", tenant="bolt")[0])
    assert foreign.code().name == "NOT_FOUND"


async def test_records_decide_while_no_policy_is_in_force(running: Running) -> None:
    """B7: a revoke of a source goes through without a policy; a label that no record has is named as what is wrong."""
    await running.lines.collector.put(document())
    for task in running.server._tasks:  # nobody may load a revision meanwhile
        task.cancel()
    await asyncio.gather(*running.server._tasks, return_exceptions=True)
    running.server.policies.snapshot = None  # as it is before the first revision was loaded
    for request in asking("notes"):
        error = await running.lines.operator.refused(request)
        assert (error.code().name, "no policy in force" in (error.details() or "")) == ("NOT_FOUND", True)
    for request in asking("handbook"):
        await running.lines.operator.call(request)


async def test_a_server_that_is_behind_the_policy_refuses_no_label_for_good(running: Running) -> None:
    """B8: a label that a later revision may declare is neither taken nor said not to be there."""
    row = PolicyRow(2, "f" * 40, "e" * 64, False, b"no bundle", running.server.clock.wall())
    assert await running.server.store.change(lambda index: index.policies.publish(1, row, Origin("server"))) == 2
    for request in asking("new-source"):
        error = await running.lines.operator.refused(request)
        assert (error.code().name, "repeat the call" in (error.details() or "")) == ("UNAVAILABLE", True)
