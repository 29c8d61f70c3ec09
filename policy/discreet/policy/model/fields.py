"""The types of single fields of policy files: labels, words, durations, texts; text is never made from anything else.

A field that is wrong raises PydanticCustomError that says what is wrong and, as `hint`, what would be right.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from enum import IntEnum
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

from discreet.policy.cel import EvaluationError, Timestamp
from discreet.policy.idents import kind_problem, label_problem
from discreet.policy.model.values import Parameters
from discreet.policy.problems import Code, code_points, did_you_mean, quoted
from discreet.policy.words import AuditMode, Duty, Effect, Grounding, Moment, Word

W = TypeVar("W", bound=Word)

DURATION_US_MAX: Final = 100 * 365 * 86_400 * 1_000_000
TITLE_CHARS_MAX: Final = 200
LIST_MAX: Final = 1_000
MASKED_MAX: Final = 64
COUNT_MAX: Final = 1_000_000

_UNITS_US: Final = {
    "w": 7 * 86_400_000_000,
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
}
_DURATION: Final = re.compile("".join(f"(?:([0-9]{{1,9}}){unit})?" for unit in _UNITS_US))
_RULE_ID: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")
_CALLER: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,47}")
_TEXT_ID: Final = re.compile(r"[a-z][a-z0-9-]{0,63}")
_CUSTOM_REASON: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_ATTRIBUTE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_TEAM: Final = re.compile(r"[A-Za-z0-9@][A-Za-z0-9@._/+-]{0,127}")


def wrong(message: str, hint: str = "", code: Code = Code.VALUE, path: tuple[str, ...] = ()) -> PydanticCustomError:
    """Returns the error of a field; `path` leads from the value in hand to the one that is meant."""
    return PydanticCustomError("discreet", "{what}", {"what": message, "hint": hint, "code": code, "path": path})


def kind_name(value: object) -> str:
    """Returns what a value is, in words for a message."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a mapping" if isinstance(value, dict) else "a list"


def _label(text: str) -> str:
    if label_problem(text) is None:
        return text
    odd = code_points(text)
    hint = "write lower-case ASCII letters, digits, . _ : -, first a letter or digit, at most 128"
    raise wrong(f"{quoted(text)} is no label" + (f": it has {odd}" if odd else ""), hint, Code.LABEL)


def _caller_name(text: str) -> str:
    if _CALLER.fullmatch(text):
        return text
    odd = code_points(text)
    hint = f"write {_CALLER.pattern}, as in the server's configuration"
    raise wrong(f"{quoted(text)} is no name of a caller" + (f": it has {odd}" if odd else ""), hint, Code.LABEL)


def _segment_kind(text: str) -> str:
    if kind_problem(text) is None:
        return text
    raise wrong(f"{quoted(text)} is no kind of segment", "write [a-z0-9][a-z0-9._-]{0,63}, for example small-talk")


