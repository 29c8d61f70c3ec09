"""The oracle, Google's cel-cpp behind cel-expr-python, and how its answers are compared with ours.

It has traps: errors come as truthy values, whose type tells; a datetime inside a map is refused; loops end after 10,000
rounds; null is handed over without its reference.
"""

from __future__ import annotations

import ctypes
import datetime as dt
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

from cel_expr_python import cel

from discreet.policy.cel import (
    DYN,
    Budget,
    CelError,
    ConditionFailure,
    Duration,
    EvaluationError,
    Limits,
    Schema,
    Timestamp,
    Uint,
    map_of,
)
from discreet.policy.cel.check import Checker
from discreet.policy.cel.compile import Compiler
from discreet.policy.cel.nodes import walk
from discreet.policy.cel.parse import parse
from discreet.policy.cel.schema import STRING
from discreet.policy.cel.values import TypeValue, from_key, type_of
from tests.policy.cel.generator import Generator
from tests.policy.cel.naive import Naive
from tests.policy.cel.naive_values import Failure
from tests.policy.cel.test_naive import PLENTY, canonical

DATA: Final[dict[str, Any]] = {
    "i": 5, "j": -3, "f": 2.5, "s": "text", "t": "ab", "yes": True, "no": False, "n": None,
    "l": [1, 2.0, "x", None], "texts": ["a", "b", "text"], "m": {"a": 1, "s": "x", "b": [1]},
}  # fmt: skip
SCHEMA: Final = Schema({"d": map_of(STRING, DYN)})
LIMITS: Final = Limits(macro_depth_max=9)
ENV: Final = cel.NewEnv(variables={"d": cel.Type.DYN})
EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
LIST: Final = Path(__file__).with_name("known_differences.txt")
ERROR: Final = "error"


@dataclass(frozen=True, slots=True)
class Difference:
    """One kind of difference that is known: why, which expressions show it, which messages in the fuzz come of it."""

    reason: str
    expressions: list[str] = field(default_factory=list)
    messages: list[re.Pattern[str]] = field(default_factory=list)


def known_differences() -> list[Difference]:
    """Returns the list: `## reason`, `~ pattern` on `message in expression`, and one expression a line."""
    found: list[Difference] = []
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            found.append(Difference(line.removeprefix("## ")))
        elif line.startswith("~ "):
            found[-1].messages.append(re.compile(line.removeprefix("~ ")))
        elif line and not line.startswith("# "):
            found[-1].expressions.append(line)
    return found


MESSAGES: Final = [message for each in known_differences() for message in each.messages]


