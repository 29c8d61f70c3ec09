"""Text from data made safe for a terminal. Must know nothing of consoles, so that every writer can use it."""

import json
import unicodedata

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def safe(text: str) -> str:
    r"""The text with control, format and surrogate characters written as escapes, so that it cannot drive the terminal.

    >>> safe("red \x1b[31m")
    'red \\x1b[31m'
    >>> safe("caf\u00e9\u202e")
    'café\\u202e'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode("ascii") if unicodedata.category(char) in _UNSAFE else char
        for char in text
    )


def safe_block(text: str) -> str:
    """As `safe`, but line ends stay: for text of several lines."""
    return "\n".join(safe(line) for line in text.split("\n"))


def safe_json(text: str) -> str:
    r"""As `safe_block`, for JSON that is written already: what is escaped stays JSON and means the same.

    >>> safe_json('{"a": "\x9b"}')
    '{"a": "\\u009b"}'
    """
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(json.dumps(char)[1:-1] if _drives(char) else char for char in text)


def _drives(char: str) -> bool:
    return char != "\n" and unicodedata.category(char) in _UNSAFE
