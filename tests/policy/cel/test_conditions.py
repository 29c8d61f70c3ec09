"""What a loaded condition offers: value, paths, index keys, tree and explanation; and that threads may share it."""

from __future__ import annotations

import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import pytest

from discreet.policy.cel import (
    MAP_DYN,
    STRING,
    Budget,
    CelError,
    Condition,
    CostExceeded,
    ErrorCode,
    EvaluationError,
    Record,
    Schema,
    compile_condition,
    condition_from_tree,
)
from tests.policy.cel.world import SCHEMA, activation, lines


def load(text: str) -> Condition:
    """Returns a condition over the world's schema."""
    return compile_condition(text, SCHEMA)


def outcome(condition: Condition, values: dict[str, object] | None = None) -> bool | tuple[ErrorCode, str | None]:
    """Returns the value of a condition, or code and attribute of its error."""
    try:
        return condition.evaluate(activation() if values is None else values, Budget())
    except EvaluationError as error:
        return error.code, error.attribute


ATTRIBUTES = Schema({"attr": MAP_DYN})


@pytest.mark.parametrize("order", list(permutations(['attr.desk == "north"', 'attr.role == "reader"', "1 / 0 == 1"])))
def test_any_of_is_true_whatever_the_order_of_its_arms(order: tuple[str, ...]) -> None:
    """POL-01: an arm that reads what is absent, or fails, never silences one that is true."""
    condition = compile_condition(" || ".join(order), ATTRIBUTES)
    assert condition.evaluate({"attr": {"role": "reader"}}, Budget())


@pytest.mark.parametrize("op", ["&&", "||"])
def test_the_reported_error_does_not_depend_on_the_order(op: str) -> None:
    """POL-01: an undecided all-of, any-of or none-of names the same attribute in every order of its parts."""
    parts = [
        "attr.desk == 'north'",
        "attr.zone == 'z'",
        "attr.role == 'reader'" if op == "&&" else "attr.role == 'x'",
        "1 / 0 == 1",
    ]
    parts.append("true" if op == "&&" else "false")
    found = set()
    for order in permutations(parts):
        for text in (f" {op} ".join(order), f"!({f' {op} '.join(order)})"):
            found.add(outcome(compile_condition(text, ATTRIBUTES), {"attr": {"role": "reader"}}))
    assert found == {(ErrorCode.DIVISION, None)}
    without = [part for part in parts if "/" not in part]
    for order in permutations(without):
        result = outcome(compile_condition(f" {op} ".join(order), ATTRIBUTES), {"attr": {}})
        assert result == (ErrorCode.MISSING_ATTRIBUTE, "attr.desk")


@pytest.mark.parametrize("macro", ["all", "exists"])
def test_loops_do_not_depend_on_the_order_of_the_list(macro: str) -> None:
    """POL-05: a hit decides wherever it stands; a miss beside an error is that error, the same in every order."""
    shapes = [{"b": 1}, {"c": 1}, {"d": 1}]
    for wanted in (1, 3):
        found = set()
        for order in permutations(shapes):
            condition = compile_condition(f"attr.items.{macro}(x, x.b == {wanted})", ATTRIBUTES)
            found.add(outcome(condition, {"attr": {"items": list(order)}}))
        assert len(found) == 1
        hit = (macro == "exists") == (wanted == 1)
        assert found == {macro == "exists" if hit else (ErrorCode.MISSING_ATTRIBUTE, "attr.items[].b")}


@pytest.mark.parametrize("text", ["data.level", "data.desk", "data.nothing", "data.tags", "dyn(1)", "dyn(b'true')"])
def test_a_condition_that_is_not_a_bool_is_an_error(text: str) -> None:
    """F12: there are no truth values beside true and false."""
    assert outcome(load(text)) == (ErrorCode.TYPE, None)
    assert load("data.flag").evaluate(activation(), Budget())


def test_conditions_of_another_type_do_not_load() -> None:
    """A text that can never be true or false is refused with its place."""
    for text in ("1", "doc.kind", "[true]", "now", "null", "doc", "type(1)"):
        with pytest.raises(CelError, match="a condition is true or false"):
            load(text)


