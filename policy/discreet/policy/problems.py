"""What is wrong with a policy set: problems with their places, gathered, ordered, and safe to print.

Knows nothing of YAML or of models. A message quotes a short, visible piece of a file at most.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

#: Problems that one report holds; a file of garbage should not drown its first line.
PROBLEMS_MAX: Final = 500

#: Code points of a file that a message quotes at most.
QUOTED_CHARS_MAX: Final = 60

#: Code points of a message or a hint.
MESSAGE_CHARS_MAX: Final = 240


class Code(StrEnum):
    """The kind of a problem; stable, for tools that read `policy check -o json`."""

    ENCODING = "encoding"
    CHARACTER = "character"
    SYNTAX = "syntax"
    LIMIT = "limit"
    DUPLICATE_KEY = "duplicate-key"
    REFUSED_YAML = "refused-yaml"
    AMBIGUOUS = "ambiguous-scalar"
    FILE = "file"
    UNKNOWN_KEY = "unknown-key"
    MISSING_KEY = "missing-key"
    NOT_TEXT = "not-text"
    VALUE = "value"
    LABEL = "label"
    DUPLICATE = "duplicate"
    UNKNOWN_NAME = "unknown-name"
    CONDITION = "condition"
    TEXT = "text"
    TEST = "test"
    UNUSED = "unused"
    NEVER = "never"
    ALWAYS = "always"
    IMPLIED = "implied"
    EMPTY_LIST = "empty-list"
    ABSENT = "absent"
    SHADOWED = "shadowed"
    MASKED = "masked"
    WORDS = "words"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a file; line and column count from 1, columns in code points."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, order=True)
class PolicyProblem:
    """One thing that the author of a policy has to mend: where, what, and what would be right (`hint`)."""

    file: str
    line: int
    column: int
    message: str
    hint: str = ""
    code: Code = Code.VALUE

    @property
    def place(self) -> Place:
        """Where it is."""
        return Place(self.file, self.line, self.column)

    def __str__(self) -> str:
        tail = f"; {self.hint}" if self.hint else ""
        return f"{_safe(self.file)}:{self.line}:{self.column}: {self.message}{tail}"


class PolicyProblems(Exception):
    """All problems of a policy set, in the order of their places. Whose to mend: the policy's author."""

    def __init__(self, problems: Iterable[PolicyProblem]) -> None:
        found = one_a_place(problems)
        self.problems: Final = found[:PROBLEMS_MAX]
        self.more: Final = len(found) - len(self.problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems]
        return "\n".join([*lines, f"and {self.more} more"] if self.more else lines)


def problem(place: Place, message: str, hint: str = "", code: Code = Code.VALUE) -> PolicyProblem:
    """Returns a problem at a place, safe to print."""
    return PolicyProblem(place.file, place.line, place.column, _safe(message), _safe(hint), code)


def _safe(text: str) -> str:
    """Returns a text that is one visible line of bounded length, whatever of a file got into it."""
    cut = text if len(text) <= MESSAGE_CHARS_MAX else text[: MESSAGE_CHARS_MAX - 3] + "..."
    return cut if cut.isprintable() else "".join(map(visible, cut))


def one_a_place(problems: Iterable[PolicyProblem]) -> tuple[PolicyProblem, ...]:
    """Returns the problems in the order of places, the first given of each: the rest follow from it."""
    first: dict[Place, PolicyProblem] = {}
    for found in problems:
        first.setdefault(found.place, found)
    return tuple(sorted(first.values()))


def quoted(text: str) -> str:
    r"""Returns a short, visible, one-line form of a piece of a file.

    >>> quoted("a\u200bb")
    '"a\\u200bb"'
    """
    return '"' + "".join(map(visible, shortened(text))) + '"'


def shortened(text: str) -> str:
    """Returns a name as it may stand in a message without quotes."""
    return text if len(text) <= QUOTED_CHARS_MAX else text[: QUOTED_CHARS_MAX - 3] + "..."


def visible(char: str) -> str:
    """Returns a character, or its escape where it would not be seen or would move what is around it."""
    if char == " " or not unicodedata.category(char).startswith(("C", "Z")):
        return char
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Returns a hint that names the closest known word, or the known words where they are few, or nothing."""
    choices = sorted(set(known))
    folded = {choice.lower(): choice for choice in reversed(choices)}
    close = difflib.get_close_matches(word[:200].lower(), folded, n=1, cutoff=0.6)
    if close:
        return f"did you mean {quoted(folded[close[0]])}?"
    return "one of " + ", ".join(choices) if 0 < len(choices) <= 12 else ""


def code_points(text: str) -> str:
    """Returns the code points of the characters that are not plain visible ASCII, with their names, at most five."""
    odd = [char for char in text if not "!" <= char <= "~"]
    named = [f"U+{ord(char):04X} {unicodedata.name(char, 'without a name')}" for char in odd[:5]]
    return ", ".join(named) + (", ..." if len(odd) > 5 else "")