def _shaped(pattern: re.Pattern[str], what: str, example: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if pattern.fullmatch(text):
            return text
        raise wrong(f"{quoted(text)} is no {what}", f"write {pattern.pattern}, for example {example}")

    return check


def _title(text: str) -> str:
    shown = unicodedata.normalize("NFC", text)
    hidden = [char for char in shown if unicodedata.category(char).startswith("C")]
    if hidden:
        raise wrong(f"a title may not hold the character U+{ord(hidden[0]):04X}", "leave it out")
    if not shown.strip() or len(shown) > TITLE_CHARS_MAX:
        raise wrong(f"a title has 1 to {TITLE_CHARS_MAX} characters", "shorten it" if shown.strip() else "give it one")
    return shown


def word_of(words: type[W], name: str) -> Callable[[object], W]:
    """Returns a reader of one closed set of words, in their short form."""
    known = {word.short: word for word in words}

    def read(value: object) -> W:
        if isinstance(value, str) and value in known:
            return known[value]
        if not isinstance(value, str):
            raise wrong(f"must be one of {', '.join(known)}, not {kind_name(value)}")
        raise wrong(f"no {name} {quoted(value)}", did_you_mean(value, known))

    return read


def read_duration(value: object) -> int:
    """Returns a duration like `36h` or `1d12h` in microseconds.

    >>> read_duration("1h30m")
    5400000000
    """
    if not isinstance(value, str):
        raise wrong(f"must be a duration, not {kind_name(value)}", "write for example 30s, 15m, 36h or 7d")
    match = _DURATION.fullmatch(value) if value else None
    if match is None:
        raise wrong(f"{quoted(value)} is no duration", "write for example 30s, 15m, 36h, 7d or 1d12h")
    us = sum(int(count or 0) * unit for count, unit in zip(match.groups(), _UNITS_US.values(), strict=True))
    if not 0 < us <= DURATION_US_MAX:
        raise wrong(f"the duration {value} is out of range", "more than nothing, at most 36500d")
    return us


def duration_text(us: int) -> str:
    """Returns a duration as a file would say it.

    >>> [duration_text(us) for us in (2_000_000, 50_000, 129_600_000_000)]
    ['2s', '50ms', '36h']
    """
    for unit in ("d", "h", "m", "s"):
        if us % _UNITS_US[unit] == 0 and (unit != "d" or us >= 3 * _UNITS_US[unit]):
            return f"{us // _UNITS_US[unit]}{unit}"
    return f"{us // 1_000}ms"


def _read_age(value: object) -> int | None:
    return None if value == "none" else read_duration(value)


def _read_span_or_never(value: object) -> int | None:
    return None if value == "never" else read_duration(value)


def between(low: str, high: str) -> Callable[[int], int]:
    """Returns a check that a duration lies in a range, both ends included."""
    least, most = read_duration(low), read_duration(high)

    def check(us: int) -> int:
        if not least <= us <= most:
            raise wrong("the duration is out of range", f"from {low} to {high}")
        return us

    return check


def between_or_never(low: str, high: str) -> Callable[[int | None], int | None]:
    """Returns the same check of a duration that may be left out."""
    check = between(low, high)
    return lambda us: None if us is None else check(us)


def in_count(number: int) -> int:
    """Returns a number of things as it is, or refuses one out of range."""
    if not 0 <= number <= COUNT_MAX:
        raise wrong("the number is out of range", f"from 0 to {COUNT_MAX}")
    return number


def read_time(value: object) -> int:
    """Returns a time in microseconds since 1970. An offset is part of it: a time without one means another elsewhere.

    >>> read_time("2026-01-05T10:00:00+01:00") == read_time("2026-01-05T09:00:00Z")
    True
    """
    if not isinstance(value, str):
        raise wrong(f"must be a time, not {kind_name(value)}", "write for example 2026-01-05T09:00:00Z")
    try:
        ns = Timestamp.from_text(value).ns
    except EvaluationError:
        hint = "write date, time and offset, for example 2026-01-05T09:00:00Z"
        raise wrong(f"{quoted(value)} is no time", hint) from None
    if ns % 1_000:
        raise wrong("the time is finer than a microsecond", "give it at most six decimals")
    return ns // 1_000


def from_parameter(wanted: str) -> Callable[[object, ValidationInfo], object]:
    """Returns a reader that puts a parameter's value in place of `{parameter: name}`, and leaves all else as it is."""

    def read(value: object, info: ValidationInfo) -> object:
        if not isinstance(value, dict):
            return value
        name = value.get("parameter")
        if len(value) != 1 or not isinstance(name, str):
            raise wrong(f"must be {ONE[wanted]}, not a mapping", "or write {parameter: name}")
        known = info.context if isinstance(info.context, Parameters) else Parameters({}, {})
        if name not in known.types:
            hint = did_you_mean(name, known.types) or "declare it under `parameters` in discreet.yaml"
            raise wrong(f"no parameter {quoted(name)}", hint, Code.UNKNOWN_NAME)
        if known.types[name] != wanted:
            raise wrong(f"the parameter {quoted(name)} is {ONE[known.types[name]]}; this must be {ONE[wanted]}")
        return known.values[name]

    return read


ONE: Final = {
    "text": "text",
    "integer": "a whole number",
    "boolean": "true or false",
    "duration": "a duration",
    "list": "a list of texts",
}
"""What a value of each type of parameter is, in words."""


def distinct(items: tuple[object, ...]) -> tuple[object, ...]:
    """Returns a list as it is, or refuses what stands in it twice."""
    for position, item in enumerate(items):
        if item in items[:position]:
            name = item.name if isinstance(item, IntEnum) else str(item)
            raise wrong(f"{quoted(name)} is listed twice", "keep one", Code.DUPLICATE)
    return items


def filled(items: tuple[object, ...]) -> tuple[object, ...]:
    """Returns a list as it is, or refuses an empty or overlong one."""
    if not items:
        raise wrong("the list is empty", "name at least one, or leave the key out")
    if len(items) > LIST_MAX:
        raise wrong(f"the list has more than {LIST_MAX} items", "split it")
    return items


def _few(items: tuple[object, ...]) -> tuple[object, ...]:
    if len(items) > MASKED_MAX:
        raise wrong(f"the list has more than {MASKED_MAX} items", "leave names out, or send fewer attributes")
    return items


def _text(pattern: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^{pattern}$"})


def _or_parameter(schema: dict[str, object]) -> WithJsonSchema:
    """The schema of what a parameter may stand for."""
    form = {"type": "object", "required": ["parameter"], "additionalProperties": False}
    return WithJsonSchema({"anyOf": [schema, form | {"properties": {"parameter": {"type": "string"}}}]})


_DURATION_SCHEMA: Final[dict[str, object]] = {"type": "string", "pattern": "^([0-9]{1,9}(w|d|h|m|s|ms))+$"}
_AGE_SCHEMA: Final[dict[str, object]] = {"type": "string", "pattern": "^(none|([0-9]{1,9}(w|d|h|m|s|ms))+)$"}
_NEVER_SCHEMA: Final[dict[str, object]] = {"type": "string", "pattern": "^(never|([0-9]{1,9}(w|d|h|m|s|ms))+)$"}
_TIME: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})"

