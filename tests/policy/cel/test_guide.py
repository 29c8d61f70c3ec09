"""docs/conditions.md says what the code does: its generated parts, its examples, and every name of the language."""

from __future__ import annotations

import re
from typing import Final

import pytest

from discreet.policy.cel import Budget, CelError, compile_condition
from discreet.policy.cel.absent import EXTENSIONS
from discreet.policy.cel.build import MACROS
from discreet.policy.cel.functions import FUNCTIONS, METHODS
from discreet.policy.schema import BOUND
from tests.policy.cel.reference import DOCUMENT, MEANINGS, rendered
from tests.policy.cel.world import SCHEMA, activation

TEXT: Final = DOCUMENT.read_text(encoding="utf-8")
EXAMPLES: Final = re.findall(r"```cel\n(.*?)```", TEXT, re.DOTALL)


def test_its_tables_are_those_of_the_code() -> None:
    """E1: functions, operators, limits, errors and absences are as the code has them; the module rewrites them."""
    assert rendered(TEXT) == TEXT, "run: python -m tests.policy.cel.reference"


def test_every_name_has_a_meaning() -> None:
    """Functions, methods and macros, none missing and none left over."""
    assert set(MEANINGS) == {*FUNCTIONS, *METHODS}
    assert not [name for name in (*MACROS, "has") if f".{name}(x" not in TEXT and f"{name}(x" not in TEXT]


def test_its_examples_load() -> None:
    """E1: what an author copies from the guide is a condition over what a rule may read."""
    assert len(EXAMPLES) >= 2
    for example in EXAMPLES:
        compile_condition(example, BOUND)


@pytest.mark.parametrize(
    "condition",
    [
        "1 == 1.0", "9007199254740993 == 9007199254740992.0", "-7 / 2 == -3", "-7 % 2 == -1", "!(dyn(1) == 'a')",
        "!(double('NaN') == double('NaN'))", "[].all(x, false)", "![].exists(x, true)", "{'a': 1}.all(k, k == 'a')",
        "(false && 1 / 0 == 1) == (1 / 0 == 1 && false)", "[1, 2,].size() == 2",
    ],
)  # fmt: skip
def test_what_it_states_is_so(condition: str) -> None:
    """E1: the statements of the guide, each as a condition that is true."""
    assert compile_condition(condition, SCHEMA).evaluate(activation(), Budget())


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_whoever_calls_an_extension_is_told_that_it_is_one(extension: str) -> None:
    """E1: each of its names is refused as known and left out, called as a function or as a method."""
    for name in EXTENSIONS[extension]:
        if name in METHODS:
            continue
        for text in (f"{name}(1) == 1", f"doc.kind.{name}('x') == 1", f"data.{name}(1) == 1"):
            with pytest.raises(CelError, match=f"no (method|function) {name}"):
                compile_condition(text, SCHEMA)
            with pytest.raises(CelError, match=f'extension "{extension}", which is not offered'):
                compile_condition(text, SCHEMA)
