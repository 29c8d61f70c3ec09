"""What a change lets through compared with before: more, less, the same, or something else. Knows no policy."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from enum import Enum, auto
from typing import Protocol, Self, TypeVar

from discreet.policy.diff.changes import Direction


class Comparable(Protocol):
    """What has an order."""

    def __lt__(self, other: Self, /) -> bool:
        """Whether it comes before the other."""
        ...


C = TypeVar("C", bound=Comparable)


class Order(Enum):
    """How the new one stands to the old one."""

    SAME = auto()
    WIDER = auto()
    """It lets through all that the old one does, and may let through more."""
    NARROWER = auto()
    OTHER = auto()
    """Neither can be told."""

    @property
    def turned(self) -> Order:
        """How what is let through by the opposite of both stands."""
        return {Order.WIDER: Order.NARROWER, Order.NARROWER: Order.WIDER}.get(self, self)

    @property
    def direction(self) -> Direction:
        """The direction of a change of something that allows."""
        return {
            Order.SAME: Direction.NEITHER,
            Order.WIDER: Direction.LOOSENS,
            Order.NARROWER: Direction.TIGHTENS,
            Order.OTHER: Direction.EITHER,
        }[self]


def together(orders: Iterable[Order]) -> Order:
    """How the whole stands where its parts stand so and each lets through more the more its parts do."""
    found = {order for order in orders if order is not Order.SAME}
    if not found:
        return Order.SAME
    return found.pop() if len(found) == 1 else Order.OTHER


def of_sets(old: AbstractSet[object] | None, new: AbstractSet[object] | None) -> Order:
    """How a set of what is let through stands; None: everything."""
    if old == new:
        return Order.SAME
    if new is None:
        return Order.WIDER
    if old is None:
        return Order.NARROWER
    return Order.WIDER if old < new else Order.NARROWER if new < old else Order.OTHER


def of_limits(old: C | None, new: C | None) -> Order:
    """How an upper limit stands; None: no limit."""
    if old == new:
        return Order.SAME
    if new is None:
        return Order.WIDER
    if old is None:
        return Order.NARROWER
    return Order.WIDER if old < new else Order.NARROWER
