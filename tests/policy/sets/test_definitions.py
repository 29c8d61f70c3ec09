"""Constants and named conditions: what they stand for, where they may stand, and what their authors are told."""

from __future__ import annotations

import json

import pytest

from discreet.policy import schema
from discreet.policy.cel import Budget, CelError, compile_condition
from discreet.policy.model.values import Instant, Span, Value
from discreet.policy.snapshot import Rule, Snapshot
from discreet.policy.vocabulary import Named, Vocabulary, compile_with, named_of
from tests.policy.sets.sets import a_set, compiled, problems, rules

HEAD = "apiVersion: discreet/v1\nkind: Definitions\nname: words\n"
RULE = "{id: r, effect: WITHHOLD, moments: [PUBLISH], sources: [notes], when: '%s'}"
CONSTANTS = """\
constants:
  desks: [north, south]
  limit: 3
  rate: 1.5
  shut: false
  word: it's "quoted"
  week: {duration: 7d}
  day: {time: "2026-01-05T10:00:00+01:00"}
"""
CONDITIONS = """\
conditions:
  small: document.attributes.size < constants.limit
  of_desk: document.attributes.desk in constants.desks
  both: conditions.small && conditions.of_desk
"""


def defined(text: str, when: str = "true", **more: str) -> dict[str, bytes]:
    """Returns a set with these definitions and one rule."""
    return a_set(words=HEAD + text, rules=rules(RULE % when.replace("'", "''")), **more)


def the_rule(snapshot: Snapshot) -> Rule:
    """Returns the rule that withholds."""
    found = {rule.id: rule for rules in snapshot.rules.by_source.values() for rule in rules.plain}
    return found["r"]


@pytest.mark.parametrize(
    "short, long",
    [
        ("document.attributes.desk in constants.desks", 'document.attributes.desk in ["north", "south"]'),
        ("document.attributes.size > constants.limit", "document.attributes.size > 3"),
        ("document.attributes.size > constants.rate", "document.attributes.size > 1.5"),
        ("constants.shut || document.current", "false || document.current"),
        ("document.basis == constants.word", "document.basis == 'it\\'s \"quoted\"'"),
        ("now - document.recorded_at > constants.week", 'now - document.recorded_at > duration("604800s")'),
        ("now < constants.day", 'now < timestamp("2026-01-05T09:00:00Z")'),
        ("!conditions.small", "!(document.attributes.size < 3)"),
        (
            "conditions.both || false",
            '(document.attributes.size < 3 && document.attributes.desk in ["north", "south"]) || false',
        ),
        ("document.scopes.exists(x, x in constants.desks)", 'document.scopes.exists(x, x in ["north", "south"])'),
        ('{"a": constants.limit}["a"] == 3', '{"a": 3}["a"] == 3'),
        ("conditions.small ? constants.shut : true", "(document.attributes.size < 3) ? false : true"),
    ],
)
def test_a_name_means_what_it_stands_for(short: str, long: str) -> None:
    """E1: a condition with names is the condition that has their meanings in their places, to the last node."""
    named = the_rule(compiled(defined(CONSTANTS + CONDITIONS, short))).when
    plain = the_rule(compiled(defined(CONSTANTS, long))).when
    assert named is not None
    assert plain is not None
    assert named.digest == plain.digest
    assert named.equalities == plain.equalities
    assert named.reads == plain.reads


def test_the_look_up_of_rules_sees_through_names() -> None:
    """E1: an equality with a constant, also inside a named condition, narrows the rules to evaluate."""
    text = "constants: {desk: north}\nconditions: {of_desk: document.attributes.desk == constants.desk}\n"
    when = the_rule(compiled(defined(text, "conditions.of_desk && document.current"))).when
    assert when is not None
    assert when.equalities == (("document.attributes.desk", "north"),)


