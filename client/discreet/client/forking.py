"""What a fork does to the lines of this process, found out when it happens.

A channel does not survive a fork, so a child opens its own. Where calls were under way, or a channel for asyncio was
open, gRPC itself is broken in the child: it hangs, crashes, and takes events from its parent. Such a child must not
touch it at all. Nor may its parent trust the connection that both then hold: before the child can be told anything,
gRPC's own handlers in it may have written to that connection. The parent goes on over a new one.
"""

import os

from discreet.client.result import Failure

FORKED = Failure(
    "FORKED",
    "this process was forked while the client was in use, so that gRPC cannot be used in it; fork before the client's "
    "first call, or close the client first",
)


class _Process:
    """What is known of this process; one of it."""

    __slots__ = ("broken", "depth", "era", "uses")

    def __init__(self) -> None:
        # Forks between the first process and this one. A process id would not do: those come back.
        self.depth = 0
        self.era = 0
        self.broken = False
        self.uses: set[object] = set()

    def in_parent(self) -> None:
        if self.uses:
            self.era += 1

    def in_child(self) -> None:
        self.depth += 1
        self.era += 1
        # The set as it was in the very moment of the fork, since this memory is a copy of that moment.
        self.broken = self.broken or bool(self.uses)
        self.uses = set()


_process = _Process()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_parent=_process.in_parent, after_in_child=_process.in_child)


def era() -> int:
    """Changes where lines opened earlier must not be asked again: in a child, and in a parent of a broken one."""
    return _process.era


def depth() -> int:
    """How many forks lie between this process and the first one that imported the client."""
    return _process.depth


def is_broken() -> bool:
    """Whether gRPC must not be touched in this process."""
    return _process.broken


def begin(use: object) -> None:
    """Marks a use that no fork may fall into: a call under way, a channel for asyncio."""
    _process.uses.add(use)


def in_use() -> bool:
    """Whether a fork now would break the child."""
    return bool(_process.uses)


def end(use: object) -> None:
    """Marks its end."""
    _process.uses.discard(use)
