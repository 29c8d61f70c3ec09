"""Property: from whatever bytes, ALLOW comes out only of an answer that a second, plain reading finds well-formed."""

from collections.abc import Callable

from google.protobuf.message import DecodeError, Message
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.client import Claim, Grounding, Moment, Result, Segment, Verdict
from discreet.client.decode import Frame, decode
from discreet.client.encode import Batch, Options, asking, check_batches, commit_batches
from discreet.client.result import steady_clock
from discreet.v1 import common_pb2, disclosure_pb2
from tests.client.answers import Reply, check_response, commit_response, purge, refuse, result_of
from tests.client.asking import ANSWER, PRINCIPAL, SESSION, binding, segments

DEFAULTS: Options = {"deadline_s": 1.0}
ASKED = (
    *segments(2),
    Segment("talk", "small-talk", "0" * 64, Grounding.UNBOUND),
    Segment("claim", "answer", "0" * 64, bindings=(binding(), binding("pep-0020")), claim=Claim(basis="count")),
)
SHARED = asking(PRINCIPAL, SESSION, DEFAULTS, {})
RETRIEVE = check_batches(SHARED, Moment.RETRIEVE, ASKED)[0]
COMMIT = commit_batches(SHARED, ANSWER, ASKED)[0]


def _good(batch: Batch) -> Reply:
    if isinstance(batch.request, disclosure_pb2.CheckRequest):
        return check_response(batch.request)
    return commit_response(batch.request)


def _read(batch: Batch, raw: bytes) -> tuple[Reply, tuple[Result, ...]]:
    """The message and what the client makes of it; bytes that cannot be read fail their call before that."""
    kind = disclosure_pb2.CheckResponse if batch is RETRIEVE else disclosure_pb2.CommitResponse
    try:
        reply = kind.FromString(raw)
    except DecodeError:
        reply = kind()
    return reply, decode(Frame(batch, "en", steady_clock(), steady_clock, False, False), reply).results


def _plainly_allowed(batch: Batch, reply: Reply, at: int) -> bool:
    """Whether what is there equals, but for free fields, the answer that the scripted server gives for ALLOW."""
    found, due = reply.FromString(reply.SerializeToString()), _good(batch)
    whole = [result_of(found, place).segment_id for place in range(len(found.results))] == list(batch.ids)
    decisions = [result_of(found, place).decision_id for place in range(len(found.results))]
    mine = [decision for decision in decisions if decision and decision == decisions[at]] if whole else []
    if not (reply.token and reply.policy.number and len(mine) == 1):
        return False
    one, other = result_of(found, at), result_of(due, at)
    if one.use_within_ms < 1 or one.output.audit.action_tendency not in (1, 2, 3):
        return False
    if not all(one.receipts) or len(one.receipts) != len(other.receipts):
        return False
    if len(one.evidence) != len(other.evidence) or not all(evidence.source_label for evidence in one.evidence):
        return False
    for evidence in one.evidence:
        if evidence.freshness not in (0, 1, 2, 3, 4) or (batch.segments[at].claim and evidence.freshness != 1):
            return False
    if one.output.WhichOneof("form") == "disclosure":
        return False
    for result in (one, other):
        _forget_free_fields(result)
    if isinstance(found, disclosure_pb2.CommitResponse):
        entry = found.results[at]
        if not entry.ledger_id or entry.order.kind not in (1, 2) or entry.store_by.seconds > 253402300799:
            return False
    return one == other


def _forget_free_fields(result: disclosure_pb2.SegmentResult) -> None:
    """Clears what an ALLOW may carry in any form: names, the time it holds, masks of nothing."""
    for name in ("decision_id", "use_within_ms", "receipts", "rule"):
        result.ClearField(name)
    result.output.audit.ClearField("action_tendency")
    result.output.ClearField("goal")
    result.output.ClearField("numbers")
    for evidence in result.evidence:
        evidence.ClearField("freshness")
        evidence.ClearField("source_label")
    result.DiscardUnknownFields()


