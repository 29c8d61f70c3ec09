"""The types of single values in test files: exact texts, digests, times, attributes. No record and no decision here."""

from __future__ import annotations

import math
from typing import Annotated, Final

from pydantic import AfterValidator

from discreet.policy.idents import EXACT_BYTES_MAX, digest_problem, exact_problem, name_problem, text_problem
from discreet.policy.model.fields import wrong
from discreet.policy.problems import quoted

VERSION_BYTES_MAX: Final = 128
INT64: Final = range(-(2**63), 2**63)


def _exact(text: str) -> str:
    found = exact_problem(text, EXACT_BYTES_MAX)
    if found:
        raise wrong(f"{quoted(text)} {found}")
    return text


def _short(text: str) -> str:
    found = text_problem(text, VERSION_BYTES_MAX)
    if found:
        raise wrong(f"{quoted(text)} {found}")
    return text


def _digest(text: str) -> str:
    found = digest_problem(text)
    if found:
        raise wrong(f"the digest {found}")
    return text


def _values(given: dict[str, object]) -> dict[str, object]:
    for name, value in given.items():
        found = name_problem(name)
        if found:
            raise wrong(f"the name {quoted(name)} {found}")
        _finite(name, value)
    return given


def _finite(name: str, value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise wrong(f"{name} is not a finite number", path=(name,))
    if isinstance(value, int) and not isinstance(value, bool) and value not in INT64:
        raise wrong(f"{name} is no 64-bit integer", "quote it if it is text", path=(name,))
    if isinstance(value, tuple):
        for item in value:
            _finite(name, item)
    if isinstance(value, dict):
        for below in value.values():
            _finite(name, below)


def named(value: object) -> object:
    """Returns what a name alone stands for where a mapping could stand: a principal's id."""
    return {"id": value} if isinstance(value, str) else value


def record_named(value: object) -> object:
    """Returns what a record's id alone stands for where a mapping could stand: its current version."""
    return {"record-id": value} if isinstance(value, str) else value


def of_record(value: object) -> object:
    """Returns what a record's id alone stands for where a record is one of several things to name."""
    return {"record": value} if isinstance(value, str) else value


def one_or_more(value: object) -> object:
    """Returns a single value as a list."""
    return value if isinstance(value, tuple) else (value,)


Exact = Annotated[str, AfterValidator(_exact)]
Short = Annotated[str, AfterValidator(_short)]
Digest = Annotated[str, AfterValidator(_digest)]
Values = Annotated[dict[str, object], AfterValidator(_values)]
