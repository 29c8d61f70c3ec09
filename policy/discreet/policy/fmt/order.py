"""The order of keys in each kind of document: that in which the models declare them, and for rules that of a sentence.

Tests are read as stories: their keys stay as their authors have them, but for the name, which comes first, and what is
expected, which comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from pydantic import BaseModel

from discreet.policy.model.errors import model_in
from discreet.policy.model.kinds import Kind, RuleItem, SourceItem
from discreet.policy.model.load import KINDS, TEST_KIND
from discreet.policy.yaml import Entries, Node, Scalar

Path = tuple[str, ...]
"""Keys from the root; items of lists are passed through."""
Order = Callable[[Path, str], int]
"""Gives the rank of a key of the mapping at a path; keys of one rank stay in the order of their author."""

RULE_KEYS: Final = (
    *("id", "effect", "mode", "moments", "grounding", "sources", "kinds", "from", "until", "when"),
    *("custom-reason", "text", "advice"),
)
_MIDDLE: Final = 1_000
_LAST: Final = 2_000
_ITEMS: Final[Mapping[tuple[str, Path], type[BaseModel]]] = {
    ("SourceList", ("sources",)): SourceItem,
    ("DisclosurePolicy", ("rules",)): RuleItem,
}
"""Lists whose items are judged one by one, so that the models do not say what is in them."""


def order_of(root: Node) -> Order:
    """Returns the order of the keys of a document."""
    found = root.entries["kind"].value if isinstance(root, Entries) else None
    kind = str(found.value) if isinstance(found, Scalar) else ""
    if kind == TEST_KIND:
        return _story

    @cache
    def ranks(path: Path) -> Mapping[str, int]:
        return {key: rank for rank, key in enumerate(_keys(kind, path))}

    return lambda path, key: ranks(path).get(key, _MIDDLE)


def _story(path: Path, key: str) -> int:
    if not path:
        return next((rank for rank, name in enumerate(_names(Kind)) if name == key), _MIDDLE)
    return {"name": 0, "expect": _LAST}.get(key, _MIDDLE) if path in (("cases",), ("cases", "steps")) else _MIDDLE


def _keys(kind: str, path: Path) -> tuple[str, ...]:
    model: type[BaseModel] | None = KINDS.get(kind)
    for depth, step in enumerate(path, start=1):
        fields = model.model_fields.items() if model is not None else ()
        field = next((field for name, field in fields if step == (field.alias or name)), None)
        model = _ITEMS.get((kind, path[:depth])) or (model_in(field.annotation) if field is not None else None)
    return () if model is None else RULE_KEYS if model is RuleItem else _names(model)


def _names(model: type[BaseModel]) -> tuple[str, ...]:
    return tuple(field.alias or name for name, field in model.model_fields.items())
