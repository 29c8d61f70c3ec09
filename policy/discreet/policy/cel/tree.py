"""A parsed condition as JSON-able data, so that whoever receives it needs no parser, and its digest.

A node is a list: its name, its span, then its parts in the order of their declaration. Bytes are a map with one key,
so that they are told from text; unsigned integers likewise.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from typing import Any, Final, get_args

from discreet.policy.cel.errors import CelError
from discreet.policy.cel.limits import DEFAULT, Limits
from discreet.policy.cel.nodes import Const, Node, bound
from discreet.policy.cel.values import Uint

VERSION: Final = 1
NODES: Final[dict[str, type[Any]]] = {each.__name__: each for each in get_args(Node)}
SPAN: Final = ("start", "end")

Tree = dict[str, Any]


def to_tree(text: str, root: Node) -> Tree:
    """Returns the data of a condition: its version, its text and its nodes."""
    return {"v": VERSION, "text": text, "root": _encode(root, spans=True)}


def from_tree(tree: object, limits: Limits = DEFAULT) -> tuple[str, Node]:
    """Returns the text and the nodes of such data. Raises CelError for anything else, within the same limits."""
    if not isinstance(tree, dict) or tree.get("v") != VERSION or not isinstance(tree.get("text"), str):
        raise CelError("not the tree of a condition of this version")
    root = _node(tree.get("root"), limits.depth_max)
    bound(root, limits)
    return tree["text"], root


def digest_of(root: Node) -> str:
    """Returns the SHA-256, in hex, of a tree without its spans: layout and brackets change nothing."""
    data = json.dumps(_encode(root, spans=False), separators=(",", ":"), ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(data.encode()).hexdigest()


def _encode(value: Any, *, spans: bool) -> Any:
    if type(value).__name__ in NODES and isinstance(value, get_args(Node)):
        names = [each.name for each in fields(value) if spans or each.name not in SPAN]
        return [type(value).__name__, *(_encode(getattr(value, name), spans=spans) for name in names)]
    if isinstance(value, tuple):
        return {"nodes": [_encode(each, spans=spans) for each in value]}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, Uint):
        return {"uint": int(value)}
    return value


def _node(data: Any, depth: int) -> Node:
    """Returns the node of a list, at most so many levels deep."""
    if depth < 0 or not isinstance(data, list) or not data or data[0] not in NODES:
        raise CelError("not the tree of a condition")
    made = NODES[data[0]]
    wanted = fields(made)
    if len(data) != len(wanted) + 1:
        raise CelError("not the tree of a condition")
    parts = [_part(value, each.name, made, depth) for value, each in zip(data[1:], wanted, strict=True)]
    node: Node = made(*parts)
    return node


def _part(value: Any, name: str, owner: type[Any], depth: int) -> Any:
    """Returns one part of a node, of the shape that its name has in every kind of node."""
    if name in SPAN and type(value) is int:
        return value
    if owner is Const and name == "value":
        return _constant(value)
    if isinstance(value, list):
        return _node(value, depth - 1)
    if isinstance(value, dict) and isinstance(value.get("nodes"), list):
        return tuple(_node(each, depth - 1) for each in value["nodes"])
    if value is None and name in ("test", "transform"):
        return None
    if isinstance(value, str | bool):
        return value
    raise CelError("not the tree of a condition")


def _constant(value: Any) -> Any:
    if isinstance(value, dict) and isinstance(value.get("bytes"), str):
        return bytes.fromhex(value["bytes"])
    if isinstance(value, dict) and type(value.get("uint")) is int:
        return Uint(value["uint"])
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise CelError("not the tree of a condition")
