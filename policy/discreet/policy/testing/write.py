"""Writes a test file: plain values as YAML that the reader of policy files takes, each text quoted where it must be."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from discreet.policy.yaml.scalars import is_ambiguous, resolve

_PLAIN: Final = re.compile(r"[A-Za-z0-9_/][A-Za-z0-9_./@+:-]*(?: [A-Za-z0-9_./@+:-]+)*")
FLOW_CHARS_MAX: Final = 100


def written(tree: Mapping[str, object]) -> str:
    """Returns the YAML of a mapping; what is short stands on one line."""
    return "\n".join(_block(tree, "")) + "\n"


def _block(tree: Mapping[str, object], indent: str) -> Iterator[str]:
    for key, value in tree.items():
        flow = _flow(value)
        if len(flow) + len(key) + len(indent) <= FLOW_CHARS_MAX and not (
            indent == "" and value and isinstance(value, list)
        ):
            yield f"{indent}{_scalar(key)}: {flow}"
        elif isinstance(value, Mapping):
            yield f"{indent}{_scalar(key)}:"
            yield from _block(value, indent + "  ")
        elif isinstance(value, (list, tuple)):
            yield f"{indent}{_scalar(key)}:"
            yield from _items(value, indent + "  ")
        else:
            yield f"{indent}{_scalar(key)}: {flow}"


def _items(items: list[object] | tuple[object, ...], indent: str) -> Iterator[str]:
    for item in items:
        flow = _flow(item)
        if not isinstance(item, Mapping) or len(flow) + len(indent) + 2 <= FLOW_CHARS_MAX:
            yield f"{indent}- {flow}"
            continue
        first, *rest = _block(item, indent + "  ")
        yield f"{indent}- {first.lstrip()}"
        yield from rest


def _flow(value: object) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_scalar(key)}: {_flow(below)}" for key, below in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _scalar(value)


def _scalar(value: object) -> str:
    if not isinstance(value, str):
        return "~" if value is None else json.dumps(value)
    plain = _PLAIN.fullmatch(value) is not None and not is_ambiguous(value) and ": " not in value
    if plain and not value.endswith(":") and len(value) <= FLOW_CHARS_MAX and resolve(value) == value:
        return value
    return _quoted(value)


def _quoted(text: str) -> str:
    r"""Returns a text in double quotes, what cannot be seen as escapes that YAML knows.

    >>> _quoted("a\u00a0b\U0001f600")
    '"a\\u00a0b😀"'
    """
    escaped = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else _escape(char) for char in escaped)


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"