def plain(value: object) -> object:
    """Returns a value of ours as the oracle gives it to Python: to the microsecond, moments down, spans to zero."""
    match value:
        case Uint():
            return int(value)
        case Timestamp():
            return EPOCH + dt.timedelta(microseconds=value.ns // 1000)
        case Duration():
            return dt.timedelta(microseconds=abs(value.ns) // 1000 * (-1 if value.ns < 0 else 1))
        case TypeValue():
            return value.name
        case list() | tuple():
            return [plain(item) for item in value]
        case dict():
            return {from_key(key): plain(item) for key, item in value.items()}
        case _:
            return value


def shown(kind: str, value: object) -> str:
    """Returns a form in which equal values are equal, NaN and bytes included."""
    return f"{'null_type' if kind.startswith('null') else kind}:{_text(value)}"


def _text(value: object) -> str:
    match value:
        case list():
            return f"[{', '.join(map(_text, value))}]"
        case dict():
            return f"{{{', '.join(sorted(f'{_text(key)}: {_text(held)}' for key, held in value.items()))}}}"
        case bytes() | bytearray():
            return repr(bytes(value)).replace("-nan", "nan")
        case _:
            # Which sign a NaN has depends on the machine; the oracle writes it, we do not.
            return repr(value).replace("-nan", "nan")


def ours(value: object) -> str:
    """Returns the form of a value of ours."""
    return shown(type_of(value).name.rpartition(".")[2].lower(), plain(value))


def theirs(text: str, env: Any = ENV, data: dict[str, Any] | None = None, *, check: bool = False) -> str:
    """Returns the form of the oracle's value, or `error`; `check` lets its type checker refuse first."""
    try:
        value = env.compile(text, disable_check=not check).eval(data={"d": DATA} if data is None else data)
    except RuntimeError:
        return ERROR
    name = value.type().name().partition("<")[0].lower()
    if name == "error":
        return ERROR
    form = shown(name, value.plain_value())
    for _ in range(form.count("None")):
        # Else Python ends by an abort once its count of None is used up.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(None))
    return form


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an expression here: the form of its value, or `error` with its message; and the naive one's."""

    form: str
    message: str = ""
    compiled: Any = None
    naive: Any = None


def outcome(text: str) -> Outcome:
    """Returns what both evaluators of ours make of an expression; one parse serves both."""
    try:
        root = parse(text, LIMITS)
        checker = Checker(SCHEMA)
        checker.check(root, {})
        run = Compiler(SCHEMA, checker.types).compile(root, {})
    except CelError as error:
        return Outcome(ERROR, str(error))
    try:
        naive = canonical(Naive(checker.types, {"d": DATA}).value(root, {}))
    except Failure as failure:
        naive = ERROR, failure.code
    try:
        value = run({"d": DATA}, Budget(PLENTY, PLENTY))
    except EvaluationError as error:
        return Outcome(ERROR, str(error), (ERROR, error.code.value), naive)
    except ConditionFailure as error:
        return Outcome(ERROR, str(error))
    return Outcome(ours(value), "", canonical(value), naive)


@dataclass(slots=True)
class Tally:
    """What a run of the fuzz found: the three kinds of fault, and how often each outcome came."""

    true_alone: list[str] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)
    apart: list[str] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=lambda: {"true": 0, "value": 0, "error": 0, "explained": 0})

    def add(self, text: str) -> None:
        """Judges one expression."""
        mine, other = outcome(text), theirs(text)
        note = f"{text}\n    ours {mine.form} {mine.message}, theirs {other}"
        if mine.form == "bool:True" and other != "bool:True":
            self.true_alone.append(note)
        if mine.form == ERROR and other != ERROR and explained(mine.message, text):
            self.seen["explained"] += 1
        elif mine.form != other:
            self.unlisted.append(note)
        if mine.compiled != mine.naive:
            self.apart.append(f"{text}\n    compiled {mine.compiled}, naive {mine.naive}")
        self.seen["true" if mine.form == "bool:True" else "error" if mine.form == ERROR else "value"] += 1


def explained(message: str, text: str) -> bool:
    """Says whether the list of known differences covers an error of ours where the oracle has a value.

    Of several errors only one is reported, so those of the parts, and those that were absorbed, are looked at as well.
    """
    errors = (message, *_errors_of_parts(text), *_absorbed(text))
    return any(known.search(f"{each} in {text}") for each in errors for known in MESSAGES)


def _absorbed(text: str) -> list[str]:
    """Returns the messages of all errors that an evaluation met on its way, in the bodies of macros too."""
    met: list[str] = []

    def traced(_frame: FrameType, event: str, arg: Any) -> Any:
        if event == "exception" and isinstance(arg[1], EvaluationError):
            met.append(str(arg[1]))
        return traced

    try:
        root = parse(text, LIMITS)
        checker = Checker(SCHEMA)
        checker.check(root, {})
        run = Compiler(SCHEMA, checker.types).compile(root, {})
    except CelError:
        return met
    before = sys.gettrace()
    sys.settrace(traced)
    try:
        run({"d": DATA}, Budget(PLENTY, PLENTY))
    except (CelError, ConditionFailure):
        pass
    finally:
        sys.settrace(before)
    return met


def _errors_of_parts(text: str) -> Iterator[str]:
    """Yields the messages of the parts of an expression that err, those in the bodies of macros left out."""
    try:
        root = parse(text, LIMITS)
        checker = Checker(SCHEMA)
        checker.check(root, {})
    except CelError:
        return
    for node, _, macros in walk(root):
        if macros == 0 and id(node) in checker.types:
            try:
                Compiler(SCHEMA, checker.types).compile(node, {})({"d": DATA}, Budget(PLENTY, PLENTY))
            except (CelError, ConditionFailure) as error:
                yield str(error)


def fuzzed(count: int, seed: int, kinds: tuple[str, ...]) -> Tally:
    """Returns what so many random expressions of the given kinds come to, small and large in turn."""
    generator, tally = Generator(seed), Tally()
    for number in range(count):
        tally.add(generator.draw(kinds[number % len(kinds)], 1 + number % 4))
    return tally
