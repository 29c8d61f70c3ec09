"""The errors of conditions: one for the author of a policy, two for an evaluation.

Nothing here repeats a value that came with a request: messages name attributes and types only, since they end in logs.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class CelError(Exception):
    """A condition that cannot be loaded: what is wrong, where in its text, and what would be right.

    `offset` counts code points from 0; `line` and `column` count from 1 and are inside the expression, so that the
    caller adds them to the place of the expression in its file. `hint` is empty when there is nothing to suggest.
    """

    def __init__(self, message: str, offset: int = 0, *, text: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message: Final = message
        self.hint: Final = hint
        self.offset: Final = max(0, offset)
        self.line, self.column = place(text, self.offset)

    def located(self, text: str) -> CelError:
        """Returns the same error with line and column counted in `text`."""
        return CelError(self.message, self.offset, text=text, hint=self.hint)

    def __str__(self) -> str:
        tail = f"; {self.hint}" if self.hint else ""
        return f"{self.line}:{self.column}: {self.message}{tail}"


def place(text: str, offset: int) -> tuple[int, int]:
    r"""Returns line and column, both from 1, of a code point in a text.

    >>> place("a &&\n b", 6)
    (2, 2)
    """
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


class ErrorCode(StrEnum):
    """Why an evaluation failed; a closed set, stable in audit rows."""

    MISSING_ATTRIBUTE = "missing_attribute"
    TYPE = "type"
    OVERFLOW = "overflow"
    DIVISION = "division"
    ARGUMENT = "argument"
    RESOURCES = "resources"
    INTERNAL = "internal"


class ConditionFailure(Exception):
    """An evaluation that has no value; whoever asked must withhold."""


class EvaluationError(ConditionFailure):
    """An error value of CEL: `&&`, `||`, `all` and `exists` may absorb it, nothing else does.

    `attribute` is the path of the absent attribute when `code` is MISSING_ATTRIBUTE, else None.
    """

    def __init__(self, code: ErrorCode, message: str, attribute: str | None = None) -> None:
        super().__init__(message)
        self.code: Final = code
        self.message: Final = message
        self.attribute: Final = attribute

    @property
    def order(self) -> tuple[str, str, str]:
        """Returns a key that picks the same error of several in whatever order they came."""
        return self.code.value, self.attribute or "", self.message


class CostExceeded(ConditionFailure):
    """The step budget ran out. Nothing inside an expression absorbs it."""

    def __init__(self, message: str = "the condition needs more steps than its budget allows") -> None:
        super().__init__(message)
        self.message: Final = message


def missing(path: str) -> EvaluationError:
    """Returns the error of reading what is not there."""
    return EvaluationError(ErrorCode.MISSING_ATTRIBUTE, f"no such attribute: {path}", path)


def wrong_type(message: str) -> EvaluationError:
    """Returns the error of a value whose type does not fit."""
    return EvaluationError(ErrorCode.TYPE, message)


def overflow(what: str) -> EvaluationError:
    """Returns the error of a number or time that is out of the range of its type."""
    return EvaluationError(ErrorCode.OVERFLOW, f"{what} out of range")


def bad_argument(message: str) -> EvaluationError:
    """Returns the error of a value that a function cannot use."""
    return EvaluationError(ErrorCode.ARGUMENT, message)


def first(errors: list[EvaluationError]) -> EvaluationError:
    """Returns the error to report of several, the same one in whatever order their causes stand."""
    return min(errors, key=lambda error: error.order)
