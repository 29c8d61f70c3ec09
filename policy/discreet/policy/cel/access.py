"""Closures that read: names, fields of records, keys of maps, items of lists, and `has`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from discreet.policy.cel.errors import EvaluationError, bad_argument, missing, wrong_type
from discreet.policy.cel.limits import Budget
from discreet.policy.cel.operators import KEY_TYPES
from discreet.policy.cel.values import Uint, as_key, kind_of

Activation = dict[str, object]
#: A compiled node. It reads the activation and never changes it.
Run = Callable[[Activation, Budget], Any]

ABSENT: Final = (KeyError, AttributeError)


def constant(value: object) -> Run:
    """Returns the closure of a value that is known at load."""
    return lambda activation, budget: value


def variable(name: str) -> Run:
    """Returns the closure that reads the variable of a macro, whose value may be null."""
    return lambda activation, budget: activation[name]


def declared(name: str) -> Run:
    """Returns the closure that reads a declared name; None is absent."""

    def run(activation: Activation, budget: Budget) -> Any:
        value = activation.get(name)
        if value is None:
            raise missing(name)
        return value

    return run


def field_of_name(name: str, field: str, path: str) -> Run:
    """Returns the closure of `name.field` for a declared record, the commonest read, in one step."""

    def run(activation: Activation, budget: Budget) -> Any:
        try:
            owner = activation[name]
            value = owner[field] if type(owner) is dict else getattr(owner, field)
        except ABSENT:
            raise missing(path) from None
        if value is None:
            raise missing(path)
        return value

    return run


def field_of_record(owner_of: Run, field: str, path: str) -> Run:
    """Returns the closure of a field of a record that is itself computed."""

    def run(activation: Activation, budget: Budget) -> Any:
        value = _field(owner_of(activation, budget), field)
        if value is None:
            raise missing(path)
        return value

    return run


def has_field(owner_of: Run, field: str) -> Run:
    """Returns the closure of `has(record.field)`; an absent record is an error."""
    return lambda activation, budget: _field(owner_of(activation, budget), field) is not None


def _field(owner: Any, field: str) -> object:
    if type(owner) is dict:
        return owner.get(field)
    return getattr(owner, field, None)


def key_of_map(owner_of: Run, key: str, path: str) -> Run:
    """Returns the closure of `map.key`, on a dynamic value too."""

    def run(activation: Activation, budget: Budget) -> Any:
        owner = owner_of(activation, budget)
        if type(owner) is not dict:
            raise wrong_type(f"{path}: {kind_of(owner)} has no fields")
        try:
            return owner[key]
        except KeyError:
            raise missing(path) from None

    return run


def has_key_of_map(owner_of: Run, key: str, path: str) -> Run:
    """Returns the closure of `has(map.key)`."""

    def run(activation: Activation, budget: Budget) -> bool:
        owner = owner_of(activation, budget)
        if type(owner) is not dict:
            raise wrong_type(f"has({path}): {kind_of(owner)} has no fields")
        return key in owner

    return run


def indexed(owner_of: Run, key_of: Run, path: str) -> Run:
    """Returns the closure of `owner[key]` for a list, a map or a dynamic value."""

    def run(activation: Activation, budget: Budget) -> Any:
        owner, key = owner_of(activation, budget), key_of(activation, budget)
        if type(owner) is dict:
            return _value(owner, key, path)
        if isinstance(owner, list | tuple):
            return owner[_position(key, len(owner))]
        raise wrong_type(f"{path}: {kind_of(owner)} cannot be indexed")

    return run


def _value(owner: dict[object, object], key: object, path: str) -> object:
    if type(key) not in KEY_TYPES:
        raise wrong_type(f"{path}: {kind_of(key)} is no key")
    try:
        return owner[as_key(key)]
    except KeyError:
        raise missing(path) from None


def _position(key: object, size: int) -> int:
    """Returns the place in a list; a dynamic whole double is one, as for all numbers that came as JSON."""
    if type(key) is float and key.is_integer():
        key = int(key)
    if type(key) is not int and type(key) is not Uint:
        raise wrong_type(f"a list is indexed by int, not {kind_of(key)}")
    if 0 <= key < size:
        return key
    raise bad_argument("index out of the range of its list")


def listed(runs: list[Run]) -> Run:
    """Returns the closure of a list that is made each time."""

    def run(activation: Activation, budget: Budget) -> list[object]:
        budget.reserve_items(len(runs))
        return [each(activation, budget) for each in runs]

    return run


def checked(run: Run, wanted: type, what: str) -> Run:
    """Returns the closure of a dynamic value that must have one native type."""

    def checking(activation: Activation, budget: Budget) -> Any:
        value = run(activation, budget)
        if type(value) is wanted:
            return value
        raise wrong_type(f"{what} does not take {kind_of(value)}")

    return checking


def failing(error: Callable[[], EvaluationError]) -> Run:
    """Returns the closure of what is known at load to have no value."""

    def run(activation: Activation, budget: Budget) -> Any:
        raise error()

    return run
