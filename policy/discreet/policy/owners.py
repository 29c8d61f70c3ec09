"""Who answers for a policy file: the owners of the closest folder that names any. Shown, and of no effect.

A pattern names a folder of the set, `.` the whole; `*` stands for any characters within one step of a path and never
crosses a `/`. Of the patterns that fit a file those with most steps count, all of them: their order has no meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pydantic import TypeAdapter, ValidationError

from discreet.policy.model import Loaded
from discreet.policy.model.fields import Teams
from discreet.policy.problems import Code, PolicyProblem, problem, quoted

PATTERNS_MAX: Final = 2_000
_PATTERN: Final = re.compile(r"\.|[A-Za-z0-9_*-][A-Za-z0-9._*-]*(?:/[A-Za-z0-9_*-][A-Za-z0-9._*-]*)*")
_TEAMS: Final[TypeAdapter[tuple[str, ...]]] = TypeAdapter(Teams)


def owners_of(patterns: Mapping[str, Iterable[str]], file: str) -> tuple[str, ...]:
    """Returns the teams that answer for a file, sorted; none where no pattern fits.

    >>> owners_of({".": ["platform"], "desks/*": ["desks"]}, "desks/equity/rules.yaml")
    ('desks',)
    """
    fitting = {pattern: steps for pattern in patterns if (steps := steps_fitting(pattern, file)) is not None}
    most = max(fitting.values(), default=0)
    return tuple(sorted({team for pattern, steps in fitting.items() if steps == most for team in patterns[pattern]}))


def steps_fitting(pattern: str, file: str) -> int | None:
    """Returns the steps of a pattern whose folder holds the file, at whatever depth; None where it does not."""
    if pattern == ".":
        return 0
    wanted, folders = pattern.split("/"), file.split("/")[:-1]
    if len(wanted) > len(folders) or "**" in pattern:
        return None
    fits = all(_fits(glob, folder) for glob, folder in zip(wanted, folders, strict=False))
    return len(wanted) if fits else None


def _fits(glob: str, folder: str) -> bool:
    """Says whether a step of a path fits one of a pattern; each piece is looked for once."""
    first, *rest = glob.split("*")
    if not rest:
        return folder == glob
    if not folder.startswith(first) or len(folder) < len(first) + len(rest[-1]) or not folder.endswith(rest[-1]):
        return False
    at, end = len(first), len(folder) - len(rest[-1])
    for piece in rest[:-1]:
        found = folder.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def patterns_of(loaded: Loaded) -> dict[str, tuple[str, ...]]:
    """Returns the well-formed patterns of a set with their teams; a pattern that several documents give adds up."""
    found: dict[str, tuple[str, ...]] = {}
    for placed in loaded.owners:
        for pattern, given in placed.value.owners.items():
            try:
                teams = _TEAMS.validate_python(given, strict=True)
            except ValidationError:
                continue  # a problem of its own
            found[pattern] = (*found.get(pattern, ()), *teams)
    return found


def owner_problems(loaded: Loaded) -> Iterator[PolicyProblem]:
    """Yields what is wrong with patterns and teams; a pattern that fits no policy file is a folder that was moved."""
    count = 0
    for placed in loaded.owners:
        count += len(placed.value.owners)
        if count > PATTERNS_MAX:
            yield problem(placed.place("owners"), f"there are more than {PATTERNS_MAX} patterns", "", Code.LIMIT)
            return
        if not placed.value.owners:
            yield problem(placed.place("owners"), "there are no owners", "name a folder and its teams", Code.VALUE)
        for pattern, given in placed.value.owners.items():
            where = placed.key_place("owners", pattern)
            if not _PATTERN.fullmatch(pattern) or "**" in pattern:
                hint = "write a folder of the set like desks/equity or desks/*, or . for all of it"
                yield problem(where, f"{quoted(pattern)} names no folder", hint)
            elif all(steps_fitting(pattern, file) is None for file in loaded.files):
                hint = "mend the path, or take the entry out"
                yield problem(where, f"no policy file lies in {quoted(pattern)}", hint, Code.UNKNOWN_NAME)
            try:
                _TEAMS.validate_python(given, strict=True)
            except ValidationError as error:
                details = error.errors(include_url=False)[0]
                context = details.get("ctx", {})
                what = str(context.get("what", "owners must be a list of teams"))
                hint = str(context.get("hint", "")) or "for example [equity-desk]"
                yield problem(placed.place("owners", pattern, *details["loc"]), what, hint)
