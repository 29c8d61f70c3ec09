"""Policy revisions with their origins, pins, and the servers of a database, on every store."""

from discreet.policy.facts import Micros
from discreet.server.ports import Store
from discreet.server.ports_policy import Beat, Origin, Pin, PolicyName, PolicyRow, Revision

ORIGIN = Origin("ci", "https://git.example/p.git", "refs/heads/main", "A B <a@b>", "subject", Micros(5))
DAY = 86_400_000_000


def row(commit: str = "c", *, dirty: bool = False) -> PolicyRow:
    """A revision whose number and bundle have no meaning."""
    return PolicyRow(0, commit * 40 if commit else "", "d" * 64, dirty, b"bundle", Micros(7))


def beat(instance: str = "one", run: str = "r1", **changed: object) -> Beat:
    """What a server tells of itself."""
    policy = PolicyName(1, "c" * 40, "d" * 64, False, Micros(7))
    plain = Beat(instance, run, "0.1.0", 1, 10 * 1_000_000, 4, policy, "", 0, 1_000, "")
    return plain._replace(**changed)  # type: ignore[arg-type] # fields of a Beat


async def test_revisions_are_listed_newest_first_with_where_they_come_from(store: Store) -> None:
    """E2: who published what, when and from where is kept beside each revision."""
    await store.change(lambda work: work.policies.publish(0, row("a"), ORIGIN))
    back = Origin("olga", rolled_back_to=1, reason="it withholds too much")
    await store.change(lambda work: work.policies.publish(1, row("", dirty=True), back))
    first = PolicyName(1, "a" * 40, "d" * 64, False, Micros(7))
    second = PolicyName(2, "", "d" * 64, True, Micros(7))
    assert await store.revisions(None, 10) == [Revision(second, back), Revision(first, ORIGIN)]
    assert await store.revisions(None, 1) == [Revision(second, back)]
    assert await store.revisions(2, 10) == [Revision(first, ORIGIN)]
    assert (await store.policy_name(0), await store.policy_name(1)) == (second, first)
    assert await store.policy_name(3) is None
    assert (second.pin, first.pin) == ("d" * 64, "a" * 40)


async def test_a_pin_stands_until_its_end_and_each_has_its_own(store: Store) -> None:
    """F2: what a rollback pinned out stays so until it is ended, whatever else is pinned and ended."""
    first = await store.change(lambda work: work.policies.pin("a", "olga", "bad"))
    second = await store.change(lambda work: work.policies.pin("b", "olga", "bad"))
    pins = await store.pins()
    assert [(pin.pinned, pin.actor, pin.reason, pin.seq) for pin in pins] == [
        ("b", "olga", "bad", second),
        ("a", "olga", "bad", first),
    ]
    await store.change(lambda work: work.policies.unpin("b", "olga", "good again"))
    assert [pin.pinned for pin in await store.pins()] == ["a"]
    await store.change(lambda work: work.policies.pin("b", "otto", "bad again"))

    def seen(pins: tuple[Pin, ...]) -> list[tuple[str, str]]:
        return [(pin.pinned, pin.actor) for pin in pins]

    assert seen(await store.change(lambda work: work.policies.pins())) == [("b", "otto"), ("a", "olga")]


async def test_a_pin_is_an_event_that_changes_no_fact(store: Store) -> None:
    """A14: pins are numbered in the one order, and no cache of facts has to be read anew for them."""
    before = await store.head()
    seq = await store.change(lambda work: work.policies.pin("a" * 40, "olga", "bad"))
    after = await store.head()
    assert (after.seq, seq, after.changed_seq) == (before.seq + 1, before.seq + 1, before.changed_seq)


async def test_a_server_is_live_until_its_lease_ends_or_it_does(store: Store) -> None:
    """F1: the database knows which servers may answer, in which state, and until when."""
    assert await store.beat(beat())
    now, servers = await store.servers(DAY)
    (mine,) = servers
    assert mine.beat == beat()
    assert mine.started_at == mine.seen_at <= now
    assert mine.live(now)
    assert not mine.live(Micros(mine.seen_at + mine.beat.lease))
    assert await store.beat(beat(acked_seq=9, problem="policy: refused", policy=None, read_age=None))
    again = await store.server("one")
    assert again is not None
    assert (again.beat.acked_seq, again.beat.policy, again.beat.read_age) == (9, None, None)
    assert again.started_at == mine.started_at
    assert await store.beat(beat(ended=True))
    assert await store.change(lambda work: work.policies.servers()) == ()
    assert [one.beat.instance for one in (await store.servers(DAY))[1]] == ["one"]
    assert (await store.servers(0))[1] == ()


async def test_two_live_servers_have_no_name_in_common(store: Store) -> None:
    """F1: while a server lives no other one tells of itself under its name; afterwards one may."""
    assert await store.beat(beat())
    assert not await store.beat(beat(run="r2"))
    assert [one.beat.run for one in (await store.servers(DAY))[1]] == ["r1"]
    assert await store.beat(beat("two", run="r2"))
    assert await store.beat(beat(ended=True))
    assert await store.beat(beat(run="r2", lease=0))
    assert await store.beat(beat(run="r3"))
    found = await store.server("one")
    assert found is not None
    assert found.beat.run == "r3"
    assert {one.beat.instance for one in await store.change(lambda work: work.policies.servers())} == {"one", "two"}
    assert await store.server("three") is None


async def test_a_server_that_tells_of_itself_takes_no_number_of_the_order(store: Store) -> None:
    """F1: telling is no event: tokens do not move while nothing happens."""
    before = await store.head()
    assert await store.beat(beat())
    assert (await store.head()).seq == before.seq
