"""Two policy sets compared, in every environment that both declare."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

from discreet.policy.bundle import policy_files
from discreet.policy.compile import compile_set, environments_of
from discreet.policy.diff.changes import Change, Difference, Direction, Kind, Note, difference
from discreet.policy.diff.rules import rule_changes
from discreet.policy.diff.sources import Reads, source_changes
from discreet.policy.diff.whole import whole_changes
from discreet.policy.explain import rules_of
from discreet.policy.model import load
from discreet.policy.model.values import Parameters
from discreet.policy.snapshot import Snapshot

F = TypeVar("F", Change, Note)


class Edition(NamedTuple):
    """A set as it is served in one environment."""

    snapshot: Snapshot
    parameters: Parameters


Editions = Mapping[str, Edition]
"""A set in each of its environments, by name; one of no name where it declares none."""


def editions(files: Mapping[str, bytes], environment: str = "") -> Editions:
    """The set of the files in one environment; "": in each that it declares. Raises PolicyProblems."""
    names = (environment,) if environment else environments_of(files)
    return {name: _edition(files, name) for name in names}


def _edition(files: Mapping[str, bytes], name: str) -> Edition:
    snapshot = compile_set(files, commit="", number=0, dirty=True, environment=name)
    declaring = {
        path: data for path, data in policy_files(files).items() if b"PolicySet" in data or b"Environment" in data
    }
    return Edition(snapshot, load(declaring, name).parameters)


def compare_sets(old: Editions, new: Editions) -> Difference:
    """What differs between two sets. What differs alike in all environments that both have is said once."""
    changes: list[Change] = list(_environments(old, new))
    notes: list[Note] = []
    pairs = dict(_pairs(old, new))
    found = {name: list(_between(*pair)) for name, pair in pairs.items()}
    everywhere = len(pairs)
    changes += _merged(((name, each) for name in found for each in found[name] if isinstance(each, Change)), everywhere)
    notes += _merged(((name, each) for name in found for each in found[name] if isinstance(each, Note)), everywhere)
    return difference(changes, notes)


def _environments(old: Editions, new: Editions) -> Iterator[Change]:
    """What was served under the name of an environment that comes or goes cannot be told."""
    for kind, names in (
        (Kind.ENVIRONMENT_ADDED, new.keys() - old.keys()),
        (Kind.ENVIRONMENT_REMOVED, old.keys() - new.keys()),
    ):
        for name in sorted(names - {""}):
            yield Change(kind, Direction.EITHER, name)


def _pairs(old: Editions, new: Editions) -> Iterator[tuple[str, tuple[Edition, Edition]]]:
    """The editions to compare, by environment; a set that declares none is compared with every one of the other's."""
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name, old.get("")), new.get(name, new.get(""))
        if before is not None and after is not None:
            yield name, (before, after)


def _merged(found: Iterable[tuple[str, F]], everywhere: int) -> list[F]:
    """Each difference once, with the environments in which it is so, unless it is so in all."""
    where: dict[F, list[str]] = {}
    for name, each in found:
        where.setdefault(each, []).append(name)
    return [
        each if len(names) == everywhere else replace(each, environments=tuple(names)) for each, names in where.items()
    ]


def compare_snapshots(old: Snapshot, new: Snapshot) -> Difference:
    """What differs between two compiled sets, but for their parameters, which show where they are used."""
    return difference(*_parted(_of_snapshots(old, new)))


def _parted(found: Iterable[Change | Note]) -> tuple[list[Change], list[Note]]:
    every = list(found)
    return [each for each in every if isinstance(each, Change)], [each for each in every if isinstance(each, Note)]


def _between(old: Edition, new: Edition) -> Iterator[Change | Note]:
    yield from _of_snapshots(old.snapshot, new.snapshot)
    yield from _parameters(old.parameters, new.parameters)


def _of_snapshots(old: Snapshot, new: Snapshot) -> Iterator[Change | Note]:
    before, after = rules_of(old.rules), rules_of(new.rules)
    reads = Reads([*before, *after])
    yield from source_changes(old.sources, new.sources, reads)
    yield from rule_changes(before, after)
    yield from whole_changes(old, new, reads)


def _parameters(old: Parameters, new: Parameters) -> Iterator[Change]:
    """Parameters by name. Where their values lead is said where they are used."""
    for name in sorted(old.types.keys() | new.types.keys()):
        was, becomes = _said(old, name), _said(new, name)
        if was == becomes:
            continue
        added, removed = name not in old.types, name not in new.types
        kind = Kind.PARAMETER_ADDED if added else Kind.PARAMETER_REMOVED if removed else Kind.PARAMETER_CHANGED
        yield Change(kind, Direction.NEITHER, name, was, becomes)


def _said(parameters: Parameters, name: str) -> str:
    if name not in parameters.types:
        return ""
    return f"{parameters.types[name]} {json.dumps(parameters.values[name], ensure_ascii=False)}"
