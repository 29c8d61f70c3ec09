"""`audit: {mask: ...}`: the names that a set masks, and the mistakes in them."""

from __future__ import annotations

import pytest

from tests.policy.sets.sets import SET, a_set, compiled, problems


def masking(names: str) -> dict[str, bytes]:
    """Returns a set that masks the names; they begin in 4:15 of `discreet.yaml`."""
    return a_set(discreet=SET + f"audit: {{mask: {names}}}\n")


def test_a_set_masks_the_attributes_that_it_names_and_no_others() -> None:
    """F4: the names reach the revision that decides; a set that names none masks none."""
    assert compiled(a_set()).masked_attributes == frozenset()
    assert compiled(masking("[staff_number, Desk]")).masked_attributes == {"staff_number", "Desk"}
    assert compiled(masking("[b, a]")).masked_attributes == compiled(masking("[a, b]")).masked_attributes
    most = ", ".join(f"a{number}" for number in range(64))
    assert len(compiled(masking(f"[{most}]")).masked_attributes) == 64


HINT = "write [A-Za-z_][A-Za-z0-9_]{0,63}, for example staff_number"
MISTAKES = {
    "[desk, desk]": '4:15: "desk" is listed twice; keep one',
    "[]": "4:15: the list is empty; name at least one, or leave the key out",
    "[staff-number]": f'4:16: "staff-number" is no name of an attribute; {HINT}',
    "[a, principal.attributes.b]": f'4:19: "principal.attributes.b" is no name of an attribute; {HINT}',
    "[d\u0435sk]": f'4:16: "d\u0435sk" is no name of an attribute; {HINT}',
    f"[{'a' * 65}]": f'4:16: "{"a" * 57}..." is no name of an attribute; {HINT}',
    f"[{', '.join(f'a{number}' for number in range(65))}]": "4:15: the list has more than 64 items; "
    "leave names out, or send fewer attributes",
}


@pytest.mark.parametrize("names", MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_in_a_mask_is_told(names: str) -> None:
    """E1, YML-08: a name that no attribute can have would mask nothing; two of one are one too many."""
    assert problems(masking(names)) == [f"discreet.yaml:{MISTAKES[names]}"]
