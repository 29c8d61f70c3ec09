"""A call that fails, is late, or is answered with something else as a whole shows nothing, and says why."""

import logging
import time
from collections.abc import Callable
from typing import Literal

import grpc
import pytest

from discreet.client import Answer, Reason, Verdict
from discreet.v1 import common_pb2, disclosure_pb2
from tests.client.answers import Reply, Request, refuse, result_of, well_formed
from tests.client.asking import Surface, segments
from tests.client.scripted import Refused, ScriptedServer

SpoilAll = Callable[[Reply], object]

FAULTS_OF_THE_CALLER = (
    "INVALID_ARGUMENT",
    "UNAUTHENTICATED",
    "PERMISSION_DENIED",
    "FAILED_PRECONDITION",
    "UNIMPLEMENTED",
)


def _swap(reply: Reply) -> None:
    first, second = result_of(reply, 0).segment_id, result_of(reply, 1).segment_id
    result_of(reply, 0).segment_id, result_of(reply, 1).segment_id = second, first


def _cut(reply: Reply) -> None:
    del reply.results[-1]


def _more(reply: Reply) -> None:
    if isinstance(reply, disclosure_pb2.CheckResponse):
        reply.results.append(reply.results[0])
    else:
        reply.results.append(reply.results[0])
    result_of(reply, -1).segment_id = "s3"
    result_of(reply, -1).decision_id = "decision-3"


WHOLE: dict[str, SpoilAll] = {
    "no results": lambda reply: reply.ClearField("results"),
    "one result too few": _cut,
    "one result too many": _more,
    "results in another order": _swap,
    "one segment answered twice": lambda reply: setattr(result_of(reply, 1), "segment_id", "s0"),
    "a segment that was not asked about": lambda reply: setattr(result_of(reply, 1), "segment_id", "s9"),
    "a segment id of another case": lambda reply: setattr(result_of(reply, 1), "segment_id", "S1"),
    "a segment without an id": lambda reply: setattr(result_of(reply, 1), "segment_id", ""),
    "two decisions of one id": lambda reply: setattr(result_of(reply, 1), "decision_id", "decision-0"),
}


def _everything_is_withheld(answer: Answer, code: str) -> None:
    assert [result.segment_id for result in answer] == ["s0", "s1", "s2"]
    assert answer.everything_withheld
    for result in answer:
        assert not result.allowed
        assert result.verdict is Verdict.WITHHOLD
        assert result.reason is Reason.DEPENDENCY_UNAVAILABLE
        assert result.text
        assert not result.may_store()
        assert result.error is not None
        assert result.error.code == code
    assert answer.error is not None
    assert answer.error.code == code


@pytest.mark.parametrize("method", ["retrieve", "commit"])
@pytest.mark.parametrize("spoil", WHOLE.values(), ids=WHOLE.keys())
def test_an_answer_that_is_odd_as_a_whole_withholds_everything(
    surface: Surface, server: ScriptedServer, method: str, spoil: SpoilAll, caplog: pytest.LogCaptureFixture
) -> None:
    """POL-03, REV-16, A12: results that are missing, mixed, doubled or unknown say nothing of any segment."""

    def script(request: Request, _: object) -> Reply:
        reply = well_formed(request)
        spoil(reply)
        return reply

    server.script = script
    _everything_is_withheld(getattr(surface, method)(segments()), "MALFORMED_ANSWER")
    assert "no client may trust" in caplog.text


@pytest.mark.parametrize("method", ["retrieve", "commit"])
@pytest.mark.parametrize("field", ["token", "policy"])
def test_an_allow_without_facts_or_policy_is_none_and_a_refusal_keeps_its_reason(
    surface: Surface, server: ScriptedServer, method: str, field: Literal["token", "policy"]
) -> None:
    """POL-03, REV-16, A12: before the first policy, or with the store lost, a server can refuse and nothing else."""

    def script(request: Request, _: object) -> Reply:
        reply = well_formed(request)
        reply.ClearField(field)
        refuse(result_of(reply, 2), common_pb2.REASON_POLICY_STALE)
        return reply

    server.script = script
    answer = getattr(surface, method)(segments())
    assert answer.everything_withheld
    assert [result.reason for result in answer] == [*[Reason.DEPENDENCY_UNAVAILABLE] * 2, Reason.POLICY_STALE]
    assert answer["s2"].error is None


