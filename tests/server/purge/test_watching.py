"""The stream of items: what comes, when, and what comes again."""

from __future__ import annotations

import grpc

from tests.server.purge.orders import DOCUMENTS, HOUR, Outcome, Scene, keys


async def test_an_item_comes_when_it_is_revoked_and_once_on_one_stream(stage: Scene) -> None:
    """B7, F3: each holder is asked for what it keeps, with all that it needs to find it."""
    await stage.register("threads")
    await stage.register("vectors", DOCUMENTS, ["handbook"])
    await stage.register("files", DOCUMENTS, ["prices"])
    watches = {name: stage.watch(name) for name in ("threads", "vectors", "files")}
    for watch in watches.values():
        assert not (await watch.next()).items
    order = await stage.revoke()
    (segment,) = (await watches["threads"].next()).items
    (record,) = (await watches["vectors"].next()).items
    assert (segment.order_id, segment.item, segment.session_id, segment.answer_id, segment.segment_id) == (
        order, 1, "session-1", "answer-1", "s1"
    )  # fmt: skip
    assert segment.HasField("store_by")
    assert (record.record.record_id, record.record.version, record.source_label) == ("handbook/leave", "1", "handbook")
    await stage.ack("threads", order, 1, Outcome.PURGE_OUTCOME_PURGED)
    await stage.ack("vectors", order, 2, Outcome.PURGE_OUTCOME_FAILED, "locked")
    later = await stage.revoke("handbook/other")
    assert keys(await watches["vectors"].next()) == [(later, 1)]


async def test_what_is_not_answered_comes_again_on_the_next_stream(stage: Scene) -> None:
    """F3: at least once: with the token of the last message or without."""
    await stage.register("threads")
    order = await stage.revoke()
    first = stage.watch("threads")
    message = await first.next()
    assert keys(message) == [(order, 1)]
    first.close()
    again = stage.watch("threads", message.resume_token)
    assert keys(await again.next()) == [(order, 1)]
    again.close()
    await stage.ack("threads", order, 1, Outcome.PURGE_OUTCOME_PURGED)
    assert keys(await stage.watch("threads", message.resume_token).next()) == []


async def test_nothing_comes_before_its_time(stage: Scene) -> None:
    """F3: until `purge_not_before` an operator can still hold a mistaken revoke."""
    await stage.register("threads")
    watch = stage.watch("threads")
    await watch.next()
    order = await stage.revoke(in_s=HOUR)
    assert await stage.states(order) == {("threads", 1): "SCHEDULED"}
    assert not (await stage.orders())[0].done
    stage.later(HOUR)
    assert keys(await watch.next()) == [(order, 1)]
    assert await stage.states(order) == {("threads", 1): "OPEN"}


async def test_a_token_of_another_database_is_refused(stage: Scene) -> None:
    """F3: after a restored backup a holder learns that acknowledgements may be lost."""
    await stage.register("threads")
    from discreet.policy.token import Token, decode, encode

    good = (await stage.watch("threads").next()).resume_token
    for wrong in (Token("ab" * 16, 1, 0), decode(good)._replace(seq=10**9)):
        assert await stage.watch("threads", encode(wrong)).ended() == grpc.StatusCode.FAILED_PRECONDITION
    assert await stage.watch("threads", "x").ended() == grpc.StatusCode.INVALID_ARGUMENT
    assert await stage.watch("vectors").ended() == grpc.StatusCode.FAILED_PRECONDITION


async def test_a_drain_ends_the_streams_and_the_server_stops(stage: Scene) -> None:
    """RPC-09: a stream that waits does not keep the server from stopping."""
    await stage.register("threads")
    watch = stage.watch("threads")
    await watch.next()
    assert stage.running.server.methods is not None
    stage.running.server.methods.purging.tide.drain()
    assert await watch.ended() == grpc.StatusCode.OK
