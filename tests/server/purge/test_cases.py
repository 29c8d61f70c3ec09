"""Two cases as they were met in the wild: a store that nobody told, and a purge that was reported done too early."""

from __future__ import annotations

from typing import Any

from discreet.v1 import purge_pb2 as pb
from tests.server.purge.hooking import Answer, hooked, purged
from tests.server.purge.orders import DOCUMENTS, MINUTE, Outcome, Scene, registered
from tests.server.support import TENANT, check, eventually, verdicts

PURGED, FAILED = Outcome.PURGE_OUTCOME_PURGED, Outcome.PURGE_OUTCOME_FAILED


async def test_every_store_is_asked_until_it_confirms(stage: Scene) -> None:
    """RET-01: threads, vectors, a mirror that answers 500 twice, and files that nobody had registered.

    Purging until each confirmed, retried, done only then; refused everywhere from the first second.
    """
    answers = [500, 500]

    def twice(post: dict[str, Any]) -> Answer:
        return (answers.pop(), b"") if answers else purged(post)

    await stage.register("threads")
    await stage.register("vectors", DOCUMENTS, ["handbook"])
    with hooked(twice) as hook:
        asked = pb.RegisterHolderRequest(tenant=TENANT, holder="mirror", kind=DOCUMENTS, webhook_url=hook.address)
        await registered(stage.line("operator"), asked)
        order = await stage.revoke()
        assert verdicts(await stage.line("agent").check(check())) == [("PURGE", "RETENTION_REVOKED")]
        await stage.ack("threads", order, 1, PURGED)
        await stage.ack("vectors", order, 2, PURGED)
        assert not (await stage.orders())[0].done
        for posts in (1, 2, 3):
            await eventually(lambda wanted=posts: _so(len(hook.posts) == wanted))  # type: ignore[misc] # the loop's own
            assert not (await stage.orders())[0].done or posts == 3
            await eventually(lambda wanted=posts: _failures(stage, wanted % 3))  # type: ignore[misc] # the loop's own
            stage.later(MINUTE)

    async def done() -> bool:
        return (await stage.orders())[0].done

    await eventually(done)
    await stage.register("files", DOCUMENTS)
    assert not (await stage.orders())[0].done
    await stage.ack("files", order, 2, PURGED)
    assert (await stage.orders())[0].done


async def _so(value: bool) -> bool:
    return value


async def _failures(stage: Scene, wanted: int) -> bool:
    told = await stage.line("operator").call(pb.ListHoldersRequest(tenant=TENANT))
    assert isinstance(told, pb.ListHoldersResponse)
    return next(one.post_failures for one in told.holders if one.holder == "mirror") == wanted


async def test_one_store_that_fails_for_good_keeps_the_order_open(stage: Scene) -> None:
    """RET-08: two of three stores are done, the second fails whenever it is asked: partial, by name, also run twice."""
    await stage.register("threads")
    await stage.register("vectors", DOCUMENTS)
    await stage.register("files", DOCUMENTS)
    order = await stage.revoke()
    for _ in range(2):
        await stage.ack("threads", order, 1, PURGED)
        await stage.ack("vectors", order, 2, FAILED, "read-only")
        await stage.ack("files", order, 2, PURGED)
        (found,) = await stage.orders()
        parts = {part.holder: (part.purged, part.failed, part.last_failure) for part in found.parts}
        assert parts == {"files": (1, 0, ""), "threads": (1, 0, ""), "vectors": (0, 1, "read-only")}
        assert not found.done
        stage.later(90 * MINUTE)
