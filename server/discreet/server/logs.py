r"""Structured logs: one event a line, ids and codes only, control characters escaped (OBS-01).

Nothing here knows requests. Who logs gives names and ids, never content: message text, attribute values, scopes and
validation inputs stay out (OBS-03).
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog

Log = structlog.typing.FilteringBoundLogger

VALUE_CHARS_MAX = 2_000

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
LEVELS = tuple(_LEVELS)


def escaped(text: str) -> str:
    r"""The text with every character that could move or hide others written as an escape.

    >>> escaped("x\r\ny")
    'x\\r\\ny'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c == " " or unicodedata.category(c)[0] not in "CZ" else _escape(c) for c in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "backslashreplace").decode("ascii")


def _clean(value: object) -> object:
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    text = value if isinstance(value, str) else str(value)
    return escaped(text if len(text) <= VALUE_CHARS_MAX else text[:VALUE_CHARS_MAX] + "...")


def _clean_event(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {escaped(str(key)): _clean(value) for key, value in event.items()}


def _as_json(_logger: object, _method: str, event: MutableMapping[str, Any]) -> str:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def _as_line(_logger: object, _method: str, event: MutableMapping[str, Any]) -> str:
    stamp, level, what = event.pop("at", ""), event.pop("level", ""), event.pop("event", "")
    rest = " ".join(f"{key}={_shown(value)}" for key, value in event.items())
    return f"{stamp} {level:<7} {what}" + (f"  {rest}" if rest else "")


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return (
        text
        if text and " " not in text and "=" not in text and '"' not in text
        else json.dumps(text, ensure_ascii=False)
    )


def make_log(style: str = "console", level: str = "info", stream: TextIO | None = None) -> Log:
    """A logger that writes to the stream (standard error), as lines for people ("console") or "json"."""
    log: Log = structlog.wrap_logger(
        structlog.WriteLogger(stream or sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            _clean_event,
            _as_json if style == "json" else _as_line,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        cache_logger_on_first_use=False,
    )
    return log
