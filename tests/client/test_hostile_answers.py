"""Whatever a server answers that is not an answer to the question, a client shows nothing for it."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from google.protobuf.message import Message

from discreet.client import Answer, Claim, Grounding, Reason, Segment, Verdict
from discreet.v1 import common_pb2, disclosure_pb2
from tests.client.answers import Reply, Request, commit_response, purge, refuse, result_of, well_formed
from tests.client.asking import Surface, segments
from tests.client.scripted import ScriptedServer

Result = disclosure_pb2.SegmentResult
Spoil = Callable[[Result], object]
SpoilEntry = Callable[[disclosure_pb2.CommitResult], object]


def _set(**fields: object) -> Spoil:
    """Sets fields of the result; a dotted path has its dots written as two underscores."""

    def spoil(result: Result) -> None:
        for path, value in fields.items():
            *way, last = path.split("__")
            message = result
            for name in way:
                message = getattr(message, name)
            setattr(message, last, value)

    return spoil


def _evidence(**fields: object) -> Spoil:
    def spoil(result: Result) -> None:
        for name, value in fields.items():
            setattr(result.evidence[0], name, value)

    return spoil


def _refused_then(spoil: Spoil, make: Spoil = refuse) -> Spoil:
    def both(result: Result) -> None:
        make(result)
        spoil(result)

    return both


def _newer(field: int, *way: str) -> Spoil:
    """Sets an enum to a number that this client has no name for, as a newer server would send it."""

    def spoil(result: Result) -> None:
        message: Message = result
        for name in way:
            message = getattr(message, name)
        message.MergeFromString(bytes([field << 3, 99]))

    return spoil


ALONE: dict[str, Spoil] = {
    "allow without a decision id": _set(decision_id=""),
    "purge without a decision id": _refused_then(_set(decision_id=""), purge),
    "verdict unset": _set(verdict=0),
    "verdict newer than known": _newer(3),
    "reason unset": _set(reason=0),
    "reason newer than known": _newer(4),
    "gate unset": _set(gate=0),
    "gate newer than known": _newer(6),
    "allow with a reason": _set(reason=common_pb2.REASON_STALE),
    "allow as dependency unavailable": _set(reason=common_pb2.REASON_DEPENDENCY_UNAVAILABLE),
    "allow with a policy's reason": _set(custom_reason="embargo"),
    "allow at the freshness gate": _set(gate=common_pb2.GATE_FRESHNESS),
    "allow undecided": _set(gate=common_pb2.GATE_DEPENDENCY),
    "allow with status unset": _set(output__status=0),
    "allow with status unavailable": _set(output__status=common_pb2.OUTPUT_STATUS_UNAVAILABLE),
    "allow with status newer than known": _newer(1, "output"),
    "allow with a text in its place": _set(output__disclosure="Not for you."),
    "allow with an empty text in its place": _set(output__disclosure=""),
    "allow with a template": _set(output__template_id="STALE"),
    "allow with a gap": _set(output__gap__kind="time"),
    "allow with a next step": _set(output__next=common_pb2.NEXT_EXPLICIT_REFRESH),
    "allow without next": _set(output__next=0),
    "allow with next newer than known": _newer(4, "output"),
    "allow without a tendency": _set(output__audit__action_tendency=0),
    "allow that executes": _set(output__audit__execution_allowed=True),
    "allow without output": lambda result: result.ClearField("output"),
    "allow without a time": _set(use_within_ms=0),
    "allow without evidence": lambda result: result.ClearField("evidence"),
    "allow with evidence too many": lambda result: result.evidence.append(result.evidence[0]),
    "allow on a source that is not trusted": _evidence(trusted_hit=False),
    "allow on trust without allowlist": _evidence(allowlisted=False),
    "allow on trust without a label": _evidence(source_label=""),
    "allow on masked evidence": _evidence(source_id=""),
    "allow on another record": _evidence(source_id="pep-9999"),
    "freshness newer than known": _evidence(freshness=99),
    "withhold without a reason": _refused_then(_set(reason=common_pb2.REASON_NONE)),
    "withhold that is available": _refused_then(_set(output__status=common_pb2.OUTPUT_STATUS_AVAILABLE)),
    "withhold with numbers": _refused_then(lambda result: result.output.numbers.SetInParent()),
    "withhold without its text": _refused_then(_set(output__disclosure="")),
    "withhold without output": _refused_then(lambda result: result.ClearField("output")),
    "withhold that advises": _refused_then(_set(output__audit__action_tendency=common_pb2.ACTION_TENDENCY_ADVISE)),
    "withhold that executes": _refused_then(_set(output__audit__execution_allowed=True)),
    "withhold with a receipt": _refused_then(lambda result: result.receipts.append("receipt")),
    "withhold without next": _refused_then(_set(output__next=0)),
    "withhold with next newer than known": _refused_then(_newer(4, "output")),
    "withhold with a time": _refused_then(_set(use_within_ms=1)),
    "allow with an order to purge": _set(purge_order_id="order-1"),
    "withhold with an order to purge": _refused_then(_set(purge_order_id="order-1")),
    "purge without a reason": _refused_then(_set(reason=common_pb2.REASON_NONE), purge),
    "purge for a scope": _refused_then(_set(reason=common_pb2.REASON_SCOPE_DENIED), purge),
    "purge for an unreachable document": _refused_then(_set(reason=common_pb2.REASON_DOCUMENT_UNREACHABLE), purge),
    "purge for a lost store": _refused_then(_set(reason=common_pb2.REASON_DEPENDENCY_UNAVAILABLE), purge),
    "purge at another gate": _refused_then(_set(gate=common_pb2.GATE_RULES), purge),
    "purge that is available": _refused_then(_set(output__status=common_pb2.OUTPUT_STATUS_AVAILABLE), purge),
    "purge without its text": _refused_then(_set(output__disclosure=""), purge),
    "purge with a time": _refused_then(_set(use_within_ms=5), purge),
    "verdict alone": lambda result: result.CopyFrom(
        Result(segment_id=result.segment_id, decision_id=result.decision_id, verdict=result.verdict)
    ),
}


AT_RETRIEVE: dict[str, Spoil] = {
    "allow without a receipt": lambda result: result.ClearField("receipts"),
    "allow with an empty receipt": lambda result: result.receipts.__setitem__(0, ""),
    "allow with receipts too many": lambda result: result.receipts.append("receipt"),
}


COMMIT: dict[str, SpoilEntry] = {
    "allow without a ledger id": lambda entry: entry.ClearField("ledger_id"),
    "allow without an order": lambda entry: entry.ClearField("order"),
    "allow with an order newer than known": lambda entry: _order(entry, 99),
    "allow that was refused": lambda entry: _order(entry, disclosure_pb2.CommitOrder.KIND_REFUSED),
    "allow that was overtaken": lambda entry: _order(entry, disclosure_pb2.CommitOrder.KIND_OVERTAKEN),
    "allow stored by no time": lambda entry: setattr(entry.store_by, "seconds", 2**62),
    "allow with a receipt": lambda entry: entry.result.receipts.append("receipt"),
}


def _order(entry: disclosure_pb2.CommitResult, kind: int) -> None:
    entry.order.MergeFromString(bytes([1 << 3, kind]))


def _spoiled(server: ScriptedServer, spoil: Spoil) -> None:
    """From now on the second of all results is spoiled."""

    def script(request: Request, _: object) -> Reply:
        reply = well_formed(request)
        spoil(result_of(reply, 1))
        return reply

    server.script = script


def _second_is_withheld(answer: Answer) -> None:
    first, second, third = answer.results
    assert [result.segment_id for result in answer] == ["s0", "s1", "s2"]
    assert first.allowed
    assert third.allowed
    assert not second.allowed
    assert second.verdict is Verdict.WITHHOLD
    assert second.reason is Reason.DEPENDENCY_UNAVAILABLE
    assert second.text
    assert second.receipts == ()
    assert second.error is not None
    assert second.error.code == "MALFORMED_ANSWER"
    assert answer.error == second.error


@pytest.mark.parametrize("spoil", (ALONE | AT_RETRIEVE).values(), ids=(ALONE | AT_RETRIEVE).keys())
def test_an_odd_result_of_a_check_withholds_its_segment_alone(
    surface: Surface, server: ScriptedServer, spoil: Spoil
) -> None:
    """POL-03, B3, B4, B8: no result that is not well-formed throughout allows or purges; its neighbours stand."""
    _spoiled(server, spoil)
    _second_is_withheld(surface.retrieve(segments()))


@pytest.mark.parametrize("spoil", ALONE.values(), ids=ALONE.keys())
def test_an_odd_result_of_a_commit_withholds_its_segment_alone(
    surface: Surface, server: ScriptedServer, spoil: Spoil
) -> None:
    """POL-03, B3, B8: the same for the permission to publish."""
    _spoiled(server, spoil)
    _second_is_withheld(surface.commit(segments()))


@pytest.mark.parametrize("spoil", COMMIT.values(), ids=COMMIT.keys())
def test_an_allow_without_its_ledger_entry_is_none(surface: Surface, server: ScriptedServer, spoil: SpoilEntry) -> None:
    """B3, B6, DSC-01: only what is in the ledger, and committed, may be published."""

    def script(request: Request, _: object) -> Reply:
        assert isinstance(request, disclosure_pb2.CommitRequest)
        reply = commit_response(request)
        spoil(reply.results[1])
        return reply

    server.script = script
    _second_is_withheld(surface.commit(segments()))


@pytest.mark.parametrize("options", [{"need_numbers": True}, {}], ids=["need_numbers", "claim"])
def test_an_allow_on_stale_evidence_is_none_where_freshness_was_asked_for(
    surface: Surface, server: ScriptedServer, options: dict[str, bool]
) -> None:
    """A3, A15: with `need_numbers` or a claim only fresh evidence passes; without either it was not judged."""
    _spoiled(server, _evidence(freshness=common_pb2.FRESHNESS_STALE))
    asked = segments()
    assert surface.retrieve(asked)["s1"].allowed
    if not options:
        asked = [replace(segment, claim=Claim(basis="count")) for segment in asked]
    _second_is_withheld(surface.retrieve(asked, **options))


def test_an_allow_for_a_bound_segment_without_a_binding_is_none(surface: Surface) -> None:
    """B12: a segment that claims to rest on records and names none is withheld, whatever the server says."""
    bare, talk = Segment("s0"), Segment("s1", kind="small-talk", grounding=Grounding.UNBOUND)
    answer = surface.retrieve([bare, talk])
    assert not answer["s0"].allowed
    assert answer["s1"].allowed


def test_an_allow_under_another_label_than_the_one_claimed_is_none(surface: Surface) -> None:
    """A1, A3: what a binding claims of its record is compared on the way back, too."""
    asked = segments()
    label = replace(asked[1].bindings[0], claimed_label="minutes")
    asked[1] = replace(asked[1], bindings=(label,))
    _second_is_withheld(surface.retrieve(asked))


def test_a_well_formed_purge_is_a_purge(surface: Surface, server: ScriptedServer) -> None:
    """B7, B9: the explicit revoke comes through as PURGE, with the policy's text."""
    _spoiled(server, purge)
    result = surface.retrieve(segments())["s1"]
    assert (result.verdict, result.reason, result.purge) == (Verdict.PURGE, Reason.RETENTION_REVOKED, True)
    assert result.text == "The policy's own text."


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason is not Reason.NONE])
def test_a_well_formed_refusal_keeps_its_reason_but_for_causes_that_the_audit_holds(
    surface: Surface, server: ScriptedServer, reason: Reason
) -> None:
    """F11, A17: causes behind NOT_AVAILABLE reach no caller, with their texts; every other reason does."""
    _spoiled(server, lambda result: refuse(result, common_pb2.Reason.ValueType(reason.value)))
    result = surface.retrieve(segments())["s1"]
    hidden = 10 <= reason.value <= 19
    assert result.reason is (Reason.NOT_AVAILABLE if hidden else reason)
    assert result.text == ("This is not available." if hidden else "The policy's own text.")
    assert result.error is None
    assert bool(result.evidence) == (result.reason is not Reason.NOT_AVAILABLE)
