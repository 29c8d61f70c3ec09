"""What conditions may say in short: `constants.name`, `parameters.name` and `conditions.name`.

Each is put in its place when the set is loaded, so that a decision evaluates one plain condition and the look-up of
rules sees through the names. A constant becomes a literal where it is used. A named condition becomes its own tree,
with the spans of its own text, which is kept behind the text of the condition that uses it: an explanation can show
every part. Cycles, unknown names and captured variables are errors with their places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, NamedTuple, get_args

from discreet.policy import cel
from discreet.policy.cel import CelError, Condition, Schema, compile_condition
from discreet.policy.cel.nodes import Call, Const, Has, Ident, ListLit, Macro, Node, Select, bound, children, walk
from discreet.policy.cel.parse import parse
from discreet.policy.model.values import Instant, Span, Unknown, Value
from discreet.policy.problems import did_you_mean, quoted

ROOTS: Final = {"constants": "constant", "conditions": "condition", "parameters": "parameter"}
TEXT_CHARS_MAX: Final = 65_536
"""Code points of a condition's text together with those of the named conditions in it."""

_NODES: Final = get_args(Node)
_NOTHING: Final[frozenset[str]] = frozenset()


class Named(NamedTuple):
    """A named condition, expanded. `root` None: it is wrong, which is a problem of its own."""

    text: str
    root: Node | None
    size: int
    free: frozenset[str]
    """The names that it reads, those of macro variables left out."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names of a set with what they stand for."""

    constants: Mapping[str, Value] = field(default_factory=dict)
    parameters: Mapping[str, Value] = field(default_factory=dict)
    conditions: Mapping[str, Named] = field(default_factory=dict)

    def known(self, root: str) -> Mapping[str, object]:
        """Returns the names under one of the three words."""
        return {"constants": self.constants, "conditions": self.conditions, "parameters": self.parameters}[root]


@dataclass(frozen=True, slots=True)
class Seen:
    """What is the same in every environment of a set, kept while all of them are compiled: a mutable cache."""

    conditions: dict[tuple[str, int], Condition] = field(default_factory=dict)
    """Those without names, by text and schema."""
    trees: dict[str, Node] = field(default_factory=dict)


def compile_with(text: str, schema: Schema, vocabulary: Vocabulary, seen: Seen | None = None) -> Condition:
    """Returns the condition of a text that may use the names of a set. Raises CelError, placed in that text."""
    seen = Seen() if seen is None else seen
    if not any(root in text for root in ROOTS):
        key = text, id(schema)
        if key not in seen.conditions:
            seen.conditions[key] = compile_condition(text, schema)
        return seen.conditions[key]
    if text not in seen.trees:
        seen.trees[text] = parse(text, cel.DEFAULT)
    root = seen.trees[text]
    expansion = Expansion(text, vocabulary)
    try:
        whole = expansion.expand(root)
        bound(whole, cel.DEFAULT)
        return Condition(expansion.text, whole, schema)
    except CelError as error:
        raise expansion.placed(error).located(text) from None


def named_of(text: str, vocabulary: Vocabulary) -> Named:
    """Returns a condition expanded, to be used under a name. Raises CelError, placed in its text."""
    root = parse(text, cel.DEFAULT)
    expansion = Expansion(text, vocabulary)
    try:
        whole = expansion.expand(root)
        bound(whole, cel.DEFAULT)
    except CelError as error:
        raise expansion.placed(error).located(text) from None
    return Named(expansion.text, whole, sum(1 for _ in walk(whole)), frozenset(_free(whole, _NOTHING)))


def uses_of(text: str) -> frozenset[str]:
    """Returns the named conditions that a text uses, whether they exist or not. Raises CelError."""
    return frozenset(name for root, name in references(parse(text, cel.DEFAULT)) if root == "conditions")


def references(node: Node, scope: frozenset[str] = _NOTHING) -> Iterator[tuple[str, str]]:
    """Yields the word and the name of everything of a set that a tree refers to."""
    if isinstance(node, Select) and _is_root(node.operand, scope):
        assert isinstance(node.operand, Ident)
        yield node.operand.name, node.field
    for child, inner in _below(node, scope):
        yield from references(child, inner)


def _is_root(node: Node, scope: frozenset[str]) -> bool:
    return isinstance(node, Ident) and node.name in ROOTS and node.name not in scope


def _below(node: Node, scope: frozenset[str]) -> Iterator[tuple[Node, frozenset[str]]]:
    for child in children(node):
        inside = isinstance(node, Macro) and child is not node.range
        yield child, scope | {node.variable} if isinstance(node, Macro) and inside else scope


def _free(node: Node, scope: frozenset[str]) -> Iterator[str]:
    if isinstance(node, Ident) and node.name not in scope:
        yield node.name
    for child, inner in _below(node, scope):
        yield from _free(child, inner)


class _Use(NamedTuple):
    """Where the text of a named condition begins behind the text that uses it, and where it is used."""

    begin: int
    at: int
    name: str


