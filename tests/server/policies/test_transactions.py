"""The transactions that publish, roll back and unpin, on both databases, without a server around them."""

from __future__ import annotations

from functools import partial

import pytest

from discreet.policy.engine import ENGINE
from discreet.policy.facts import Caller
from discreet.policy.words import Role
from discreet.server.calls import Call
from discreet.server.policies import publication
from discreet.server.policies.compile import Compiled
from discreet.server.policies.publication import InForce, Nothing, Overtaken, PinnedOut, Signed, TooOld, Unpinned
from discreet.server.ports import Store
from discreet.server.ports_policy import Origin
from tests.server.policies.revisions import beat, commit_of, compiled, numbers, pinned_of

OLGA = Caller("olga", Role.OPERATOR, None)
ORIGIN = Origin("olga", "https://git.example/p.git", "refs/heads/main")


def signed(method: str) -> Signed:
    """A call of the operator."""
    return Signed(Call(OLGA, method, "request"), "test")


async def publish(
    store: Store, made: Compiled, expected: int, *, ref_moved: bool = True
) -> InForce | Overtaken | PinnedOut | TooOld:
    """What becomes of a publication."""
    work = partial(publication.publish, signed=signed("Publish"), row=made.row, origin=ORIGIN, expected=expected)
    return await store.change(partial(work, ref_moved=ref_moved))


async def back(store: Store, number: int, expected: int = 0) -> InForce | Overtaken | TooOld | Nothing:
    """What becomes of a rollback."""
    row = await store.policy_row(number)
    assert row is not None
    origin = ORIGIN._replace(rolled_back_to=number, reason="bad")
    return await store.change(
        partial(publication.roll_back, signed=signed("Rollback"), row=row, origin=origin, expected=expected)
    )


async def unpin(store: Store, pinned: str = "") -> Unpinned | Nothing:
    """What becomes of taking pins away."""
    return await store.change(partial(publication.unpin, signed=signed("Unpin"), pinned=pinned, reason="good again"))


@pytest.fixture
async def three(store: Store) -> Store:
    """A store with revisions a, b and c, of which c is in force."""
    for expected, mark in enumerate("abc"):
        outcome = await publish(store, compiled(mark), expected)
        assert isinstance(outcome, InForce)
        assert (outcome.name.number, outcome.published) == (expected + 1, True)
    return store


async def test_a_publication_names_what_was_in_force_before(three: Store) -> None:
    """F2: compare-and-set: on any other revision nothing is written, and the one in force is told."""
    for expected in (0, 1, 2, 4):
        assert await publish(three, compiled("d"), expected) == Overtaken(3)
    assert numbers(await three.revisions(None, 10)) == [3, 2, 1]


async def test_what_is_in_force_is_not_published_again(three: Store) -> None:
    """F2: the same commit with the same digest is a no-op, whatever was expected; another commit with it is none."""
    before = await three.head()
    for expected in (0, 3):
        outcome = await publish(three, compiled("c"), expected)
        assert isinstance(outcome, InForce)
        assert (outcome.name.number, outcome.published) == (3, False)
    assert (await three.head()).seq == before.seq
    row = compiled("c").row._replace(commit=commit_of("d"))
    made = await three.change(
        partial(publication.publish, signed=signed("Publish"), row=row, origin=ORIGIN, expected=3)
    )
    assert isinstance(made, InForce)
    assert (made.name.number, made.name.commit, made.published) == (4, commit_of("d"), True)


async def test_a_rollback_brings_the_same_bundle_back_and_pins_what_it_leaves(three: Store) -> None:
    """F2: an earlier bundle under a higher number; the commit that it leaves can be published by nobody."""
    outcome = await back(three, 2)
    assert isinstance(outcome, InForce)
    assert (outcome.name.number, outcome.name.commit, outcome.pinned) == (4, commit_of("b"), commit_of("c"))
    first, again = await three.policy_row(2), await three.policy_row(0)
    assert first is not None
    assert again is not None
    assert (again.bundle, again.digest, again.number) == (first.bundle, first.digest, 4)
    (newest,) = await three.revisions(None, 1)
    assert newest.origin is not None
    assert (newest.origin.rolled_back_to, newest.origin.reason) == (2, "bad")
    refusal = await publish(three, compiled("c"), 4)
    assert isinstance(refusal, PinnedOut)
    assert (refusal.pin.pinned, refusal.pin.actor, refusal.pin.reason) == (commit_of("c"), "olga", "bad")
    assert numbers(await three.revisions(None, 1)) == [4]