@pytest.mark.parametrize(
    "text, reads",
    [
        ("true", set()),
        ("flag", {"flag"}),
        ("doc.kind == 'a' && doc.owner.name == 'b'", {"doc.kind", "doc.owner.name"}),
        ("has(doc.as_of) || now == doc.reviewed_at", {"doc.as_of", "now", "doc.reviewed_at"}),
        ("data.deep.er == 'x' && data['desk'] == 'y'", {"data.deep.er", "data.desk"}),
        ("data['a b'] == 1 && data.list[0] == 1", {'data["a b"]', "data.list[0]"}),
        ("data[doc.kind] == 1", {"data", "doc.kind"}),
        ("data.items.exists(x, x.b == doc.kind)", {"data.items", "doc.kind"}),
        ("doc.scopes.all(doc, doc != 'x')", {"doc.scopes"}),
        ("data.tags.map(x, x).size() == size(doc.scopes)", {"data.tags", "doc.scopes"}),
        ("type(data.level) == int && type(now) == google.protobuf.Timestamp", {"data.level", "now"}),
        ("true || doc.kind == 'x'", {"doc.kind"}),
    ],
)
def test_reads_are_the_paths_that_may_be_read(text: str, reads: set[str]) -> None:
    """Masking and replay need every attribute that a rule may look at, evaluated or not."""
    assert load(text).reads == reads


@pytest.mark.parametrize(
    "text, equalities",
    [
        ("doc.kind == 'a'", {("doc.kind", "a")}),
        ("'a' == doc.kind && flag", {("doc.kind", "a")}),
        (
            "doc.kind == 'a' && (doc.size == 1 && data.level == 2.0)",
            {("doc.kind", "a"), ("doc.size", 1), ("data.level", 2.0)},
        ),
        ("doc.kind == 'a' || flag", set()),
        ("!(doc.kind == 'a')", set()),
        ("doc.kind == 'a' && (doc.size == 1 || flag)", {("doc.kind", "a")}),
        ("doc.kind != 'a' && doc.size > 1", set()),
        ("flag ? doc.kind == 'a' : false", set()),
        ("data[doc.kind] == 'a'", set()),
        ("data.x == null && data.y == true", {("data.y", True)}),
        ("doc.kind == doc.owner.name", set()),
        ("data.x == 9007199254740991", {("data.x", 9007199254740991)}),
        ("data.x == 9007199254740992 || false", set()),
        ("data.x == 9007199254740992", set()),
        ("data.x == -9007199254740993", set()),
        ("data.x == 1e16", set()),
        ("data.x == 18446744073709551615u", set()),
    ],
)
def test_equalities_are_those_that_truth_needs(text: str, equalities: set[tuple[str, object]]) -> None:
    """The index of rules skips by them: with another value at the path the condition must be false, never an error."""
    assert set(load(text).equalities) == equalities


def test_another_value_at_an_equality_makes_the_condition_false() -> None:
    """What the index relies on, with every other part of the condition failing."""
    condition = load("1 / 0 == 1 && doc.kind == 'other' && data.gone == 1 && doc.reviewed_at == now")
    assert condition.equalities == (("doc.kind", "other"), ("data.gone", 1))
    assert outcome(condition) is False


def test_a_tree_gives_the_same_condition_without_a_parser() -> None:
    """The bundle carries trees: every loadable line of the tables comes back from JSON the same in all respects."""
    count = 0
    for _, text, _ in lines():
        for wrapped in (text, f"dyn({text})"):
            try:
                condition = load(wrapped)
            except CelError:
                continue
            again = condition_from_tree(json.loads(json.dumps(condition.to_tree())), SCHEMA)
            assert (again.text, again.digest, again.reads, again.equalities) == (
                condition.text,
                condition.digest,
                condition.reads,
                condition.equalities,
            )
            assert outcome(again) == outcome(condition)
            count += 1
    assert count > 700


def test_the_digest_is_of_the_meaning() -> None:
    """Layout, comments and needless brackets change nothing; anything that could change a value does."""
    same = ["doc.size == 1 && flag", "doc.size==1&&flag", "(doc.size == 1) && (flag) // why"]
    other = [
        "doc.size == 1u && flag",
        "doc.size == 1.0 && flag",
        "dyn(doc.size) == '1' && flag",
        "flag && doc.size == 1",
    ]
    assert len({load(text).digest for text in same}) == 1
    assert len({load(text).digest for text in [*other, same[0]]}) == 5
    assert load("data.x == 'a'").digest != load("data.x == b'a'").digest


