"""ReportShown: released becomes confirmed, once; whose entry it is not is told nobody; nothing is said in vain."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import grpc
import pytest

from discreet.server.ports import OutcomeUnknown, StoreError
from discreet.server.stores import open_store
from discreet.v1 import audit_pb2, disclosure_pb2
from tests.server.faults import FaultyStore
from tests.server.support import (
    TENANT,
    PolicyRepo,
    Running,
    audit_rows,
    check,
    commit,
    config_of,
    document,
    in_process,
    segment,
    verdicts,
)

CONFIRMED = disclosure_pb2.ShownOutcome.KIND_CONFIRMED
ALREADY = disclosure_pb2.ShownOutcome.KIND_ALREADY_CONFIRMED
UNKNOWN = disclosure_pb2.ShownOutcome.KIND_UNKNOWN


def report(*ledger_ids: str, principal: str = "ana", session: str = "session-1") -> disclosure_pb2.ReportShownRequest:
    """A report of what a principal was shown in a session."""
    who = disclosure_pb2.Principal(id=principal)
    return disclosure_pb2.ReportShownRequest(tenant=TENANT, principal=who, session_id=session, ledger_ids=ledger_ids)


@pytest.fixture
async def store(place: Path) -> FaultyStore:
    """A SQLite store that can be made to fail."""
    return FaultyStore(open_store(str(place / "discreet.db")))


@pytest.fixture
async def staged(place: Path, repo: PolicyRepo, store: FaultyStore) -> AsyncIterator[Running]:
    """A server on it, with a document."""
    async with in_process(config_of(place, repo.path), store=store) as running:
        await running.lines.collector.put(document())
        yield running


async def committed(running: Running, *names: str, principal: str = "ana") -> list[str]:
    """Ledger ids of segments of one answer."""
    made = await running.lines.agent.commit(commit(*map(segment, names or ("s1",)), principal=principal))
    return [one.ledger_id for one in made.results]


async def told(running: Running, request: disclosure_pb2.ReportShownRequest) -> list[int]:
    """What became of each id of a report."""
    answer = await running.lines.agent.call(request)
    assert isinstance(answer, disclosure_pb2.ReportShownResponse)
    assert [one.ledger_id for one in answer.outcomes] == list(request.ledger_ids)
    assert answer.request_id
    return [one.kind for one in answer.outcomes]


def shown_rows(place: Path) -> list[audit_pb2.AuditRow]:
    """The audit rows of reports."""
    rows = audit_rows(str(place / "discreet.db"))
    return [row for row in rows if row.act == audit_pb2.AUDIT_ACT_SHOWN]


async def test_what_was_released_is_confirmed_once(staged: Running, place: Path) -> None:
    """F4, F6: a report is on record with who, where and which entries; said again it changes nothing."""
    first, second = await committed(staged, "s1", "s2")
    assert await told(staged, report(first)) == [CONFIRMED]
    assert await told(staged, report(second, first)) == [CONFIRMED, ALREADY]
    assert await told(staged, report(first, second)) == [ALREADY, ALREADY]
    rows = shown_rows(place)
    assert [list(row.shown_ledger_ids) for row in rows] == [[first], [second], []]
    row = rows[1]
    assert (row.tenant, row.principal_id, row.session_id, row.change.method) == (
        *(TENANT, "ana", "session-1"),
        "ReportShown",
    )
    assert (row.caller.name, row.change.detail) == ("agent", "1 CONFIRMED, 1 ALREADY_CONFIRMED, 0 UNKNOWN")
    assert row.at.seconds > 0


async def test_it_changes_no_decision(staged: Running) -> None:
    """B1: shown before is no permission to show again, and not having been reported takes none away."""
    first, second = await committed(staged, "s1", "s2")
    await told(staged, report(first))
    answer = await staged.lines.agent.check(check(ledger_ids=[first, second]))
    assert verdicts(answer) == [("ALLOW", "NONE")] * 2


async def test_anothers_entry_is_as_one_that_never_was(staged: Running, place: Path) -> None:
    """F11, DSC-07: of another principal, session or tenant, or made up: one answer, and nothing is written for it."""
    (mine,) = await committed(staged)
    (theirs,) = await committed(staged, "s9", principal="bo")
    answers = [
        await told(staged, report(theirs)),
        await told(staged, report(mine, session="session-2")),
        await told(staged, report(mine, principal="bo")),
        await told(staged, report("made-up")),
    ]
    elsewhere = report(mine)
    elsewhere.tenant = "globex"
    answers.append(await told(staged, elsewhere))
    assert answers == [[UNKNOWN]] * len(answers)
    assert [list(row.shown_ledger_ids) for row in shown_rows(place)] == [[]] * len(answers)
    assert await told(staged, report(mine, theirs)) == [CONFIRMED, UNKNOWN]


@pytest.mark.parametrize("method", ["look", "record"])
@pytest.mark.parametrize("error", [StoreError, OutcomeUnknown])
async def test_what_is_not_durable_is_not_said(
    staged: Running, store: FaultyStore, place: Path, method: str, error: Callable[[str], StoreError]
) -> None:
    """F7, A12: without a durable row the report is UNAVAILABLE, counted, and confirmed only when it is made again."""
    (mine,) = await committed(staged)
    store.broken[method] = error("lost")
    refused = await staged.lines.agent.refused(report(mine))
    assert refused.code() is grpc.StatusCode.UNAVAILABLE
    assert "repeat it" in str(refused.details())
    assert shown_rows(place) == []
    store.broken.clear()
    assert await told(staged, report(mine)) == [CONFIRMED]


async def test_an_answer_lost_on_the_way_is_made_up_by_saying_it_again(
    staged: Running, store: FaultyStore, place: Path
) -> None:
    """F7: written, and the answer lost: the next report finds it confirmed, and nothing is written twice."""
    (mine,) = await committed(staged)
    store.after["record"] = OutcomeUnknown("cut")
    assert (await staged.lines.agent.refused(report(mine))).code() is grpc.StatusCode.UNAVAILABLE
    store.after.clear()
    assert await told(staged, report(mine)) == [ALREADY]
    assert [list(row.shown_ledger_ids) for row in shown_rows(place)] == [[mine], []]


@pytest.mark.parametrize("identity", ["collector", "operator", "auditor"])
async def test_it_is_the_agents_to_say(staged: Running, identity: str) -> None:
    """A13: whoever did not show it cannot say that it was."""
    refused = await staged.lines[identity].refused(report("L-1"))
    assert refused.code() is grpc.StatusCode.PERMISSION_DENIED


async def test_an_auditor_reads_what_was_released_and_what_was_confirmed(staged: Running) -> None:
    """F4: the explanation of a commit, and of a replay, says what is on record of its showing by now."""
    (mine,) = await committed(staged)
    before = [line for line in await explained(staged) if "released" in line]
    await told(staged, report(mine))
    after = [line for line in await explained(staged) if "released" in line]
    assert before == ["the segment was released, and was not reported as shown"]
    assert after == ["the segment was released, and was reported as shown"]


async def explained(running: Running) -> list[str]:
    """The lines of the newest decision."""
    newest = (await running.lines.auditor.decisions())[0]
    request = audit_pb2.ExplainRequest(tenant=TENANT, decision_id=newest.decision.decision_id)
    answer = await running.lines.auditor.call(request)
    assert isinstance(answer, audit_pb2.ExplainResponse)
    return list(answer.lines)
