"""What is checked about a condition's text before the grammar sees it, in one linear pass.

It bounds size and nesting, reads the string literals itself, and hands on a text of the same length in which literals
are empty and comments blank: no content can then reach the grammar's lexer, whose worst cases are exponential.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from discreet.policy.cel.errors import CelError
from discreet.policy.cel.limits import Limits
from discreet.policy.cel.literals import PREFIXES, read_literal

WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NUMBER: Final = re.compile(r"0x[0-9a-fA-F]+|(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
OPERATOR: Final = re.compile(r"&&|\|\||[=!<>]=|[.,:?<>!+\-*/%]")
#: The comma that the language allows before the end of a list or map, and the grammar file does not know.
TRAILING_COMMA: Final = re.compile(r",(?=[ \t\n\f\r]*[\]}])")
PAIRS: Final = {")": "(", "]": "[", "}": "{"}
SINGLE_HINTS: Final = {
    "&": "write && for and",
    "|": "write || for or",
    "=": "write == to compare",
    "`": 'write map["name"]',
}


@dataclass(frozen=True, slots=True)
class Scan:
    """A text that is safe to parse, and the values of its literals and ends by the offset at which they begin."""

    text: str
    literals: dict[int, tuple[str | bytes, int]]


def scan(text: str, limits: Limits) -> Scan:
    """Returns the text made safe for the grammar. Raises CelError with the offset of what is wrong."""
    _check_size(text, limits)
    brackets: list[tuple[str, int]] = []
    literals: dict[int, tuple[str | bytes, int]] = {}
    pieces: list[str] = []
    at, literal_end = 0, -1
    while at < len(text):
        char = text[at]
        if char in "([{":
            brackets.append((char, at))
            if len(brackets) > limits.nesting_max:
                raise CelError(f"more than {limits.nesting_max} brackets inside each other", at, hint="split the rule")
            end = at + 1
        elif char in PAIRS:
            _close(brackets, char, at)
            end = at + 1
        elif (prefix := _prefix(text, at)) is not None:
            if at == literal_end:  # what stands for three empty ones in a row would be the quotes of a long one
                raise CelError("unexpected string", at)
            literals[at] = read_literal(text, at, prefix)
            end = literal_end = literals[at][1]
            pieces.append('""'.ljust(end - at))
            at = end
            continue
        else:
            end = _token_end(text, at)
        pieces.append(" " * (end - at) if text.startswith("//", at) else text[at:end])
        at = end
    if brackets:
        raise CelError(f'"{brackets[-1][0]}" is never closed', brackets[-1][1])
    return Scan(TRAILING_COMMA.sub(" ", "".join(pieces)), literals)


def _check_size(text: str, limits: Limits) -> None:
    """Raises CelError for a text that is empty, too long or no Unicode."""
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError as error:
        raise CelError("a lone surrogate is no character", error.start) from None
    if size > limits.text_bytes_max:
        raise CelError(f"{size} bytes; a condition has at most {limits.text_bytes_max}", 0, hint="split the rule")
    if not text.strip():
        raise CelError("the condition is empty", 0, hint="write true to always match")


def _close(brackets: list[tuple[str, int]], char: str, at: int) -> None:
    if not brackets:
        raise CelError(f'"{char}" closes nothing', at)
    opened, _ = brackets.pop()
    if opened != PAIRS[char]:
        raise CelError(f'"{char}" does not close "{opened}"', at)


def _prefix(text: str, at: int) -> str | None:
    """Returns the prefix, maybe empty, of the literal that begins here, or None where none does."""
    for length in range(3):
        if text[at + length : at + length + 1] in ("'", '"'):
            prefix = text[at : at + length]
            return prefix if prefix.lower() in PREFIXES else None
    return None


def _token_end(text: str, at: int) -> int:
    """Returns the offset after the word, number, comment, space or operator that begins here."""
    if text.startswith("//", at):
        newline = text.find("\n", at)
        return len(text) if newline < 0 else newline
    if text[at] in " \t\n\f\r":
        return at + 1
    word = WORD.match(text, at)
    if word:
        return word.end()
    number = NUMBER.match(text, at)
    if number:
        return _number_end(text, number.end(), at)
    operator = OPERATOR.match(text, at)
    if operator:
        return operator.end()
    shown = f'"{text[at]}"' if text[at] in SINGLE_HINTS else f"character U+{ord(text[at]):04X}"
    raise CelError(f"{shown} means nothing here", at, hint=SINGLE_HINTS.get(text[at], ""))


def _number_end(text: str, end: int, start: int) -> int:
    """Returns the end of a number, its `u` included. Raises CelError for one that runs into something else."""
    if text[end : end + 1] in ("u", "U"):
        end += 1
    rest = text[end : end + 1]
    if rest and (rest in {".", "_"} or rest.isalnum()):
        raise CelError("this is no number", start, hint="write 1, 1u, 0x1F, 1.5 or 1e3")
    return end
