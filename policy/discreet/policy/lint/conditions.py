"""What single parts of a condition say that their author most likely did not mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from discreet.policy.cel import Condition
from discreet.policy.cel.nodes import Binary, Call, Const, ListLit, Logic, Macro, Node, Ternary, Unary, children
from discreet.policy.cel.paths import fixed_path
from discreet.policy.idents import kind_problem, label_problem
from discreet.policy.lint.absent import absent_reads
from discreet.policy.lint.judged import Judged
from discreet.policy.lint.truth import conjuncts, name_of
from discreet.policy.problems import Code, PolicyProblem, did_you_mean, quoted
from discreet.policy.schema import DOCUMENT, schema_for

#: Lists of which a gate has shown that something is in them: whoever reads holds one of the record's scopes.
_NEVER_EMPTY: Final = frozenset({"document.scopes", "principal.scopes"})
_HELD_BY_A_SCHEME: Final = {"segment.kind": kind_problem, "request.tenant": label_problem}


def condition_warnings(rule: Judged) -> Iterator[PolicyProblem]:
    """Yields the warnings of a rule's condition."""
    if rule.condition is None:
        return
    yield from _unequal(rule, rule.condition)
    yield from _shadowed(rule, rule.condition)
    yield from _absent(rule, rule.condition)
    if rule.allows and rule.always is None:
        yield from _of_nothing(rule, rule.condition)


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in children(node):
        yield from _nodes(child)


def _unequal(rule: Judged, condition: Condition) -> Iterator[PolicyProblem]:
    """Texts that are compared with what can never hold them."""
    for node in _nodes(condition.root):
        if not isinstance(node, Binary) or node.op not in ("==", "!=", "in"):
            continue
        for side, other in ((node.left, node.right), (node.right, node.left)):
            path = fixed_path(side)
            if path is None or (node.op == "in" and side is node.right):
                continue
            for constant in other.items if isinstance(other, ListLit) and node.op == "in" else (other,):
                if isinstance(constant, Const) and isinstance(constant.value, str):
                    yield from _unheld(rule, path, constant.value, constant.start)


def _unheld(rule: Judged, path: str, text: str, offset: int) -> Iterator[PolicyProblem]:
    words = rule.vocabulary.words.get(path)
    scheme = _HELD_BY_A_SCHEME.get(path)
    if words is not None and text not in words:
        yield rule.warn_at(offset, f"{path} is never {quoted(text)}", did_you_mean(text, words), Code.NEVER)
    elif scheme is not None and scheme(text) is not None:
        hint = f"did you mean {quoted(text.lower())}?" if scheme(text.lower()) is None else ""
        yield rule.warn_at(offset, f"{path} is never {quoted(text)}", hint, Code.NEVER)


def _shadowed(rule: Judged, condition: Condition) -> Iterator[PolicyProblem]:
    """Names behind which another hides: a variable of a macro, or an attribute of the record called like a field."""
    known = schema_for(rule.item.grounding).names
    for node in _nodes(condition.root):
        if isinstance(node, Macro) and node.variable in known:
            what = f"the variable {quoted(node.variable)} of {node.kind}() hides {node.variable} itself"
            yield rule.warn_at(node.start, what, "give the variable another name", Code.SHADOWED)
        path = fixed_path(node) if not isinstance(node, Const) else None
        name = path.removeprefix("document.attributes.") if path is not None else ""
        if path == f"document.attributes.{name}" and name in DOCUMENT.fields:
            what = f"{path} is whatever the collector wrote there; document.{name} is what the index knows"
            yield rule.warn_at(node.start, what, f"write document.{name} if that is meant", Code.SHADOWED)


def _absent(rule: Judged, condition: Condition) -> Iterator[PolicyProblem]:
    """Reads of what may be absent without `has`, where the error that follows is a surprise."""
    told: set[str] = set()
    for read in absent_reads(condition):
        if read.path in told or (read.macro == "" and rule.allows):
            continue
        told.add(read.path)
        hint = f"write has({read.path}) && ... first; or !has({read.path}) || ... where its absence shall count as true"
        if read.macro:
            what = (
                f"an item without {read.path} makes {read.macro}() an error, which withholds, unless another settles it"
            )
        else:
            what = f"where {read.path} is absent the rule {rule.name} is an error, and an error withholds"
        yield rule.warn_at(read.offset, what, hint, Code.ABSENT)


def _of_nothing(rule: Judged, condition: Condition) -> Iterator[PolicyProblem]:
    """`all()` that an ALLOW rests on, over a list that may be empty."""
    for macro in _rested_on(condition.root, frozenset()):
        shown = condition.text[macro.range.start : macro.range.end]
        what = f"all() of an empty list is true, so {rule.name} allows where {shown} holds nothing"
        hint = f"write size({shown}) > 0 && ... first; or !exists(...) of the contrary where nothing is enough"
        yield rule.warn_at(macro.start, what, hint, Code.EMPTY_LIST)


def _rested_on(node: Node, filled: frozenset[str]) -> Iterator[Macro]:
    """Yields each `all()` whose truth makes the condition true, but those over what is known to hold something."""
    match node:
        case Logic(op="&&"):
            parts = conjuncts(node)
            filled |= {name for part in parts for name in _filled(part)}
            for part in parts:
                yield from _rested_on(part, filled)
        case Logic():
            for part in node.parts:
                yield from _rested_on(part, filled)
        case Ternary():
            yield from _rested_on(node.yes, filled | frozenset(_filled(node.test)))
            yield from _rested_on(node.no, filled)
        case Macro(kind="all") if fixed_path(node.range) not in _NEVER_EMPTY and not _has_items(node.range):
            if name_of(node.range) not in filled:
                yield node


def _has_items(node: Node) -> bool:
    return isinstance(node, ListLit) and bool(node.items)


def _filled(node: Node) -> Iterator[str]:
    """Yields the lists that hold something where a part is true."""
    match node:
        case Macro(kind="exists" | "exists_one"):
            yield name_of(node.range)
        case Binary(op="in"):
            yield name_of(node.right)
        case Binary(op="!="):
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if (isinstance(other, ListLit) and not other.items) or (isinstance(other, Const) and other.value == 0):
                    yield from _sized(side) if isinstance(other, Const) else (name_of(side),)
        case Binary(op=">" | ">=" | "=="):
            least = {">": 0, ">=": 1, "==": 1}[node.op]
            if isinstance(node.right, Const) and isinstance(node.right.value, int) and node.right.value >= least:
                yield from _sized(node.left)
        case Binary(op="<" | "<="):
            least = 0 if node.op == "<" else 1
            if isinstance(node.left, Const) and isinstance(node.left.value, int) and node.left.value >= least:
                yield from _sized(node.right)
        case Unary(op="!", operand=Binary(op="==") as below):
            yield from _filled(Binary(below.start, below.end, "!=", below.left, below.right))
        case Logic(op="&&"):
            for part in node.parts:
                yield from _filled(part)


def _sized(node: Node) -> Iterator[str]:
    if isinstance(node, Call) and node.name == "size" and len(node.args) == 1:
        yield name_of(node.args[0])