Label = Annotated[str, AfterValidator(_label), _text("[a-z0-9][a-z0-9._:-]{0,127}")]
CallerName = Annotated[str, AfterValidator(_caller_name), _text(_CALLER.pattern)]
SegmentKind = Annotated[str, AfterValidator(_segment_kind), _text("[a-z0-9][a-z0-9._-]{0,63}")]
RuleId = Annotated[str, AfterValidator(_shaped(_RULE_ID, "rule id", "public-notes")), _text(_RULE_ID.pattern)]
TextId = Annotated[str, AfterValidator(_shaped(_TEXT_ID, "name of a text", "embargo-notice")), _text(_TEXT_ID.pattern)]
CustomReason = Annotated[
    str, AfterValidator(_shaped(_CUSTOM_REASON, "custom reason", "UNDER_EMBARGO")), _text(_CUSTOM_REASON.pattern)
]
Title = Annotated[
    str, AfterValidator(_title), WithJsonSchema({"type": "string", "minLength": 1, "maxLength": TITLE_CHARS_MAX})
]
AttributeName = Annotated[
    str, AfterValidator(_shaped(_ATTRIBUTE, "name of an attribute", "staff_number")), _text(_ATTRIBUTE.pattern)
]
Team = Annotated[str, AfterValidator(_shaped(_TEAM, "name of a team", "@acme/equity-desk")), _text(_TEAM.pattern)]
Condition = Annotated[str, Field(min_length=1)]

_SPAN: Final = BeforeValidator(from_parameter("duration"))
FixedDuration = Annotated[int, BeforeValidator(read_duration), WithJsonSchema(_DURATION_SCHEMA)]
"""A duration where no parameter may stand."""
Duration = Annotated[int, BeforeValidator(read_duration), _SPAN, _or_parameter(_DURATION_SCHEMA)]
Time = Annotated[int, BeforeValidator(read_time), _text(_TIME)]
Flag = Annotated[bool, BeforeValidator(from_parameter("boolean")), _or_parameter({"type": "boolean"})]
Age = Annotated[int | None, BeforeValidator(_read_age), _SPAN, _or_parameter(_AGE_SCHEMA)]
"""A duration, or None where the file says `none`."""
SpanOrNever = Annotated[int | None, BeforeValidator(_read_span_or_never), _SPAN, _or_parameter(_NEVER_SCHEMA)]
"""A duration, or None where the file says `never`."""
Count = Annotated[
    int,
    AfterValidator(in_count),
    BeforeValidator(from_parameter("integer")),
    _or_parameter({"type": "integer", "minimum": 0, "maximum": COUNT_MAX}),
]

MomentWord = Annotated[Moment, BeforeValidator(word_of(Moment, "moment"))]
EffectWord = Annotated[Effect, BeforeValidator(word_of(Effect, "effect"))]
GroundingWord = Annotated[Grounding, BeforeValidator(word_of(Grounding, "grounding"))]
DutyWord = Annotated[Duty, BeforeValidator(word_of(Duty, "duty"))]
AuditWord = Annotated[AuditMode, BeforeValidator(word_of(AuditMode, "audit mode"))]

Checked = (AfterValidator(filled), AfterValidator(distinct))
Labels = Annotated[tuple[Label, ...], *Checked]
CallerNames = Annotated[
    tuple[CallerName, ...],
    *Checked,
    BeforeValidator(from_parameter("list")),
    _or_parameter({"type": "array", "items": {"type": "string", "pattern": f"^{_CALLER.pattern}$"}, "minItems": 1}),
]
AttributeNames = Annotated[tuple[AttributeName, ...], *Checked, AfterValidator(_few)]
Teams = Annotated[tuple[Team, ...], *Checked]
SegmentKinds = Annotated[tuple[SegmentKind, ...], *Checked]
Moments = Annotated[tuple[MomentWord, ...], *Checked]
