"""Malformed input: for each field of each message INVALID_ARGUMENT with its path, nothing written, server unharmed."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.v1 import common_pb2, disclosure_pb2, index_pb2
from tests.server.requests import VALID, cases
from tests.server.support import METHODS, TENANT, Running, binding, check, commit, document, segment, verdicts

SECRET = "ssn 123-45-6789 tok3n-AB"
NOT_REFUSALS = {grpc.StatusCode.OK, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION}


def method(message: Message) -> str:
    """`Service/Method` of a request."""
    service, name, _ = METHODS[type(message).__name__]
    return f"{service}/{name}"


async def test_every_malformed_field_is_refused_by_its_path_and_nothing_is_written(running: Running) -> None:
    """Missing, empty, oversized, wrong enum, twice, lone surrogate, NUL, unknown.

    The path is named, the order does not move.
    """
    wrong: list[str] = []
    for name, (identity, valid) in VALID.items():
        before = await running.server.store.head()
        for case in cases(name, valid):
            try:
                await running.lines[identity].raw(method(valid), case.data)
                found = "answered"
            except grpc.aio.AioRpcError as error:
                found = f"{error.code().name} {error.details()}"
            if not found.startswith(f"INVALID_ARGUMENT {case.path}"):
                wrong.append(f"{name}: {case.what} at {case.path}: {found}")
        after = await running.server.store.head()
        assert after._replace(now=before.now) == before, name
    assert wrong == []


async def test_the_valid_form_of_each_request_is_well_formed(running: Running) -> None:
    """Each case above is one step from a request that is taken."""
    codes: dict[str, grpc.StatusCode] = {}
    for name, (identity, valid) in VALID.items():
        asked = type(valid)()
        asked.CopyFrom(valid)
        for field in ("page_token", "min_token"):
            if field in asked.DESCRIPTOR.fields_by_name:
                asked.ClearField(field)
        try:
            await running.lines[identity].call(asked)
            codes[name] = grpc.StatusCode.OK
        except grpc.aio.AioRpcError as error:
            codes[name] = error.code()
    assert {name: code for name, code in codes.items() if code not in NOT_REFUSALS} == {}


def _values(**kinds: Any) -> common_pb2.Value:
    return common_pb2.Value(**kinds)


def _deep(levels: int) -> common_pb2.Value:
    value = common_pb2.Value(int_value=1)
    for _ in range(levels):
        value = common_pb2.Value(list_value=common_pb2.ListValue(values=[value]))
    return value


@pytest.mark.parametrize(
    "key, value, path",
    [
        ("ok", _values(), "[ok]"),
        ("ok", _values(null_value=False), "[ok]"),
        ("ok", _values(double_value=float("nan")), "[ok]"),
        ("ok", _values(double_value=float("inf")), "[ok]"),
        ("ok", _values(string_value="x" * 4_097), "[ok]"),
        ("ok", _values(string_value="a\x00"), "[ok]"),
        ("ok", _deep(9), "[ok]"),
        ("ok", _values(list_value=common_pb2.ListValue(values=[_values(int_value=1)] * 1_001)), "[ok]"),
        ("not ok", _values(int_value=1), ""),
        ("", _values(int_value=1), ""),
        ("x" * 65, _values(int_value=1), ""),
    ],
)
async def test_attribute_values_are_bounded_everywhere(
    running: Running, key: str, value: common_pb2.Value, path: str
) -> None:
    """The same limits for a principal's attributes, a record's attributes and a piece of evidence's fields."""
    asked = check()
    asked.principal.attributes[key].CopyFrom(value)
    put = index_pb2.PutDocumentsRequest(tenant=TENANT, documents=[document()])
    put.documents[0].attributes[key].CopyFrom(value)
    for line, request, where in (
        (running.lines.agent, asked, "principal.attributes"),
        (running.lines.collector, put, "documents[0].attributes"),
    ):
        error = await line.refused(request)
        assert error.code().name == "INVALID_ARGUMENT"
        assert (error.details() or "").startswith(f"{where}{path}")


