"""The index of rules is a fast path: it is compared with evaluating every rule."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from discreet.policy import schema
from discreet.policy.cel import Budget, ConditionFailure, compile_condition
from discreet.policy.rule_index import KEYED_RULES_MIN, fitting, rule_set
from discreet.policy.snapshot import Rule
from discreet.policy.words import Effect, Grounding, Moment

_TEXTS = st.sampled_from(["a", "b", "c"])
_PARTS = st.one_of(
    st.builds('document.attributes.desk == "{}"'.format, _TEXTS),
    st.builds('"{}" == document.attributes.team'.format, _TEXTS),
    st.builds('principal.id == "{}"'.format, _TEXTS),
    st.builds('document.attributes.desk != "{}"'.format, _TEXTS),
    st.sampled_from(["document.attributes.count > 1", "document.attributes.missing == 1", "true", "1 / 0 == 1"]),
)
_CONDITIONS = st.one_of(
    st.lists(_PARTS, min_size=1, max_size=3).map(" && ".join), st.lists(_PARTS, min_size=2, max_size=3).map(" || ".join)
)
_VALUES = st.one_of(_TEXTS, st.none(), st.integers(0, 2), st.booleans(), st.just(["a"]))
_ATTRIBUTES = st.dictionaries(st.sampled_from(["desk", "team", "count"]), _VALUES)


def _rule(number: int, condition: str) -> Rule:
    effect = Effect.WITHHOLD if number % 2 else Effect.ALLOW
    when = compile_condition(condition, schema.BOUND)
    return Rule(f"rule-{number}", effect, frozenset(Moment), None, None, Grounding.BOUND, when)


def _is_false(rule: Rule, activation: dict[str, object]) -> bool:
    assert rule.when is not None
    try:
        return not rule.when.evaluate(activation, Budget())
    except ConditionFailure:
        return False


@given(st.lists(_CONDITIONS, min_size=KEYED_RULES_MIN, max_size=14), _ATTRIBUTES, _TEXTS)
def test_what_the_index_leaves_out_is_false(conditions: list[str], attributes: dict[str, object], reader: str) -> None:
    """F12: no rule that is true, and none that errs, is ever left out, whatever type the value has."""
    rules = [_rule(number, condition) for number, condition in enumerate(conditions)]
    principal = schema.PrincipalView(reader, frozenset(), {}, ())
    activation: dict[str, object] = {"principal": principal, "document": {"attributes": attributes}}
    found = list(fitting(rule_set(rules), activation))
    left_out = [rule for rule in rules if rule not in found]
    assert [rule.id for rule in left_out if not _is_false(rule, activation)] == []
    assert len(found) == len({rule.id for rule in found})


def test_many_rules_on_one_path_are_looked_up() -> None:
    """A thousand rules that name one desk each cost one look-up, not a thousand evaluations."""
    rules = [_rule(number, f'document.attributes.desk == "desk-{number}"') for number in range(1_000)]
    found = fitting(rule_set(rules), {"document": {"attributes": {"desk": "desk-7"}}})
    assert [rule.id for rule in found] == ["rule-7"]
