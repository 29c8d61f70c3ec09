"""Tokens, receipts and fingerprints: what they bind, what is refused, and that no two things give the same bytes."""

from __future__ import annotations

import base64
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.codec import fingerprint, segment_bytes, segment_from
from discreet.policy.facts import Micros, ReceiptKey
from discreet.policy.receipts import holds, issue, message
from discreet.policy.request import Binding, Claim, Segment
from discreet.policy.token import BadToken, Token, decode, encode
from discreet.policy.words import Grounding, Moment, Reason, Verdict
from tests.policy.decide.replies import reply
from tests.policy.decide.world import DIGEST, KEY, OTHER_DIGEST, World, edit, evidence, segment, world

TRICKY = ["", "|", "-", "/", "\x00", "%", ":", "a", "eu:7", "marlowe", "marlowe:eu", "7", "1", "\u6f22", "\udc80", "aa"]
HEX = st.text("0123456789abcdef", min_size=32, max_size=32)


@given(HEX, st.integers(0, 2**64 - 1), st.integers(0, 2**48 - 1))
def test_a_token_comes_back_as_it_was(epoch: str, seq: int, number: int) -> None:
    """F1: every state has one token, of one spelling and bounded length."""
    text = encode(Token(epoch, seq, number))
    assert decode(text) == Token(epoch, seq, number)
    assert len(text) <= 64


@given(st.one_of(st.text(max_size=80), st.binary(max_size=48).map(lambda raw: base64.urlsafe_b64encode(raw).decode())))
def test_what_is_no_token_is_refused(text: str) -> None:
    """F1: random text and random bytes are refused, or they are the one spelling of what they name."""
    try:
        token = decode(text)
    except BadToken:
        return
    assert encode(token) == text


@pytest.mark.parametrize(
    "change", [lambda t: t + "=", lambda t: t + "\n", lambda t: " " + t, lambda t: t[:-1], str.lower]
)
def test_a_token_has_one_spelling(change: Callable[[str], str]) -> None:
    """F1: padding, blanks, cuts and other cases are no token."""
    text = encode(Token("ab" * 16, 12345, 6))
    with pytest.raises(BadToken):
        decode(change(text))
    ending = text[:-1] + chr(ord(text[-1]) + 1)
    with pytest.raises(BadToken):
        decode(ending)


def test_no_two_lists_of_parts_give_the_same_bytes() -> None:
    """REV-08: 10,000 random tuples of parts that hold separators, NUL and one another: no collision."""
    random = Random(8)
    seen: dict[bytes, tuple[str, ...]] = {}
    for _ in range(10_000):
        parts = tuple("".join(random.choices(TRICKY, k=random.randrange(3))) for _ in range(random.randrange(6)))
        assert seen.setdefault(message(parts), parts) == parts
    assert message(("marlowe:eu", "7")) != message(("marlowe", "eu:7"))
    assert message(("a", "")) != message(("", "a")) != message(("a",))


def _retrieved(asked: World) -> str:
    (result,) = asked.ask(moment=Moment.RETRIEVE).results
    assert result.verdict is Verdict.ALLOW
    return result.receipts[0]


def test_a_receipt_proves_this_retrieval_and_no_other() -> None:
    """DSC-12, DSC-03, B1: it holds for tenant, session, principal, record, version and digest, each of them exactly."""
    asked = world(evidence())
    request = asked.request
    bound = edit(asked.segments[0].bindings[0], receipt=_retrieved(asked))
    assert holds((KEY,), request, bound)
    for other in (
        edit(request, tenant="other"),
        edit(request, session_id="session-2"),
        edit(request, principal=edit(request.principal, id="bo")),
    ):
        assert not holds((KEY,), other, bound)
    for changed in (
        edit(bound, record_id="quote-2"),
        edit(bound, version="2"),
        edit(bound, digest=OTHER_DIGEST),
        edit(bound, receipt=""),
        edit(bound, receipt=bound.receipt[:-1]),
        edit(bound, receipt="k2" + bound.receipt[2:]),
        edit(bound, receipt=bound.receipt.partition(".")[2]),
        edit(bound, receipt="k1.\u6f22"),
    ):
        assert not holds((KEY,), request, changed)
    assert holds((KEY,), request, edit(bound, locator="p. 9", granted_under=""))


def test_parts_that_run_into_each_other_are_other_receipts() -> None:
    """REV-08: where one field ends and the next begins is part of what is signed."""
    request = world().request
    one = Binding("kb", "1.2", DIGEST)
    assert issue((KEY,), request, one) != issue((KEY,), request, edit(one, record_id="kb1", version=".2"))
    moved = edit(request, session_id="s", principal=edit(request.principal, id="ana"))
    other = edit(request, session_id="sa", principal=edit(request.principal, id="na"))
    assert issue((KEY,), moved, one) != issue((KEY,), other, one)


