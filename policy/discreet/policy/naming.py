"""The vocabulary of a set from its Definitions and parameters: checked whole, whatever uses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from discreet.policy import schema
from discreet.policy.cel import CelError, Condition
from discreet.policy.model import Loaded, Placed
from discreet.policy.model.definitions import NAMES_MAX, constants_of, values_of
from discreet.policy.model.fields import kind_name
from discreet.policy.model.parameters import name_problems
from discreet.policy.problems import Code, PolicyProblem, problem, quoted
from discreet.policy.vocabulary import Named, Vocabulary, named_of, uses_of
from discreet.policy.yaml import Document, Path, Scalar, source_offset

_BROKEN = Named("", None, 0, frozenset())


def vocabulary_of(loaded: Loaded, problems: list[PolicyProblem]) -> Vocabulary:
    """Returns the names of a set, and notes what is wrong with what they stand for, each at its own place."""
    problems += _too_many(loaded)
    constants = constants_of(loaded.definitions, loaded.parameters, problems)
    parameters = values_of(loaded.parameters)
    texts = _texts(loaded, problems)
    conditions: dict[str, Named] = dict.fromkeys(texts, _BROKEN)
    for name in _ordered(texts, problems):
        where = texts[name]
        try:
            named = named_of(where.value, Vocabulary(constants, parameters, conditions))
            assert named.root is not None
            Condition(named.text, named.root, schema.BOUND)
        except CelError as error:
            problems.append(condition_problem(where.document, where.path, error))
        else:
            whole = all(conditions[used].root is not None for used in uses_of(where.value) & conditions.keys())
            conditions[name] = named if whole else _BROKEN
    return Vocabulary(constants, parameters, conditions)


def condition_problem(document: Document, path: Path, error: CelError, hint: str = "") -> PolicyProblem:
    """Returns an error of the condition at a path as a problem at its place in the file."""
    node = document.node(path)
    place = node.place
    if isinstance(node, Scalar):
        place = document.source.place_at(source_offset(document.source.text, node, error.offset))
    return problem(place, f"condition: {error.message}", error.hint or hint, Code.CONDITION)


def _texts(loaded: Loaded, problems: list[PolicyProblem]) -> dict[str, Placed[str]]:
    """Returns the named conditions that are text, by name."""
    texts: dict[str, Placed[str]] = {}
    for placed in loaded.definitions:
        problems += name_problems(placed.value.conditions, placed, "conditions")
        for name, given in placed.value.conditions.items():
            if isinstance(given, str) and given:
                texts[name] = Placed(given, placed.document, ("conditions", name))
                continue
            found = "is empty" if given == "" else f"must be text, not {kind_name(given)}"
            hint = "quote it" if isinstance(given, bool) else "write a condition"
            problems.append(problem(placed.place("conditions", name), f"the condition {found}", hint))
            texts[name] = Placed("false", placed.document, ("conditions", name))
    return texts


def _ordered(texts: Mapping[str, Placed[str]], problems: list[PolicyProblem]) -> list[str]:
    """Returns the names of conditions, those that others use first; without those that use themselves."""
    uses: dict[str, list[str]] = {}
    for name, where in texts.items():
        try:
            uses[name] = sorted(uses_of(where.value) & texts.keys())
        except CelError:
            uses[name] = []  # it is reported when it is compiled
    order: list[str] = []
    state: dict[str, bool] = {}
    for name in sorted(texts):
        for cycle in _visit(name, uses, state, order):
            where = texts[cycle[0]]
            what = f"the condition {quoted(cycle[0])} rests on itself: {' -> '.join([*cycle, cycle[0]])}"
            place = where.place()
            problems.append(problem(place, what, "take one of these uses out", Code.CONDITION))
    return order


def _visit(start: str, uses: Mapping[str, list[str]], state: dict[str, bool], order: list[str]) -> Iterator[list[str]]:
    """Visits what a name rests on, without recursion; yields each cycle met. `state`: False on the way, True done."""
    if start in state:
        return
    path, pending = [start], [iter(uses[start])]
    state[start] = False
    broken: set[str] = set()
    while path:
        below = next(pending[-1], None)
        if below is None:
            done = path.pop()
            pending.pop()
            state[done] = True
            if done not in broken:
                order.append(done)
        elif below not in state:
            state[below] = False
            path.append(below)
            pending.append(iter(uses[below]))
        elif not state[below]:
            cycle = path[path.index(below) :]
            broken |= set(cycle)
            yield cycle


def _too_many(loaded: Loaded) -> Iterator[PolicyProblem]:
    count = 0
    for placed in loaded.definitions:
        count += len(placed.value.constants) + len(placed.value.conditions)
        if count > NAMES_MAX:
            yield problem(placed.place(), f"there are more than {NAMES_MAX} constants and conditions", "", Code.LIMIT)
            return
