"""Timestamps and durations on whole nanoseconds: arithmetic, reading, writing, and the parts of a date.

Everything that reads text is linear in it and refuses long text, since it may come from data.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from discreet.policy.cel.errors import bad_argument, overflow
from discreet.policy.cel.limits import Budget
from discreet.policy.cel.values import Duration, Timestamp

SECOND: Final = 10**9
TEXT_MAX: Final = 64
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
TIMESTAMP_MIN: Final = -62_135_596_800 * SECOND
TIMESTAMP_MAX: Final = 253_402_300_800 * SECOND - 1
#: What int64 nanoseconds hold: other implementations overflow or saturate past it.
DURATION_MAX: Final = 2**63 - 1

RFC3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
UNITS: Final = {
    "h": 3600 * SECOND,
    "m": 60 * SECOND,
    "s": SECOND,
    "ms": 10**6,
    "us": 10**3,
    "ns": 1,
}
SPAN: Final = re.compile(r"([0-9]+)?(?:\.([0-9]*))?(ns|us|ms|h|m|s)")
ZONE_OFFSET: Final = re.compile(r"([+-]?)([0-9]{2}):([0-9]{2})")
ZONE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+\-]*(?:/[A-Za-z0-9_+\-]+){0,2}")


def timestamp_of(ns: int) -> Timestamp:
    """Returns the moment, or raises the overflow of years before 1 or after 9999."""
    if TIMESTAMP_MIN <= ns <= TIMESTAMP_MAX:
        return Timestamp(ns)
    raise overflow("timestamp")


def duration_of(ns: int) -> Duration:
    """Returns the span, or raises the overflow."""
    if -DURATION_MAX <= ns <= DURATION_MAX:
        return Duration(ns)
    raise overflow("duration")


def later(moment: Timestamp, span: Duration, budget: Budget) -> Timestamp:
    """Returns moment + span."""
    return timestamp_of(moment.ns + span.ns)


def after(span: Duration, moment: Timestamp, budget: Budget) -> Timestamp:
    """Returns span + moment."""
    return timestamp_of(moment.ns + span.ns)


def earlier(moment: Timestamp, span: Duration, budget: Budget) -> Timestamp:
    """Returns moment - span."""
    return timestamp_of(moment.ns - span.ns)


def between(end: Timestamp, start: Timestamp, budget: Budget) -> Duration:
    """Returns the span from start to end."""
    return duration_of(end.ns - start.ns)


def longer(left: Duration, right: Duration, budget: Budget) -> Duration:
    """Returns left + right."""
    return duration_of(left.ns + right.ns)


def shorter(left: Duration, right: Duration, budget: Budget) -> Duration:
    """Returns left - right."""
    return duration_of(left.ns - right.ns)


def timestamp_from_text(text: str) -> Timestamp:
    """Returns the moment of an RFC 3339 text with its mandatory offset; a leap second is refused."""
    found = RFC3339.fullmatch(text) if len(text) <= TEXT_MAX else None
    if found is None:
        raise bad_argument("not a timestamp; write 2026-11-30T08:00:00Z")
    year, month, day, hour, minute, second = map(int, found.group(1, 2, 3, 4, 5, 6))
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        raise bad_argument("not a timestamp; no such date or time") from None
    fraction = int((found.group(7) or "").ljust(9, "0"))
    offset_hours, offset_minutes = int(found.group(9) or 0), int(found.group(10) or 0)
    if offset_hours > 23 or offset_minutes > 59:
        raise bad_argument("not a timestamp; its offset is at most 23:59")
    offset_s = (offset_hours * 60 + offset_minutes) * (-60 if found.group(8) == "-" else 60)
    return timestamp_of((_whole_seconds(moment) - offset_s) * SECOND + fraction)


def _whole_seconds(moment: datetime) -> int:
    passed = moment - EPOCH
    return passed.days * 86_400 + passed.seconds


def timestamp_text(moment: Timestamp) -> str:
    """Returns the moment in RFC 3339 in UTC, with 0, 3, 6 or 9 digits of fraction."""
    seconds, ns = divmod(moment.ns, SECOND)
    date = EPOCH + timedelta(seconds=seconds)
    return f"{date.year:04d}{date:-%m-%dT%H:%M:%S}{_fraction(ns)}Z"


def _fraction(ns: int) -> str:
    if ns == 0:
        return ""
    digits = f"{ns:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return "." + digits


def duration_from_text(text: str) -> Duration:
    """Returns the span of a text like `1h30m`, `-1.5s` or `0`."""
    if len(text) > TEXT_MAX:
        raise bad_argument("not a duration; too long")
    sign = -1 if text[:1] == "-" else 1
    at = 1 if text[:1] in ("-", "+") else 0
    if text[at:] == "0":
        return Duration(0)
    total, begin = 0, at
    while at < len(text):
        found = SPAN.match(text, at)
        if found is None or not (found.group(1) or found.group(2)):
            raise bad_argument("not a duration; write 1h30m or 10s")
        unit, fraction = UNITS[found.group(3)], found.group(2) or ""
        part, beyond = divmod(int(fraction or 0) * unit, 10 ** len(fraction))
        if beyond:
            raise bad_argument("not a duration; nothing is shorter than 1ns")
        total += int(found.group(1) or 0) * unit + part
        at = found.end()
    if at == begin:
        raise bad_argument("not a duration; it is empty")
    return duration_of(sign * total)


def duration_text(span: Duration) -> str:
    """Returns the span in seconds, with 0, 3, 6 or 9 digits of fraction."""
    seconds, ns = divmod(abs(span.ns), SECOND)
    return f"{'-' if span.ns < 0 else ''}{seconds}{_fraction(ns)}s"


@lru_cache(maxsize=64)
def zone(name: str) -> tzinfo:
    """Returns a time zone by its IANA name or its offset from UTC (`+02:00`). Raises EvaluationError(ARGUMENT).

    The one read of files in this package: the system's time zones, cached.
    """
    offset = ZONE_OFFSET.fullmatch(name) if len(name) <= TEXT_MAX else None
    if offset and int(offset.group(2)) <= 23 and int(offset.group(3)) <= 59:
        ahead = timedelta(hours=int(offset.group(2)), minutes=int(offset.group(3)))
        return timezone(-ahead if offset.group(1) == "-" else ahead)
    if offset is None and len(name) <= TEXT_MAX and ZONE_NAME.fullmatch(name):
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            pass
    raise bad_argument("no such time zone; write UTC, Europe/Paris or +02:00")


def date_in(moment: Timestamp, where: tzinfo) -> datetime:
    """Returns the date and time, to whole seconds, that clocks show in a zone at a moment."""
    try:
        return (EPOCH + timedelta(seconds=moment.ns // SECOND)).astimezone(where)
    except OverflowError:
        raise overflow("date") from None
