"""Warnings are true: no condition told to be never true is ever true, and a rule told to be idle can be taken out."""

from __future__ import annotations

import itertools
import random
import re
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.policy.cel import (
    BOOL,
    DYN,
    MAP_DYN,
    STRING,
    Budget,
    CelError,
    Condition,
    ConditionFailure,
    Record,
    Schema,
    compile_condition,
)  # fmt: skip
from discreet.policy.check import check_set
from discreet.policy.lint.conditions import condition_warnings
from discreet.policy.lint.judged import judged_rules
from discreet.policy.lint.known import keys
from discreet.policy.lint.truth import name_of, truth
from discreet.policy.model import load
from discreet.policy.problems import Code
from discreet.policy.snapshot import Rule
from discreet.policy.words import Effect, Grounding, Moment
from tests.policy.cel.generator import Generator
from tests.policy.sets.sets import a_set
from tests.policy.sets.test_order import arranged, some_rules, verdicts
from tests.tidy.tree import ROOT

WORLD: Final = Schema({"r": Record({"text": STRING, "flag": BOOL, "any": DYN, "map": MAP_DYN})})
KNOWN: Final = {"r.text": keys(["a", "b"])}
ABSENT: Final = object()
TEXTS, FLAGS = ("a", "b", "c"), (True, False)
VALUES = (0, 1, 2.0, float("nan"), "a", True, None, ABSENT)
WORLDS: Final = [
    {"r": {"text": text, "flag": flag, "any": value, "map": {} if value is ABSENT else {"k": value}}}
    for text, flag, value in itertools.product(TEXTS, FLAGS, VALUES)
]


def atom(chance: random.Random) -> str:
    """Returns a comparison over few names and few values, so that they meet."""
    text = f'"{chance.choice("abc")}"'
    number = chance.choice(["0", "1", "1.0", "2"])
    path = chance.choice(["r.any", "r.map.k"])
    shapes = (
        f"r.text {chance.choice(['==', '!='])} {text}",
        f"{text} == r.text",
        f'r.text in [{text}, "{chance.choice("abc")}"]',
        "r.flag",
        "r.flag == true",
        "has(r.map.k)",
        f"{path} {chance.choice(['<', '<=', '>', '>=', '==', '!='])} {number}",
        f"{number} {chance.choice(['<', '<=', '>', '>=', '=='])} {path}",
        f'{path} == "a"',
        f"{path} in [{number}, {text}]",
        chance.choice(["true", "false", "1 < 2", "[].all(x, x)", "r.text == r.text"]),
    )
    return chance.choice(shapes)


def expression(chance: random.Random, depth: int) -> str:
    """Returns atoms joined at random."""
    if depth == 0 or chance.random() < 0.2:
        return atom(chance)
    first, second = (expression(chance, depth - 1) for _ in range(2))
    joined = (
        f"({first} && {second})",
        f"({first} || {second})",
        f"!({first})",
        f"({first} ? {second} : {atom(chance)})",
    )
    return chance.choice((joined[0], *joined))


def outcomes(condition: Condition) -> set[bool]:
    """Returns the values that a condition has over all worlds in which the facts that are known hold."""
    found = set()
    for world in WORLDS:
        if world["r"]["text"] in ("a", "b"):
            kept = {name: value for name, value in world["r"].items() if value is not ABSENT}
            try:
                found.add(condition.evaluate({"r": {"any": None, **kept}}, Budget()))
            except ConditionFailure:
                continue
    return found


def test_what_is_told_to_be_always_or_never_true_is() -> None:
    """E1: over 1,500 conditions and all worlds; NaN, absent and wrongly typed values among them."""
    chance, told = random.Random(5), {True: 0, False: 0}
    for _ in range(1_500):
        text = expression(chance, 3)
        condition = compile_condition(text, WORLD)
        always = truth(condition.root, KNOWN)
        if always is not None:
            told[always] += 1
            assert outcomes(condition) <= {always}, text
    assert min(told.values()) > 50, "too tame to test this"


def test_conditions_of_one_name_are_one_condition() -> None:
    """E1: what is taken for the same has the same digest, but for the side of a comparison; brackets change nothing."""
    chance = random.Random(6)
    first: dict[str, Condition] = {}
    for _ in range(1_000):
        condition = compile_condition(expression(chance, 2), WORLD)
        same = first.setdefault(name_of(condition.root), condition)
        assert outcomes(same) == outcomes(condition), (same.text, condition.text)


def test_any_condition_of_the_language_can_be_judged() -> None:
    """E1: random conditions, of every operator and macro, are judged without a failure."""
    loaded = load(a_set())
    (placed,) = [rule for rule in loaded.rules if rule.value.id == "notes"]
    judged_so_far = 0
    for seed in range(1_500):
        text = Generator(seed).draw("bool", 4)
        try:
            condition = compile_condition(text, Schema({"d": DYN}))
        except CelError:
            continue
        judged_so_far += 1
        for effect in Effect:
            item = placed.value.model_copy(update={"effect": effect, "when": text})
            loaded.rules = [type(placed)(item, placed.document, placed.path)]
            rule = Rule(item.id, effect, frozenset({Moment.PUBLISH}), None, None, Grounding.BOUND, condition)
            (judged,) = judged_rules(loaded, [rule])
            found = list(condition_warnings(judged))
            assert all(str(one).isprintable() for one in found), text
    assert judged_so_far > 500


@settings(max_examples=settings().max_examples // 2)
@given(some_rules(), st.randoms(use_true_random=False))
def test_a_rule_that_is_told_to_be_idle_can_be_taken_out(rules: list[dict[str, object]], order: random.Random) -> None:
    """E1, POL-14: implied, never true, or withheld whole: without it every question has the same verdict."""
    report = check_set(arranged(rules, order, 1))
    idle = {match.group(1) for one in report.warnings if one.code in (Code.IMPLIED, Code.NEVER)
            if (match := re.search(r'the rule "(\w+)"', one.message))}  # fmt: skip
    for name in sorted(idle):
        left = [rule for rule in rules if rule["id"] != name]
        if left:
            assert verdicts(left) == verdicts(rules)


def test_the_guide_names_every_code_of_a_warning() -> None:
    """E1: each with what it is told of."""
    used: set[str] = set()
    for path in (ROOT / "policy" / "discreet" / "policy" / "lint").glob("*.py"):
        used |= {Code[name].value for name in re.findall(r"Code\.([A-Z_]+)", path.read_text("utf-8"))}
    guide = (ROOT / "docs" / "policies.md").read_text("utf-8").partition("## Warnings")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([a-z-]+)` \|", guide, re.MULTILINE)) == used
