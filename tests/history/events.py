"""What a client saw of its calls, as plain values: the raw material of a history. Must know no server and no store.

Times are nanoseconds of the machine's one monotonic clock, which all processes share; `wall` is microseconds since 1970
UTC. Everything is written as one JSON list a line, so that a history survives the process that made it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

NEVER = 2**62
"""An end that does not come."""
NO_SEQ = -1


class Outcome(Enum):
    """What a call's end says about what it did."""

    ANSWERED = "answered"
    REFUSED = "refused"
    """The server said no: nothing was written."""
    UNKNOWN = "unknown"
    """The line broke, or the server could not say: it may have been written, even later."""


@dataclass(frozen=True, slots=True)
class Told:
    """What an answer said of one segment. `key`: session/answer/segment; empty at REPLAY and RETRIEVE."""

    key: str
    ledger_id: str
    kind: str
    refs: tuple[str, ...]
    """`record@version` of what its bindings name, then of what its parents rest on."""
    verdict: str
    reason: str
    order: str = ""
    decided: bool = True
    """False where the client or a lost store withheld: nothing is said of what was written."""
    own: int = 0
    """How many of `refs` its bindings name; 0: all."""

    @property
    def judged(self) -> tuple[str, ...]:
        """What it was surely judged by: a parent that the reader may not know of is as one that never was (F11).

        What is stored is judged by all that it rests on.
        """
        return self.refs if self.ledger_id or not self.own else self.refs[: self.own]


@dataclass(frozen=True, slots=True)
class Change:
    """A change that a call asked for. `register` and `instance` pair what begins with what ends it.

    `mark` stands in the audit row as the reason, so that the row of a call can be found.
    """

    register: str
    keys: tuple[str, ...]
    """What it covers: `ref:record@version`, `label:name`, `desk:principal`, `tenant`."""
    blocks: bool
    mark: str
    instance: str = ""
    until_us: int = NEVER
    """When it ends by itself."""
    due_us: int = 0
    """A revoke: when its purge is due."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call: when it began and ended, and what was said. `seq` and `policy` are those of the answer's token."""

    client: str
    number: int
    method: str
    began: int
    ended: int
    wall: int
    outcome: Outcome
    seq: int = NO_SEQ
    policy: int = NO_SEQ
    principal: str = ""
    told: tuple[Told, ...] = ()
    change: Change | None = None

    @property
    def name(self) -> str:
        """How it is called in a report."""
        return f"{self.client}#{self.number} {self.method}"


def encoded(call: Call) -> str:
    """The call as a line of JSON."""
    told = [[t.key, t.ledger_id, t.kind, t.refs, t.verdict, t.reason, t.order, t.decided, t.own] for t in call.told]
    c = call.change
    change = None if c is None else [c.register, c.keys, c.blocks, c.mark, c.instance, c.until_us, c.due_us]
    head = [call.client, call.number, call.method, call.began, call.ended, call.wall, call.outcome.value]
    return json.dumps([*head, call.seq, call.policy, call.principal, told, change], separators=(",", ":"))


def decoded(line: str) -> Call:
    """The call of a line of JSON."""
    client, number, method, began, ended, wall, outcome, seq, policy, principal, told, change = json.loads(line)
    said = tuple(Told(t[0], t[1], t[2], tuple(t[3]), *t[4:]) for t in told)
    made = None if change is None else Change(change[0], tuple(change[1]), *change[2:])
    span = (began, ended, wall)
    return Call(client, number, method, *span, Outcome(outcome), seq, policy, principal, said, made)


def read_calls(files: Iterable[Path]) -> Iterator[Call]:
    """All calls of all files; a last line that its process did not live to finish is left out."""
    for file in files:
        with file.open() as lines:
            for line in lines:
                if line.endswith("\n"):
                    yield decoded(line)
