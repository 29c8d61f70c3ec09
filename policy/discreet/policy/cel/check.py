"""Types of a condition against its schema: every name, field, function and operand, before anything is evaluated.

A type that is only known later is `dyn`; what is wrong whatever the values is an error here, with its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from discreet.policy.cel.absent import absent_hint
from discreet.policy.cel.errors import CelError
from discreet.policy.cel.functions import FUNCTIONS, METHODS, QUALIFIED_TYPES, TYPE_WORDS
from discreet.policy.cel.nodes import (
    Binary,
    Call,
    Const,
    Has,
    Ident,
    Index,
    ListLit,
    Logic,
    Macro,
    MapLit,
    Node,
    Select,
    Ternary,
    Unary,
)
from discreet.policy.cel.operators import ARITHMETIC, NEGATION, ORDER
from discreet.policy.cel.overloads import Table, candidates, result_of
from discreet.policy.cel.schema import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    NULL,
    NUMERIC,
    STRING,
    TYPE,
    UINT,
    AnyType,
    Optional,
    Record,
    Schema,
    Type,
    assignable,
    comparable,
    join,
    list_of,
    map_of,
    required,
)
from discreet.policy.cel.values import Uint

CONSTANTS: Final = {type(None): NULL, bool: BOOL, int: INT, Uint: UINT, float: DOUBLE, str: STRING, bytes: BYTES}
KEY_KINDS: Final = frozenset({"bool", "int", "uint", "string", "dyn"})

Locals = Mapping[str, AnyType]


def hint_for(name: str, known: Iterable[str]) -> str:
    """Returns the nearest known names as a suggestion, or all of them when they are few."""
    names = sorted(known)
    near = get_close_matches(name, names, n=1)
    if near:
        return f'did you mean "{near[0]}"?'
    return f"there is {', '.join(names)}" if 0 < len(names) <= 12 else ""


def qualified_type(node: Node) -> str | None:
    """Returns the dotted name when a node is one that stands for a type, `google.protobuf.Timestamp`."""
    words: list[str] = []
    while isinstance(node, Select):
        words.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    name = ".".join([node.name, *reversed(words)])
    return name if name in QUALIFIED_TYPES else None


class Checker:
    """Gives every node its type, by its identity; one use a tree."""

    def __init__(self, schema: Schema) -> None:
        self.names: Final = schema.names
        self.types: Final[dict[int, AnyType]] = {}

    def check(self, node: Node, scope: Locals) -> AnyType:
        """Returns the type of a node, and notes it and those below it. Raises CelError."""
        found = self._type(node, scope)
        self.types[id(node)] = found
        return found

    def _type(self, node: Node, scope: Locals) -> AnyType:
        match node:
            case Const():
                return CONSTANTS[type(node.value)]
            case Ident():
                return self._ident(node, scope)
            case Select() | Has():
                return self._select(node, scope)
            case Index():
                return self._index(node, scope)
            case Call():
                return self._call(node, scope)
            case Unary():
                return self._unary(node, scope)
            case Binary():
                return self._binary(node, scope)
            case Logic():
                for part in node.parts:
                    self._bool(part, scope, node.op)
                return BOOL
            case Ternary():
                return self._ternary(node, scope)
            case ListLit():
                return list_of(self._joined(node.items, scope))
            case MapLit():
                return self._map(node, scope)
            case Macro():
                return self._macro(node, scope)

    def _ident(self, node: Ident, scope: Locals) -> AnyType:
        if node.name in scope:
            return scope[node.name]
        if node.name in self.names:
            return required(self.names[node.name])
        if node.name in TYPE_WORDS:
            return TYPE
        raise CelError(f'no name "{node.name}"', node.start, hint=hint_for(node.name, [*self.names, *scope]))

    def _select(self, node: Select | Has, scope: Locals) -> AnyType:
        if isinstance(node, Select) and qualified_type(node) and not {"google"} & {*self.names, *scope}:
            return TYPE
        owner = self.check(node.operand, scope)
        if isinstance(owner, Record):
            found = _field(owner, node)
        elif owner.kind == "map":
            if owner.item.kind not in ("string", "dyn"):
                raise CelError(f"keys of this map are {owner.item}", node.start, hint="write map[key]")
            found = owner.value
        elif owner.kind == "dyn":
            found = DYN
        else:
            raise CelError(f'{owner} has no field "{node.field}"', node.operand.end, hint=_method_hint(node.field))
        return BOOL if isinstance(node, Has) else found

    def _index(self, node: Index, scope: Locals) -> AnyType:
        owner, key = self.check(node.operand, scope), self.check(node.key, scope)
        if owner.kind == "map" and isinstance(owner, Type):
            if not comparable(key, owner.item):
                raise CelError(f"this map has keys of {owner.item}, not {key}", node.key.start)
            return owner.value
        if owner.kind == "list" and isinstance(owner, Type):
            if key.kind not in ("int", "uint", "dyn"):
                raise CelError(f"a list is indexed by int, not {key}", node.key.start)
            return owner.item
        if owner.kind == "dyn":
            return DYN
        hint = "write record.field" if isinstance(owner, Record) else "only lists and maps are indexed"
        raise CelError(f"{owner} cannot be indexed", node.operand.end, hint=hint)

    def _call(self, node: Call, scope: Locals) -> AnyType:
        tables = METHODS if node.method else FUNCTIONS
        table = tables.get(node.name)
        at = node.args[0].end + 1 if node.method else node.start
        if table is None:
            other = FUNCTIONS if node.method else METHODS
            hint = f"write {_shape(node)}" if node.name in other else absent_hint(node.name)
            hint = hint or hint_for(node.name, tables)
            raise CelError(f"no {'method' if node.method else 'function'} {node.name}()", at, hint=hint)
        found = [self.check(arg, scope) for arg in node.args]
        return _resolve(table, found, f"{node.name}()", at)

    def _unary(self, node: Unary, scope: Locals) -> AnyType:
        if node.op == "!":
            self._bool(node.operand, scope, "!")
            return BOOL
        return _resolve(NEGATION, [self.check(node.operand, scope)], "-", node.start)

    def _binary(self, node: Binary, scope: Locals) -> AnyType:
        left, right = self.check(node.left, scope), self.check(node.right, scope)
        at = node.left.end
        if node.op in ("==", "!="):
            _check_equality(left, right, at)
            return BOOL
        if node.op == "in":
            _check_membership(left, right, at)
            return BOOL
        if node.op in ORDER:
            return _resolve(ORDER[node.op], [left, right], node.op, at)
        result = _resolve(ARITHMETIC[node.op], [left, right], node.op, at)
        if result.kind == "list" and isinstance(left, Type) and isinstance(right, Type):
            return list_of(_plain(join(left.item, right.item)))
        return result

    def _ternary(self, node: Ternary, scope: Locals) -> AnyType:
        self._bool(node.test, scope, "?")
        yes, no = self.check(node.yes, scope), self.check(node.no, scope)
        if not assignable(yes, no):
            raise CelError(f"one branch is {yes}, the other {no}", node.start, hint="both branches have one type")
        return join(yes, no)

    def _map(self, node: MapLit, scope: Locals) -> AnyType:
        for key in node.entries[::2]:
            found = self.check(key, scope)
            if found.kind not in KEY_KINDS:
                raise CelError(f"{found} cannot be a key", key.start, hint="keys are string, int, uint or bool")
        return map_of(self._joined(node.entries[::2], scope), self._joined(node.entries[1::2], scope))

    def _macro(self, node: Macro, scope: Locals) -> AnyType:
        over = self.check(node.range, scope)
        if isinstance(over, Record) or over.kind not in ("list", "map", "dyn"):
            raise CelError(f"{node.kind}() needs a list, not {over}", node.range.end)
        inner = {**scope, node.variable: over.item}
        if node.test is not None:
            self._bool(node.test, inner, f"{node.kind}()")
        if node.transform is not None:
            return list_of(_plain(self.check(node.transform, inner)))
        return list_of(over.item) if node.kind == "filter" else BOOL

    def _joined(self, nodes: Iterable[Node], scope: Locals) -> Type:
        """Returns the one type of several values, dyn where they differ or where there are none."""
        result: AnyType | None = None
        for node in nodes:
            found = self.check(node, scope)
            if isinstance(found, Record):
                raise CelError("a record cannot be part of a list or map", node.start)
            result = found if result is None else join(result, found)
        return DYN if result is None else _plain(result)

    def _bool(self, node: Node, scope: Locals, what: str) -> None:
        found = self.check(node, scope)
        if found.kind not in ("bool", "dyn"):
            hint = f"compare it: {what} takes true or false"
            raise CelError(f"{what} needs a bool, not {found}", node.start, hint=hint)


def _plain(found: AnyType) -> Type:
    return DYN if isinstance(found, Record) else found


def _field(owner: Record, node: Select | Has) -> AnyType:
    declared: AnyType | Optional | None = owner.fields.get(node.field)
    if declared is None:
        hint = hint_for(node.field, owner.fields)
        raise CelError(f'no field "{node.field}"', node.operand.end + 1, hint=hint)
    return required(declared)


def _method_hint(field: str) -> str:
    return f"write .{field}(...)" if field in METHODS else ""


def _shape(node: Call) -> str:
    """Returns how a function that is called the wrong way is called."""
    return f"{node.name}(x)" if node.method else f"x.{node.name}()"


def _resolve(table: Table, found: list[AnyType], name: str, at: int) -> Type:
    """Returns the type of a call. Raises CelError when no overload takes the arguments."""
    kinds = tuple(each.kind for each in found)
    fits = candidates(table, kinds)
    if fits and "record" not in kinds:
        return result_of(fits)
    hint = "" if len(kinds) != 2 else _mixing_hint(kinds[0], kinds[1])
    shown = ", ".join(map(str, found)) or "no arguments"
    raise CelError(f"{name} does not take {shown}", at, hint=hint or _takes(table))


def _mixing_hint(left: str, right: str) -> str:
    if left != right and {left, right} <= NUMERIC:
        return f"convert one: {left}(...) or {right}(...)"
    if "null" in (left, right):
        return "null is only compared, with == and !="
    return ""


def _takes(table: Table) -> str:
    shapes = [", ".join(kinds) for kinds in table]
    return "it takes " + " or ".join(shapes) if len(shapes) <= 8 else ""


def _check_equality(left: AnyType, right: AnyType, at: int) -> None:
    if isinstance(left, Record) or isinstance(right, Record):
        raise CelError("a record cannot be compared", at, hint="compare its fields")
    if comparable(left, right):
        return
    hint = "a declared value is never null; ask has(record.field)" if "null" in (left.kind, right.kind) else ""
    raise CelError(f"{left} and {right} are never equal", at, hint=hint)


def _check_membership(left: AnyType, right: AnyType, at: int) -> None:
    if isinstance(left, Record) or isinstance(right, Record) or right.kind not in ("list", "map", "dyn"):
        raise CelError(f"in needs a list or map, not {right}", at, hint='write x in ["a", "b"]')
    if right.kind != "dyn" and not comparable(left, right.item):
        raise CelError(f"{left} is never in {right}", at)
