"""What a condition may cost: limits when it is loaded, a step budget when it is evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from discreet.policy.cel.errors import CostExceeded

#: Steps that one decision may spend on its conditions unless the caller says otherwise: about 10 ms at worst, or 40 ms
#: where every step is an error that something absorbs.
DEFAULT_STEPS: Final = 50_000

#: Code points of text that cost one step to read.
CHARS_PER_STEP: Final = 64


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
    """The steps that are left to a decision; mutable, and for one thread.

    A step is about one node of an expression. Straight-line code is charged before it runs and whole, so the cost of a
    condition does not depend on the order of its parts; loops charge for all their rounds when they begin.
    """

    __slots__ = ("left",)

    def __init__(self, steps: int = DEFAULT_STEPS) -> None:
        self.left = steps

    def charge(self, steps: int) -> None:
        """Takes steps, or raises CostExceeded and leaves the budget spent."""
        self.left -= steps
        if self.left < 0:
            raise CostExceeded
