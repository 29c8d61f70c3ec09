"""Orders that are overdue or failed: put on record once, and counted."""

from __future__ import annotations

from discreet.server.metrics import Gathered
from discreet.server.servicers.purge.noticing import Noticing
from discreet.server.servicers.purge.tide import Tide
from tests.server.purge.orders import DOCUMENTS, HOUR, WAIT_S, Outcome, Scene
from tests.server.support import audit_rows


def noticing(stage: Scene) -> Noticing:
    """What looks after the orders of the server."""
    assert stage.running.server.methods is not None
    return stage.running.server.methods.purging.noticing


def notices(stage: Scene) -> list[tuple[str, str]]:
    """Order and words of every notice on record."""
    rows = audit_rows(stage.running.server.config.db)
    return [(row.change.subject_id, row.change.detail) for row in rows if row.change.method == "PurgeNotice"]


async def test_an_order_that_is_overdue_or_failed_is_on_record_once(stage: Scene) -> None:
    """F3, RET-08: whoever looks, and however often, one row each says so, by the server itself."""
    await stage.register("threads")
    await stage.register("vectors", DOCUMENTS)
    order = await stage.revoke()
    await noticing(stage).look()
    assert notices(stage) == []
    await stage.ack("vectors", order, 2, Outcome.PURGE_OUTCOME_FAILED, "a reason that may be secret")
    other = Noticing(stage.running.server.store, Tide(), stage.running.server.log, "other", WAIT_S)
    for one in (noticing(stage), other, noticing(stage)):
        await one.look()
    assert notices(stage) == [(order, "1 items failed")]
    stage.later(24 * HOUR + 1)
    for one in (other, noticing(stage), other):
        await one.look()
    assert notices(stage) == [(order, "1 items failed"), (order, "2 items overdue")]
    row = next(row for row in audit_rows(stage.running.server.config.db) if row.change.method == "PurgeNotice")
    assert (row.caller.name, row.tenant) == ("(server)", "acme")
    assert "secret" not in stage.running.log.getvalue()


async def test_what_is_held_is_no_notice(stage: Scene) -> None:
    """F3: a hold is no failure of the holder's."""
    await stage.register("threads")
    await stage.revoke()
    await stage.hold()
    stage.later(48 * HOUR)
    await noticing(stage).look()
    assert notices(stage) == []


async def test_orders_and_items_are_counted_without_a_name(stage: Scene) -> None:
    """F3: what a monitoring system may see: numbers by state and by kind of holder."""
    await stage.register("threads")
    await stage.register("vectors", DOCUMENTS)
    order = await stage.revoke()
    await stage.ack("threads", order, 1, Outcome.PURGE_OUTCOME_FAILED, "locked")
    await noticing(stage).look()

    def told() -> dict[tuple[str, str], float]:
        return {(one.name, next(iter(one.labels.values()))): one.value for one in noticing(stage)()}

    assert all(isinstance(one, Gathered) for one in noticing(stage)())
    assert told() == {
        ("purge_orders", "open"): 1,
        ("purge_orders", "overdue"): 0,
        ("purge_orders", "failed"): 1,
        ("purge_orders", "held"): 0,
        ("purge_open_items", "SEGMENT_STORE"): 1,
        ("purge_open_items", "DOCUMENT_STORE"): 1,
    }
    await stage.hold()
    await noticing(stage).look()
    assert (told()["purge_orders", "held"], told()["purge_orders", "failed"]) == (1, 0)
    text = (await stage.running.server.metrics.text()).decode()
    assert 'discreet_purge_orders{state="held"} 1.0' in text
    assert "threads" not in text
