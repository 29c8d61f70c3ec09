"""One worker's part of a replay: its own connection, its own compiled revisions, its own memory of facts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

import sqlalchemy as sa

from discreet.policy.codec.recorded import BadRow, PolicyRef, RecordedCall, RecordedDecision, recorded_call
from discreet.policy.compile import compile_set
from discreet.policy.problems import PolicyProblems
from discreet.policy.replay import (
    Cause,
    Outcome,
    Under,
    committed,
    count_call,
    count_fate,
    count_unreadable,
    fate,
    fate_want,
    replay,
    wants,
)
from discreet.policy.replay.play import Replayed
from discreet.policy.snapshot import Snapshot
from discreet.server.policies.compile import compile_row
from discreet.server.ports import Head
from discreet.server.replaying.history import History
from discreet.server.replaying.pages import Chunk, bodies
from discreet.server.stores.policies import policy_row

REVISIONS_KEPT_MAX = 16


class Candidate(NamedTuple):
    """A policy set that is not in force, as files; compiled by each worker for itself."""

    files: Mapping[str, bytes]
    commit: str = ""
    dirty: bool = False
    environment: str = ""

    def compiled(self) -> Snapshot:
        """The set. Raises PolicyProblems."""
        return compile_set(self.files, commit=self.commit, number=0, dirty=self.dirty, environment=self.environment)


class Worker:
    """Replays chunks. `head`: the present, as of which stored segments are judged."""

    def __init__(self, connection: sa.Connection, candidate: Candidate, head: Head) -> None:
        self._connection = connection
        self._candidate = Under.of(candidate.compiled())
        self._head = head
        self._history = History(connection, head.seq)
        self._revisions: OrderedDict[int, Under | None] = OrderedDict()

    def replay(self, chunk: Chunk) -> Outcome:
        """What the chunk's rows come to."""
        outcome = Outcome()
        found = bodies(self._connection, chunk.keys)
        calls: list[RecordedCall] = []
        for key, decision_ids in zip(chunk.keys, chunk.decision_ids, strict=True):
            try:
                call = recorded_call(found[key]) if key in found else None
            except BadRow:
                call = None
            if call is None or len(call.decisions) != len(decision_ids):
                count_unreadable(outcome, Cause.UNREADABLE, decision_ids)
            else:
                calls.append(call)
        self._replay(outcome, calls)
        self._judge_stored(outcome, calls)
        return outcome

    def _replay(self, outcome: Outcome, calls: list[RecordedCall]) -> None:
        asked = [wants(call) for call in calls]
        facts = iter(self._history.facts([want for some in asked for want in some]))
        for call, some in zip(calls, asked, strict=True):
            given = [next(facts) for _ in some]
            recorded = self._revision(call.policy) if given else None
            if recorded is not None or not given:
                results = replay(call, recorded or self._candidate, self._candidate, given)
            else:
                results = (Replayed(Cause.REVISION_MISSING),) * len(call.decisions)
            count_call(outcome, call, results)

    def _judge_stored(self, outcome: Outcome, calls: list[RecordedCall]) -> None:
        """The segments that the calls committed, as at REPLAY now."""
        head = self._head
        made: list[tuple[RecordedCall, RecordedDecision]] = [(call, one) for call in calls for one in committed(call)]
        if not made:
            return
        present = self._numbered(head.policy_revision)
        facts = self._history.facts([fate_want(call, one, head.epoch, head.seq) for call, one in made])
        for (call, one), known in zip(made, facts, strict=True):
            if present is None:
                result = Replayed(Cause.REVISION_MISSING)
            else:
                result = fate(call, one, (present, self._candidate), known, head.now)
            count_fate(outcome, call, one, result)

    def _revision(self, ref: PolicyRef) -> Under | None:
        """The revision that a row names; None where there is no such one, or it is another than the row says."""
        found = self._numbered(ref.number)
        if found is None:
            return None
        held = found.snapshot
        same = PolicyRef(held.number, held.commit, held.digest, held.dirty) == ref
        return found if same else None

    def _numbered(self, number: int) -> Under | None:
        if number not in self._revisions:
            self._revisions[number] = self._compiled(number)
        self._revisions.move_to_end(number)
        while len(self._revisions) > REVISIONS_KEPT_MAX:
            self._revisions.popitem(last=False)
        return self._revisions[number]

    def _compiled(self, number: int) -> Under | None:
        row = policy_row(self._connection, number) if number else None
        try:
            return Under.of(compile_row(row)) if row is not None else None
        except PolicyProblems:
            return None
