"""One client of a history: asks at random from a seed, one call after another, and writes down what it saw.

Everything it asks follows from its seed and from the answers; how many calls it makes is fixed beforehand.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import grpc
from google.protobuf.message import Message

from discreet.client import Answer, Binding, Moment, Result, Segment, Verdict
from discreet.policy.token import decode
from discreet.v1 import authority_pb2, index_pb2, purge_pb2
from tests.history import changes
from tests.history.changes import Asked, Block
from tests.history.events import NO_SEQ, Call, Change, Outcome, Told
from tests.history.sites import Site
from tests.history.world import (
    HOLDERS,
    KINDS,
    PRINCIPALS,
    RECORDS_PER_BLOCK,
    TENANT,
    VERSION,
    World,
    label_of,
    record_of,
    ref_of,
)
from tests.server.messages import digest

PAUSE_S = 0.05
"""How long a client waits after a call that nobody answered: a server is on its way back."""
REMEMBERED = 300
"""Segments that a client may ask to see again."""
ACKS_MAX = 20
ROOTS_MAX = 6
"""Parents have parents: what a segment rests on would grow without end."""
FREEZE_US = 400_000
WRITTEN = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "UNKNOWN", "INTERNAL", "ABORTED"})
"""Status codes that leave open whether a change was written."""


class Asking(NamedTuple):
    """A segment, with everything that it names: its bindings' versions, and those that its parents rest on."""

    segment: Segment
    refs: tuple[str, ...]


class Kept(NamedTuple):
    """A segment that was committed, or may have been."""

    answer_id: str
    asking: Asking
    ledger_id: str


@dataclass(frozen=True, slots=True)
class Habits:
    """How often a client does what, of all its calls. The rest are commits."""

    revoke: float
    change: float = 0.14
    acknowledge: float = 0.02
    put_back: float = 0.01
    replay: float = 0.24
    check: float = 0.05
    repeat: float = 0.04
    report: float = 0.03


