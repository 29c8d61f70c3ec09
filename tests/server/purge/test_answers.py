"""What an answer leads to, as a rule, and that every answer is an item's own."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from discreet.v1 import purge_pb2 as pb
from tests.server.purge.orders import DOCUMENTS, HOUR, MINUTE, RETENTION, Outcome, Scene, keys, state_of
from tests.server.support import PolicyRepo, audit_rows

PURGED, NOT_FOUND, FAILED = (
    Outcome.PURGE_OUTCOME_PURGED,
    Outcome.PURGE_OUTCOME_NOT_FOUND,
    Outcome.PURGE_OUTCOME_FAILED,
)
ABSENT, PRESENT = Outcome.PURGE_OUTCOME_ABSENT, Outcome.PURGE_OUTCOME_PRESENT
STORE_WITHIN = 10 * MINUTE
LEEWAY = 5
NO_SUCH = "there is no such item in this holder's part"


async def rechecking(stage: Scene, repo: PolicyRepo) -> None:
    """From now on revokes demand a recheck after an hour."""
    repo.commit({"retention.yaml": RETENTION})
    await stage.running.server.policies.poll()


async def test_an_order_is_done_when_every_item_of_every_part_is(stage: Scene) -> None:
    """RET-01, RET-08: every registered holder is in the plan; one that failed keeps the order open, by name."""
    await stage.register("threads")
    await stage.register("vectors", DOCUMENTS)
    await stage.register("files", DOCUMENTS)
    order = await stage.revoke()
    assert await stage.ack("threads", order, 1, PURGED) == ("PURGED", "")
    assert await stage.ack("vectors", order, 2, PURGED) == ("PURGED", "")
    assert await stage.ack("files", order, 2, FAILED, "HTTP 500") == ("FAILED", "")
    (found,) = await stage.orders(open_only=True)
    assert not found.done
    parts = {part.holder: (part.purged, part.failed, part.last_failure) for part in found.parts}
    assert parts == {"files": (0, 1, "HTTP 500"), "threads": (1, 0, ""), "vectors": (1, 0, "")}
    status = await stage.status()
    assert (status.open_orders, status.failed_orders, status.done_orders) == (1, 1, 0)
    assert await stage.ack("files", order, 2, NOT_FOUND) == ("NOT_FOUND", "")
    assert [one.done for one in await stage.orders()] == [True]
    assert await stage.orders(open_only=True) == []
    assert (await stage.status()).done_orders == 1
    said = [row.change for row in audit_rows(stage.running.server.config.db) if row.change.method == "AckPurge"]
    assert [one.detail for one in said][-2:] == ["1 NOT_FOUND", "done: every item is purged or not there"]
    assert {one.subject_id for one in said} == {order}


async def test_an_answer_that_is_repeated_changes_nothing(stage: Scene) -> None:
    """RET-08: run twice, the outcome is the same, and nothing more is written."""
    await stage.register("threads")
    order = await stage.revoke()
    for outcome, reason in ((FAILED, "locked"), (PURGED, "")):
        first = await stage.ack("threads", order, 1, outcome, reason)
        rows = len(audit_rows(stage.running.server.config.db))
        assert await stage.ack("threads", order, 1, outcome, reason) == first
        assert len(audit_rows(stage.running.server.config.db)) == rows
    with closing(sqlite3.connect(stage.running.server.config.db)) as raw:
        assert raw.execute("SELECT n, outcome, reason FROM purge_answer ORDER BY n").fetchall() == [
            (1, FAILED, "locked"),
            (2, PURGED, ""),
        ]


async def test_what_failed_comes_again_ever_later(stage: Scene) -> None:
    """F3: a failed item stays open, with its reason, and is asked for after 1, 2, 4 ... minutes, at most an hour."""
    await stage.register("threads")
    watch = stage.watch("threads")
    await watch.next()
    order = await stage.revoke()
    assert keys(await watch.next()) == [(order, 1)]
    for minutes in (1, 2, 4, 8, 16, 32, 60, 60):
        await stage.ack("threads", order, 1, FAILED, "locked")
        (item,) = await stage.items(order)
        assert (state_of(item.state), item.failure) == ("FAILED", "locked")
        stage.later(minutes * MINUTE - 1)
        assert stage.clock.now == (await due(stage)) - 1_000_000
        stage.later(1)
        assert keys(await watch.next()) == [(order, 1)]


async def due(stage: Scene) -> int:
    """When the one item is asked for again."""
    with closing(sqlite3.connect(stage.running.server.config.db)) as raw:
        found: int = raw.execute("SELECT available_at FROM purge_part").fetchall()[0][0]
    return found


async def test_not_found_before_the_store_time_is_asked_again(stage: Scene) -> None:
    """RET-01: a copy may be stored until `store_by`, so that "not there" counts only after it."""
    await stage.register("threads")
    watch = stage.watch("threads")
    await watch.next()
    order = await stage.revoke()
    await watch.next()
    assert await stage.ack("threads", order, 1, NOT_FOUND) == ("UNCONFIRMED", "")
    assert await stage.ack("threads", order, 1, NOT_FOUND) == ("UNCONFIRMED", "")
    assert not (await stage.orders())[0].done
    stage.later(STORE_WITHIN + LEEWAY)
    assert keys(await watch.next()) == [(order, 1)]
    assert await stage.ack("threads", order, 1, NOT_FOUND) == ("NOT_FOUND", "")
    assert (await stage.orders())[0].done


async def test_a_late_copy_is_purged_by_the_second_asking(stage: Scene) -> None:
    """RET-01: what was stored between the two is found by the second."""
    await stage.register("threads")
    order = await stage.revoke()
    await stage.ack("threads", order, 1, NOT_FOUND)
    assert await stage.ack("threads", order, 1, PURGED) == ("PURGED", "")


async def test_a_holder_that_acknowledges_without_deleting_is_caught(stage: Scene, repo: PolicyRepo) -> None:
    """F3, RET-01: the policy demands a recheck: the digest is asked for again, and the item is open again."""
    await rechecking(stage, repo)
    await stage.register("threads")
    watch = stage.watch("threads")
    await watch.next()
    order = await stage.revoke()
    (item,) = (await watch.next()).items
    assert await stage.ack("threads", order, 1, PURGED) == ("UNCONFIRMED", "")
    early = await stage.ack("threads", order, 1, ABSENT)
    assert early == ("", "this item is not to be looked for now: answer PURGED, NOT_FOUND or FAILED")
    stage.later(HOUR)
    (recheck,) = (await watch.next()).rechecks
    assert (recheck.order_id, recheck.item, recheck.digest) == (order, 1, item.digest)
    assert await stage.ack("threads", order, 1, PURGED) == ("UNCONFIRMED", "")
    assert await stage.ack("threads", order, 1, PRESENT) == ("OPEN", "")
    (status,) = await stage.items(order)
    assert (state_of(status.state), status.failure) == ("OPEN", "still held")
    assert (await stage.status()).failed_orders == 1
    assert keys(await watch.next()) == [(order, 1)]
    await stage.ack("threads", order, 1, PURGED)
    stage.later(HOUR)
    assert len((await watch.next()).rechecks) == 1
    assert await stage.ack("threads", order, 1, ABSENT) == ("PURGED", "")
    assert (await stage.orders())[0].done
    assert await stage.ack("threads", order, 1, PRESENT) == ("OPEN", "")
    assert not (await stage.orders())[0].done


async def test_what_is_no_item_of_the_holder_is_refused_alike(stage: Scene) -> None:
    """F11 in kind: another holder's item, another number, another order: one text, whatever is true."""
    await stage.register("threads")
    await stage.register("vectors", DOCUMENTS)
    order = await stage.revoke()
    for holder, order_id, item in (("threads", order, 2), ("vectors", order, 1), ("files", order, 1)):
        assert await stage.ack(holder, order_id, item, PURGED) == ("", NO_SUCH)
    assert await stage.ack("threads", order, 7, PURGED) == ("", NO_SUCH)
    assert await stage.ack("threads", "no-such-order", 1, PURGED) == ("", NO_SUCH)
    refused = [await stage.line("stranger").refused(_acking(one)) for one in (order, "no-such-order")]
    assert {(error.code().name, error.details()) for error in refused} == {
        ("PERMISSION_DENIED", "tenant: this identity is not entitled to it")
    }
    assert set((await stage.states(order)).values()) == {"OPEN"}
    seen = [await stage.line("files").refused(_listing(one)) for one in (order, "no-such-order")]
    assert len({(error.code(), error.details()) for error in seen}) == 1
    assert [one.holder for one in await stage.items(order, "vectors")] == ["vectors"]
    assert (await stage.line("vectors").refused(_listing(order, "threads"))).code().name == "PERMISSION_DENIED"


