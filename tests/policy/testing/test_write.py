"""Test files as they are written from decisions: what is written is read back as it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.testing.write import written
from discreet.policy.yaml import plain, read

TRAPS = ["no", "0123", "1_000", "12:30", "1e3", "a: b", "- x", "# y", "a #b", "~", "'", "x:", "2026-01-05", "{", "@x"]
KEYS = st.from_regex(r"[a-z-]{1,8}", fullmatch=True)
SCALARS = st.one_of(
    *(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.text(max_size=12), st.sampled_from(TRAPS)),
    st.floats(allow_nan=False, allow_infinity=False),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_what_is_written_is_read_back(tree: dict[str, object]) -> None:
    """E1: a test that is written from a decision means what it was made of, whatever texts are in it."""
    documents, problems = read("a_test.yaml", written(tree).encode()) if tree else ((), [])
    assert [str(problem) for problem in problems] == []
    assert not tree or plain(documents[0].root) == _tuples(tree)


def _tuples(value: object) -> object:
    if isinstance(value, dict):
        return {key: _tuples(below) for key, below in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