def _hold(batch: Batch, raw: bytes) -> None:
    reply, results = _read(batch, raw)
    assert [result.segment_id for result in results] == list(batch.ids)
    for at, result in enumerate(results):
        if result.verdict is Verdict.ALLOW:
            assert _plainly_allowed(batch, reply, at)
        else:
            assert result.text
            assert not result.allowed
        if result.verdict is Verdict.PURGE:
            found = result_of(reply, at)
            assert (found.verdict, found.reason) == (common_pb2.VERDICT_PURGE, common_pb2.REASON_RETENTION_REVOKED)


BATCHES = st.sampled_from([RETRIEVE, COMMIT])


@given(BATCHES, st.binary(max_size=400))
def test_random_bytes_allow_nothing(batch: Batch, raw: bytes) -> None:
    """POL-03: bytes of chance never give ALLOW or PURGE."""
    _, results = _read(batch, raw)
    assert all(result.verdict is Verdict.WITHHOLD and result.text for result in results)


@settings(max_examples=400)
@given(BATCHES, st.data())
def test_bytes_near_a_good_answer_allow_only_what_stays_well_formed(batch: Batch, data: st.DataObject) -> None:
    """POL-03, B3: a good answer with bytes changed, cut, doubled or added allows only what is still whole."""
    raw = bytearray(_good(batch).SerializeToString())
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        match data.draw(st.sampled_from(["set", "cut", "double", "add"])):
            case "set":
                raw[at] = data.draw(st.integers(0, 255))
            case "cut":
                del raw[at : at + data.draw(st.integers(1, 40))]
            case "double":
                raw[at:at] = raw[at : at + data.draw(st.integers(1, 40))]
            case _:
                raw[at:at] = data.draw(st.binary(min_size=1, max_size=8))
        if not raw:
            break
    _hold(batch, bytes(raw))


Change = Callable[[disclosure_pb2.SegmentResult, int], object]
NUMBERS = st.integers(0, 100)
CHANGES: dict[str, Change] = {
    "verdict": lambda result, number: _enum(result, 3, number),
    "reason": lambda result, number: _enum(result, 4, number),
    "gate": lambda result, number: _enum(result, 6, number),
    "status": lambda result, number: _enum(result.output, 1, number),
    "next": lambda result, number: _enum(result.output, 4, number),
    "tendency": lambda result, number: _enum(result.output.audit, 1, number),
    "executes": lambda result, number: setattr(result.output.audit, "execution_allowed", bool(number % 2)),
    "freshness": lambda result, number: _evidence(result, 4, number),
    "trust": lambda result, number: _evidence(result, 3, number % 2),
    "text": lambda result, number: setattr(result.output, "disclosure", "text" * (number % 2)),
    "time": lambda result, number: setattr(result, "use_within_ms", number),
    "receipts": lambda result, number: result.receipts.extend(["r"] * (number % 3)),
    "refuse": lambda result, number: refuse(result),
    "purge": lambda result, number: purge(result),
}


def _evidence(result: disclosure_pb2.SegmentResult, field: int, number: int) -> None:
    for evidence in result.evidence:
        _enum(evidence, field, number)


def _enum(message: Message, field: int, number: int) -> None:
    """Sets a field of one byte, named in the enum or not."""
    message.MergeFromString(bytes([field << 3, number]))


@settings(max_examples=400)
@given(BATCHES, st.lists(st.tuples(st.integers(0, 3), st.sampled_from(sorted(CHANGES)), NUMBERS), max_size=6))
def test_any_mixture_of_fields_allows_only_what_is_well_formed(
    batch: Batch, changes: list[tuple[int, str, int]]
) -> None:
    """POL-03, B3, B4, B8: whatever verdicts, reasons, gates, texts and times are mixed, ALLOW is ALLOW throughout."""
    reply = _good(batch)
    for at, name, number in changes:
        CHANGES[name](result_of(reply, at), number)
    _hold(batch, reply.SerializeToString())


def test_the_plain_reading_finds_the_good_answer_good() -> None:
    """The properties above are not empty: unchanged answers allow everything."""
    for batch in (RETRIEVE, COMMIT):
        reply, results = _read(batch, _good(batch).SerializeToString())
        assert all(result.allowed for result in results)
        assert all(_plainly_allowed(batch, reply, at) for at in range(4))