class Expansion:
    """One condition while names are put in their places; `text` grows by the texts of the conditions it uses."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text = text
        self._own_chars: Final = len(text)
        self._vocabulary: Final = vocabulary
        self._uses: Final[list[_Use]] = []
        self._size = 0

    def expand(self, node: Node, scope: frozenset[str] = _NOTHING) -> Node:
        """Returns the tree with every name of the set replaced. Raises CelError."""
        self._grow(1, node)
        if isinstance(node, Select) and _is_root(node.operand, scope):
            return self._replaced(node, scope)
        if isinstance(node, Has) and _is_root(node.operand, scope):
            raise CelError("has() is for what may be absent", node.start, hint="a name of the set is always there")
        if isinstance(node, Ident) and _is_root(node, scope):
            raise CelError(f"{node.name} is no value", node.start, hint=f"write {node.name}.name")
        changed = {each.name: self._part(node, each.name, scope) for each in fields(node)}
        return replace(node, **{name: part for name, part in changed.items() if part is not None})

    def _part(self, node: Node, name: str, scope: frozenset[str]) -> Any:
        """Returns a part of a node expanded; None where it holds no nodes."""
        value = getattr(node, name)
        inner = scope | {node.variable} if isinstance(node, Macro) and name != "range" else scope
        if isinstance(value, _NODES):
            return self.expand(value, inner)
        if isinstance(value, tuple) and value and isinstance(value[0], _NODES):
            return tuple(self.expand(each, inner) for each in value)
        return None

    def _replaced(self, node: Select, scope: frozenset[str]) -> Node:
        assert isinstance(node.operand, Ident)
        root, name = node.operand.name, node.field
        known = self._vocabulary.known(root)
        if name not in known:
            hint = did_you_mean(name, known) or _HINTS[root]
            raise CelError(f"no {ROOTS[root]} {quoted(name)}", node.operand.end + 1, hint=hint)
        if root == "conditions":
            return self._condition(node, self._vocabulary.conditions[name], scope)
        value = self._vocabulary.constants[name] if root == "constants" else self._vocabulary.parameters[name]
        if isinstance(value, tuple):
            self._grow(len(value), node)
        return literal(value, node.start, node.end)

    def _condition(self, node: Select, named: Named, scope: frozenset[str]) -> Node:
        if named.root is None:
            return Const(node.start, node.end, False)
        captured = sorted(scope & named.free)
        if captured:
            what = f"the variable {captured[0]} hides what conditions.{node.field} reads"
            raise CelError(what, node.start, hint="give the variable another name")
        self._grow(named.size, node)
        begin = len(self.text) + 1
        if begin + len(named.text) > TEXT_CHARS_MAX:
            what = f"with the conditions that it uses, this has more than {TEXT_CHARS_MAX} characters"
            raise CelError(what, node.start, hint="split the rule")
        self._uses.append(_Use(begin, node.start, node.field))
        self.text += "\n" + named.text
        return replace(moved(named.root, begin), start=node.start, end=node.end)

    def _grow(self, nodes: int, at: Node) -> None:
        self._size += nodes
        if self._size > cel.DEFAULT.nodes_max:
            what = f"with what it refers to, the condition has more than {cel.DEFAULT.nodes_max} parts"
            raise CelError(what, at.start, hint="split the rule")

    def placed(self, error: CelError) -> CelError:
        """Returns an error that lies in a named condition as one at the place where that is used."""
        if error.offset < self._own_chars or not self._uses:
            return error
        use = max((use for use in self._uses if use.begin <= error.offset), default=None)
        if use is None:
            return error
        return CelError(f"in conditions.{use.name}: {error.message}", use.at, hint=error.hint)


_HINTS: Final = {
    "constants": "define it under `constants` of a Definitions",
    "conditions": "define it under `conditions` of a Definitions",
    "parameters": "declare it under `parameters` in discreet.yaml",
}


def moved(node: Node, by: int) -> Node:
    """Returns a tree whose spans lie so many code points further on."""
    changed: dict[str, Any] = {"start": node.start + by, "end": node.end + by}
    for each in fields(node):
        value = getattr(node, each.name)
        if isinstance(value, _NODES):
            changed[each.name] = moved(value, by)
        elif isinstance(value, tuple) and value and isinstance(value[0], _NODES):
            changed[each.name] = tuple(moved(item, by) for item in value)
    return replace(node, **changed)


def literal(value: Value, start: int, end: int) -> Node:
    """Returns the tree of a value, with the span of the name that stands for it."""
    if isinstance(value, Span):
        return Call(start, end, "duration", False, (Const(start, end, str(cel.Duration(value.us * 1_000))),))
    if isinstance(value, Instant):
        return Call(start, end, "timestamp", False, (Const(start, end, str(cel.Timestamp(value.us * 1_000))),))
    if isinstance(value, Unknown):
        return Call(start, end, "dyn", False, (Const(start, end, False),))
    if isinstance(value, tuple):
        return ListLit(start, end, tuple(Const(start, end, item) for item in value))
    return Const(start, end, value)
