"""A parsed condition as JSON-able data, so that whoever receives it needs no parser, and its digest.

A node is a list: its name, its span, then its parts in the order of their declaration. Bytes are a map with one key,
so that they are told from text; unsigned integers likewise.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from typing import Any, Final, get_args

from discreet.policy.cel.build import MACROS
from discreet.policy.cel.errors import CelError
from discreet.policy.cel.limits import DEFAULT, Limits
from discreet.policy.cel.nodes import Binary, Call, Const, Logic, Macro, MapLit, Node, Unary, bound
from discreet.policy.cel.operators import ARITHMETIC, ORDER
from discreet.policy.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

VERSION: Final = 1
NODES: Final[dict[str, type[Any]]] = {each.__name__: each for each in get_args(Node)}
SPAN: Final = ("start", "end")
TEXTS: Final = frozenset({"field", "kind", "name", "op", "variable"})
LISTS: Final = frozenset({"args", "entries", "items", "parts"})
OPTIONAL: Final = frozenset({"test", "transform"})
#: The names of the parts of each kind of node, behind its span, in the order of their declaration.
_PARTS: Final = {made: tuple(each.name for each in fields(made) if each.name not in SPAN) for made in NODES.values()}
BINARY: Final = frozenset({"==", "!=", "in", *ORDER, *ARITHMETIC})
NOT_A_TREE: Final = "not the tree of a condition"

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
    names = _PARTS.get(type(value))
    if names is not None:
        shown = (*SPAN, *names) if spans else names
        return [type(value).__name__, *(_encode(getattr(value, name), spans=spans) for name in shown)]
    if isinstance(value, tuple):
        return {"nodes": [_encode(each, spans=spans) for each in value]}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, Uint):
        return {"uint": int(value)}
    return value


def _node(data: Any, depth: int) -> Node:
    """Returns the node of a list, at most so many levels deep."""
    made = NODES.get(data[0]) if isinstance(data, list) and data and isinstance(data[0], str) else None
    if depth <= 0 or made is None:
        raise CelError(NOT_A_TREE)
    wanted = fields(made)
    if len(data) != len(wanted) + 1:
        raise CelError(NOT_A_TREE)
    parts = [_part(value, each.name, made, depth) for value, each in zip(data[1:], wanted, strict=True)]
    node: Node = made(*parts)
    if not _sound(node):
        raise CelError(NOT_A_TREE)
    return node


def _part(value: Any, name: str, owner: type[Any], depth: int) -> Any:
    """Returns one part of a node, of the shape that its name has in every kind of node."""
    if name in SPAN:
        fits = type(value) is int
    elif owner is Const:
        return _constant(value)
    elif name in TEXTS:
        fits = isinstance(value, str)
    elif name == "method":
        fits = isinstance(value, bool)
    elif name in LISTS:
        if not isinstance(value, dict) or not isinstance(value.get("nodes"), list):
            raise CelError(NOT_A_TREE)
        return tuple(_node(each, depth - 1) for each in value["nodes"])
    elif value is None and name in OPTIONAL:
        return None
    else:
        return _node(value, depth - 1)
    if not fits:
        raise CelError(NOT_A_TREE)
    return value


def _sound(node: Node) -> bool:
    """Says whether a node has what the parser would have given it, beyond the types of its parts."""
    match node:
        case Binary():
            return node.op in BINARY
        case Unary():
            return node.op in ("!", "-")
        case Logic():
            return node.op in ("&&", "||") and len(node.parts) >= 2
        case Call():
            return bool(node.args) or not node.method
        case MapLit():
            return len(node.entries) % 2 == 0
        case Macro():
            tests, transforms = node.test is not None, node.transform is not None
            return transforms if node.kind == "map" else node.kind in MACROS and tests and not transforms
        case _:
            return True


def _constant(value: Any) -> Any:
    """Returns the value of a literal, within the range of its type."""
    if isinstance(value, dict) and isinstance(value.get("bytes"), str):
        try:
            return bytes.fromhex(value["bytes"])
        except ValueError:
            raise CelError(NOT_A_TREE) from None
    unsigned = value.get("uint") if isinstance(value, dict) else None
    if type(unsigned) is int and 0 <= unsigned <= UINT_MAX:
        return Uint(unsigned)
    if value is None or isinstance(value, bool | float | str) or (type(value) is int and INT_MIN <= value <= INT_MAX):
        return value
    raise CelError(NOT_A_TREE)