@dataclass(slots=True)
class Actor:
    """A client. `write` takes each call once it has ended."""

    name: str
    world: World
    sites: Sequence[Site]
    chance: random.Random
    habits: Habits
    write: Callable[[Call], None]
    _at: int = 0
    _number: int = 0
    _done: float = 0.0
    _kept: deque[Kept] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    _blocks: deque[Block] = field(default_factory=deque)
    _revoked: deque[str] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    @property
    def principal(self) -> str:
        """The reader it asks for; several clients share one."""
        return f"p{int(self.name.rpartition('-')[2]) % PRINCIPALS}"

    async def run(self, calls: int, told: Callable[[], None]) -> None:
        """Makes so many calls; `told` is called after each."""
        self._at = self.chance.randrange(len(self.sites))
        for number in range(calls):
            self._number, self._done = number, number / calls
            await self._one()
            told()

    async def _one(self) -> None:
        dice = self.chance.random()
        for share, act in (
            (self.habits.revoke, self._revoke),
            (self.habits.change, self._change),
            (self.habits.replay, self._replay),
            (self.habits.check, self._check),
            (self.habits.repeat, self._repeat),
            (self.habits.report, self._report),
            (self.habits.acknowledge, self._acknowledge),
            (self.habits.put_back, self._put_back),
        ):
            dice -= share
            if dice < 0:
                await act()
                return
        await self._commit()

    # --- what agents do

    async def _commit(self) -> None:
        asked = [self._derived(self._segment(number)) for number in range(self.chance.randint(1, 5))]
        await self._committed(f"a{self._number}", asked)

    async def _repeat(self) -> None:
        if not self._kept:
            await self._commit()
            return
        kept = self.chance.choice(self._kept)
        await self._committed(kept.answer_id, [kept.asking])

    async def _committed(self, answer_id: str, asked: list[Asking]) -> None:
        began = time.monotonic_ns()
        segments = [one.segment for one in asked]
        answer = await self._site.agent.commit(segments, self.principal, self.name, answer_id)
        told = [
            _told(result, one, f"{self.name}/{answer_id}/{one.segment.id}")
            for result, one in zip(answer, asked, strict=True)
        ]
        for result, one in zip(answer, asked, strict=True):
            if result.ledger_id or result.undecided:
                self._kept.append(Kept(answer_id, one, result.ledger_id))
        await self._answered("commit", began, answer, told)

    async def _replay(self) -> None:
        known = [kept for kept in self._kept if kept.ledger_id]
        if not known:
            await self._commit()
            return
        asked = {kept.ledger_id: kept for kept in self.chance.choices(known, k=self.chance.randint(1, 6))}
        agent = self._site.agent
        again = agent.export if self.chance.random() < 0.25 else agent.replay
        began = time.monotonic_ns()
        answer = await again(asked, self.principal, self.name)
        told = [_told(result, asked[result.segment_id].asking, "", result.segment_id) for result in answer]
        await self._answered("replay", began, answer, told)

    async def _check(self) -> None:
        asked = [self._segment(number) for number in range(3)]
        moment = self.chance.choice((Moment.RETRIEVE, Moment.PUBLISH))
        began = time.monotonic_ns()
        answer = await self._site.agent.check(moment, [one.segment for one in asked], self.principal, self.name)
        told = [_told(result, one, "") for result, one in zip(answer, asked, strict=True)]
        await self._answered("check", began, answer, told)

    async def _report(self) -> None:
        """Says that some segments were shown."""
        known = list(dict.fromkeys(kept.ledger_id for kept in self._kept if kept.ledger_id))[-3:]
        if not known:
            await self._commit()
            return
        began = time.monotonic_ns()
        reported = await self._site.agent.report_shown(known, self.principal, self.name)
        ended, wall = time.monotonic_ns(), changes.now_us()
        outcome = Outcome.ANSWERED if reported.error is None else Outcome.UNKNOWN
        said = [(ledger_id, "CONFIRMED") for ledger_id in reported.confirmed]
        said += [(ledger_id, "UNSAID") for ledger_id in reported.unsaid]
        said += [(ledger_id, "NO_SUCH") for ledger_id in reported.unknown]
        told = tuple(Told("", ledger_id, "", (), verdict, "", decided=False) for ledger_id, verdict in said)
        times = (began, ended, wall)
        self.write(Call(self.name, self._number, "report", *times, outcome, NO_SEQ, NO_SEQ, self.principal, told))
        if reported.error is not None:
            await self._go_elsewhere()

    async def _answered(self, method: str, began: int, answer: Answer, told: Sequence[Told]) -> None:
        ended, wall = time.monotonic_ns(), changes.now_us()
        seq = policy = NO_SEQ
        if answer.token:
            token = decode(answer.token)
            seq, policy = token.seq, token.policy_revision
        outcome = Outcome.ANSWERED if answer.error is None else Outcome.UNKNOWN
        self.write(
            Call(self.name, self._number, method, began, ended, wall, outcome, seq, policy, self.principal, tuple(told))
        )
        if answer.error is not None:
            await self._go_elsewhere()

    # --- what operators do

    async def _revoke(self) -> None:
        ref = self._ref()
        dice = self.chance.random()
        extent, keys = changes.one_version(ref)
        if dice < 0.01:
            extent, keys = changes.whole_source(ref)
        elif dice < 0.03:
            extent, keys = changes.by_query(ref)
        elif dice < 0.09:
            extent, keys = changes.several([ref, self._ref()])
        elif dice < 0.17:
            extent, keys = changes.all_versions(ref)
        elif dice < 0.25:
            extent.dry_run = True
        asked = changes.revoke(extent, () if extent.dry_run else keys, self._mark, later=self.chance.random() < 0.2)
        outcome, _ = await self._asked(asked)
        if outcome is Outcome.ANSWERED:
            self._revoked.extend(key.removeprefix("ref:") for key in asked.change.keys if key.startswith("ref:"))

    async def _change(self) -> None:
        if self._blocks and self.chance.random() < 0.7:
            await self._asked(changes.undone(self._blocks.popleft(), self.principal, self._mark))
            return
        ref = self._ref()
        label = label_of(record_of(ref))
        asked = self.chance.choices((
            lambda: changes.suspend(ref, self._mark, self.chance),
            lambda: changes.set_scopes(ref, self._mark, away=True),
            lambda: changes.assess(ref, self._mark, ended=True),
            lambda: changes.reach(ref, self._mark, lost=True),
            lambda: changes.supersede(ref, self._mark, named=True),
            lambda: changes.withdraw(self.principal, self._mark),
            lambda: changes.hold(f"ref:{ref}", self._mark),
            lambda: changes.hold(f"label:{label}", self._mark),
            lambda: changes.freeze(label, self._mark, FREEZE_US),
            lambda: changes.freeze("", self._mark, FREEZE_US // 4),
        ), (40, 20, 20, 20, 20, 20, 16, 1, 4, 1))[0]()  # fmt: skip
        outcome, made = await self._asked(asked)
        if outcome is not Outcome.REFUSED and (made or asked.undo not in {"unfreeze", "lift"}):
            self._blocks.append(Block(asked.undo, ref, asked.change.keys[0], made))

    async def _put_back(self) -> None:
        if not self._revoked:
            await self._commit()
            return
        await self._asked(changes.put_back(self.chance.choice(self._revoked), self._mark))

    async def _acknowledge(self) -> None:
        """What a holder does: takes what its stream says, and answers each item, mostly well."""
        holder = self.chance.choice(HOLDERS)
        message = await self._site.watched(holder)
        if message is None:
            await self._commit()
            return
        request = purge_pb2.AckPurgeRequest(tenant=TENANT)
        for item in message.items[:ACKS_MAX]:
            outcome = self.chance.choices(("PURGED", "NOT_FOUND", "FAILED"), (85, 10, 5))[0]
            request.acks.add(order_id=item.order_id, item=item.item, outcome=f"PURGE_OUTCOME_{outcome}")
        for recheck in message.rechecks[:ACKS_MAX]:
            outcome = self.chance.choices(("ABSENT", "PRESENT"), (90, 10))[0]
            request.acks.add(order_id=recheck.order_id, item=recheck.item, outcome=f"PURGE_OUTCOME_{outcome}")
        for ack in request.acks:
            ack.reason = "busy" if ack.outcome == purge_pb2.PURGE_OUTCOME_FAILED else ""
        if request.acks:
            await self._asked(Asked(holder, request, Change("acknowledged", (), False, self._mark, holder)))
        else:
            await self._commit()

    async def _asked(self, asked: Asked) -> tuple[Outcome, str]:
        """How the change ended, and the id of what it made."""
        began = time.monotonic_ns()
        seq = policy = NO_SEQ
        change, made = asked.change, ""
        try:
            answer = await self._site.call(asked.identity, asked.request)
            token = decode(getattr(answer, "token"))  # noqa: B009 - every answer to a change has one
            seq, policy, outcome = token.seq, token.policy_revision, Outcome.ANSWERED
            change, made = _learnt(change, asked.request, answer)
        except grpc.aio.AioRpcError as error:
            outcome = Outcome.UNKNOWN if error.code().name in WRITTEN else Outcome.REFUSED
        ended, wall = time.monotonic_ns(), changes.now_us()
        method = type(asked.request).__name__.removesuffix("Request")
        self.write(
            Call(self.name, self._number, method, began, ended, wall, outcome, seq, policy, self.principal, (), change)
        )
        if outcome is Outcome.UNKNOWN:
            await self._go_elsewhere()
        return outcome, made

    # --- choices

    @property
    def _site(self) -> Site:
        return self.sites[self._at]

    @property
    def _mark(self) -> str:
        return f"h:{self.name}-{self._number}"

    async def _go_elsewhere(self) -> None:
        self._at = (self._at + 1) % len(self.sites)
        await asyncio.sleep(PAUSE_S)

    def _block(self) -> int:
        return min(int(self._done * self.world.blocks), self.world.blocks - 1)

    def _ref(self) -> str:
        block = self._block()
        if block and self.chance.random() < 0.15:
            block -= 1
        place = min(self.chance.randrange(RECORDS_PER_BLOCK), self.chance.randrange(RECORDS_PER_BLOCK))
        return ref_of(self.world.block(block)[place])

    def _segment(self, number: int) -> Asking:
        refs = {self._ref(): None, **({self._ref(): None} if self.chance.random() < 0.4 else {})}
        bindings = tuple(Binding(record_of(ref), VERSION, digest(ref)) for ref in refs)
        text = digest(f"{self.name} {self._number} {number}")
        return Asking(Segment(f"s{number}", self.chance.choice(KINDS), text, bindings=bindings), tuple(refs))

    def _derived(self, asked: Asking) -> Asking:
        """The segment, now and then made from one that was committed before: it rests on all that that one rests on."""
        known = [kept for kept in self._kept if kept.ledger_id]
        if not known or self.chance.random() > 0.15:
            return asked
        parent = self.chance.choice(known)
        refs = dict.fromkeys((*asked.refs, *parent.asking.refs))
        if len(refs) > ROOTS_MAX:
            return asked
        return Asking(replace(asked.segment, parents=(parent.ledger_id,)), tuple(refs))


def _told(result: Result, asked: Asking, key: str, ledger_id: str = "") -> Told:
    """What an answer said of a segment."""
    order = result.order.name if result.order is not None else ""
    decided = not result.undecided or result.verdict is not Verdict.WITHHOLD
    said = (result.verdict.name, result.reason.name, order, decided, len(asked.segment.bindings))
    return Told(key, result.ledger_id or ledger_id, asked.segment.kind, asked.refs, *said)


def _learnt(change: Change, request: Message, answer: Message) -> tuple[Change, str]:
    """The change with what its answer tells of it: the id of what was made, what became of items or of a record."""
    if isinstance(answer, authority_pb2.FreezeResponse):
        return replace(change, instance=answer.freeze_id), answer.freeze_id
    if isinstance(answer, purge_pb2.PlaceHoldResponse):
        return replace(change, instance=answer.hold_id), answer.hold_id
    if isinstance(answer, index_pb2.PutDocumentsResponse):
        return replace(change, instance=index_pb2.PutOutcome.Kind.Name(answer.outcomes[0].kind)), ""
    if isinstance(answer, purge_pb2.AckPurgeResponse) and isinstance(request, purge_pb2.AckPurgeRequest):
        given = {(ack.order_id, ack.item): purge_pb2.PurgeOutcome.Name(ack.outcome) for ack in request.acks}
        kept = (one for one in answer.outcomes if not one.refused)
        names = (f"{one.order_id}/{one.item}/{given[one.order_id, one.item]}" for one in kept)
        return replace(change, keys=tuple(name.replace("PURGE_OUTCOME_", "") for name in names)), ""
    return change, ""
