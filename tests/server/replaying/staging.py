"""A server's day on either database: decisions of every kind, then changes of every kind. It judges nothing itself."""

from __future__ import annotations

from typing import Any

from discreet.policy.facts import Micros
from discreet.policy.replay import Outcome
from discreet.server.replaying import Job, replay_period, start
from discreet.server.replaying.pages import Period
from discreet.server.replaying.work import Candidate
from discreet.v1 import common_pb2, disclosure_pb2, index_pb2
from tests.server.authority.acts import SAID, freeze, hold, revoke
from tests.server.support import POLICY, Running, binding, check, commit, document, ref, segment

RETRIEVE, PUBLISH = common_pb2.MOMENT_RETRIEVE, common_pb2.MOMENT_PUBLISH
REPLAY, EXPORT = common_pb2.MOMENT_REPLAY, common_pb2.MOMENT_EXPORT
RECORDS = ("a", "b", "c", "d", "e", "f", "g")
NARROW = dict(POLICY) | {
    "rules.yaml": POLICY["rules.yaml"].replace("[RETRIEVE, PUBLISH, REPLAY]", "[RETRIEVE, PUBLISH]")
}
"""The tests' policy set without what may be read again."""


def candidate(files: dict[str, str] | Any = POLICY) -> Candidate:
    """The files as a candidate of no commit."""
    return Candidate({name: text.encode() for name, text in files.items()})


def replayed(url: str, files: dict[str, str] | Any = POLICY, *, workers: int = 1, tenant: str = "") -> Outcome:
    """The whole history of a database under the files."""
    head = start(url).head
    period = Period(Micros(0), Micros(head.now + 1), tenant)
    return replay_period(Job(url, period, candidate(files), head, workers))


async def grant(running: Running, scope: str, principal: str = "ana") -> None:
    """Gives a scope."""
    await running.lines.operator.call(index_pb2.GrantScopeRequest(**SAID, principal_id=principal, scope=scope))


async def stage(running: Running) -> None:
    """Records in scopes that ana holds, and one that only bo may read."""
    await running.lines.collector.put(*[document(f"handbook/{name}", scopes=["desk"]) for name in RECORDS])
    await running.lines.collector.put(document("handbook/board", scopes=["board"]))
    await grant(running, "desk")
    await grant(running, "board", "bo")


def drafts(*names: str) -> list[disclosure_pb2.Segment]:
    """A segment on each of the records, by name."""
    return [segment(name, binding(f"handbook/{name}")) for name in names]


async def decide_everything(running: Running) -> list[str]:
    """Checks and commits at every moment, some refused, one repeated, one made of others; the ledger ids."""
    agent = running.lines.agent
    everything = drafts(*RECORDS, "board", "unknown")
    read = await agent.check(check(*everything, moment=RETRIEVE))
    for one, result in zip(everything, read.results, strict=True):
        one.bindings[0].receipt, one.bindings[0].granted_under = "".join(result.receipts[:1]), read.token
    await agent.check(check(*everything, moment=PUBLISH, principal="bo"))
    written = await agent.commit(commit(*everything))
    names = [one.ledger_id for one in written.results if one.ledger_id]
    await agent.commit(commit(*everything))
    built = segment("sum", parents=names[:2])
    built.ClearField("bindings")
    await agent.commit(commit(built, answer="sum"))
    for moment in (REPLAY, EXPORT):
        again = check(ledger_ids=[*names, "none-such"])
        again.moment = moment
        await agent.check(again)
    return names


async def change_everything(running: Running) -> str:
    """New versions, suspensions, revokes, holds, freezes, grants withdrawn: what was decided before rests on none.

    Returns the id of the freeze.
    """
    operator = running.lines.operator
    await running.lines.collector.put(document("handbook/a", "2", supersedes_version="1", scopes=["desk"]))
    await operator.call(index_pb2.SuspendRequest(**SAID, record=ref("handbook/b")))
    await revoke(operator, record=ref("handbook/c"))
    await hold(operator, record=ref("handbook/d"))
    await operator.call(index_pb2.MarkUnreachableRequest(**SAID, record=ref("handbook/e")))
    await operator.call(index_pb2.WithdrawScopeRequest(**SAID, principal_id="ana", scope="desk"))
    return (await freeze(operator, source_label="handbook")).freeze_id
