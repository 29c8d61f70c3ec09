"""Times as people and files write them: RFC 3339 with an offset, or a span back from now (`2h`). Reads no clock."""

import re
from datetime import UTC, datetime, timedelta

from discreet.cli.errors import InputError

_RFC3339 = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:([Zz])|([+-])(\d{2}):(\d{2}))", re.ASCII
)
_SPAN = re.compile(r"(\d{1,6})(s|m|h|d|w)", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DAYS = {"today": 0, "yesterday": 1}
_DAY_US = 86_400_000_000
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_LAST = (datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
WANTED = 'write RFC 3339 with an offset, for example "2026-01-31T12:00:00Z" or "2026-01-31T13:00:00+01:00"'


def parse_rfc3339(text: str) -> int:
    """Microseconds since 1970 UTC. Finer digits than microseconds are cut off. Raises InputError; an offset must stand.

    >>> parse_rfc3339("1970-01-01T01:00:00.5+01:00")
    500000
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise InputError("not a time", WANTED)
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    fraction, _, sign, offset_hours, offset_minutes = match.groups()[6:]
    try:
        local = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        raise InputError(f"not a time: {error}", WANTED) from None
    micros = (local - _EPOCH) // timedelta(microseconds=1) + int((fraction or "").ljust(6, "0")[:6])
    if sign is None:
        return micros
    if int(offset_hours) > 23 or int(offset_minutes) > 59:
        raise InputError("not a time: the offset is out of range", WANTED)
    shift = (int(offset_hours) * 60 + int(offset_minutes)) * 60_000_000
    return _known(micros - shift if sign == "+" else micros + shift)


def parse_span(text: str) -> timedelta:
    """A span such as `90s`, `15m`, `2h`, `7d`, `3w`. Raises InputError."""
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        raise InputError("not a span of time", "write a number and a unit, for example 90s, 15m, 2h, 7d or 3w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def parse_moment_of_time(text: str, now_us: int) -> int:
    """Microseconds since 1970 of an RFC 3339 time, `now`, a span back (`2h`) or ahead (`+30d`). Raises InputError."""
    if text == "now":
        return now_us
    ahead = text.startswith("+")
    if _SPAN.fullmatch(text.removeprefix("+")):
        span = parse_span(text.removeprefix("+")) // timedelta(microseconds=1)
        return _known(now_us + span if ahead else now_us - span)
    try:
        return parse_rfc3339(text)
    except InputError:
        raise InputError(
            f"not a time: {text!r}", f"{WANTED}; or a span back such as 2h, or ahead such as +30d"
        ) from None


def parse_past(text: str, now_us: int) -> int:
    """As `parse_moment_of_time`, or a day (`today`, `yesterday`, `2026-01-31`): its begin, 00:00 UTC.

    >>> format_micros(parse_past("yesterday", parse_rfc3339("2026-03-01T09:30:00Z")))
    '2026-02-28T00:00:00Z'
    """
    if text in _DAYS:
        return _known((now_us // _DAY_US - _DAYS[text]) * _DAY_US)
    if _DATE.fullmatch(text):
        return parse_rfc3339(f"{text}T00:00:00Z")
    try:
        return parse_moment_of_time(text, now_us)
    except InputError as error:
        raise InputError(error.message, f"{error.hint}; or a day in UTC: today, yesterday or 2026-01-31") from None


def _known(micros: int) -> int:
    """The time, if it lies in the years that messages can hold. Raises InputError."""
    if not _FIRST <= micros <= _LAST:
        raise InputError("not a time of the years 1 to 9999", WANTED)
    return micros


def format_micros(micros: int) -> str:
    """RFC 3339 in UTC, with as many digits as needed.

    >>> format_micros(500000)
    '1970-01-01T00:00:00.500000Z'
    """
    return (_EPOCH + timedelta(microseconds=micros)).isoformat().replace("+00:00", "Z")
