"""Names of keys: two different things never share one."""

from __future__ import annotations

import random
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from discreet.server.cache.keys import Keys, joined

SEPARATORS = ":|-/%\0 \n.v1headbundle"
PARTS = st.lists(st.text(max_size=6) | st.text(SEPARATORS, max_size=6), max_size=5)


@given(PARTS, PARTS)
def test_different_parts_never_make_one_name(one: list[str], other: list[str]) -> None:
    """REV-08: whatever separators stand in the parts, and however many parts there are."""
    if [*one, ""] != [*other, ""] and one and other:
        assert (joined(*one) == joined(*other)) == (one == other)


def test_ten_thousand_tuples_have_ten_thousand_names() -> None:
    """REV-08: tenant "marlowe:eu" with thread "7" is not tenant "marlowe" with thread "eu:7", nor any of its kind."""
    chance = random.Random(8)
    tuples = {
        tuple("".join(chance.choices(SEPARATORS, k=chance.randrange(5))) for _ in range(chance.randint(1, 4)))
        for _ in range(10_000)
    }
    assert len({joined(*parts) for parts in tuples}) == len(tuples)


def test_no_two_kinds_or_databases_or_prefixes_share_a_key() -> None:
    """REV-08: bundles, head and bell of every prefix and epoch, those that look like another's parts included."""
    words = ("", "discreet", "v1", "discreet:v1", "head", "bell", "bundle", "a", "a:b", "b")
    names = [
        name
        for prefix, epoch in product(words, words)
        for keys in [Keys(epoch, prefix)]
        for name in (keys.head, keys.bell, *(keys.bundle(word) for word in words))
    ]
    assert len(set(names)) == len(names)


def test_the_names_are_those_that_are_documented() -> None:
    """People who look in with a client of their own find what the guide says."""
    assert Keys("0f", "desk").bundle("ab") == "desk:discreet:v1:0f:bundle:ab"
    assert (Keys("0f").head, Keys("0f").bell) == ("discreet:v1:0f:head", "discreet:v1:0f:bell")
