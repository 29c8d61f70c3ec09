"""The tables that the build computes are the grammar's, and whatever else lies in their place is passed over."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lark import Lark
from lark.exceptions import UnexpectedInput
from lark.parsers.lalr_analysis import Shift

from discreet.policy.cel.build import Builder
from discreet.policy.cel.errors import CelError
from discreet.policy.cel.grammar import TABLES, computed, grammar, kept, parser
from discreet.policy.cel.guard import scan
from discreet.policy.cel.limits import Limits
from tests.policy.cel.world import lines


def rule(reduced: Any) -> tuple[object, ...]:
    """Returns what reducing a rule does."""
    named = [(str(symbol.name), symbol.is_term) for symbol in (reduced.origin, *reduced.expansion)]
    return named, reduced.alias, repr(reduced.options), reduced.order


def numbered_alike(lark: Lark) -> tuple[Any, ...]:
    """Returns all that a parser goes by, its states numbered in the order in which they are met."""
    table: Any = lark.parser.parser._parse_table
    (start,) = table.start_states.values()
    numbers, waiting, states = {start: 0}, [start], []
    while waiting:
        actions = []
        for token, (action, argument) in sorted(table.states[waiting.pop(0)].items()):
            if action is Shift and argument not in numbers:
                numbers[argument] = len(numbers)
                waiting.append(argument)
            actions.append((token, numbers[argument] if action is Shift else rule(argument)))
        states.append(actions)
    conf: Any = lark.lexer_conf
    terminals = sorted((each.name, repr(each.pattern), each.priority) for each in conf.terminals)
    return states, len(table.states), terminals, sorted(conf.ignore), sorted(conf.callbacks), conf.g_regex_flags


def told(lark: Lark, builder: Builder, text: str) -> str:
    """Returns the tree of a condition, or how the parser refuses it."""
    try:
        safe = scan(text, Limits())
        builder.literals = safe.literals
        return repr(lark.parse(safe.text))
    except CelError as error:
        return str(error)
    except UnexpectedInput as error:
        return type(error).__name__ + repr(getattr(error, "pos_in_stream", None))


def test_the_tables_of_this_environment_are_those_of_its_grammar(tmp_path: Path) -> None:
    """E1: what is installed needs no computing, and parses as what is computed from the text here and now."""
    assert kept(grammar()) is not None
    mine, theirs = parser(Builder()), parser(Builder(), tmp_path / "none.json")
    assert numbered_alike(mine) == numbered_alike(theirs)


def test_every_case_is_read_alike() -> None:
    """E1: trees and refusals of all the tables of cases, by either way to the parser."""
    ours, others = Builder(), Builder()
    by_table, by_text = parser(ours), parser(others, Path("/nowhere"))
    texts = [text for _, text, _ in lines()]
    assert len(texts) > 1_000
    assert [text for text in texts if told(by_table, ours, text) != told(by_text, others, text)] == []


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda data: data[:1_000],
        lambda data: b"",
        lambda data: b"[]",
        lambda data: b"\xff\xfe",
        lambda data: json.dumps({**json.loads(data), "of": ["0.1", *json.loads(data)["of"][1:]]}).encode(),
        lambda data: json.dumps({**json.loads(data), "of": [json.loads(data)["of"][0], "0" * 64, ""]}).encode(),
    ],
    ids=["cut", "empty", "of another shape", "not text", "of another lark", "of another grammar"],
)
def test_what_is_not_of_this_grammar_is_passed_over(tmp_path: Path, spoilt: Callable[[bytes], bytes]) -> None:
    """E1: a file that is damaged or was made of something else is none: the tables are computed."""
    path = tmp_path / "tables.json"
    path.write_bytes(spoilt(TABLES.read_bytes()))
    assert kept(grammar(), path) is None


def test_what_the_build_writes_is_taken_as_it_is(tmp_path: Path) -> None:
    """E1: computed, written and read again, the tables are what they were."""
    path = tmp_path / "tables.json"
    path.write_bytes(computed())
    assert kept(grammar(), path) is not None
    assert numbered_alike(parser(Builder(), path)) == numbered_alike(parser(Builder()))
