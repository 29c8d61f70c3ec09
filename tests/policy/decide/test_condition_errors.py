"""A condition without a value withholds; the audit says which attribute it lacked, or of which class its error is."""

from __future__ import annotations

import pytest

from discreet.policy.words import Effect, Reason, Verdict
from tests.policy.decide.replies import row
from tests.policy.decide.world import World, edit, record, rule, world

SECRET = "tok3n-AB"


def _asked() -> World:
    """A record with attributes of several shapes, some of them secret, and a principal with one attribute."""
    shapes = {"items": [{"b": 1}, {"c": 1}], "deep": {"er": SECRET}, "text": SECRET, "number": 2, "none": None}
    plain = world(record(attributes=shapes))
    return edit(plain, principal=edit(plain.principal, attributes={"desk": SECRET}))


@pytest.mark.parametrize(
    "when, detail",
    [
        ("document.attributes.gone == 1", "missing_attribute: document.attributes.gone"),
        ("document.attributes['gone'] == 1", "missing_attribute: document.attributes.gone"),
        ("document.attributes['go ne'] == 1", 'missing_attribute: document.attributes["go ne"]'),
        ("document.attributes.deep.gone == 1", "missing_attribute: document.attributes.deep.gone"),
        ("has(document.attributes.gone.er)", "missing_attribute: document.attributes.gone"),
        ("document.attributes.items.all(x, x.b == 1)", "missing_attribute: document.attributes.items[].b"),
        ("document.attributes.items[1].b == 1", "missing_attribute: document.attributes.items[1].b"),
        ("document.attributes.items.map(x, x.b) == []", "missing_attribute: document.attributes.items[].b"),
        ("document.attributes[principal.attributes.desk] == 1", "missing_attribute: document.attributes[]"),
        ("principal.attributes.role == 'reader'", "missing_attribute: principal.attributes.role"),
        ("segment.claim.basis == 'x'", "missing_attribute: segment.claim"),
        ("source.max_age > duration('1h')", "missing_attribute: source.max_age"),
        ("principal.attributes.zone == 'z' && document.attributes.gone == 1",
         "missing_attribute: document.attributes.gone"),
        ("!(principal.attributes.zone == 'z' || false)", "missing_attribute: principal.attributes.zone"),
        ("principal.attributes.zone == 'z' ? true : true", "missing_attribute: principal.attributes.zone"),
        ("document.attributes.text", "type"),
        ("document.attributes.none", "type"),
        ("document.attributes.number", "type"),
        ("document.attributes.text.all(x, true)", "type"),
        ("document.attributes.text + 1 == 2", "type"),
        ("int(document.attributes.text) == 1", "argument"),
        ("document.attributes.items[7].b == 1", "argument"),
        ("timestamp(document.attributes.text) < now", "argument"),
        ("'x'.matches(document.attributes.text + '(')", "argument"),
        ("now + duration('2562047h') + duration('2562047h') > now && int(document.attributes.number) / 0 == 1",
         "division"),
        ("9223372036854775807 + int(document.attributes.number) > 0", "overflow"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("effect", list(Effect))
def test_the_audit_says_what_a_condition_lacked(when: str, detail: str, effect: Effect) -> None:
    """F12, B3: for allowing and withholding rules alike; names of attributes and classes of errors, never a value."""
    rules = (rule("r", effect, when), *((rule("open"),) if effect is Effect.WITHHOLD else ()))
    asked = edit(_asked(), rules=rules)
    (found,) = row(asked).decisions
    assert (found.rule, found.detail, found.fault) == ("r", detail, "policy")
    assert SECRET not in found.detail
    (result,) = (asked.one(rules=rules),)
    assert (result.verdict, result.reason) == (Verdict.WITHHOLD, Reason.POLICY_ERROR)


@pytest.mark.parametrize(
    "when",
    [
        "document.attributes.many.all(a, document.attributes.many.all(b, a + b >= 0.0))",
        "document.attributes.many.all(m, (document.attributes.long + document.attributes.long).size() > 0)",
        "document.attributes.many.exists(m, document.attributes.long.matches('(x+x+)+y')) || true",
    ],
)
def test_a_condition_that_costs_too_much_withholds(when: str) -> None:
    """POL-09, F4: steps and memory end a decision as COST_EXCEEDED, whatever stands around what cost too much."""
    asked = world(record(attributes={"many": list(range(1000)), "long": "x" * 100_000}))
    for rules in ((rule("r", when=when),), (rule("r", Effect.WITHHOLD, when), rule("open"))):
        result = asked.one(rules=rules)
        assert (result.verdict, result.reason) == (Verdict.WITHHOLD, Reason.COST_EXCEEDED)
        (found,) = row(edit(asked, rules=rules)).decisions
        assert found.rule == "r"
