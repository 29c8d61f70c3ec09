"""Page tokens are the callers' text: a made-up one is refused by its field, whatever it holds."""

from __future__ import annotations

import base64
import json

import pytest
from google.protobuf.message import Message

from discreet.server.servicers.paging import page_token
from discreet.v1 import audit_pb2, index_pb2
from tests.server.support import TENANT, Running


def forged(request: Message, *cursor: object) -> str:
    """A token that names the request's own query and a cursor that no page ends at."""
    genuine = page_token(request, ("a",))
    query, _ = json.loads(base64.urlsafe_b64decode(genuine + "=" * (-len(genuine) % 4)))
    return base64.urlsafe_b64encode(json.dumps([query, *cursor]).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize("text", ["\ud800", "\0", "a\nb", "", "x" * 513])
async def test_texts_that_no_database_can_hold_are_refused(running: Running, text: str) -> None:
    """RPC-01, A12: JSON can write a lone surrogate or a NUL; that is the caller's mistake, and no error in here."""
    records = index_pb2.ListRecordsRequest(tenant=TENANT)
    records.page_token = forged(records, text, "1")
    grants = index_pb2.ListGrantsRequest(tenant=TENANT)
    grants.page_token = forged(grants, "ana", text, 1)
    for request in (records, grants):
        error = await running.lines.operator.refused(request)
        assert (error.code().name, (error.details() or "").split(":")[0]) == ("INVALID_ARGUMENT", "page_token")
    assert "internal error" not in running.log.getvalue()


@pytest.mark.parametrize("cursor", [(-1, 0, 0), (1 << 63, 0, 0), (True, 0, 0), (1.5, 0, 0), ("1", 0, 0), (0, 0)])
async def test_numbers_that_are_no_place_are_refused(running: Running, cursor: tuple[object, ...]) -> None:
    """A cursor is whole numbers that a database can hold."""
    for request in (audit_pb2.QueryDecisionsRequest(tenant=TENANT), audit_pb2.QueryActsRequest(tenant=TENANT)):
        request.page_token = forged(request, *cursor)
        error = await running.lines.auditor.refused(request)
        assert (error.code().name, (error.details() or "").split(":")[0]) == ("INVALID_ARGUMENT", "page_token")
