"""Random conditions that use random named conditions decide as they do written out."""

from __future__ import annotations

from random import Random

from discreet.policy import schema
from discreet.policy.cel import Budget, CelError, Condition, ConditionFailure, EvaluationError, compile_condition
from discreet.policy.vocabulary import Named, Vocabulary, compile_with, named_of

ATOMS = (
    'document.attributes.a == "x"',
    'document.attributes.b in ["x", "y"]',
    "document.current",
    "document.attributes.n > 2.0",
    "has(document.attributes.a)",
    'document.scopes.exists(s, s == "p")',
    "document.scopes.all(t, t.size() > 1)",
)
VALUES = {"a": ("x", "y", 1.0), "b": ("x", "z"), "n": (1.0, 3.0, "3")}
STEPS = 10_000_000


def expression(random: Random, names: list[str], depth: int = 0) -> str:
    """Returns a condition over the attributes of a document and the names."""
    if depth > 3 or random.random() < 0.35:
        return f"conditions.{random.choice(names)}" if names and random.random() < 0.6 else random.choice(ATOMS)
    first, second, third = (expression(random, names, depth + 1) for _ in range(3))
    form = random.choice(("({0} && {1})", "({0} || {1})", "!({0})", "({0} ? {1} : {2})"))
    return form.format(first, second, third)


def written_out(text: str, meanings: dict[str, str]) -> str:
    """Returns a condition with the meanings of names in their places."""
    for name, meaning in meanings.items():
        text = text.replace(f"conditions.{name}", f"({meaning})")
    return text


def activation(random: Random) -> dict[str, object]:
    """Returns a document some of whose attributes are absent or of another type."""
    attributes = {name: random.choice(values) for name, values in VALUES.items() if random.random() < 0.7}
    scopes = random.choice(((), ("p",), ("pp", "q"), ("pp",)))
    return {"document": {"attributes": attributes, "current": random.random() < 0.5, "scopes": scopes}}


def outcome(condition: Condition, values: dict[str, object]) -> object:
    """Returns the value of a condition, or what its failure says."""
    try:
        return condition.evaluate(values, Budget(STEPS, STEPS))
    except EvaluationError as failure:
        return failure.code, failure.attribute, failure.message
    except ConditionFailure as failure:
        return type(failure)


def test_names_change_no_value_and_no_error() -> None:
    """E1, F12: on 200 random sets of names, value or error and what is read are those of the condition written out."""
    seen = []
    for seed in range(200):
        random, meanings = Random(seed), dict[str, str]()
        conditions: dict[str, Named] = {}
        for number in range(random.randint(1, 4)):
            text = expression(random, list(meanings))
            meaning = written_out(text, meanings)
            if len(meaning) < 3_000:
                conditions[f"c{number}"] = named_of(text, Vocabulary(conditions=dict(conditions)))
                meanings[f"c{number}"] = meaning
        text = expression(random, list(meanings))
        try:
            plain = compile_condition(written_out(text, meanings), schema.BOUND)
        except CelError:
            continue  # too large when it is written out
        named = compile_with(text, schema.BOUND, Vocabulary(conditions=conditions))
        assert named.reads == plain.reads
        assert set(named.equalities) == set(plain.equalities)
        for values in [activation(random) for _ in range(5)]:
            seen.append(outcome(named, values))
            assert seen[-1] == outcome(plain, values), f"seed {seed}"
        assert all(part.text for part in named.explain(activation(random), Budget(STEPS, STEPS)))
    assert min(seen.count(True), seen.count(False), sum(isinstance(each, tuple) for each in seen)) > 100
