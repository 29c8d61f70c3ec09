"""From text to tree, by the grammar of cel-python behind the guard."""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from discreet.policy.cel.build import Builder
from discreet.policy.cel.errors import CelError
from discreet.policy.cel.grammar import parser
from discreet.policy.cel.guard import scan
from discreet.policy.cel.limits import Limits
from discreet.policy.cel.nodes import Node, bound

if TYPE_CHECKING:
    from lark import Lark

KEPT_MAX: Final = 2_048
"""How many trees are kept for the next time that their text is met."""
KEPT_TEXT_MAX: Final = 512
"""The longest text, in characters, whose tree is: with all of them that long, some 30 MB."""
WORD_HINTS: Final = {
    "and": "write && for and",
    "or": "write || for or",
    "not": "write ! for not",
    "is": "write == to compare",
    "if": "write test ? yes : no",
}


class _Parser:
    """The grammar's tables and the builder they call; one parse at a time, since the builder holds the literals."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._builder = Builder()
        self._lark: Lark | None = None

    def parse(self, text: str, literals: dict[int, tuple[str | bytes, int]]) -> Node:
        with self._lock:
            lark = self._lark = self._lark or parser(self._builder)
            self._builder.literals = literals
            try:
                return _tree(lark, text)
            finally:
                self._builder.literals = {}


_PARSER: Final = _Parser()


def parse(text: str, limits: Limits) -> Node:
    """Returns the tree of a condition. Raises CelError with line and column."""
    return _kept(text, limits) if len(text) <= KEPT_TEXT_MAX else _parsed(text, limits)


@lru_cache(KEPT_MAX)
def _kept(text: str, limits: Limits) -> Node:
    """The same, kept: nodes never change, and of two revisions of a set most conditions are the same."""
    return _parsed(text, limits)


def _parsed(text: str, limits: Limits) -> Node:
    try:
        safe = scan(text, limits)
        root = _PARSER.parse(safe.text, safe.literals)
        bound(root, limits)
    except CelError as error:
        raise error.located(text) from None
    return root


def _tree(lark: Lark, text: str) -> Node:
    from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

    try:
        root: object = lark.parse(text)
    except UnexpectedToken as error:
        token = error.token
        if token.type == "$END":
            raise CelError("the expression ends too early", len(text.rstrip())) from None
        shown = "string" if str(token) == '""' else f'"{token}"'
        at = token.start_pos if token.start_pos is not None else 0
        raise CelError(f"unexpected {shown}", at, hint=_hint(text, at, str(token))) from None
    except UnexpectedCharacters as error:
        at = _offset(error)
        word = re.compile(r"\w+").match(text, at)
        shown = word.group() if word else text[at]
        raise CelError(f'unexpected "{shown}"', at, hint=_hint(text, at, shown)) from None
    except UnexpectedInput as error:
        raise CelError("not an expression", _offset(error)) from None
    assert isinstance(root, Node)
    return root


def _offset(error: Exception) -> int:
    """Returns where the parser stopped, which lark declares as None in the class and sets in the instance."""
    return int(getattr(error, "pos_in_stream", None) or 0)


def _hint(text: str, at: int, word: str) -> str:
    """Returns what to write for a word, or the word before it, that other languages have."""
    if word == "?" and text[:at].rstrip()[-1:] in (".", "[", "{", ","):
        return 'the extension "optionals" is not offered; write has(x.y) ? x.y : z'
    before = text[:at].split()
    return WORD_HINTS.get(word, WORD_HINTS.get(before[-1] if before else "", ""))
