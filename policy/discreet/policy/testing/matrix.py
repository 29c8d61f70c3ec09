"""A case with a matrix becomes one case for each combination, named after it, with the expectation that holds for it.

Nothing is filled in: each combination has exactly one row of the table, or the expectation of the whole matrix. The
order of rows has no meaning, so two rows for one combination are an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

from pydantic import ValidationError

from discreet.policy.model.errors import problems_of
from discreet.policy.model.load import Placed
from discreet.policy.problems import Code, Place, PolicyProblem, did_you_mean, problem, quoted
from discreet.policy.testing.kinds import CaseItem
from discreet.policy.yaml import Document, Entries, Items, Path, plain

COMBINATIONS_MAX: Final = 10_000
AXES: Final = ("principal", "moment", "document", "caller", "kind", "locale", "now", "session", "grounding", "claim")


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: the key of a case that it varies, and its values with their names."""

    name: str
    values: tuple[object, ...]
    labels: tuple[str, ...]


Row = tuple[Path, Mapping[str, frozenset[str]], dict[str, object]]
"""A row of the table: its place, the names of values of each axis that it is for, what it expects."""


class _Expander:
    """One matrix on its way to cases."""

    def __init__(self, document: Document, path: Path, problems: list[PolicyProblem]) -> None:
        self.document = document
        self.path = path
        self.problems = problems
        node = document.node(path)
        self.raw: dict[str, object] = (
            {key: plain(entry.value) for key, entry in node.entries.items()} if isinstance(node, Entries) else {}
        )

    def refuse(self, where: Path, message: str, hint: str = "", code: Code = Code.TEST) -> None:
        """Notes a problem in the case."""
        self.problems.append(problem(self.place(where), message, hint, code))

    def place(self, where: Path) -> Place:
        """Returns where something in the case stands."""
        return self.document.place(*self.path, *where)

    def axes(self) -> list[Axis]:
        """Returns the axes that are well-formed and notes what is wrong with the others."""
        node = self.document.node((*self.path, "matrix"))
        if not isinstance(node, Entries) or not node.entries:
            self.refuse(("matrix",), "the matrix names no axis", "for example principal: [ana, bo]")
            return []
        found = []
        for name, entry in node.entries.items():
            if name not in AXES:
                place = self.document.key_place(*self.path, "matrix", name)
                self.problems.append(
                    problem(place, f"no axis {quoted(name)}", did_you_mean(name, AXES), Code.UNKNOWN_KEY)
                )
            elif not isinstance(entry.value, Items) or not entry.value.items:
                self.refuse(("matrix", name), "an axis is a list of values", "name one at least")
            else:
                found.append(self._axis(name, tuple(plain(item) for item in entry.value.items)))
        return found

    def _axis(self, name: str, values: tuple[object, ...]) -> Axis:
        labels = tuple(map(label_of, values))
        for position, label in enumerate(labels):
            if label in labels[:position]:
                hint = "give it a name of its own, for example under principals"
                self.refuse(("matrix", name, position), f"two values are named {quoted(label)}", hint, Code.DUPLICATE)
        if name in self.raw or (name == "document" and "bindings" in self.raw):
            what = f"{'bindings' if name == 'document' else name} stands in the case, too"
            self.refuse(("matrix", name), what, "keep one of them")
        return Axis(name, values, labels)

    def rows(self, axes: list[Axis]) -> list[Row]:
        """Returns the rows of the table: place, the labels of each axis that it names, what it expects."""
        node = self.document.node((*self.path, "table"))
        if "table" not in self.raw:
            return []
        if not isinstance(node, Items) or not node.items:
            self.refuse(("table",), "the table is a list of rows", "each names values of axes, and an expectation")
            return []
        known = {axis.name: axis.labels for axis in axes}
        rows: list[Row] = []
        for position, item in enumerate(node.items):
            where: Path = ("table", position)
            row = plain(item)
            if not isinstance(row, dict) or not {"expect", "never"} & row.keys():
                self.refuse(where, "a row says what it expects", "with expect, or with never", Code.MISSING_KEY)
                continue
            outcome = {key: row.pop(key) for key in ("expect", "never") if key in row}
            rows.append((where, self._named(where, row, known), outcome))
        return rows

    def _named(
        self, where: Path, row: Mapping[str, object], known: Mapping[str, tuple[str, ...]]
    ) -> dict[str, frozenset[str]]:
        found = {}
        for key, value in row.items():
            if key not in known:
                hint = did_you_mean(key, [*known, "expect", "never"])
                place = self.document.key_place(*self.path, *where, key)
                self.problems.append(problem(place, f"no axis {quoted(key)} in the matrix", hint, Code.UNKNOWN_KEY))
                continue
            labels = [label_of(one) for one in (value if isinstance(value, tuple) else (value,))]
            for label in labels:
                if label not in known[key]:
                    hint = did_you_mean(label, known[key])
                    self.refuse((*where, key), f"no {key} {quoted(label)} in the matrix", hint, Code.UNKNOWN_NAME)
            found[key] = frozenset(labels)
        return found

    def cases(self) -> Iterator[Placed[CaseItem]]:
        """Yields the cases of all combinations; none where the matrix is not well-formed."""
        before = len(self.problems)
        axes = self.axes()
        rows = self.rows(axes)
        count = math.prod(len(axis.values) for axis in axes)
        if count > COMBINATIONS_MAX:
            self.refuse(("matrix",), f"more than {COMBINATIONS_MAX} combinations", "split it", Code.LIMIT)
        if len(self.problems) > before:
            return
        used: set[Path] = set()
        for chosen in product(*(range(len(axis.values)) for axis in axes)):
            labels = {axis.name: axis.labels[at] for axis, at in zip(axes, chosen, strict=True)}
            fitting = [row for row in rows if all(labels[key] in wanted for key, wanted in row[1].items())]
            used.update(row[0] for row in fitting)
            name = ", ".join(labels.values())
            if len(fitting) > 1:
                self.refuse(
                    fitting[1][0], f"another row is for {quoted(name)}, too", "let one row fit each combination"
                )
                return
            if not fitting and not {"expect", "never"} & self.raw.keys():
                self.refuse(("matrix",), f"no row says what is expected of {quoted(name)}", "add one", Code.MISSING_KEY)
                return
            where = fitting[0][0] if fitting else ()
            yield from self._case(axes, chosen, name, where, fitting[0][2] if fitting else {})
            if len(self.problems) > before:
                return
        for where, _, _ in rows:
            if where not in used:
                self.refuse(where, "no combination fits this row", "take it out", Code.UNUSED)

    def _case(
        self, axes: list[Axis], chosen: tuple[int, ...], name: str, where: Path, outcome: dict[str, object]
    ) -> Iterator[Placed[CaseItem]]:
        raw = {key: value for key, value in self.raw.items() if key not in {"matrix", "table"}}
        if outcome:
            raw = {key: value for key, value in raw.items() if key not in {"expect", "never"}} | outcome
        for axis, at in zip(axes, chosen, strict=True):
            value = axis.values[at]
            if axis.name == "document":
                raw["bindings"] = value if isinstance(value, tuple) else (value,)
            else:
                raw[axis.name] = value
        positions = {axis.name: at for axis, at in zip(axes, chosen, strict=True)}
        try:
            case = CaseItem.model_validate(raw)
        except ValidationError as error:
            self.problems += problems_of(
                error, self.document, self.path, CaseItem, lambda loc: _moved(loc, positions, where, outcome)
            )
            return
        yield Placed(case.model_copy(update={"name": f"{case.name} [{name}]"}), self.document, (*self.path, *where))


def _moved(loc: Path, positions: Mapping[str, int], row: Path, outcome: Mapping[str, object]) -> Path:
    """Returns where in the matrix the value stands that a combination took from it."""
    if not loc:
        return loc
    if loc[0] == "bindings" and "document" in positions:
        return ("matrix", "document", positions["document"], *loc[2:])
    if loc[0] in positions:
        return ("matrix", loc[0], positions[str(loc[0])], *loc[1:])
    return (*row, *loc) if loc[0] in outcome else loc


def label_of(value: object) -> str:
    """Returns how a value of an axis is named: in a case's name and in the rows of the table."""
    if isinstance(value, tuple):
        return " + ".join(map(label_of, value)) or "nothing"
    if isinstance(value, dict):
        if "record-id" in value:
            version = value.get("version")
            return f"{value['record-id']} version {version}" if version is not None else str(value["record-id"])
        return str(value.get("id", value.get("basis", "a mapping")))
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def expand(document: Document, path: Path, problems: list[PolicyProblem]) -> list[Placed[CaseItem]]:
    """Returns the cases of a matrix and notes its problems."""
    return list(_Expander(document, path, problems).cases())
