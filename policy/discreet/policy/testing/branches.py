"""The boolean structure of conditions: its parts, where each stands, and trees with one part changed.

A part is what `&&`, `||`, `!` and the ternary join, down to what they join no further.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from discreet.policy.cel import Condition
from discreet.policy.cel.nodes import Logic, Node, Ternary, Unary
from discreet.policy.compile import load_set
from discreet.policy.model import RuleItem
from discreet.policy.model.load import Placed
from discreet.policy.problems import Place
from discreet.policy.rule_index import precedence
from discreet.policy.snapshot import Rule, Snapshot
from discreet.policy.yaml import Scalar, source_offset

Way = tuple[int, ...]
"""From the whole condition to a part: which of the joined parts to take, level by level."""


class Branch(NamedTuple):
    """A part of a condition. `joined`: the operator that joins it to its neighbours, "" for the whole."""

    way: Way
    node: Node
    joined: str


def branches(condition: Condition) -> list[Branch]:
    """Returns the parts of a condition, the whole first, in the order of `Condition.explain`."""
    return list(_branches(condition.root, (), ""))


def _branches(node: Node, way: Way, joined: str) -> Iterator[Branch]:
    yield Branch(way, node, joined)
    below, word = _joined(node)
    for position, part in enumerate(below):
        yield from _branches(part, (*way, position), word)


def _joined(node: Node) -> tuple[tuple[Node, ...], str]:
    match node:
        case Logic():
            return node.parts, node.op
        case Unary() if node.op == "!":
            return (node.operand,), "!"
        case Ternary():
            return (node.test, node.yes, node.no), "?:"
        case _:
            return (), ""


def changed(node: Node, way: Way, part: Node) -> Node:
    """Returns a tree with the part at the end of a way put in place of the one that is there."""
    if not way:
        return part
    at, rest = way[0], way[1:]
    match node:
        case Logic():
            parts = [changed(each, rest, part) if i == at else each for i, each in enumerate(node.parts)]
            return replace(node, parts=tuple(parts))
        case Unary():
            return replace(node, operand=changed(node.operand, rest, part))
        case Ternary():
            test, yes, no = (
                changed(each, rest, part) if i == at else each for i, each in enumerate((node.test, node.yes, node.no))
            )
            return replace(node, test=test, yes=yes, no=no)
        case _:
            raise ValueError("the way leads to no part of this condition")


def rules_of(snapshot: Snapshot) -> list[Rule]:
    """Returns every rule of a revision once, withholding ones first, by id."""
    index, found = snapshot.rules, dict[str, Rule]()
    for group in (index.by_source, index.any_source, index.by_kind, index.any_kind):
        for rules in group.values():
            for rule in (*rules.plain, *(rule for keyed in rules.keyed for rule in keyed.rules)):
                found.setdefault(rule.id, rule)
    return sorted(found.values(), key=precedence)


class Places:
    """Where the rules of a folder stand, and the parts of their conditions."""

    def __init__(self, files: Mapping[str, bytes], environment: str = "") -> None:
        loaded, _ = load_set(files, environment)
        self._placed: dict[str, Placed[RuleItem]] = {placed.value.id: placed for placed in loaded.rules}

    def rule(self, rule_id: str) -> Place:
        """Returns where a rule stands."""
        return self._placed[rule_id].place()

    def part(self, rule_id: str, offset: int) -> Place:
        """Returns where a part of a rule's condition stands; one of a named condition where the rule uses it."""
        placed = self._placed[rule_id]
        node = placed.document.node((*placed.path, "when"))
        written = placed.value.when or ""
        if isinstance(node, Scalar) and node.value == written and offset < len(written):
            source = placed.document.source
            return source.place_at(source_offset(source.text, node, offset))
        return node.place if isinstance(node, Scalar) else placed.place()
