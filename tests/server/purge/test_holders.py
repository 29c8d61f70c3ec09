"""Who may register whom as a holder, of what, and what becomes of a registration."""

from __future__ import annotations

import pytest

from discreet.v1 import purge_pb2 as pb
from tests.server.purge.orders import DOCUMENTS, SEGMENTS, Outcome, Scene, registered
from tests.server.support import TENANT, audit_rows

DAY_S = 86_400
"""`purge-within` of the tests' policy."""
URL = "https://holder.example/purge?key=hidden"


async def listed(stage: Scene, *, removed: bool = False) -> dict[str, pb.Holder]:
    """The holders, by name."""
    told = await stage.line("auditor").call(pb.ListHoldersRequest(tenant=TENANT, removed=removed))
    assert isinstance(told, pb.ListHoldersResponse)
    return {one.holder: one for one in told.holders}


def asked(**fields: object) -> pb.RegisterHolderRequest:
    """A registration of a segment store."""
    return pb.RegisterHolderRequest(**{"tenant": TENANT, "kind": SEGMENTS, **fields})  # type: ignore[arg-type] # each test's


async def test_a_holder_registers_itself_and_an_operator_any(stage: Scene) -> None:
    """F3: holders are registered facts with an identity, and the audit knows who registered whom."""
    await stage.register("threads")
    await registered(
        stage.line("operator"), asked(holder="files", kind=DOCUMENTS, source_labels=["prices", "handbook"])
    )
    found = await listed(stage)
    assert (found["files"].kind, list(found["files"].source_labels)) == (DOCUMENTS, ["handbook", "prices"])
    assert set(found) == {"files", "threads"}
    rows = [row for row in audit_rows(stage.running.server.config.db) if row.change.method == "RegisterHolder"]
    assert [(row.caller.name, row.change.detail) for row in rows] == [
        ("threads", "holder threads: SEGMENT_STORE"),
        ("operator", "holder files: DOCUMENT_STORE of handbook, prices"),
    ]


@pytest.mark.parametrize(
    "who, fields, code, field",
    [
        ("threads", {"holder": "files"}, "PERMISSION_DENIED", "holder"),
        ("threads", {"webhook_url": URL}, "PERMISSION_DENIED", "webhook_url"),
        ("stranger", {}, "PERMISSION_DENIED", "tenant"),
        ("threads", {"kind": 0}, "INVALID_ARGUMENT", "kind"),
        ("threads", {"source_labels": ["handbook"]}, "INVALID_ARGUMENT", "source_labels"),
        ("threads", {"kind": DOCUMENTS, "source_labels": ["A"]}, "INVALID_ARGUMENT", "source_labels[0]"),
        ("operator", {}, "INVALID_ARGUMENT", "holder"),
        ("operator", {"holder": "nobody"}, "INVALID_ARGUMENT", "holder"),
        ("operator", {"holder": "stranger"}, "INVALID_ARGUMENT", "holder"),
        ("operator", {"holder": "agent"}, "INVALID_ARGUMENT", "holder"),
        ("operator", {"holder": "agent", "webhook_url": URL}, "INVALID_ARGUMENT", "holder"),
        ("operator", {"holder": "stranger", "webhook_url": URL}, "INVALID_ARGUMENT", "holder"),
        ("operator", {"holder": "files", "webhook_url": "http://holder.example/"}, "INVALID_ARGUMENT", "webhook_url"),
        (
            "operator",
            {"holder": "files", "webhook_url": "http://127.0.0.1.example/"},
            "INVALID_ARGUMENT",
            "webhook_url",
        ),
        (
            "operator",
            {"holder": "files", "webhook_url": "https://a:b@holder.example"},
            "INVALID_ARGUMENT",
            "webhook_url",
        ),
        ("operator", {"holder": "files", "webhook_url": "file:///etc/passwd"}, "INVALID_ARGUMENT", "webhook_url"),
        ("operator", {"holder": "files", "webhook_url": "https://h\u0435.example"}, "INVALID_ARGUMENT", "webhook_url"),
        ("agent", {"holder": "files"}, "PERMISSION_DENIED", "RegisterHolder"),
    ],
)
async def test_what_is_no_registration_is_refused(
    stage: Scene, who: str, fields: dict[str, object], code: str, field: str
) -> None:
    """F3: the field is named, never what stood in it; nothing is registered."""
    error = await stage.line(who).refused(asked(**fields))
    details = error.details() or ""
    assert (error.code().name, details.split(" ")[0].rstrip(":")) == (code, field)
    assert "example" not in details.replace("[a-z0-9]", "")
    assert await listed(stage) == {}


