"""A retention revoke and its neighbours: different calls, rows, reasons and effects, and none becomes another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from discreet.v1 import audit_pb2, common_pb2, disclosure_pb2, purge_pb2
from tests.server.authority.acts import ALLOWED, answer, hold, lift_hold, revoke, tombstones
from tests.server.authority.neighbours import (
    ALL,
    BEGINNINGS,
    DUE,
    ENDINGS,
    EXPORTING,
    HIDING,
    MOMENTS,
    NOT_DUE,
    Neighbour,
    grant,
    mine,
)
from tests.server.support import (
    TENANT,
    PolicyRepo,
    Running,
    audit_rows,
    check,
    commit,
    document,
    make_repo,
    ref,
    verdicts,
)

PURGED = ("PURGE", "RETENTION_REVOKED")
by_name: dict[str, Any] = {"ids": lambda one: one.name}


@pytest.fixture
def repo(place: Path) -> PolicyRepo:
    """The tests' policy set, which lets things be exported."""
    return make_repo(place / "policy", EXPORTING)


async def prepared(server: Running) -> str:
    """The ledger id of a committed segment on the document, which ana may read."""
    await server.lines.collector.put(mine(), document("handbook/other"))
    await server.lines.operator.call(grant())
    return (await server.lines.agent.commit(commit())).results[0].ledger_id


def asked(ledger_id: str) -> list[disclosure_pb2.CheckRequest]:
    """The question at each moment, in the order of MOMENTS."""
    exporting = check(ledger_ids=[ledger_id])
    exporting.moment = common_pb2.MOMENT_EXPORT
    return [check(moment=common_pb2.MOMENT_RETRIEVE), check(), check(ledger_ids=[ledger_id]), exporting]


async def told(server: Running, ledger_id: str) -> dict[str, tuple[str, str]]:
    """Verdict and reason at each moment, as an agent reads them."""
    answers = [verdicts(await server.lines.agent.check(one)) for one in asked(ledger_id)]
    return dict(zip(MOMENTS, (found for (found,) in answers), strict=True))


async def everywhere(server: Running, ledger_id: str, wanted: tuple[str, str]) -> None:
    """Asserts that every moment says the same."""
    assert await told(server, ledger_id) == dict.fromkeys(MOMENTS, wanted)


async def purging(server: Running) -> tuple[int, int]:
    """How many purge orders there are, and how many tombstones."""
    request = purge_pb2.GetPurgeStatusRequest(tenant=TENANT)
    status = await answer(server.lines.auditor, request, purge_pb2.GetPurgeStatusResponse)
    return status.open_orders + status.done_orders, len(await tombstones(server.lines.auditor, lifted=True))


@pytest.mark.parametrize("state", HIDING, **by_name)
async def test_each_neighbour_hides_deletes_nothing_and_shows_again(
    either: Running, repo: PolicyRepo, state: Neighbour
) -> None:
    """B8: its own verdict and reason at RETRIEVE, PUBLISH, REPLAY and EXPORT; no tombstone; and it ends."""
    ledger_id = await prepared(either)
    await everywhere(either, ledger_id, ALLOWED[0])
    begun = await state.begin(either, repo)
    await everywhere(either, ledger_id, state.told)
    assert await purging(either) == (0, 0)
    assert not (await either.lines.operator.get("handbook/leave", "1")).record.HasField("retention_revoke")
    assert state.end is not None
    await state.end(either, repo, begun)
    await everywhere(either, ledger_id, ALLOWED[0])


@pytest.mark.parametrize("state", [NOT_DUE, *DUE], **by_name)
async def test_a_revoke_withholds_at_once_and_purges_once_it_is_due(
    either: Running, repo: PolicyRepo, state: Neighbour
) -> None:
    """B7, B9: WITHHOLD before its time and PURGE from then on, at every moment, each with the same reason; for good."""
    ledger_id = await prepared(either)
    await state.begin(either, repo)
    await everywhere(either, ledger_id, state.told)
    stones = {"all versions revoked": 2, "source revoked": 3}.get(state.name, 1)
    assert await purging(either) == (1, stones)


@pytest.mark.parametrize("state", ALL, **by_name)
async def test_each_neighbour_has_a_row_of_its_own(running: Running, repo: PolicyRepo, state: Neighbour) -> None:
    """B9: the change is on record under its own method, and each decision under its own verdict and cause."""
    ledger_id = await prepared(running)
    await state.begin(running, repo)
    await told(running, ledger_id)
    rows = audit_rows(running.server.config.db)
    changes = [row for row in rows if row.act == audit_pb2.AUDIT_ACT_CHANGE and row.change.method != "PutDocuments"]
    assert changes[-1].change.method == state.method
    decided = [decision for row in rows for decision in row.decisions][-len(MOMENTS) :]
    assert {(common_pb2.Verdict.Name(one.verdict), common_pb2.Reason.Name(one.reason)) for one in decided} == {
        (f"VERDICT_{state.told[0]}", f"REASON_{state.reason}")
    }


