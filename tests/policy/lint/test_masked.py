"""Rules that read what the audit masks, and close neighbours that read nothing of it."""

from __future__ import annotations

import pytest

from tests.policy.lint.warned import warned
from tests.policy.sets.sets import SET, a_set, rules

A = "principal.attributes"
MASK = "audit: {mask: [badge, desk]}\n"
BASE = "{id: base, effect: ALLOW, moments: [RETRIEVE], sources: [notes, equity-desk]}"
CODE = "masked"
KEYS = "moments: [PUBLISH]\n    sources: [notes]"
LINE = 11


def told(condition: str, mask: str = MASK, effect: str = "ALLOW", **more: str) -> list[tuple[str, str]]:
    """Returns place and message of each warning of masked attributes; the condition begins in 11:7 of its file."""
    policy = rules(BASE, f"id: r\n    effect: {effect}\n    {KEYS}\n    when: |-\n      {condition}")
    found = [one for one in warned(a_set(discreet=SET + mask, rules=policy, **more)) if one.code == CODE]
    assert all(one.hint == "its decisions cannot be replayed from the audit" for one in found)
    return [(str(one.place), one.message) for one in found]


def at(column: int, name: str) -> tuple[str, str]:
    """Returns the warning of one attribute; `column` counts from 0 in the condition."""
    return f"rules.yaml:{LINE}:{column + 7}", f'the rule "r" reads the attribute "{name}", which the audit masks'


def any_at(column: int) -> tuple[str, str]:
    """Returns the warning of a read that may be of any attribute."""
    what = 'the rule "r" reads any attribute of the principal, some of which the audit masks'
    return f"rules.yaml:{LINE}:{column + 7}", what


READ = {
    f'{A}.desk == "north"': [at(0, "desk")],
    f'"north" == {A}.desk': [at(11, "desk")],
    f'{A}["desk"] == "north"': [at(0, "desk")],
    f'has({A}.desk) && {A}.desk == "north"': [at(34, "desk")],
    f"has({A}.desk.floor)": [at(4, "desk")],
    f'{A}.desk.floor["x"] == 1': [at(0, "desk")],
    f'"x" in {A}.desk': [at(7, "desk")],
    f'{A}.desk.exists(d, d == "north")': [at(0, "desk")],
    f"document.attributes.desks.exists(d, d == {A}.desk)": [at(41, "desk")],
    f'{A}.desk == "a" || {A}.desk == "b"': [at(0, "desk")],
    f"{A}.badge == {A}.desk": [at(0, "badge"), at(len(A) + 10, "desk")],
    f'document.attributes[{A}.desk] == "x"': [at(20, "desk")],
    f"{A}[document.basis] == 1": [any_at(0)],
    f"{A}.exists(a, {A}[a] == 1)": [any_at(0)],
    f"{A} == document.attributes": [any_at(0)],
    f"has({A}.floor) ? {A}.floor == {A}.desk : false": [at(64, "desk")],
}
NOT_READ = [
    f"has({A}.desk)",
    f'"desk" in {A}',
    f"document.basis in {A}",
    f"has({A}.desk) || !has({A}.badge)",
    f'{A}.desks == "north"',
    f'{A}.floor.desk == "north"',
    f'{A}["desk.x"] == "north"',
    f'document.attributes.desk == "{A}.desk"',
    'principal.id == "ana" && "board" in principal.scopes',
    'document.attributes.people.exists(principal, principal.attributes.desk == "north")',
]


@pytest.mark.parametrize("condition", READ)
@pytest.mark.parametrize("effect", ["ALLOW", "WITHHOLD"])
def test_a_rule_that_reads_a_masked_attribute_is_told(condition: str, effect: str) -> None:
    """E1, A16: once an attribute, where it is first read; a key that only data knows may be any of them."""
    assert told(condition, effect=effect) == READ[condition]


@pytest.mark.parametrize("condition", NOT_READ)
def test_a_rule_that_reads_no_masked_value_is_not_told(condition: str) -> None:
    """E1: whether an attribute is there is on record, and so are the values of all others."""
    assert told(condition) == []


@pytest.mark.parametrize("condition", READ)
def test_a_set_that_masks_nothing_is_not_told(condition: str) -> None:
    """E1: every value is on record."""
    assert told(condition, mask="") == []


DEFINITIONS = """apiVersion: discreet/v1
kind: Definitions
name: names
conditions:
  northern: principal.attributes.desk == "north"
  seated: has(principal.attributes.desk)
  inner: conditions.northern && now > timestamp("2020-01-01T00:00:00Z")
"""


def test_what_a_named_condition_reads_is_told_at_the_rule_that_uses_it() -> None:
    """E1, POL-07: through one name or two; a name that only asks whether it is there is fine."""
    for name in ("northern", "inner"):
        text = f"conditions.seated && conditions.{name}"
        assert told(text, definitions=DEFINITIONS) == [("rules.yaml:10:11", at(0, "desk")[1])]
    assert told("conditions.seated", definitions=DEFINITIONS) == []


def test_a_rule_for_unbound_segments_is_told() -> None:
    """E1: it sees the principal too."""
    rule = f"{{id: u, effect: ALLOW, moments: [PUBLISH], grounding: UNBOUND, kinds: [talk], when: {A}.desk == 'n'}}"
    found = [one for one in warned(a_set(discreet=SET + MASK, rules=rules(BASE, rule))) if one.code == CODE]
    assert [(str(one.place), one.message) for one in found] == [
        ("rules.yaml:6:89", 'the rule "u" reads the attribute "desk", which the audit masks')
    ]


@pytest.mark.parametrize("staging, warnings", [("badge", 0), ("desk", 1)])
def test_a_warning_holds_in_every_environment(staging: str, warnings: int) -> None:
    """E1: a parameter may say which attribute is read; what only one environment reads is not told."""
    head = "apiVersion: discreet/v1\nkind: Environment\nname: {}\nparameters: {{ which: {} }}\n"
    environments = head.format("production", "desk") + "---\n" + head.format("staging", staging)
    mask = MASK + "parameters:\n  which: { type: text }\n"
    found = told(f'{A}[parameters.which] == "north"', mask, environments=environments)
    assert found == [at(0, "desk")] * warnings