async def test_a_secret_is_told_once_and_anew_with_another_address(stage: Scene) -> None:
    """OBS-03: neither secret nor address stands in audit or log."""
    first = await registered(stage.line("operator"), asked(holder="hook", webhook_url=URL))
    same = await registered(stage.line("operator"), asked(holder="hook", webhook_url=URL))
    other = await registered(stage.line("operator"), asked(holder="hook", webhook_url=URL + "2"))
    assert (len(first.webhook_secret), same.webhook_secret) == (64, "")
    assert other.webhook_secret not in ("", first.webhook_secret)
    assert (await listed(stage))["hook"].webhook_url == URL + "2"
    written = b"".join(row.SerializeToString() for row in audit_rows(stage.running.server.config.db)).decode("latin-1")
    for hidden in (first.webhook_secret, other.webhook_secret, "holder.example", "hidden"):
        assert hidden not in written
        assert hidden not in stage.running.log.getvalue()
    assert sum(row.change.method == "RegisterHolder" for row in audit_rows(stage.running.server.config.db)) == 2


async def test_removing_a_holder_closes_nothing(stage: Scene) -> None:
    """F3, RET-08: its items stay open and can be answered; later orders have no part for it."""
    await stage.register("threads")
    order = await stage.revoke()
    told = await stage.line("operator").call(pb.RemoveHolderRequest(tenant=TENANT, holder="threads", reason="retired"))
    assert isinstance(told, pb.RemoveHolderResponse)
    assert told.open_items == 1
    assert await listed(stage) == {}
    assert (await listed(stage, removed=True))["threads"].open_items == 1
    assert not (await stage.orders())[0].done
    assert len((await stage.watch("threads").next()).items) == 1
    assert await stage.ack("threads", order, 1, Outcome.PURGE_OUTCOME_PURGED) == ("PURGED", "")
    later = await stage.revoke("handbook/other")
    assert await stage.states(later) == {}
    again = pb.RemoveHolderRequest(tenant=TENANT, holder="threads", reason="retired")
    assert (await stage.line("operator").refused(again)).code().name == "NOT_FOUND"


async def test_a_holder_that_keeps_more_gets_what_was_revoked_before(stage: Scene) -> None:
    """RET-01: a store that was unknown is asked as soon as it is known, and a second registration adds nothing.

    It has as long as any other: its time runs from when it was known, and it is not overdue at birth.
    """
    order = await stage.revoke()
    await stage.register("vectors", DOCUMENTS, ["prices"])
    stage.later(3 * DAY_S)
    assert await stage.states(order) == {}
    wider = await stage.register("vectors", DOCUMENTS, ["prices", "handbook"])
    assert wider.open_items == 1
    assert (await stage.register("vectors", DOCUMENTS, ["handbook", "prices"])).open_items == 0
    assert await stage.states(order) == {("vectors", 2): "OPEN"}
    (one,) = await stage.items(order)
    assert one.item.due_at.ToMicroseconds() == stage.clock.now + DAY_S * 1_000_000
    assert await stage.orders(overdue_only=True) == []
    assert (await stage.status()).overdue_orders == 0
    stage.later(DAY_S + 1)
    assert [one.order_id for one in await stage.orders(overdue_only=True)] == [order]
