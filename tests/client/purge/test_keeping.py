"""What a store keeps to: its gate, and what it may believe of what is posted to it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from discreet.client.keeping import BadPost, StoreGate, TooLate, answer_post, read_post
from discreet.client.purging import Outcome, ack_purged
from discreet.server.servicers.purge.webhook import body_of, signed
from discreet.v1 import purge_pb2 as pb

START = 1_800_000_000.0
SECRET = bytes(range(32))
KEY = ("order", 1)


class Clocks:
    """A wall clock that can be set, and a steady one."""

    def __init__(self) -> None:
        self.wall, self.steady = START, 50.0

    def gate(self) -> StoreGate:
        """A gate on these clocks."""
        return StoreGate(lambda: self.wall, lambda: self.steady)

    def pass_by(self, seconds: float) -> None:
        """Both go on."""
        self.wall += seconds
        self.steady += seconds


def at(seconds: float) -> datetime:
    """A time so long after the start."""
    return datetime.fromtimestamp(START, UTC) + timedelta(seconds=seconds)


def test_nothing_is_stored_after_its_time() -> None:
    """RET-01: at `store_by` it is too late, and what took too long is undone by its transaction."""
    clocks = Clocks()
    gate, stored = clocks.gate(), []
    with gate.storing(at(10)):
        stored.append(1)
    clocks.pass_by(9.5)
    with pytest.raises(TooLate), gate.storing(at(10)):
        clocks.pass_by(1)
    with pytest.raises(TooLate), gate.storing(at(10)):
        stored.append(2)
    with pytest.raises(TooLate):
        gate.require(at(10.5))
    assert stored == [1]


def test_a_clock_that_is_set_back_gives_no_more_time() -> None:
    """TIM-01 in kind: the wall clock may go ahead of what passed, never behind it; a time without a zone is refused."""
    clocks = Clocks()
    gate = clocks.gate()
    clocks.pass_by(20)
    clocks.wall -= 3_600
    with pytest.raises(TooLate):
        gate.require(at(10))
    clocks.wall += 7_200
    with pytest.raises(TooLate):
        gate.require(at(3_000))
    with pytest.raises(ValueError, match="no time zone"):
        gate.require(datetime(2030, 1, 1))  # noqa: DTZ001 - what is refused


def posted() -> bytes:
    """A body as the server posts it."""
    item = pb.PurgeItem(order_id="order", item=1, kind=pb.PURGE_ITEM_KIND_SEGMENT, ledger_id="l", digest="ab")
    post = pb.PurgePost(tenant="acme", holder="hook", items=[item])
    post.recalls.add(order_id="order", item=2)
    post.rechecks.add(order_id="order", item=3, digest="cd")
    return body_of(post)


def test_a_post_of_the_server_is_read_and_answered() -> None:
    """F3: client and server agree on names, signature and answers."""
    body = posted()
    post = read_post(SECRET.hex(), signed(SECRET, body, int(START)), body, START + 1)
    assert (post.tenant, post.holder, post.recalls) == ("acme", "hook", (("order", 2),))
    assert [(one.order_id, one.item, one.ledger_id) for one in post.items] == [("order", 1, "l")]
    assert [(one.item, one.digest) for one in post.rechecks] == [(3, "cd")]
    assert b"PURGE_OUTCOME_PURGED" in answer_post([ack_purged(KEY, Outcome.PURGED)])


def test_a_forged_or_old_post_is_refused() -> None:
    """F3: another body, another secret, another time, no signature: nothing is deleted on somebody's word."""
    body = posted()
    good = signed(SECRET, body, int(START))
    for secret, signature, data, now in (
        (SECRET.hex(), good, body + b" ", START),
        (bytes(32).hex(), good, body, START),
        (SECRET.hex(), good, body, START + 301),
        (SECRET.hex(), good, body, START - 301),
        (SECRET.hex(), good.replace("t=1", "t=2"), body, START),
        (SECRET.hex(), "", body, START),
        (SECRET.hex(), "t=x,v1=y", body, START),
        (SECRET.hex(), "t=1800000000,v1=\u00e9", body, START),
        (SECRET.hex(), signed(SECRET, b"[]", int(START)), b"[]", START),
    ):
        with pytest.raises(BadPost):
            read_post(secret, signature, data, now)


def test_only_a_word_that_is_an_outcome_is_an_outcome() -> None:
    """RET-08: a handler that returns nothing of use has failed."""
    for said in (None, True, 1, "PURGED"):
        assert ack_purged(KEY, said).outcome == pb.PURGE_OUTCOME_FAILED
