r"""The value of a string or bytes literal, read in one linear pass.

The grammar's own lexer is exponential on some unterminated strings and takes `"a\"` for a string, so literals are read
here and never shown to it.
"""

from __future__ import annotations

import re
from typing import Final

from discreet.policy.cel.errors import CelError

SIMPLE_ESCAPES: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "?": "?", '"': '"', "'": "'", "`": "`",
}  # fmt: skip
HEX_DIGITS: Final = {"x": 2, "X": 2, "u": 4, "U": 8}
OCTAL: Final = re.compile(r"[0-3][0-7]{2}")
HEX: Final = re.compile(r"[0-9a-fA-F]+")
PREFIXES: Final = frozenset({"", "r", "b", "br"})


def read_literal(text: str, start: int, prefix: str) -> tuple[str | bytes, int]:
    """Returns the value of the literal whose prefix stands at `start`, and the offset after it.

    Raises CelError for a literal that does not end, for an escape that does not exist, and for a surrogate.
    """
    opening = start + len(prefix)
    quote = text[opening]
    delimiter = quote * 3 if text.startswith(quote * 3, opening) else quote
    raw, is_bytes = "r" in prefix.lower(), "b" in prefix.lower()
    body, end = _cut(text, start, opening + len(delimiter), delimiter, raw)
    if len(delimiter) == 3:
        body = body.replace("\r\n", "\n").replace("\r", "\n")
    if raw:
        return (body.encode() if is_bytes else body), end
    parts = _unescape(body, opening + len(delimiter), is_bytes)
    return (b"".join(_encoded(parts)) if is_bytes else "".join(map(_decoded, parts))), end


def _cut(text: str, start: int, begin: int, delimiter: str, raw: bool) -> tuple[str, int]:
    """Returns what stands between the delimiters and the offset after the closing one."""
    at, single = begin, len(delimiter) == 1
    while at < len(text):
        char = text[at]
        if char == "\\" and not raw:
            at += 2
        elif text.startswith(delimiter, at):
            return text[begin:at], at + len(delimiter)
        elif single and char in "\r\n":
            break
        else:
            at += 1
    raise CelError("this string is never closed", start, hint=f"end it with {delimiter}")


def _unescape(body: str, offset: int, is_bytes: bool) -> list[str | int]:
    """Returns runs of plain text and, as numbers, what escapes name."""
    parts: list[str | int] = []
    at = 0
    while at < len(body):
        slash = body.find("\\", at)
        if slash < 0:
            parts.append(body[at:])
            break
        parts.append(body[at:slash])
        value, at = _escape(body, slash + 1, offset + slash, is_bytes)
        parts.append(value)
    return parts


def _escape(body: str, at: int, offset: int, is_bytes: bool) -> tuple[str | int, int]:
    """Returns what the escape after a backslash names and the offset after it."""
    char = body[at]
    if char in SIMPLE_ESCAPES:
        return SIMPLE_ESCAPES[char], at + 1
    octal = OCTAL.match(body, at)
    if octal:
        return int(octal.group(), 8), octal.end()
    digits = HEX_DIGITS.get(char, 0)
    found = body[at + 1 : at + 1 + digits]
    if not digits or len(found) < digits or not HEX.fullmatch(found):
        raise CelError("no such escape in a string", offset, hint="write \\\\ for a backslash, or a raw string r'...'")
    value = int(found, 16)
    if is_bytes and digits > 2:
        raise CelError("no \\u in bytes", offset, hint="write \\x and two digits for each byte")
    if value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
        raise CelError("no such character", offset, hint="a code point is at most 10FFFF and no surrogate")
    return value, at + 1 + digits


def _encoded(parts: list[str | int]) -> list[bytes]:
    return [bytes([part]) if isinstance(part, int) else part.encode() for part in parts]


def _decoded(part: str | int) -> str:
    return chr(part) if isinstance(part, int) else part
