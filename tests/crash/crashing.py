"""Kills a real server again and again while callers ask it, and looks up what of their answers is on record."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import grpc
import sqlalchemy as sa

from discreet.server.stores import tables
from discreet.server.stores.keeping import verify_chain
from discreet.v1 import audit_pb2, common_pb2, index_pb2
from tests.contract.older import engine_of
from tests.server.support import POLICY, TENANT, Lines, Spawned, check, commit, document, eventually, make_repo, spawn

CALLERS = 6
ANSWERS_MAX = 60
"""A server is killed after 0 to so many answers: sometimes before the first one, always while others are under way."""


CAUGHT_UP_S = 60.0


@dataclass(slots=True)
class Told:
    """What callers read, with the life of the server in which they did."""

    decisions: dict[str, int] = field(default_factory=dict)
    ledger: dict[str, int] = field(default_factory=dict)
    changes: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.decisions) + len(self.ledger) + len(self.changes)


@dataclass(slots=True)
class Outcome:
    """A whole run."""

    kills: int
    told: Told
    lost: list[str]
    """What was told and is not on record, in words."""
    unasked: int
    """Decisions on record that nobody was told: servers died between the two."""


async def crash(
    directory: Path, db: str, kills: int, seed: int, policy: Mapping[str, str] = POLICY,
    tell: Callable[[int, int], None] = lambda _kills, _told: None,
) -> Outcome:  # fmt: skip
    """Kills a server on the database so many times, then lets one end in peace, and compares."""
    chance = random.Random(seed)
    repo = make_repo(directory / "policy", policy)
    told = Told()
    for life in range(kills + 1):
        server = await spawn(directory, repo.path, db=db)
        if life == 0:
            await server.lines.collector.put(document())
        if life < kills:
            await _live(server, life, chance, told)
            tell(life + 1, len(told))
        else:
            await eventually(partial(_caught_up, server.lines), CAUGHT_UP_S)
            assert await server.terminate() == 0
    return _compare(db, kills, told)


async def _caught_up(lines: Lines) -> bool:
    """True once the server has nothing in its spool that is not in SQL."""
    return (await lines.operator.status()).audit_spool_rows == 0


async def _live(server: Spawned, life: int, chance: random.Random, told: Told) -> None:
    """One life of a server: callers until it has answered so often, then SIGKILL while they go on."""
    enough = asyncio.Event()
    left = chance.randrange(ANSWERS_MAX + 1)

    def answered() -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            enough.set()

    if left == 0:
        enough.set()
    callers = [
        asyncio.create_task(
            _call(server.lines, f"{life}-{number}", life, random.Random(chance.random()), told, answered)
        )
        for number in range(CALLERS)
    ]
    await asyncio.wait([asyncio.create_task(enough.wait()), *callers], return_when=asyncio.FIRST_COMPLETED)
    server.process.kill()
    await server.process.wait()
    await asyncio.gather(*callers)
    await server.lines.close()


async def _call(
    lines: Lines, name: str, life: int, chance: random.Random, told: Told, answered: Callable[[], None]
) -> None:
    """Asks until the server is gone."""
    for turn in range(1_000_000):
        try:
            await _ask(lines, f"{name}-{turn}", life, chance, told)
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                return
            raise
        answered()


async def _ask(lines: Lines, name: str, life: int, chance: random.Random, told: Told) -> None:
    """One call, and what it told."""
    kind = chance.choice(("check", "check", "commit", "commit", "change"))
    if kind == "check":
        checked = await lines.agent.check(check())
        told.decisions.update(dict.fromkeys((one.decision_id for one in checked.results), life))
    elif kind == "commit":
        committed = await lines.agent.commit(commit(answer_id=name))
        told.decisions.update(dict.fromkeys((one.result.decision_id for one in committed.results), life))
        allowed = (one for one in committed.results if one.result.verdict == common_pb2.VERDICT_ALLOW)
        told.ledger.update(dict.fromkeys((one.ledger_id for one in allowed), life))
    else:
        request = index_pb2.GrantScopeRequest(tenant=TENANT, principal_id="bo", scope=f"s-{name}", reason=name)
        await lines.operator.call(request)
        told.changes[name] = life


def _compare(db: str, kills: int, told: Told) -> Outcome:
    """What is on record, beside what was told; the chain whole."""
    row, decision, ledger = tables.audit_row.c, tables.audit_decision.c, tables.ledger.c
    with engine_of(db) as engine, engine.connect() as connection:
        decisions = list(connection.execute(sa.select(decision.decision_id)).scalars())
        entries = set(connection.execute(sa.select(ledger.ledger_id)).scalars())
        bodies = [
            audit_pb2.AuditRow.FromString(bytes(one)) for one in connection.execute(sa.select(row.body)).scalars()
        ]
    changes = {one.change.reason for one in bodies if one.act == audit_pb2.AUDIT_ACT_CHANGE}
    in_rows = {one.decision_id for body in bodies for one in body.decisions}
    lost = [
        f"{what} {name} of life {life}"
        for what, said, kept in (
            ("the decision", told.decisions, in_rows & set(decisions)),
            ("the commit", told.ledger, entries),
            ("the change", told.changes, changes),
        )
        for name, life in said.items()
        if name not in kept
    ]
    lost += [f"{name} is on record twice" for name, count in Counter(decisions).items() if count > 1]
    lost += [str(one) for one in verify_chain(db).findings]
    return Outcome(kills, told, lost, len(set(decisions) - set(told.decisions)))