@pytest.mark.parametrize("method", ["retrieve", "commit"])
@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
def test_every_status_but_ok_withholds_everything(
    surface: Surface, server: ScriptedServer, method: str, code: grpc.StatusCode, caplog: pytest.LogCaptureFixture
) -> None:
    """POL-16, A12, B3: no status raises, none allows; a fault of the caller is logged with the server's message."""
    caplog.set_level(logging.INFO, "discreet.client")

    def script(request: Request, _: object) -> Reply:
        raise Refused(code, "segments[0].digest: not hex")

    server.script = script
    answer = getattr(surface, method)(segments(), deadline_s=0.4)
    late = answer.error is not None and answer.error.code == "DEADLINE_EXCEEDED"
    repeated = method == "commit" and code.name in {"UNAVAILABLE", "DEADLINE_EXCEEDED"}
    _everything_is_withheld(answer, "DEADLINE_EXCEEDED" if late and repeated else code.name)
    if not (late and repeated):
        assert answer.error.message == "segments[0].digest: not hex"
    warned = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert bool(warned) == (code.name in FAULTS_OF_THE_CALLER)
    if warned:
        assert "segments[0].digest: not hex" in caplog.text


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff\xff\xff",
        b"\x0a\x05ab",
        b"\x2a\x02\x0a\x00",
        b"\x08\x01" * 50,
        "not protobuf at all".encode("utf-16"),
    ],
    ids=["empty", "no tag", "cut off", "empty result", "unknown fields", "text"],
)
@pytest.mark.parametrize("method", ["retrieve", "commit"])
def test_bytes_that_are_no_answer_withhold_everything(
    surface_kind: str, server: ScriptedServer, method: str, raw: bytes
) -> None:
    """POL-03: what cannot be read, or is read as nothing, allows nothing."""
    surface = Surface("threads" if surface_kind == "stream" else surface_kind, server.target)
    server.script = lambda request, context: raw
    answer = getattr(surface, method)(segments())
    surface.close()
    assert answer.everything_withheld
    assert all(result.verdict is Verdict.WITHHOLD and result.text for result in answer)
    assert answer.error is not None
    assert answer.error.code in {"INTERNAL", "MALFORMED_ANSWER"}


@pytest.mark.parametrize("method", ["retrieve", "commit"])
def test_a_silent_server_withholds_within_the_deadline(surface: Surface, server: ScriptedServer, method: str) -> None:
    """POL-16, A12: the answer comes when the caller's deadline ends, not when the server does."""

    def script(request: Request, _: object) -> Reply:
        server.over.wait(20)
        return well_formed(request)

    server.script = script
    started = time.monotonic()
    answer = getattr(surface, method)(segments(), deadline_s=0.3)
    assert time.monotonic() - started < 1.5
    _everything_is_withheld(answer, "DEADLINE_EXCEEDED")
    server.over.set()


def test_the_answer_to_another_method_withholds_everything(surface: Surface, server: ScriptedServer) -> None:
    """POL-03: an answer of another kind is read as one that names no segment."""
    commit = disclosure_pb2.CommitResponse(token="t")
    server.script = lambda request, context: commit.SerializeToString()
    _everything_is_withheld(surface.retrieve(segments()), "MALFORMED_ANSWER")


@pytest.mark.parametrize("locale", ["en", "zh-Hans"])
def test_nobody_listening_withholds_with_a_fixed_text_in_the_readers_language(
    surface_kind: str, socket_dir: object, locale: str
) -> None:
    """POL-16, A6: a sidecar that is not there gives the built-in text of the locale."""
    surface = Surface(surface_kind, f"unix:{socket_dir}/nobody.sock", locale=locale, deadline_s=0.5)
    answer = surface.retrieve(segments())
    surface.close()
    _everything_is_withheld(answer, "UNAVAILABLE")
    assert ("显示" in answer["s0"].text) == (locale == "zh-Hans")
