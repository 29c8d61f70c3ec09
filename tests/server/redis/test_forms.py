"""What is kept under a key, and what goes through the channel: of one form each, and nothing else is believed."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.server.cache.envelope import BUNDLE_BYTES_MAX, HEAD_BYTES, MAGIC, READ_BYTES_MAX, opened, sealed
from discreet.server.cache.messages import Message, understood, written

RUNS = st.text("0123456789abcdef", min_size=32, max_size=32)


def digest_of(bundle: bytes) -> str:
    """As SQL names it."""
    return hashlib.sha256(bundle).hexdigest()


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_a_bundle_comes_out_as_it_went_in_and_under_its_own_digest_alone(bundle: bytes, other: bytes) -> None:
    """E2: what stands under another digest is not opened, however well-formed."""
    value = sealed(digest_of(bundle), bundle)
    assert value is not None
    assert opened(digest_of(bundle), value) == bundle
    assert other == bundle or opened(digest_of(other), value) is None


@given(st.binary(min_size=1, max_size=100), st.data())
def test_a_value_that_is_cut_lengthened_or_of_another_version_is_none(bundle: bytes, data: st.DataObject) -> None:
    """E2: no prefix, no longer value and no other magic is taken for the bundle."""
    digest = digest_of(bundle)
    value = sealed(digest, bundle)
    assert value is not None
    cut = data.draw(st.integers(0, len(value) - 1))
    others = (value[:cut], value + b"\0", value.replace(b"bundle 1", b"bundle 2", 1), bundle, b"", value[HEAD_BYTES:])
    assert [opened(digest, one) for one in others] == [None] * len(others)


def test_a_bundle_is_kept_up_to_its_largest_size_and_no_further() -> None:
    """A value of the largest size is read whole, one byte more is neither kept nor opened."""
    largest = bytes(BUNDLE_BYTES_MAX)
    value = sealed(digest_of(largest), largest)
    assert value is not None
    assert len(value) == READ_BYTES_MAX - 1
    assert opened(digest_of(largest), value) == largest
    assert sealed(digest_of(largest), largest + b"\0") is None
    assert opened(digest_of(largest), value + b"\0") is None
    assert value.startswith(MAGIC)


@given(RUNS, st.integers(0, 10**18 - 1))
def test_a_message_is_understood_as_it_was_written(run: str, sign: int) -> None:
    """Rings and signs of every server."""
    assert understood(written(Message(run, sign))) == Message(run, sign)


@pytest.mark.parametrize(
    "data",
    [b"", b"ring", b"discreet/1 ring", b"discreet/1 ring " + b"A" * 32, b"discreet/1 ring " + b"a" * 33,
     b"discreet/1 sign " + b"a" * 32, b"discreet/1 ring " + b"a" * 32 + b" 1", b"discreet/2 ring " + b"a" * 32,
     b"discreet/1 sign " + b"a" * 32 + b" 0", b"discreet/1 sign " + b"a" * 32 + b" 01",
     b"discreet/1 ring " + b"a" * 32 + b"\n", b"x" * 1_000_000, 7, None, [b"discreet/1 ring " + b"a" * 32]],
)  # fmt: skip
def test_anything_else_is_no_message(data: object) -> None:
    """What is too long, of another version, or almost right says nothing."""
    assert understood(data) is None


@given(st.binary(max_size=80))
def test_noise_is_never_a_message_unless_it_is_written_so(data: bytes) -> None:
    """There is one way to write each message."""
    message = understood(data)
    assert message is None or written(message) == data
