"""Values that policy files give names: parameters and constants. Knows neither conditions nor files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Span(NamedTuple):
    """A duration, in microseconds."""

    us: int


class Instant(NamedTuple):
    """A time, in microseconds since 1970."""

    us: int


class Unknown(NamedTuple):
    """The value of what is written wrongly: of any type, so that no error follows from that error."""


Single = bool | int | float | str
Value = Single | Span | Instant | Unknown | tuple[Single, ...]


@dataclass(frozen=True, slots=True)
class Parameters:
    """The declared parameters of a set with the values that they have in one environment.

    `values` are as files write them (a duration is text) and complete: what has no value, which is a problem of its
    own, has one of its type here, so that no error follows from that error.
    """

    types: Mapping[str, str]
    values: Mapping[str, object]
