"""The lines of the tables with words exchanged for others of their sort, in Google's own implementation."""

from __future__ import annotations

import datetime as dt
import random
import re
from typing import Final

import pytest

from discreet.policy.cel.values import TypeValue
from tests.policy.cel.oracle import known_differences, ours, theirs
from tests.policy.cel.test_known_differences import ENV, RECORDS, comparable
from tests.policy.cel.test_oracle import ROUNDS, SEED
from tests.policy.cel.world import activation, outcome_of

COUNT: Final = 4_000
TOKEN: Final = re.compile(
    r"""[rRbB]{0,2}"(?:[^"\\]|\\.)*"|[rRbB]{0,2}'[^']*'|[A-Za-z_]\w*|0x[0-9a-fA-F]+u?|\d+\.\d+(?:[eE][+-]?\d+)?|\d+u?"""
    r"""|&&|\|\||[=!<>]=|\s+|.""",
    re.DOTALL,
)
OPERATORS: Final = frozenset("+ - * / % < > <= >= == != && ||".split())
#: What the list of known differences has by reason, and no pattern on a message can tell.
RAW_BACKSLASH: Final = re.compile(r"""[rR]["'].*\\["']""")
#: An exchange of words can come to an expression that the list has as it stands.
LISTED: Final = frozenset(text for each in known_differences() for text in each.expressions)


def sort_of(token: str) -> str:
    """Returns what a token may be exchanged for: `text`, `number`, `word` or `operator`; empty for nothing."""
    if token[-1] in "\"'":
        return "text"
    if token[0].isdigit():
        return "number"
    if token[0].isalpha() or token[0] == "_":
        return "word"
    return "operator" if token in OPERATORS else ""


def holds_type(value: object) -> bool:
    """Says whether a value is a type or a list with one, which the oracle hands over in a form of its own."""
    return isinstance(value, TypeValue) or (isinstance(value, list) and any(map(holds_type, value)))


def exchanged(chance: random.Random, tokens: list[str], words: dict[str, list[str]]) -> str:
    """Returns an expression with up to three of its tokens exchanged."""
    edited = list(tokens)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(edited))
        if edited[at].strip() and sort_of(edited[at]):
            edited[at] = chance.choice(words[sort_of(edited[at])])
    return "".join(edited)


def agree(text: str, mine: str, other: str) -> bool:
    """Says whether two forms are the same, but for the order in which a map gave its keys."""
    return mine == other or ("{" in text and sorted(mine) == sorted(other)) or bool(RAW_BACKSLASH.search(text))


@pytest.mark.hypothesis
@pytest.mark.parametrize("part", range(ROUNDS // 7))
def test_what_has_a_value_has_the_oracles(part: int) -> None:
    """F12: near misses of what the language allows either fail here or come to the same value there."""
    chance, lines = random.Random(SEED + part), [TOKEN.findall(text) for text in comparable()]
    words: dict[str, list[str]] = {}
    for token in sorted({token for line in lines for token in line if token.strip()}):
        words.setdefault(sort_of(token), []).append(token)
    values = activation()
    data = {**values, "now": dt.datetime.fromisoformat(str(values["now"]))}
    wrong, compared = [], 0
    for _ in range(COUNT):
        text = exchanged(chance, chance.choice(lines), words)
        sort, value = outcome_of(text)
        if sort != "value" or holds_type(value) or text in LISTED or RECORDS.search(text):
            continue
        compared += 1
        other = theirs(text, ENV, {name: data[name] for name in ("data", "flag", "now")})
        if not agree(text, ours(value), other):
            wrong.append(f"{text}\n    ours {ours(value)}, theirs {other}")
    assert not wrong, "\n".join(wrong[:20])
    assert compared > COUNT // 6