def test_no_damaged_tree_is_accepted_or_crashes() -> None:
    """Whatever a byte of a bundle says, loading it is a condition or a CelError."""
    tree = load(
        "doc.scopes.exists(s, s in ['a', 'b']) && (data.x[0] == 1u ? has(data.y) : -1 < 2) || {'a': b'c'} == {}"
    ).to_tree()
    whole = json.dumps(tree)
    chance = random.Random(7)
    pieces = ['"nodes"', "null", "-1", "[]", '"Const"', '"&&"', "{}", "1e400", '"all"', "true"]
    refused = 0
    for _ in range(3000):
        at, length = chance.randrange(len(whole)), chance.randrange(12)
        try:
            data = json.loads(whole[:at] + chance.choice(pieces) + whole[at + length :])
        except ValueError:
            continue
        try:
            condition_from_tree(data, SCHEMA)
        except CelError:
            refused += 1
    assert refused > 100
    for data in (
        None,
        [],
        {},
        {"v": 1},
        {"v": 2, "text": "", "root": []},
        {"v": 1, "text": "", "root": ["Const", 0, 0]},
    ):
        with pytest.raises(CelError):
            condition_from_tree(data, SCHEMA)


def test_a_deep_tree_is_refused() -> None:
    """A tree that no text could have made meets the same limits as text."""
    root: list[object] = ["Const", 0, 4, True]
    for _ in range(500):
        root = ["Unary", 0, 4, "!", root]
    with pytest.raises(CelError):
        condition_from_tree({"v": 1, "text": "true", "root": root}, SCHEMA)


def test_an_explanation_shows_each_part() -> None:
    """E1: every part of the boolean structure with its own text and value, or the error that it has instead."""
    text = "(doc.kind == 'memo' || data.gone == 1) && !(doc.size > 50) && doc.reviewed_at < now"
    shown = [
        (part.depth, part.text, part.outcome if isinstance(part.outcome, bool) else str(part.outcome))
        for part in load(text).explain(activation(), Budget())
    ]
    assert shown == [
        (0, text, "no such attribute: doc.reviewed_at"),
        (1, "(doc.kind == 'memo' || data.gone == 1)", True),
        (2, "doc.kind == 'memo'", True),
        (2, "data.gone == 1", "no such attribute: data.gone"),
        (1, "!(doc.size > 50)", True),
        (2, "(doc.size > 50)", False),
        (1, "doc.reviewed_at < now", "no such attribute: doc.reviewed_at"),
    ]


def test_an_explanation_ends_with_its_budget() -> None:
    """Parts that are not reached say that the steps ran out."""
    parts = load("flag && doc.kind == 'memo'").explain(activation(), Budget(6))
    assert [isinstance(part.outcome, CostExceeded) for part in parts] == [False, True, True]


def test_records_may_be_objects_or_dicts() -> None:
    """Both read the same; a field named like a method of dict is the field."""
    schema = Schema({"r": Record({"items": STRING, "kind": STRING})})
    condition = compile_condition("!has(r.kind) && r.items == 'a'", schema)
    assert condition.evaluate({"r": {"items": "a"}}, Budget())
    assert outcome(condition, {"r": {}}) == (ErrorCode.MISSING_ATTRIBUTE, "r.items")


def test_the_activation_is_not_changed() -> None:
    """Variables of loops live in copies."""
    values = activation()
    before = repr(values)
    assert load("[1].all(doc, doc == 1) && data.tags.exists(t, t == 'x')").evaluate(values, Budget())
    assert repr(values) == before


def test_threads_share_conditions_without_crossing() -> None:
    """POL-11: eight threads, conditions with opposite answers, reloads meanwhile: no crossed verdict, no exception."""
    text = (
        "data.who == {} && data.tags.exists(t, t == data.who) && [1, 2].map(x, x + data.n).exists(y, y == data.n + 2)"
    )
    stop = threading.Event()

    def ask(number: int) -> int:
        mine = compile_condition(text.format(f"'t{number}'"), SCHEMA)
        theirs = compile_condition(text.format(f"'t{number + 1}'"), SCHEMA)
        values: dict[str, object] = {"data": {"who": f"t{number}", "n": number, "tags": ["x", f"t{number}"]}}
        wrong = 0
        for _ in range(4_000):
            wrong += mine.evaluate(values, Budget()) is not True
            wrong += theirs.evaluate(values, Budget()) is not False
        return wrong

    def reload() -> int:
        rounds = 0
        while not stop.is_set():
            compile_condition(text.format(f"'r{rounds}'"), SCHEMA)
            rounds += 1
        return rounds

    with ThreadPoolExecutor(9) as pool:
        reloading = pool.submit(reload)
        asked = [pool.submit(ask, number) for number in range(8)]
        try:
            assert sum(each.result() for each in asked) == 0
        finally:
            stop.set()
        assert reloading.result() > 0
