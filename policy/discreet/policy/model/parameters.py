"""The parameters of a set and what the environments give them; one set is served in one environment.

Every environment of the set is judged, whichever is chosen: a set that could not be served in one of them is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, Self

from pydantic import model_validator

from discreet.policy.model.fields import ONE, kind_name, read_duration, wrong
from discreet.policy.model.kinds import Environment, Strict
from discreet.policy.model.placed import Placed, validated
from discreet.policy.model.values import Parameters
from discreet.policy.problems import Code, Place, PolicyProblem, did_you_mean, problem, quoted

SET_FILE: Final = "discreet.yaml"
PARAMETERS_MAX: Final = 200
ENVIRONMENTS_MAX: Final = 50
INT64: Final = range(-(2**63), 2**63)

NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
NOT_NAMES: Final = frozenset({"false", "in", "null", "true"})

_FILLERS: Final[Mapping[str, object]] = {"text": "", "integer": 0, "boolean": False, "duration": "1s", "list": ("x",)}

Given = Mapping[str, object]
"""What stands under `parameters`."""
ParameterType = Literal["text", "integer", "boolean", "duration", "list"]


def name_problems(names: Iterable[str], placed: Placed[object], *path: str) -> Iterator[PolicyProblem]:
    """Yields a problem for each name that could not stand in a condition."""
    for name in names:
        if not NAME.fullmatch(name) or name in NOT_NAMES:
            hint = f"write {NAME.pattern}, for example trading_desks"
            yield problem(placed.key_place(*path, name), f"{quoted(name)} is no name", hint)


def unfit(wanted: str, value: object) -> str | None:
    """Returns what is wrong with a value for a parameter of a type, or None."""
    if wanted == "text":
        fits = isinstance(value, str)
    elif wanted == "integer":
        fits = type(value) is int and value in INT64
    elif wanted == "boolean":
        fits = isinstance(value, bool)
    elif wanted == "list":
        fits = isinstance(value, tuple) and all(isinstance(item, str) for item in value)
    else:
        fits = isinstance(value, str) and _is_duration(value)
    found = quoted(value) if isinstance(value, str) else kind_name(value)
    return None if fits else f"must be {ONE[wanted]}, not {found}"


def _is_duration(text: str) -> bool:
    try:
        return read_duration(text) > 0
    except ValueError:
        return False


class ParameterItem(Strict):
    """One parameter: its type, the value where an environment gives none, and the values that it may have."""

    type: ParameterType
    default: object = None
    values: tuple[object, ...] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for value in self.values or ():
            found = unfit(self.type, value)
            if found:
                raise wrong(f"a value {found}", path=("values",))
        if self.values == ():
            raise wrong("the list is empty", "name at least one, or leave the key out", path=("values",))
        if "default" in self.model_fields_set:
            found = self.refusal(self.default)
            if found:
                raise wrong(found, path=("default",))
        return self

    def refusal(self, value: object) -> str | None:
        """Returns why a value is none that the parameter may have, or None."""
        found = unfit(self.type, value)
        if found is None and self.values is not None and value not in self.values:
            return "is none of the parameter's `values`"
        return found


class _Unread(ParameterItem):
    """Stands for a declaration that is wrong: whatever an environment gives it is no second problem."""

    default: object = False

    def refusal(self, value: object) -> str | None:
        return None


def parameters_of(
    declaring: list[Placed[Given]],
    environments: list[Placed[Environment]],
    chosen: str,
    problems: list[PolicyProblem],
    *,
    whole: bool,
    given: Placed[Given] | None = None,
) -> Parameters:
    """Returns the values in the environment that was chosen ("": none), and notes what is wrong with any of them.

    `declaring` holds what the documents of kind PolicySet say under `parameters`; there should be one. `whole` False:
    there are environments that could not be read, so that a name or a value may be missing for that reason. `given`
    stands over the environment, for who asks what would be.
    """
    declared = _declared(declaring, problems)
    problems += _too_many(declaring, environments)
    for environment in environments:
        problems += _of_environment(environment, declared)
    problems += _choice(environments, chosen) if whole else ()
    own: Given = next((e.value.parameters for e in environments if e.value.name == chosen), {})
    if given is not None:
        problems += _fitting(given, given.value, declared)
        own = {**own, **given.value}
    if whole and not environments:
        problems += _without_value(declared)
    types = {name: placed.value.type for name, placed in declared.items()}
    return Parameters(types, {name: _value(placed.value, own.get(name)) for name, placed in declared.items()})


def _value(item: ParameterItem, given: object) -> object:
    if isinstance(item, _Unread):
        return _FILLERS[item.type]
    if given is not None and item.refusal(given) is None:
        return given
    return _FILLERS[item.type] if item.default is None else item.default


def _declared(declaring: list[Placed[Given]], problems: list[PolicyProblem]) -> dict[str, Placed[ParameterItem]]:
    declared: dict[str, Placed[ParameterItem]] = {}
    for found in declaring[:1]:
        problems += name_problems(found.value, found, "parameters")
        for name in found.value:
            for placed in validated(problems, found.document, ("parameters", name), ParameterItem):
                declared[name] = placed
            if name not in declared:
                declared[name] = Placed(_Unread(type=_type_of(found, name)), found.document, ("parameters", name))
    return declared


def _type_of(found: Placed[Given], name: str) -> ParameterType:
    given = found.value[name]
    wanted = given.get("type") if isinstance(given, dict) else None
    return next((each for each in ("integer", "boolean", "duration", "list") if each == wanted), "text")


def _fitting(
    found: Placed[object], values: Given, declared: dict[str, Placed[ParameterItem]]
) -> Iterator[PolicyProblem]:
    """Yields a problem for each value under `parameters` that no parameter may have."""
    for name, value in values.items():
        if name not in declared:
            hint = did_you_mean(name, declared) or "declare it under `parameters` in discreet.yaml"
            where = found.key_place("parameters", name)
            yield problem(where, f"no parameter {quoted(name)}", hint, Code.UNKNOWN_NAME)
            continue
        refusal = declared[name].value.refusal(value)
        if refusal:
            hint = f"it is declared at {declared[name].place()}"
            yield problem(found.place("parameters", name), f"{name} {refusal}", hint)


def _of_environment(found: Placed[Environment], declared: dict[str, Placed[ParameterItem]]) -> Iterator[PolicyProblem]:
    yield from _fitting(found, found.value.parameters, declared)
    for name, placed in declared.items():
        if placed.value.default is None and name not in found.value.parameters:
            what = f"the environment {quoted(found.value.name)} gives the parameter {quoted(name)} no value"
            hint = f"add it, or give it a default at {placed.place()}"
            yield problem(found.place("name"), what, hint, Code.MISSING_KEY)


def _without_value(declared: dict[str, Placed[ParameterItem]]) -> Iterator[PolicyProblem]:
    for name, placed in declared.items():
        if placed.value.default is None:
            hint = "give it a default, or write an Environment that gives it one"
            yield problem(placed.key_place(), f"the parameter {quoted(name)} has no value", hint, Code.MISSING_KEY)


def _choice(environments: list[Placed[Environment]], chosen: str) -> Iterator[PolicyProblem]:
    names = sorted({environment.value.name for environment in environments})
    if chosen and chosen not in names:
        hint = did_you_mean(chosen, names) or "write an Environment of that name"
        yield problem(Place(SET_FILE), f"the set has no environment {quoted(chosen)}", hint, Code.UNKNOWN_NAME)
    if names and not chosen:
        what = "the set is written for environments, and none was chosen"
        yield problem(Place(SET_FILE), what, f"choose one of {', '.join(names)}", Code.FILE)


def _too_many(declaring: list[Placed[Given]], environments: list[Placed[Environment]]) -> Iterator[PolicyProblem]:
    for found in declaring[:1]:
        if len(found.value) > PARAMETERS_MAX:
            yield problem(found.place("parameters"), f"there are more than {PARAMETERS_MAX} parameters", "", Code.LIMIT)
    for found_one in environments[ENVIRONMENTS_MAX : ENVIRONMENTS_MAX + 1]:
        yield problem(found_one.place(), f"there are more than {ENVIRONMENTS_MAX} environments", "", Code.LIMIT)
