"""What a condition may cost: limits when it is loaded, a step budget when it is evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from discreet.policy.cel.errors import CostExceeded

#: Steps that one decision may spend on its conditions unless the caller says otherwise: about 10 ms at worst, or 40 ms
#: where every step is an error that something absorbs.
DEFAULT_STEPS: Final = 50_000

#: Bytes that the values made by one decision's conditions may take together, whether they are kept or not.
DEFAULT_MEMORY_BYTES: Final = 4 << 20

#: Code points of text that cost one step to read.
CHARS_PER_STEP: Final = 64

#: What a list or map takes by itself and for each item or entry, about, and a code point that is not ASCII at most.
COLLECTION_BYTES: Final = 64
ITEM_BYTES: Final = 8
ENTRY_BYTES: Final = 100
WIDE_CHAR_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on the text and tree of one condition; one past any of them is an error at load."""

    text_bytes_max: int = 8192
    nesting_max: int = 48
    depth_max: int = 64
    nodes_max: int = 2000
    macro_depth_max: int = 2


DEFAULT: Final = Limits()


class Budget:
    """The steps and the memory that are left to a decision; mutable, and for one thread.

    A step is about one node of an expression. Straight-line code is charged before it runs and whole, so the cost of a
    condition does not depend on the order of its parts; loops charge for all their rounds when they begin. Memory is
    charged for every text, list and map that an expression makes, before it is made, and never given back.
    """

    __slots__ = ("left", "memory_left")

    def __init__(self, steps: int = DEFAULT_STEPS, memory_bytes: int = DEFAULT_MEMORY_BYTES) -> None:
        self.left = steps
        self.memory_left = memory_bytes

    def charge(self, steps: int) -> None:
        """Takes steps, or raises CostExceeded and leaves the budget spent."""
        self.left -= steps
        if self.left < 0:
            raise CostExceeded

    def reserve(self, size_bytes: int) -> None:
        """Takes memory for a value that is about to be made, or raises CostExceeded."""
        self.memory_left -= size_bytes
        if self.memory_left < 0:
            raise CostExceeded("the condition makes larger values than its budget allows")

    def reserve_items(self, count: int) -> None:
        """Takes memory for a list of so many items, which are counted where they are made themselves."""
        self.reserve(COLLECTION_BYTES + ITEM_BYTES * count)
