"""Bytes that are no message, or not quite: the parser says so, and never anything else."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.policy.codec import Malformed, parse_check, parse_commit
from tests.policy.codec.messages import check, commit, replay

WHOLE = [("check", parse_check, check), ("commit", parse_commit, commit), ("replay", parse_check, replay)]
DATA = {name: make().SerializeToString(deterministic=True) for name, _, make in WHOLE}
PARSE = {"check": parse_check, "commit": parse_commit, "replay": parse_check}


def _outcome(name: str, data: bytes) -> Malformed | None:
    """None where it is taken; whatever else than Malformed is raised fails the test."""
    try:
        PARSE[name](data)
    except Malformed as malformed:
        return malformed
    return None


@pytest.mark.parametrize("name", DATA)
def test_every_cut_is_malformed_or_a_shorter_message(name: str) -> None:
    """RPC-01: a call cut off anywhere is refused, unless the cut falls between two whole fields of the call."""
    data = DATA[name]
    named = [problem for cut in range(len(data)) if (problem := _outcome(name, data[:cut])) is not None]
    assert len(named) > len(data) * 0.9
    broken = [problem for problem in named if "breaks off" in problem.problem]
    assert len(broken) > len(data) * 0.8
    assert all(problem.field and problem.hint for problem in broken)


@pytest.mark.parametrize("name", DATA)
def test_changed_bytes_never_raise_anything_else(name: str) -> None:
    """OBS-03, RPC-01: bytes flipped, put in and left out give a question or Malformed, for 3,000 changes."""
    random, data = Random(7), DATA[name]
    for _ in range(1_000):
        for changed in _changes(random, data):
            _outcome(name, changed)


def _changes(random: Random, data: bytes) -> list[bytes]:
    at, other = random.randrange(len(data)), random.randrange(len(data))
    low, high = sorted((at, other))
    return [
        data[:at] + bytes([random.randrange(256)]) + data[at + 1 :],
        data[:at] + random.randbytes(random.randrange(1, 9)) + data[at:],
        data[:low] + data[high:],
    ]


@settings(max_examples=300)
@given(st.binary(max_size=400), st.sampled_from(sorted(PARSE)))
def test_random_bytes_never_raise_anything_else(data: bytes, name: str) -> None:
    """RPC-01: no bytes whatever raise anything but Malformed."""
    _outcome(name, data)


@pytest.mark.parametrize("opening", [b"\x9b\x06", b"\x52", b"\x1a"])
def test_deep_nesting_is_refused(opening: bytes) -> None:
    """RPC-03, YML-06: groups in groups and messages in messages far past any real depth cost nothing but a refusal."""
    nested = b""
    for _ in range(400):
        nested = opening + (nested if opening == b"\x9b\x06" else _length(nested) + nested)
    assert _outcome("check", DATA["check"] + nested) is not None


def test_values_in_values_far_past_their_depth_are_refused() -> None:
    """YML-06: an attribute nested a thousand deep is refused before anything walks it."""
    inner = b"\x10\x01"
    for _ in range(1_000):
        wrapped = b"\x0a" + _length(inner) + inner
        inner = b"\x32" + _length(wrapped) + wrapped
    entry = b"\x0a\x01x\x12" + _length(inner) + inner
    principal = b"\x0a\x03ana\x1a" + _length(entry) + entry
    assert _outcome("check", b"\x10\x02\x1a" + _length(principal) + principal) is not None


def _length(data: bytes) -> bytes:
    size, out = len(data), bytearray()
    while size > 0x7F:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*out, size])


def test_what_is_wrong_is_named_though_nothing_can_be_read() -> None:
    """A message cut off inside a field names that field, down to the index."""
    data = DATA["check"]
    problem = _outcome("check", data[:-1])
    assert problem is not None
    assert problem.field.startswith("segments[1]")
    empty = _outcome("check", b"")
    assert empty is not None
    assert empty.field == "moment"
    overlong = _outcome("check", b"\xff" * 12)
    assert overlong is not None
    assert overlong.hint
