"""Conditions that read what the audit may not hold: what they decide cannot be decided again from a row alone.

Whether an attribute is there is on record, masked or not: `has(principal.attributes.x)` and `"x" in
principal.attributes` read no value. Knows nothing of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from discreet.policy.cel.nodes import Binary, Has, Macro, Node, children
from discreet.policy.cel.paths import fixed_path
from discreet.policy.lint.judged import Judged
from discreet.policy.model import Loaded
from discreet.policy.problems import Code, PolicyProblem, quoted

ATTRIBUTES = "principal.attributes"
HINT = "its decisions cannot be replayed from the audit"


def masked_warnings(loaded: Loaded, rules: Iterable[Judged]) -> Iterator[PolicyProblem]:
    """Yields a warning for each masked attribute that a rule's condition reads, and for a read of all attributes."""
    masked = frozenset(name for placed in loaded.sets for name in placed.value.audit.mask)
    for rule in rules if masked else ():
        if rule.condition is not None:
            yield from _of_rule(rule, rule.condition.root, masked)


def _of_rule(rule: Judged, root: Node, masked: frozenset[str]) -> Iterator[PolicyProblem]:
    told: set[str] = set()
    for name, offset in attributes_read(root):
        if name in told or (name and name not in masked):
            continue
        told.add(name)
        read = f"the attribute {quoted(name)}, which" if name else "any attribute of the principal, some of which"
        what = f"the rule {rule.name} reads {read} the audit masks"
        yield rule.warn_at(offset, what, HINT, Code.MASKED)


def attributes_read(node: Node, variables: frozenset[str] = frozenset()) -> Iterator[tuple[str, int]]:
    """Yields the name of each attribute whose value is read, empty where it may be any, and the reading's offset."""
    path = fixed_path(node)
    if path is not None:
        if _root(path) not in variables:
            yield from _named(path, node.start)
    elif isinstance(node, Has):
        above = fixed_path(node.operand)
        if above is None or above not in ("principal", ATTRIBUTES):
            yield from attributes_read(node.operand, variables)
    elif isinstance(node, Binary) and node.op == "in" and fixed_path(node.right) == ATTRIBUTES:
        yield from attributes_read(node.left, variables)
    else:
        for child in children(node):
            inside = isinstance(node, Macro) and child is not node.range
            yield from attributes_read(
                child, variables | {node.variable} if inside and isinstance(node, Macro) else variables
            )


def _root(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def _named(path: str, offset: int) -> Iterator[tuple[str, int]]:
    if path in ("principal", ATTRIBUTES):
        yield "", offset
    elif path.startswith(f"{ATTRIBUTES}."):
        yield _root(path.removeprefix(f"{ATTRIBUTES}.")), offset