def test_an_older_key_still_verifies_and_the_newest_signs() -> None:
    """F1: rotating the key refuses nobody who retrieved before; a key that is gone proves nothing."""
    new, request, bound = (
        ReceiptKey("k2", b"another key, also of 32 bytes..."),
        world().request,
        Binding("kb", "1", DIGEST),
    )
    old = edit(bound, receipt=issue((KEY,), request, bound))
    fresh = edit(bound, receipt=issue((KEY, new), request, bound))
    assert fresh.receipt.startswith("k2.")
    assert holds((KEY, new), request, old)
    assert holds((KEY, new), request, fresh)
    assert not holds((new,), request, old)
    assert not holds((), request, old)
    assert issue((), request, bound) == ""


def test_a_policy_can_demand_that_what_is_shown_was_retrieved() -> None:
    """DSC-12: with the demand a citation that was approved but not retrieved is withheld; a receipt lets it pass."""
    asked = world(evidence())
    demanding = edit(asked.snapshot, requires=edit(asked.snapshot.requires, retrieved_in_session=True))
    assert asked.one(snapshot=demanding).reason is Reason.NOT_RETRIEVED
    (one,) = asked.segments
    held = edit(one, bindings=(edit(one.bindings[0], receipt=_retrieved(asked)),))
    assert asked.one(snapshot=demanding, segments=(held,)).verdict is Verdict.ALLOW
    assert asked.one(snapshot=demanding, segments=(held,), session_id="session-2").reason is Reason.NOT_RETRIEVED
    assert list(reply(edit(asked, moment=Moment.RETRIEVE)).results[0].receipts) == [_retrieved(asked)]


CLAIM = Claim("adjusted", (Micros(1), Micros(2)), ("value", "unit"))
ONE = segment(Binding("kb", "1", DIGEST, "p. 1"), Binding("kb", "2", DIGEST), claim=CLAIM)
DIFFERENT = [
    edit(ONE, digest=OTHER_DIGEST),
    edit(ONE, kind="quote"),
    edit(ONE, grounding=Grounding.UNBOUND),
    edit(ONE, claim=None),
    edit(ONE, claim=Claim()),
    edit(ONE, claim=edit(CLAIM, basis="")),
    edit(ONE, claim=edit(CLAIM, about=None)),
    edit(ONE, claim=edit(CLAIM, about=(Micros(1), Micros(3)))),
    edit(ONE, claim=edit(CLAIM, required_fields=("unit", "value"))),
    edit(ONE, claim=edit(CLAIM, required_fields=("value",))),
    edit(ONE, bindings=ONE.bindings[::-1]),
    edit(ONE, bindings=ONE.bindings[:1]),
    edit(ONE, bindings=()),
    edit(ONE, parents=("L-1",)),
    edit(ONE, parents=("L-1", "L-2")),
    edit(ONE, parents=("L-2", "L-1")),
    edit(ONE, parents=("L-1L-2",)),
    edit(ONE, bindings=(), parents=("L-1",)),
    edit(ONE, bindings=(edit(ONE.bindings[0], record_id="kb1"), ONE.bindings[1])),
    edit(ONE, bindings=(edit(ONE.bindings[0], version="11"), ONE.bindings[1])),
    edit(ONE, bindings=(edit(ONE.bindings[0], digest=OTHER_DIGEST), ONE.bindings[1])),
    edit(ONE, bindings=(edit(ONE.bindings[0], locator=""), ONE.bindings[1])),
]
SAME = [
    edit(ONE, id="another"),
    edit(ONE, bindings=tuple(edit(b, receipt="k1.x", granted_under="t") for b in ONE.bindings)),
    edit(ONE, bindings=tuple(edit(b, claimed_label="wiki", claimed_basis="x") for b in ONE.bindings)),
]


def test_a_fingerprint_tells_apart_whatever_changes_what_is_shown() -> None:
    """B6, RFR-03: digest, bindings, principal, kind, grounding, claim and needs make another commit; proofs do not."""
    prints = [fingerprint("ana", each) for each in (ONE, *DIFFERENT)] + [fingerprint("bo", ONE)]
    prints += [fingerprint("ana", ONE, needs) for needs in ((True, False), (False, True), (True, True))]
    assert len(set(prints)) == len(prints)
    assert {fingerprint("ana", each) for each in (ONE, *SAME)} == {fingerprint("ana", ONE)}


def test_a_fingerprint_is_the_same_for_ever() -> None:
    """B6: it is stored, so that what it is made of may not change from release to release."""
    assert fingerprint("ana", ONE).hex() == "5b8c2869094b2b70fa0379e0161eb9a38df864542e9561579a4438a3054d3d2a"


@pytest.mark.parametrize("stored", [ONE, *DIFFERENT[:2], *DIFFERENT[3:]], ids=range(len(DIFFERENT)))
def test_a_stored_segment_comes_back_as_it_was(stored: Segment) -> None:
    """F4, F6: the ledger keeps ids and digests, and gives back the question that was decided."""
    assert segment_from(segment_bytes(stored)) == stored
    assert segment_bytes(segment_from(segment_bytes(stored))) == segment_bytes(stored)
