"""Constants as files write them, read into values; conditions under names, as text. Knows nothing of CEL."""

from __future__ import annotations

import math
from typing import Final

from pydantic_core import PydanticCustomError

from discreet.policy.model.fields import LIST_MAX, kind_name, read_duration, read_time
from discreet.policy.model.kinds import Definitions
from discreet.policy.model.parameters import INT64, name_problems
from discreet.policy.model.placed import Placed
from discreet.policy.model.values import Instant, Parameters, Span, Unknown, Value
from discreet.policy.problems import Code, PolicyProblem, did_you_mean, problem, quoted

NAMES_MAX: Final = 2_000
_FORMS: Final = "text, a number, true, false, a list of these, {duration: 36h}, {time: ...} or {parameter: name}"


def constants_of(
    found: list[Placed[Definitions]], parameters: Parameters, problems: list[PolicyProblem]
) -> dict[str, Value]:
    """Returns the constants of a set by name, and notes what is wrong; such a one is Unknown."""
    constants: dict[str, Value] = {}
    for placed in found:
        problems += name_problems(placed.value.constants, placed, "constants")
        for name, given in placed.value.constants.items():
            value = _read(given, parameters)
            if isinstance(value, _Wrong):
                where = placed.place("constants", name)
                problems.append(problem(where, value.message, value.hint, value.code))
            constants[name] = Unknown() if isinstance(value, _Wrong) else value
    return constants


def values_of(parameters: Parameters) -> dict[str, Value]:
    """Returns the parameters' values as conditions use them."""
    return {name: _of_type(parameters.types[name], value) for name, value in parameters.values.items()}


def _of_type(kind: str, value: object) -> Value:
    if kind == "duration":
        return Span(read_duration(value))
    assert isinstance(value, (bool, int, float, str, tuple))
    return value


class _Wrong:
    """What is wrong with a constant."""

    def __init__(self, message: str, hint: str = "", code: Code = Code.VALUE) -> None:
        self.message, self.hint, self.code = message, hint, code


def _read(given: object, parameters: Parameters) -> Value | _Wrong:
    if isinstance(given, dict):
        return _form(given, parameters)
    if isinstance(given, tuple):
        return _list(given)
    return _single(given)


def _single(given: object) -> bool | int | float | str | _Wrong:
    if isinstance(given, bool | str):
        return given
    if isinstance(given, int):
        return given if given in INT64 else _Wrong("the number does not fit in 64 bits", "quote it if it is text")
    if isinstance(given, float):
        return given if math.isfinite(given) else _Wrong("the number is not finite")
    return _Wrong(f"a constant cannot be {kind_name(given)}", f"write {_FORMS}")


def _list(given: tuple[object, ...]) -> Value | _Wrong:
    items = [_single(item) for item in given]
    bad = next((item for item in items if isinstance(item, _Wrong)), None)
    if bad is not None:
        return bad
    if len({type(item) for item in items}) > 1:
        return _Wrong("the items of the list are of several types", "write texts alone, or numbers alone")
    if len(items) > LIST_MAX:
        return _Wrong(f"the list has more than {LIST_MAX} items", "split it", Code.LIMIT)
    return tuple(item for item in items if not isinstance(item, _Wrong))


def _form(given: dict[str, object], parameters: Parameters) -> Value | _Wrong:
    if len(given) != 1 or not given.keys() <= {"duration", "time", "parameter"}:
        return _Wrong("a constant cannot be this mapping", f"write {_FORMS}")
    [(form, value)] = given.items()
    if form == "parameter":
        if isinstance(value, str) and value in parameters.types:
            return _of_type(parameters.types[value], parameters.values[value])
        shown = quoted(value) if isinstance(value, str) else kind_name(value)
        close = did_you_mean(value, parameters.types) if isinstance(value, str) else ""
        hint = close or "declare it under `parameters` in discreet.yaml"
        return _Wrong(f"no parameter {shown}", hint, Code.UNKNOWN_NAME)
    try:
        return Span(read_duration(value)) if form == "duration" else Instant(read_time(value))
    except PydanticCustomError as error:
        context = error.context or {}
        what = str(context["what"])
        return _Wrong(f"{form} {what}" if what.startswith("must ") else what, str(context["hint"]))