def test_an_explanation_shows_the_parts_of_a_named_condition() -> None:
    """F12, B3: each part has its own text, those inside a name too, and the name stands over them."""
    vocabulary = Vocabulary({"limit": 3}, {}, {})
    small = named_of("document.suspended || size(document.basis) < constants.limit", vocabulary)
    condition = compile_with("conditions.small && now == now", schema.BOUND, Vocabulary(conditions={"small": small}))
    parts = condition.explain({"document": {"suspended": False, "basis": "ab"}, "now": None}, Budget())
    assert [(part.text, part.depth) for part in parts] == [
        ("conditions.small && now == now", 0),
        ("conditions.small", 1),
        ("document.suspended", 2),
        ("size(document.basis) < constants.limit", 2),
        ("now == now", 1),
    ]
    assert parts[2].outcome is False
    assert parts[3].outcome is True


MISTAKES = {
    "unknown constant": (
        "constants: {limit: 3}\n",
        "document.current && constants.limt > 2",
        'rules.yaml:5:106: condition: no constant "limt"; did you mean "limit"?',
    ),
    "unknown condition": (
        "conditions: {a: document.current}\n",
        "conditions.b",
        'rules.yaml:5:87: condition: no condition "b"; one of a',
    ),
    "unknown parameter": (
        "constants: {a: 1}\n",
        "parameters.a == 1",
        'rules.yaml:5:87: condition: no parameter "a"; declare it under `parameters` in discreet.yaml',
    ),
    "has of a name": (
        "constants: {a: 1}\n",
        "has(constants.a)",
        "rules.yaml:5:76: condition: has() is for what may be absent; a name of the set is always there",
    ),
    "the word alone": (
        "constants: {a: 1}\n",
        'constants["a"] == 1',
        "rules.yaml:5:76: condition: constants is no value; write constants.name",
    ),
    "a value of another type": (
        "constants: {a: x}\n",
        "constants.a > 1",
        "rules.yaml:5:88: condition: > does not take string, int",
    ),
    "an error in a named condition": (
        "conditions:\n  a: document.current &&\n     document.bassis == ''\n",
        "conditions.a && true",
        'words.yaml:6:15: condition: no field "bassis"; did you mean "basis"?',
    ),
    "a named condition that is none": (
        "conditions: {a: document.version}\n",
        "conditions.a",
        "words.yaml:4:17: condition: a condition is true or false, this is string; compare it",
    ),
    "a condition that is a boolean": (
        "conditions: {a: true}\n",
        "conditions.a",
        "words.yaml:4:17: the condition must be text, not a boolean; quote it",
    ),
    "a cycle": (
        "conditions:\n  a: conditions.b && true\n  b: conditions.c\n  c: '!conditions.a'\n",
        "conditions.b",
        'words.yaml:5:6: the condition "a" rests on itself: a -> b -> c -> a; take one of these uses out',
    ),
    "itself": (
        "conditions: {a: conditions.a}\n",
        "true",
        'words.yaml:4:17: the condition "a" rests on itself: a -> a; take one of these uses out',
    ),
    "a name that cannot be written": (
        "constants: {Desk-A: 1}\n",
        "true",
        'words.yaml:4:13: "Desk-A" is no name; write [a-z][a-z0-9_]{0,63}, for example trading_desks',
    ),
    "a mixed list": (
        "constants: {a: [1, x]}\n",
        "constants.a == []",
        "words.yaml:4:16: the items of the list are of several types; write texts alone, or numbers alone",
    ),
    "a number that is too large": (
        "constants: {a: 9223372036854775808}\n",
        "true",
        "words.yaml:4:16: the number does not fit in 64 bits; quote it if it is text",
    ),
    "another mapping": (
        "constants: {a: {days: 3}}\n",
        "true",
        "words.yaml:4:16: a constant cannot be this mapping; write text, a number, true, false, a list of these, "
        "{duration: 36h}, {time: ...} or {parameter: name}",
    ),
    "a duration that is none": (
        "constants: {a: {duration: 3}}\n",
        "true",
        "words.yaml:4:16: duration must be a duration, not a number; write for example 30s, 15m, 36h or 7d",
    ),
    "a captured variable": (
        "conditions: {a: document.current}\n",
        "document.scopes.exists(document, conditions.a)",
        "rules.yaml:5:109: condition: the variable document hides what conditions.a reads; "
        "give the variable another name",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_with_names_is_told_once_at_its_place(mistake: str) -> None:
    """E1, YML-08: one problem, where its cause stands; no error follows from an error."""
    text, when, told = MISTAKES[mistake]
    assert problems(defined(text, when)) == [told]


def test_a_named_condition_is_held_to_what_its_user_may_read() -> None:
    """E1: a condition about a document cannot stand in a rule for segments that rest on none; the use is named."""
    chat = "{id: r, effect: WITHHOLD, moments: [PUBLISH], grounding: UNBOUND, when: true && conditions.a}"
    files = a_set(words=HEAD + "conditions: {a: document.current}\n", rules=rules(chat))
    assert problems(files) == [
        'rules.yaml:5:85: condition: in conditions.a: no name "document"; there is now, principal, request, segment'
    ]


def test_a_name_is_given_once_over_all_files() -> None:
    """YML-01: a second constant or condition of a name is an error that names the first; the kinds keep apart."""
    more = (HEAD + "constants: {a: 1}\nconditions: {b: 'true', a: 'true'}\n").replace("words", "more")
    files = a_set(first=HEAD + "constants: {a: 2}\nconditions: {b: 'false'}\n", second=more)
    assert problems(files) == [
        f"second.yaml:{at}: the {what} is given twice; it stands at first.yaml:{at} already; rename or remove one"
        for at, what in (("4:13", 'constant "a"'), ("5:14", 'condition "b"'))
    ]


def test_names_that_multiply_are_refused_before_they_are_written_out() -> None:
    """POL-09, YML-06: conditions that each use the one before twice stop at the first that is too large."""
    lines = ["  c0: document.current"]
    lines += [f"  c{number}: conditions.c{number - 1} && conditions.c{number - 1}" for number in range(1, 60)]
    (found,) = problems(defined("conditions:\n" + "\n".join(lines) + "\n", "conditions.c59"))
    assert "the condition has more than 2000 parts; split the rule" in found


def test_long_texts_that_multiply_are_refused() -> None:
    """POL-09: the text behind a condition is bounded as its parts are."""
    long = Named(" " * 8_000 + "true", named_of("true", Vocabulary()).root, 1, frozenset())
    vocabulary = Vocabulary(conditions={"long": long})
    compile_with(" && ".join(["conditions.long"] * 8), schema.BOUND, vocabulary)
    with pytest.raises(CelError, match="more than 65536 characters"):
        compile_with(" && ".join(["conditions.long"] * 9), schema.BOUND, vocabulary)


@pytest.mark.parametrize(
    "value", ["", "a'\"\\\n", -(2**63), 2**63 - 1, True, 0.1, ("a",), (), Span(1_000), Instant(-1)]
)
def test_every_constant_equals_itself_and_survives_storing(value: Value) -> None:
    """E1: whatever a file may hold stands in a condition unchanged, also in the tree that is stored."""
    condition = compile_with("constants.x == constants.x", schema.BOUND, Vocabulary({"x": value}))
    assert condition.evaluate({}, Budget())
    assert json.loads(json.dumps(condition.to_tree())) == condition.to_tree()


def test_variables_of_macros_may_have_any_name() -> None:
    """E1: a variable called like one of the three words is the variable."""
    text = '["a"].exists(constants, constants == "a") && [{"b": 1}].all(conditions, conditions.b == 1)'
    assert compile_with(text, schema.BOUND, Vocabulary()).digest == compile_condition(text, schema.BOUND).digest
