"""docs/policy-reference.md says what the models say."""

from __future__ import annotations

from discreet.policy import schema
from discreet.policy.cel.build import MACROS
from discreet.policy.cel.functions import FUNCTIONS, METHODS
from discreet.policy.words import Gate, Reason
from tests.policy.sets.reference import DOCUMENT, MACROS_SHOWN, VARIABLES, meaning_of_reason, paths, reference


def test_the_reference_is_what_the_models_give() -> None:
    """E1: kinds, keys, variables, reasons and limits are as the code has them."""
    assert DOCUMENT.read_text("utf-8") == reference(), "run: python -m tests.policy.sets.reference"


def test_every_variable_has_a_meaning() -> None:
    """E1: none missing, none left over."""
    assert {path for path, _ in paths(schema.BOUND.names)} == set(VARIABLES)


def test_every_reason_has_a_meaning() -> None:
    """A17, E1: what the published messages say of each."""
    assert all(meaning_of_reason(reason).endswith((".", ")")) for reason in Reason)


def test_every_function_macro_and_gate_is_in_it() -> None:
    """E1: with the forms of `map`, of which there are two."""
    document = DOCUMENT.read_text("utf-8")
    assert [call for call in (*FUNCTIONS, *METHODS, "has") if f"{call}(" not in document] == []
    forms = [(name, count) for name, (low, high) in MACROS.items() for count in range(low, high + 1)]
    assert [(call[2 : call.index("(")], call.count(",") + 1) for call in MACROS_SHOWN] == forms
    assert [gate for gate in Gate if f"| `{gate.short}` |" not in document] == []
