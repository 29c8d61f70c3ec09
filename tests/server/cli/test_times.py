"""Times as people write them: an offset must stand, spans count from now, and no time zone of the machine matters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cli.errors import InputError
from discreet.cli.times import format_micros, parse_moment_of_time, parse_past, parse_rfc3339, parse_span

# Naive on purpose: the offset is the other argument.
FIRST, LAST = datetime.fromisoformat("0001-01-02"), datetime.fromisoformat("9999-12-30")
NOW = 1_700_000_000_000_000


@pytest.mark.parametrize(
    "text",
    [
        "2025-06-01T00:00:00",
        "2025-06-01",
        "2025-06-01T24:00:00Z",
        "2025-06-01T23:59:60Z",
        "2025-06-01T00:00:00.1234567890Z",
        "2025-06-01 00:00:00Z",
        "2025-02-30T00:00:00Z",
        "2025-06-01T00:00:00+24:00",
        "٢٠٢٥-06-01T00:00:00Z",
        "",
    ],
)
def test_tim_01_a_time_that_could_mean_two_things_is_refused(text: str) -> None:
    """TIM-01: an offset must stand, and only the one form is read."""
    with pytest.raises(InputError, match="offset"):
        parse_rfc3339(text)


@given(st.datetimes(FIRST, LAST), st.integers(-1439, 1439))
def test_tim_01_the_offset_counts(local: datetime, minutes: int) -> None:
    """TIM-01: the same instant is read from every offset."""
    sign = "-" if minutes < 0 else "+"
    offset = f"{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    wanted = (local.replace(tzinfo=UTC) - timedelta(minutes=minutes) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
        microseconds=1
    )
    assert parse_rfc3339(local.isoformat() + offset) == wanted


@given(st.integers(-62_000_000_000_000_000, 250_000_000_000_000_000))
def test_a_time_that_was_written_is_read_again(micros: int) -> None:
    """What is printed can be given back as a filter."""
    assert parse_rfc3339(format_micros(micros)) == micros


def test_spans_count_from_now() -> None:
    """`2h` is two hours ago, `+30d` is ahead."""
    assert parse_moment_of_time("2h", NOW) == NOW - 7_200_000_000
    assert parse_moment_of_time("+1d", NOW) == NOW + 86_400_000_000
    assert parse_moment_of_time("now", NOW) == NOW
    assert parse_moment_of_time("2026-01-01T00:00:00Z", NOW) == 1_767_225_600_000_000
    assert parse_span("3w") == timedelta(weeks=3)


@pytest.mark.parametrize("text", ["2", "h", "-2h", "2 h", "2y", "yesterday", "+", ""])
def test_what_is_no_span_and_no_time_is_refused(text: str) -> None:
    """A slip is refused with what would be right."""
    with pytest.raises(InputError, match="RFC 3339"):
        parse_moment_of_time(text, NOW)


@pytest.mark.parametrize(
    "text", ["+999999w", "999999w", "+420000w", "9999-12-31T23:59:59-00:01", "0001-01-01T00:00:00+00:01"]
)
def test_a_time_that_no_message_can_hold_is_refused(text: str) -> None:
    """TIM-01: neither a span nor an offset leads out of the years that can be written."""
    with pytest.raises(InputError, match="not a time"):
        parse_moment_of_time(text, NOW)


@pytest.mark.parametrize(
    "text, found",
    [
        ("today", "2023-11-14T00:00:00Z"),
        ("yesterday", "2023-11-13T00:00:00Z"),
        ("2023-11-01", "2023-11-01T00:00:00Z"),
        ("now", "2023-11-14T22:13:20Z"),
        ("2h", "2023-11-14T20:13:20Z"),
        ("2023-11-01T01:00:00+01:00", "2023-11-01T00:00:00Z"),
    ],
)
def test_what_lies_behind_may_be_named_by_its_day(text: str, found: str) -> None:
    """F7: days begin in UTC, as all that is printed stands in UTC; whatever the machine's time zone."""
    assert format_micros(parse_past(text, NOW)) == found


@pytest.mark.parametrize("text", ["2023-02-30", "tomorrow", "Today", "2023-11", "٢٠٢٥-06-01", ""])
def test_tim_01_what_is_no_day_is_refused_with_what_is(text: str) -> None:
    """TIM-01: the hint names the forms that are read."""
    with pytest.raises(InputError):
        parse_past(text, NOW)
