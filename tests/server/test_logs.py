"""Logs: one event a line whatever it holds, ids and codes but no content."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.server.logs import escaped, make_log
from tests.server.support import Running, check, document, segment

FORGED = "x\r\n2026-01-01 INFO decision=ALLOW subject=bo\x1b[31m\u2028\u202e\x00"


@pytest.mark.parametrize("style", ["json", "console"])
def test_line_breaks_and_control_characters_are_escaped_in_every_format(style: str) -> None:
    """OBS-01: text in a value, a key or the event itself makes no second line and moves no cursor."""
    stream = io.StringIO()
    log = make_log(style, "info", stream)
    log.info(FORGED, why=FORGED, many=[FORGED, FORGED], **{FORGED: 1})
    log.error("next", n=1, flag=True, none=None)
    lines = stream.getvalue().split("\n")
    assert len(lines) == 3
    assert not any(char in stream.getvalue() for char in "\r\x1b\u2028\u202e\x00")
    if style == "json":
        assert json.loads(lines[0])["event"].startswith("x\\r\\n2026")
        assert json.loads(lines[1])["n"] == 1


@given(st.text())
def test_any_text_stays_on_its_line(text: str) -> None:
    """Also what no keyboard has; and it can be written as UTF-8."""
    assert escaped(text).splitlines() in ([], [escaped(text)])
    escaped(text).encode("utf-8")


def test_long_values_are_cut() -> None:
    """A log line has an end."""
    stream = io.StringIO()
    make_log("json", "info", stream).info("e", long="x" * 10_000)
    assert len(stream.getvalue()) < 3_000


async def test_decisions_leave_no_content_in_the_log(running: Running) -> None:
    """OBS-03: neither segment ids nor principals nor attributes stand in the log, at its most talkative."""
    await running.lines.collector.put(document())
    request = check(segment("marker-segment"), principal="marker-principal", session_id="marker-session")
    request.principal.attributes["note"].string_value = "marker-attribute"
    await running.lines.agent.check(request)
    assert "marker" not in running.log.getvalue()
