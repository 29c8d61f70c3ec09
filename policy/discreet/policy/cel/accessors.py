"""The methods that read the parts of timestamps and durations, `getFullYear` to `getMilliseconds`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from discreet.policy.cel.limits import Budget
from discreet.policy.cel.overloads import Overload, Table
from discreet.policy.cel.schema import INT
from discreet.policy.cel.times import SECOND, date_in, zone
from discreet.policy.cel.values import Duration, Timestamp

#: Months, days of the month and of the year count from 0; `getDate` counts from 1; Sunday is day 0 of the week.
DATE_PARTS: Final[dict[str, Callable[[datetime], int]]] = {
    "getFullYear": lambda date: date.year,
    "getMonth": lambda date: date.month - 1,
    "getDayOfYear": lambda date: date.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda date: date.day - 1,
    "getDate": lambda date: date.day,
    "getDayOfWeek": lambda date: date.isoweekday() % 7,
    "getHours": lambda date: date.hour,
    "getMinutes": lambda date: date.minute,
    "getSeconds": lambda date: date.second,
}
#: Steps of looking up a time zone, whose name may come from data and be unknown.
ZONE_STEPS: Final = 50
#: Nanoseconds in the unit that a duration is counted in.
SPAN_UNITS: Final = {"getHours": 3600 * SECOND, "getMinutes": 60 * SECOND, "getSeconds": SECOND}


def _of_date(read: Callable[[datetime], int]) -> Table:
    def in_utc(moment: Timestamp, budget: Budget) -> int:
        return read(date_in(moment, UTC))

    def in_zone(moment: Timestamp, name: str, budget: Budget) -> int:
        budget.charge(ZONE_STEPS)
        return read(date_in(moment, zone(name)))

    return {("timestamp",): Overload(in_utc, INT), ("timestamp", "string"): Overload(in_zone, INT)}


def _of_span(unit: int) -> Table:
    def count(span: Duration, budget: Budget) -> int:
        return _towards_zero(span.ns, unit)

    return {("duration",): Overload(count, INT)}


def _towards_zero(value: int, unit: int) -> int:
    return value // unit if value >= 0 else -(-value // unit)


def _milliseconds(moment: Timestamp, budget: Budget) -> int:
    return moment.ns % SECOND // 10**6


def _milliseconds_in(moment: Timestamp, name: str, budget: Budget) -> int:
    budget.charge(ZONE_STEPS)
    zone(name)
    return moment.ns % SECOND // 10**6


def _milliseconds_left(span: Duration, budget: Budget) -> int:
    """Returns the milliseconds beyond whole seconds, as other implementations count them."""
    whole = _towards_zero(span.ns, 10**6)
    return whole % 1000 if whole >= 0 else -(-whole % 1000)


ACCESSORS: Final[dict[str, Table]] = {
    **{name: _of_date(read) for name, read in DATE_PARTS.items()},
    "getMilliseconds": {
        ("timestamp",): Overload(_milliseconds, INT),
        ("timestamp", "string"): Overload(_milliseconds_in, INT),
        ("duration",): Overload(_milliseconds_left, INT),
    },
}
for _name, _unit in SPAN_UNITS.items():
    ACCESSORS[_name] = ACCESSORS[_name] | _of_span(_unit)