@pytest.mark.parametrize(
    "request_, path",
    [
        (check(segment(grounding=common_pb2.GROUNDING_UNBOUND)), "segments[0].bindings"),
        (check(ledger_ids=["a"], segments=[segment()]), "segments"),
        (disclosure_pb2.CheckRequest(), "moment"),
        (check(segment("s1"), segment("s1")), "segments[1].id"),
        (commit(segment(digest="")), "segments[0].digest"),
        (check(segment("s1", binding(digest="A" * 64))), "segments[0].bindings[0].digest"),
        (check(locale="fr"), "locale"),
        (check(min_token="x"), "min_token"),
        (check(consistency=2), "consistency"),
    ],
)
async def test_what_contradicts_itself_is_refused(running: Running, request_: Message, path: str) -> None:
    """Combinations that no descriptor knows of."""
    error = await running.lines.agent.refused(request_)
    assert (error.code().name, (error.details() or "").split(":")[0]) == ("INVALID_ARGUMENT", path)


async def test_errors_and_logs_name_the_field_and_never_repeat_the_value(running: Running) -> None:
    """OBS-03: what was sent may be secret."""
    bad = [
        check(segment(SECRET + "\x00")),
        check(locale=SECRET),
        check(principal=SECRET + "\u200b"),
        check(min_token=SECRET),
        check(segment("s", binding(claimed_label=SECRET))),
    ]
    for request in bad:
        details = (await running.lines.agent.refused(request)).details() or ""
        assert "123-45" not in details
        assert "tok3n" not in details
    assert "123-45" not in running.log.getvalue()


async def test_a_message_over_the_limit_is_exhausted_and_the_server_goes_on(running: Running) -> None:
    """RPC-01: 4 MiB is the documented limit.

    Past it the call fails with RESOURCE_EXHAUSTED, which clients read as WITHHOLD.
    """
    error = await running.lines.agent.refused(("DisclosureService/Check", b"\x0a" + b"\xff" * (4 * 1024 * 1024 + 1)))
    assert error.code().name == "RESOURCE_EXHAUSTED"
    await running.lines.collector.put(document())
    assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]


def _scalar(field: Any) -> st.SearchStrategy[Any]:
    text = st.one_of(
        st.sampled_from(
            ["", "a", "acme", "en", "handbook", "handbook/leave", "1", "a" * 64, "public", "\x00", "é", "e\u0301"]
        ),
        st.text(max_size=20).filter(lambda t: not any("\ud800" <= c <= "\udfff" for c in t)),
    )
    kinds = FieldDescriptor
    return {
        kinds.TYPE_STRING: text,
        kinds.TYPE_BOOL: st.booleans(),
        kinds.TYPE_ENUM: st.integers(0, 120),
        kinds.TYPE_UINT32: st.integers(0, 2**32 - 1),
        kinds.TYPE_UINT64: st.integers(0, 2**64 - 1),
        kinds.TYPE_INT32: st.integers(-(2**31), 2**31 - 1),
        kinds.TYPE_INT64: st.integers(-(2**63), 2**63 - 1),
        kinds.TYPE_DOUBLE: st.floats(),
        kinds.TYPE_BYTES: st.binary(max_size=200),
    }[field.type]


@st.composite
def messages(draw: st.DrawFn, kind: type[Message], depth: int = 0) -> Message:
    """Random messages of a kind, many of them nearly right."""
    message = kind()
    for field in kind.DESCRIPTOR.fields:
        if field.message_type is not None and (depth > 3 or field.message_type.GetOptions().map_entry):
            continue
        if not draw(st.booleans()):
            continue
        if field.message_type is not None:
            inner = type(getattr(kind(), field.name).add() if field.is_repeated else getattr(kind(), field.name))
            made = draw(messages(inner, depth + 1))
            (getattr(message, field.name).add() if field.is_repeated else getattr(message, field.name)).CopyFrom(made)
        elif field.is_repeated:
            getattr(message, field.name).extend(draw(st.lists(_scalar(field), max_size=2)))
        else:
            setattr(message, field.name, draw(_scalar(field)))
    return message


EXPECTED = {
    grpc.StatusCode.OK,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.ALREADY_EXISTS,
}


@given(data=st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
async def test_random_messages_never_harm_the_server(running: Running, data: st.DataObject) -> None:
    """Whatever arrives is answered or refused with a code that is meant.

    Never INTERNAL, never UNKNOWN, never a dead server.
    """
    identity, valid = VALID[data.draw(st.sampled_from(sorted(VALID)))]
    sent = data.draw(st.one_of(st.binary(max_size=200), messages(type(valid)).map(lambda m: m.SerializeToString())))
    try:
        await running.lines[identity].raw(method(valid), sent)
        code = grpc.StatusCode.OK
    except grpc.aio.AioRpcError as error:
        code = error.code()
    assert code in EXPECTED
    assert "internal error" not in running.log.getvalue()
