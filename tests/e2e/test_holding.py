"""The example of a holder, as a process of its own: one part is revoked, and everything is read back."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from email import policy
from email.parser import BytesParser
from pathlib import Path

import pytest

from discreet.client import Binding, Client, Segment
from discreet.client.model import digest as digest_of
from discreet.client.purge import Holder, HolderKind, Outcome
from discreet.v1 import index_pb2
from discreet.v1 import purge_pb2 as pb
from docs.examples.holder.copies import Copies
from tests.server.support import (
    POLICY,
    TENANT,
    Spawned,
    digest,
    document,
    eventually,
    make_repo,
    ref,
    spawn,
)

ROOT = Path(__file__).resolve().parents[2]
RETENTION = "apiVersion: discreet/v1\nkind: RetentionPolicy\nname: retention\nrecheck-after: 1s\n"
NAMES = ("leave", "pay", "trips")
TEXTS = {name: f"What the handbook says of {name}: \u4f11\u5047 {name}." for name in NAMES}
SUMMARY = "The handbook speaks of leave, pay and trips."


@pytest.fixture
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Spawned]:
    """A server whose policy demands that a holder looks again after a second."""
    import shutil
    import tempfile

    place = Path(tempfile.mkdtemp(prefix="d-"))
    repo = make_repo(place / "policy", {**POLICY, "retention.yaml": RETENTION})
    started = await spawn(place, repo.path)
    yield started
    await started.terminate()
    shutil.rmtree(place, ignore_errors=True)


def target(server: Spawned, identity: str) -> str:
    """Where an identity finds the server."""
    sockets = server.ready["sockets"]
    assert isinstance(sockets, dict)
    return f"unix:{sockets[identity]}"


def answered(server: Spawned, copies: Copies) -> dict[str, str]:
    """Three segments and a summary made from them, committed and kept: name to ledger id."""
    made: dict[str, str] = {}
    with Client(target(server, "agent"), tenant=TENANT, deadline_s=10) as client:
        segments = [
            Segment(name, digest=digest_of(TEXTS[name]), bindings=(Binding(f"handbook/{name}", "1", _content(name)),))
            for name in NAMES
        ]
        for result in client.commit(segments, "ana", "session-1", "answer-1").results:
            assert result.allowed
            assert result.store_by is not None
            copies.keep(result.ledger_id, "answer-1", TEXTS[result.segment_id], result.store_by)
            made[result.segment_id] = result.ledger_id
        summary = Segment("summary", digest=digest_of(SUMMARY), parents=tuple(made.values()))
        (result,) = client.commit([summary], "ana", "session-1", "answer-2").results
        assert result.allowed, result
        assert result.store_by is not None
        copies.keep_summary(result.ledger_id, SUMMARY, result.store_by)
        made["summary"] = result.ledger_id
    copies.export()
    return made


def _content(name: str) -> str:
    return digest(f"handbook/{name}@1")


@contextmanager
def holding(server: Spawned, directory: Path) -> Iterator[None]:
    """The example's holder, as its documentation starts it."""
    command = [sys.executable, "-m", "docs.examples.holder.holder", target(server, "holder"), str(directory)]
    paths = os.pathsep.join([str(ROOT), *(str(ROOT / part) for part in ("proto", "client"))])
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": paths, "DISCREET_TENANT": TENANT})
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


async def revoke(server: Spawned, name: str) -> str:
    """The order's id."""
    asked = index_pb2.RevokeRetentionRequest(
        tenant=TENANT, record=ref(f"handbook/{name}"), reason="asked to", ticket="T-1"
    )
    answer = await server.lines.operator.call(asked)
    assert isinstance(answer, index_pb2.RevokeRetentionResponse)
    return answer.purge_order_id


async def order_of(server: Spawned) -> pb.PurgeOrder:
    """The one order."""
    told = await server.lines.operator.call(pb.ListPurgeOrdersRequest(tenant=TENANT))
    assert isinstance(told, pb.ListPurgeOrdersResponse)
    return told.orders[0]


def all_bytes(directory: Path) -> bytes:
    """What stands in all files together."""
    return b"\n".join(file.read_bytes() for file in directory.rglob("*") if file.is_file())


async def until(server: Spawned, wanted: Callable[[pb.PurgeOrder], bool]) -> None:
    """Returns once the order stands as wanted."""

    async def stands() -> bool:
        return wanted(await order_of(server))

    await eventually(stands, 30)


async def test_one_part_is_revoked_and_all_copies_are_read_back(server: Spawned, tmp_path: Path) -> None:
    """B7, RET-01: the part is gone from rows, file and summary, the bytes included; nothing else is gone."""
    await server.lines.collector.put(*(document(f"handbook/{name}") for name in NAMES))
    made = await asyncio.to_thread(answered, server, Copies(tmp_path))
    with holding(server, tmp_path):

        async def registered() -> bool:
            told = await server.lines.operator.call(pb.ListHoldersRequest(tenant=TENANT))
            assert isinstance(told, pb.ListHoldersResponse)
            return len(told.holders) == 1

        await eventually(registered, 30)
        await revoke(server, "pay")
        await until(server, lambda order: order.done)
    order = await order_of(server)
    assert (order.segments, [(part.purged, part.not_found) for part in order.parts]) == (2, [(2, 0)])
    assert sorted(Copies(tmp_path).texts()) == sorted([TEXTS["leave"], TEXTS["trips"]] * 2)
    exported = BytesParser(policy=policy.default).parsebytes((tmp_path / "export.eml").read_bytes())
    assert [part["X-Ledger-Id"] for part in exported.iter_parts()] == [made["leave"], made["trips"]]
    written = all_bytes(tmp_path)
    assert TEXTS["leave"].encode() in written
    assert TEXTS["pay"].encode() not in written
    assert SUMMARY.encode() not in written


async def test_a_holder_that_only_says_so_is_caught(server: Spawned, tmp_path: Path) -> None:
    """F3, RET-01: the policy demands a second look: what is still there opens the item again, and is shown."""
    await server.lines.collector.put(*(document(f"handbook/{name}") for name in NAMES))
    copies = Copies(tmp_path)
    await asyncio.to_thread(answered, server, copies)
    lying = Holder(target(server, "holder"), tenant=TENANT)
    await asyncio.to_thread(lying.register, HolderKind.SEGMENT_STORE)
    order = await revoke(server, "pay")
    running = asyncio.create_task(asyncio.to_thread(lying.run, lambda _: Outcome.PURGED, copies.has))

    async def caught() -> bool:
        told = await server.lines.operator.call(pb.ListPurgeItemsRequest(tenant=TENANT, order_id=order))
        assert isinstance(told, pb.ListPurgeItemsResponse)
        assert {pb.PURGE_STATE_PURGED, pb.PURGE_STATE_NOT_FOUND}.isdisjoint({item.state for item in told.items})
        return all(item.answers >= 2 for item in told.items)

    await eventually(caught, 30)
    assert not (await order_of(server)).done
    lying.close()
    await running
    assert TEXTS["pay"] in copies.texts()
