"""Test files with something wrong in them, anywhere: told or run, and never the end of the program."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.check import check_set
from discreet.policy.problems import PolicyProblems
from discreet.policy.testing import prepare
from discreet.policy.testing.coverage import Coverage
from discreet.policy.yaml import plain, read
from tests.policy.testing.folder import HEAD, RULES, files
from tests.policy.testing.test_matrices import MATRIX, TABLE
from tests.policy.testing.test_sequences import LIFE, RECEIPTS

CHANGED = """- name: changed
  principal: ana
  steps:
  - {commit: n/open, as: shown, expect: {verdict: ALLOW}}
  - policy: {parameters: {}}
  - {commit-again: shown, expect: {verdict: ALLOW}}
"""
WHOLE = HEAD + MATRIX + TABLE + LIFE + RECEIPTS.removeprefix("sequences:\n") + CHANGED
(DOCUMENT,), _ = read("a_test.yaml", WHOLE.encode())
TREE: dict[str, Any] = json.loads(json.dumps(plain(DOCUMENT.root)))
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, 7, -1.5, "", "x", "n/open", "ana", "answer", [], {}, [[]], [None], [{}], {"x": {}}),
        *(["n/open", "n/open"], {"record-id": "n/open"}, {"id": "ana"}, {"verdict": "ALLOW"}, {"principal": ["ana"]}),
    ]
)


def ways(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every way into a tree."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(inner for key, each in below for inner in ways(each, (*way, key)))]


WAYS = [way for way in ways(TREE) if way]


def damaged(way: tuple[Any, ...], odd: Any, rename: str) -> bytes:
    """The file with one value replaced, or one key renamed."""
    tree: Any = json.loads(json.dumps(TREE))
    at = tree
    for step in way[:-1]:
        at = at[step]
    if rename and isinstance(at, dict):
        at[rename] = at.pop(way[-1])
    else:
        at[way[-1]] = odd
    return json.dumps(tree).encode()


@given(way=st.sampled_from(WAYS), odd=ODD, rename=st.sampled_from(["", "", "", "expect", "matrix", "steps", "x", "at"]))
def test_a_damaged_file_is_told_or_run(way: tuple[Any, ...], odd: Any, rename: str) -> None:
    """E1: whatever stands wherever in a test, `policy check` says what is wrong with it or the tests run."""
    folder = files("") | {"a_test.yaml": damaged(way, odd, rename)}
    problems = check_set(folder).problems
    assert all(re.fullmatch(r"a_test\.yaml:\d+:\d+: .+", str(problem)) for problem in problems)
    try:
        prepared = prepare(folder)
    except PolicyProblems:
        assert problems
        return
    assert not problems
    coverage = Coverage(folder, prepared)
    for one in prepared:
        assert all(result.name for result in one.results(coverage.watch))


def test_the_file_that_is_damaged_is_whole() -> None:
    """What is broken above was right before."""
    assert not check_set(files("", RULES) | {"a_test.yaml": json.dumps(TREE).encode()}).problems