def test_no_two_kinds_of_state_read_alike() -> None:
    """B9: what is purged reads like nothing else; states that hide differ from it in verdict, reason, or both."""
    said = {state.name: (*state.told, state.method) for state in ALL}
    purging = {said[state.name] for state in DUE}
    assert len(purging) == 1
    assert all(said[state.name] not in purging and said[state.name][0] == "WITHHOLD" for state in (*HIDING, NOT_DUE))
    hiding = {(state.reason, state.method) for state in HIDING}
    assert (NOT_DUE.reason, NOT_DUE.method) not in hiding


async def endured(server: Running, *requests: Message) -> None:
    """Makes calls that may be refused: the state of the index stands against them, or there is nothing to end."""
    for request in requests:
        try:
            await server.lines.operator.call(request)
            code = "OK"
        except grpc.aio.AioRpcError as error:
            code = error.code().name
        assert code in ("OK", "FAILED_PRECONDITION", "NOT_FOUND"), request


@pytest.mark.parametrize("state", [NOT_DUE, *DUE], **by_name)
async def test_no_call_turns_a_revoke_into_anything_else(running: Running, repo: PolicyRepo, state: Neighbour) -> None:
    """B8, B11: whatever ends or begins another state is refused or changes nothing of a revoke, at REPLAY and EXPORT.

    Resume, scopes, assessment, reachability, successor, a lifted hold, a policy without the source, a freeze.
    """
    ledger_id = await prepared(running)
    await state.begin(running, repo)
    await endured(running, *ENDINGS, *BEGINNINGS)
    await everywhere(running, ledger_id, state.told)
    for other in HIDING:
        if other.name in ("source delisted", "frozen", "grant withdrawn"):
            begun = await other.begin(running, repo)
            found = await told(running, ledger_id)
            hidden = state is NOT_DUE and other.name == "grant withdrawn"  # who may not read is told nothing else
            wanted = ("WITHHOLD", "NOT_AVAILABLE") if hidden else state.told
            assert {found["REPLAY"], found["EXPORT"]} == {wanted}, other.name
            assert other.end is not None
            await other.end(running, repo, begun)


@pytest.mark.parametrize("state", [NOT_DUE, *DUE], **by_name)
async def test_delisting_the_source_of_what_was_revoked_keeps_the_verdict(
    either: Running, repo: PolicyRepo, state: Neighbour
) -> None:
    """B11: taking the source off the list cannot turn PURGE into WITHHOLD, nor RETENTION_REVOKED into another."""
    ledger_id = await prepared(either)
    await state.begin(either, repo)
    unlisting = next(one for one in HIDING if one.name == "source delisted")
    await unlisting.begin(either, repo)
    await everywhere(either, ledger_id, state.told)


@pytest.mark.parametrize("state", DUE, **by_name)
async def test_a_hold_keeps_what_was_revoked_and_nothing_else_of_it_changes(
    running: Running, repo: PolicyRepo, state: Neighbour
) -> None:
    """B8, B9: LEGAL_HOLD while it stands, PURGE again when it ends: lifting resumes nothing."""
    ledger_id = await prepared(running)
    await state.begin(running, repo)
    placed = await hold(running.lines.operator, record=ref())
    await everywhere(running, ledger_id, ("WITHHOLD", "LEGAL_HOLD"))
    await lift_hold(running.lines.operator, placed.hold_id)
    await everywhere(running, ledger_id, PURGED)


@pytest.mark.parametrize("first", HIDING, **by_name)
async def test_ending_another_state_ends_only_that_one(running: Running, repo: PolicyRepo, first: Neighbour) -> None:
    """B8: with two states at once, ending the second leaves the first as it was; LiftHold does not resume."""
    ledger_id = await prepared(running)
    begun = await first.begin(running, repo)
    for second in HIDING:
        same = {first.name, second.name}
        pairs = ({"suspended", "suspended for a time"}, {"assessment expired", "not assessed"})
        if len(same) == 1 or same in pairs:
            continue
        later = await second.begin(running, repo)
        both = await told(running, ledger_id)
        assert "ALLOW" not in {verdict for verdict, _ in both.values()}
        assert "PURGE" not in {verdict for verdict, _ in both.values()}
        assert second.end is not None
        await second.end(running, repo, later)
        await everywhere(running, ledger_id, first.told)
    assert first.end is not None
    await first.end(running, repo, begun)
    await everywhere(running, ledger_id, ALLOWED[0])


async def test_only_a_revoke_leads_to_purge(running: Running, repo: PolicyRepo) -> None:
    """B8: with every hiding state at once nothing is to be purged; a revoke on top makes REPLAY purge, hold lifted."""
    ledger_id = await prepared(running)
    begun = {state.name: await state.begin(running, repo) for state in HIDING}
    assert {verdict for verdict, _ in (await told(running, ledger_id)).values()} == {"WITHHOLD"}
    await revoke(running.lines.operator, record=ref())
    assert {verdict for verdict, _ in (await told(running, ledger_id)).values()} == {"WITHHOLD"}
    await lift_hold(running.lines.operator, begun["held"])
    found = await told(running, ledger_id)
    assert (found["REPLAY"], found["EXPORT"]) == (PURGED, PURGED)
