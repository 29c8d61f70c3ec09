"""The parser of cel-python's grammar, from the tables that the build left beside this file, or from its text.

Of cel-python only its grammar file is used: importing the package costs 0.3 s, keeps its parser in a global and raises
the recursion limit of the process. Computing the tables of the grammar costs as much again in every process that reads
a policy, so they are computed when the package is built. Tables of another lark, another grammar or other options than
those found here are passed over. The build reads this file alone: it imports nothing of the package.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lark import Lark, Token

PACKAGE: Final = "celpy"
TABLES: Final = Path(__file__).with_name("tables.json")
OPTIONS: Final[dict[str, Any]] = {
    "parser": "lalr",
    "start": "expr",
    "g_regex_flags": re.MULTILINE,
    "maybe_placeholders": False,
    "keep_all_tokens": True,
    "priority": "invert",
}


def parser(builder: Any, tables: Path = TABLES) -> Lark:
    """Returns the table-driven parser, which does not recurse; `builder` makes the tree while it reduces.

    Raises ModuleNotFoundError where cel-python is not installed.
    """
    from lark import Lark

    kind: Any = Lark
    text = grammar()
    calls: dict[str, Any] = {"transformer": builder, "lexer_callbacks": {"IDENT": _bool_or_name}}
    found = kept(text, tables)
    if found is None:
        return Lark(text, **OPTIONS, **calls)
    loaded: Lark = kind._load_from_dict(found["data"], found["memo"], **calls)  # noqa: SLF001 - `load` wants a pickle
    return loaded


def grammar() -> str:
    """Returns the text of cel-python's grammar, whose package is found without importing it."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("cel-python is not installed", name=PACKAGE)
    return Path(spec.origin).with_name("cel.lark").read_text(encoding="utf-8")


def computed() -> bytes:
    """Returns the tables of the grammar as JSON, with what they were made of."""
    from lark import Lark
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    text = grammar()
    data, memo = Lark(text, **OPTIONS).memo_serialize([TerminalDef, Rule])
    return json.dumps({"of": _made_of(text), "data": data, "memo": memo}, separators=(",", ":")).encode()


def kept(text: str, tables: Path = TABLES) -> Any:
    """Returns what a file of tables holds; None where there is none, or not one of this grammar and this lark."""
    try:
        found = json.loads(tables.read_bytes(), object_pairs_hook=_numbered)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("of") == _made_of(text) else None


def _made_of(text: str) -> list[str]:
    import lark

    return [lark.__version__, hashlib.sha256(text.encode()).hexdigest(), repr(OPTIONS)]


def _numbered(pairs: list[tuple[str, Any]]) -> dict[Any, Any]:
    """Returns a mapping with its keys as they were: lark numbers states, tokens and rules, and JSON has only texts."""
    return {int(key) if key.isdecimal() else key: value for key, value in pairs}


def _bool_or_name(token: Token) -> Token:
    """Returns the token of `true` and `false`, which the grammar cannot tell from names."""
    return token.update(type="BOOL_LIT") if token.value in ("true", "false") else token