async def test_a_publication_of_another_commit_ends_every_pin(three: Store) -> None:
    """F2: the ref has moved on: the pins of what it left behind are over, in the same transaction."""
    await back(three, 2)
    await back(three, 1)
    assert pinned_of(await three.pins()) == [commit_of("b"), commit_of("c")]
    assert isinstance(await publish(three, compiled("d"), 5), InForce)
    assert await three.pins() == ()
    assert isinstance(await publish(three, compiled("c"), 6), InForce)


async def test_a_set_that_is_published_by_hand_ends_no_pin(three: Store) -> None:
    """F2: it says nothing of where the ref is: a follower that starts later does not undo the rollback."""
    await back(three, 2)
    assert isinstance(await publish(three, compiled("d"), 4, ref_moved=False), InForce)
    assert pinned_of(await three.pins()) == [commit_of("c")]
    assert isinstance(await publish(three, compiled("c"), 5), PinnedOut)


async def test_a_rollback_ends_the_pin_of_what_it_brings_back_alone(three: Store) -> None:
    """F2: rolled back from c to b, then to c again: c is in force and b is out; what else is out stays out."""
    await back(three, 1)
    await back(three, 2)
    assert pinned_of(await three.pins()) == [commit_of("a"), commit_of("c")]
    outcome = await back(three, 3)
    assert isinstance(outcome, InForce)
    assert (outcome.name.commit, outcome.pinned) == (commit_of("c"), commit_of("b"))
    assert pinned_of(await three.pins()) == [commit_of("b"), commit_of("a")]


async def test_a_rollback_that_changes_nothing_is_none(three: Store) -> None:
    """F2: neither to the revision in force, nor to one of the same commit and content, nor over another one."""
    assert await back(three, 3) == Nothing("that is the revision in force", missing=False)
    assert await back(three, 1, expected=2) == Overtaken(3)
    await back(three, 1)
    assert await back(three, 1) == Nothing("that is the revision in force", missing=False)
    assert numbers(await three.revisions(None, 1)) == [4]


async def test_a_set_of_no_commit_is_pinned_by_its_content(three: Store) -> None:
    """F2: what was rolled back is refused under any name; the same content cannot be told from what it replaces."""
    await publish(three, compiled("d", commit=False), 3)
    outcome = await back(three, 3)
    assert isinstance(outcome, InForce)
    digest = compiled("d").snapshot.digest
    assert outcome.pinned == digest
    assert isinstance(await publish(three, compiled("d", commit=False), 5), PinnedOut)
    assert isinstance(await publish(three, compiled("d"), 5), PinnedOut)
    await publish(three, compiled("c", commit=False), 5)
    assert await back(three, 5) == Nothing("it has the same files as the revision in force", missing=False)


async def test_one_commit_under_two_contents_is_pinned_by_content(three: Store) -> None:
    """F2: the commit is the same where another folder of it was served; back from it pins the content alone."""
    row = compiled("other").row._replace(commit=commit_of("c"))
    await three.change(partial(publication.publish, signed=signed("Publish"), row=row, origin=ORIGIN, expected=3))
    outcome = await back(three, 3)
    assert isinstance(outcome, InForce)
    assert (outcome.name.commit, outcome.pinned) == (commit_of("c"), row.digest)
    assert pinned_of(await three.pins()) == [row.digest]


async def test_pins_are_taken_away_one_by_one_or_all(three: Store) -> None:
    """F2: after it the commit may come into force again; what is not pinned out is not found."""
    assert await unpin(three) == Nothing("nothing is pinned out", missing=True)
    await back(three, 2)
    await back(three, 1)
    assert await unpin(three, commit_of("a")) == Nothing("nothing of the kind is pinned out", missing=True)
    outcome = await unpin(three, commit_of("c"))
    assert isinstance(outcome, Unpinned)
    assert outcome.pinned == (commit_of("c"),)
    assert pinned_of(await three.pins()) == [commit_of("b")]
    await back(three, 3)
    outcome = await unpin(three)
    assert isinstance(outcome, Unpinned)
    assert outcome.pinned == tuple(sorted((commit_of("a"), commit_of("b"))))
    assert await three.pins() == ()


async def test_a_live_server_that_is_too_old_stops_a_publication_and_a_rollback(three: Store) -> None:
    """F1, E2: no set comes into force that a live server cannot decide under; one that ended is not asked."""
    assert await three.beat(beat("new", engine=ENGINE))
    assert await three.beat(beat("old", engine=ENGINE - 1))
    assert await publish(three, compiled("d"), 3) == TooOld(ENGINE, ("old",))
    assert await back(three, 1) == TooOld(ENGINE, ("old",))
    assert "needs engine 1, which these servers lack: old" in str(TooOld(ENGINE, ("old",)))
    assert numbers(await three.revisions(None, 1)) == [3]
    assert await three.beat(beat("old", engine=ENGINE - 1, ended=True))
    assert isinstance(await publish(three, compiled("d"), 3), InForce)