def _acking(order_id: str) -> pb.AckPurgeRequest:
    return pb.AckPurgeRequest(tenant="acme", acks=[pb.PurgeAck(order_id=order_id, item=1, outcome=PURGED)])


def _listing(order_id: str, holder: str = "") -> pb.ListPurgeItemsRequest:
    return pb.ListPurgeItemsRequest(tenant="acme", order_id=order_id, holder=holder)


async def test_an_answer_that_is_none_is_refused_whole(stage: Scene) -> None:
    """A malformed answer writes nothing of its call; the path is named, and never what stood there."""
    await stage.register("threads")
    order = await stage.revoke()
    good = pb.PurgeAck(order_id=order, item=1, outcome=PURGED)
    cases = {
        "acks[1].outcome": pb.PurgeAck(order_id=order, item=1),
        "acks[1].item": pb.PurgeAck(order_id=order, outcome=PURGED),
        "acks[1].order_id": pb.PurgeAck(item=1, outcome=PURGED),
        "acks[1].reason": pb.PurgeAck(order_id=order, item=2, outcome=FAILED),
        "acks[1]": good,
    }
    for path, bad in cases.items():
        error = await stage.line("threads").refused(pb.AckPurgeRequest(tenant="acme", acks=[good, bad]))
        assert error.code().name == "INVALID_ARGUMENT"
        assert (error.details() or "").startswith(path), path
    assert await stage.states(order) == {("threads", 1): "OPEN"}


async def test_an_order_without_a_holder_is_done_once_it_is_due(stage: Scene) -> None:
    """RET-01: a holder that registers late gets its part, and the order is open again."""
    order = await stage.revoke(in_s=HOUR)
    assert [one.done for one in await stage.orders()] == [False]
    stage.later(HOUR)
    assert [one.done for one in await stage.orders()] == [True]
    told = await stage.register("threads")
    assert told.open_items == 1
    assert [one.done for one in await stage.orders(open_only=True)] == [False]
    assert await stage.states(order) == {("threads", 1): "OPEN"}
    assert (await stage.status()).overdue_orders == 0


async def test_an_overdue_order_is_shown(stage: Scene, place: Path) -> None:
    """RET-08: past the time and not answered: overdue until it is."""
    await stage.register("threads")
    order = await stage.revoke()
    assert await stage.orders(overdue_only=True) == []
    stage.later(24 * HOUR + 1)
    (found,) = await stage.orders(overdue_only=True)
    assert (found.order_id, found.parts[0].overdue) == (order, 1)
    assert (await stage.status()).overdue_orders == 1
    await stage.ack("threads", order, 1, PURGED)
    assert await stage.orders(overdue_only=True) == []
