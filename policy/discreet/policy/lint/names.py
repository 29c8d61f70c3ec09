"""Names that a set declares and nothing uses: constants, named conditions, parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from discreet.policy.model import Loaded
from discreet.policy.problems import Code, PolicyProblem, problem, quoted
from discreet.policy.yaml import Document, Entries, Items, Node, Scalar

_USE: Final = re.compile(r"\b(constants|conditions|parameters)\s*\.\s*([a-z][a-z0-9_]*)")


def name_warnings(loaded: Loaded) -> Iterator[PolicyProblem]:
    """Yields a warning for each name that stands in no condition and in no `{parameter: name}`.

    A condition is read as text, so that a name in a comment or a literal counts as used: what is warned of is unused.
    """
    used = {use for text in _conditions(loaded) for use in _USE.findall(text)}
    used |= {("parameters", name) for document in _documents(loaded) for name in _parameters(document.root)}
    for placed in loaded.definitions:
        for key, names in (("constants", placed.value.constants), ("conditions", placed.value.conditions)):
            for name in names:
                if (key, name) not in used:
                    what = f"no condition uses {key}.{name}"
                    yield problem(placed.key_place(key, name), what, "use it or remove it", Code.UNUSED)
    for found in loaded.sets:
        for name in found.value.parameters:
            if ("parameters", name) not in used:
                what = f"nothing depends on the parameter {quoted(name)}"
                yield problem(found.key_place("parameters", name), what, "use it or remove it", Code.UNUSED)


def _conditions(loaded: Loaded) -> Iterator[str]:
    for rule in loaded.rules:
        yield rule.value.when or ""
    for placed in loaded.definitions:
        yield from (text for text in placed.value.conditions.values() if isinstance(text, str))


def _documents(loaded: Loaded) -> Iterable[Document]:
    placed = (*loaded.sets, *loaded.source_lists, *loaded.policies, *loaded.definitions)
    return [each.document for each in placed]


def _parameters(root: Node) -> Iterator[str]:
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, Items):
            pending += node.items
        elif isinstance(node, Entries):
            pending += (entry.value for entry in node.entries.values())
            named = node.entries["parameter"].value if node.entries.keys() == {"parameter"} else None
            if isinstance(named, Scalar) and isinstance(named.value, str):
                yield named.value
