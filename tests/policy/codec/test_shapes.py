"""The shape of a call: counts, duplicates, choices, times, values, unknown fields, and bytes that are no message."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto
from google.protobuf.message import Message

from discreet.policy.codec import Malformed, parse_check, parse_commit, refuse_unknown
from discreet.policy.codec.parse import (
    ATTRIBUTES_MAX,
    BINDINGS_MAX,
    FIELDS_MAX,
    PARENTS_MAX,
    PARENTS_PER_CALL_MAX,
    SCOPES_MAX,
    SEGMENTS_MAX,
)
from discreet.policy.words import Grounding, Moment
from discreet.v1 import common_pb2, disclosure_pb2
from tests.policy.codec.messages import check, commit, holder, put, reach, replay, segment, value

Call = disclosure_pb2.CheckRequest | disclosure_pb2.CommitRequest
Change = Callable[[Call], object]
UNKNOWN = b"\x9a\x06\x08tok3n-AB"  # field 99, eight bytes
VARINT = b"\xd8\x05\x2a"  # field 91, 42


def _parse(message: Message) -> Malformed | None:
    return _parse_bytes(message.SerializeToString(), commits=isinstance(message, disclosure_pb2.CommitRequest))


def _parse_bytes(data: bytes, *, commits: bool) -> Malformed | None:
    try:
        (parse_commit if commits else parse_check)(data)
    except Malformed as malformed:
        return malformed
    return None


def _changed(make: Callable[[], Call], change: Change) -> Malformed | None:
    message = make()
    change(message)
    return _parse(message)


def _cleared(path: str) -> Change:
    def change(message: Call) -> None:
        held, last = holder(message, path)
        held.ClearField(last)

    return change


REFUSED: list[tuple[str, Callable[[], Call], Change]] = [
    ("moment", check, _cleared("moment")),
    ("moment", check, lambda m: put(m, "moment", 5)),
    ("moment", check, lambda m: put(m, "moment", -1)),
    ("consistency", check, lambda m: put(m, "consistency", 2)),
    ("consistency", check, lambda m: put(m, "consistency", 99)),
    ("principal", check, _cleared("principal")),
    ("principal.id", check, lambda m: m.principal.Clear()),
    ("principal", commit, _cleared("principal")),
    ("segments", check, _cleared("segments")),
    ("segments", commit, _cleared("segments")),
    ("segments", check, lambda m: put(m, "moment", 4)),
    ("segments", replay, lambda m: m.segments.append(segment())),
    ("ledger_ids", replay, _cleared("ledger_ids")),
    ("ledger_ids", check, lambda m: reach(m, "ledger_ids").append("L1")),
    ("ledger_ids[2]", replay, lambda m: reach(m, "ledger_ids").append("L1")),
    ("segments[1].grounding", check, _cleared("segments[1].grounding")),
    ("segments[1].grounding", check, lambda m: put(m, "segments[1].grounding", 3)),
    ("segments[1].bindings", check, lambda m: put(m, "segments[1].grounding", 2)),
    ("segments[1].claim", check, lambda m: _unbound(m.segments[1])),
    ("segments[1].parents", check, lambda m: _orphaned(m.segments[1])),
    ("segments[1].parents[2]", check, lambda m: m.segments[1].parents.append("L-1")),
    ("segments[0].parents", check, lambda m: _more_parents(m, PARENTS_MAX + 1)),
    ("segments[0].parents", commit, lambda m: _more_parents(m, PARENTS_MAX + 1)),
    ("segments[1].id", check, lambda m: put(m, "segments[1].id", "s1")),
    ("segments[0].bindings[1]", check, lambda m: put(m, "segments[0].bindings[1].locator", "p. 3")),
    ("segments[0].claim.required_fields[1]", commit, lambda m: put(m, "segments[0].claim.required_fields[1]", "value")),
    ("segments[0].claim.about.start", check, _cleared("segments[0].claim.about.start")),
    ("segments[0].claim.about.end", check, _cleared("segments[0].claim.about.end")),
    ("segments[0].claim.about", check, lambda m: put(m, "segments[0].claim.about.end.seconds", 1_599_999_999)),
    ("segments[0].claim.about.start", check, lambda m: put(m, "segments[0].claim.about.start.nanos", -1)),
    ("segments[0].claim.about.end", check, lambda m: put(m, "segments[0].claim.about.end.nanos", 10**9)),
    ("segments[0].claim.about.end", check, lambda m: put(m, "segments[0].claim.about.end.seconds", 253_402_300_800)),
    ("segments[0].bindings[0].claimed_as_of", check, lambda m: _claimed(m, -62_135_596_801)),
    ("segments[0].bindings[0].claimed_as_of", check, lambda m: _claimed(m, 2**63 - 1)),
    ("segments", check, lambda m: _more_segments(m, SEGMENTS_MAX + 1)),
    ("segments", commit, lambda m: _more_segments(m, SEGMENTS_MAX + 1)),
    ("segments", check, lambda m: _more_different_parents(m, PARENTS_PER_CALL_MAX + 1)),
    ("segments", commit, lambda m: _more_different_parents(m, PARENTS_PER_CALL_MAX + 1)),
    ("ledger_ids", replay, lambda m: _more_ids(m, SEGMENTS_MAX + 1)),
    ("segments[0].bindings", check, lambda m: _more_bindings(m, BINDINGS_MAX + 1)),
    ("principal.claimed_scopes", check, lambda m: _more_scopes(m, SCOPES_MAX + 1)),
    ("principal.attributes", check, lambda m: _more_attributes(m, ATTRIBUTES_MAX + 1)),
    ("segments[0].claim.required_fields", check, lambda m: _more_fields(m, FIELDS_MAX + 1)),
]
TAKEN: list[tuple[Callable[[], Call], Change]] = [
    (check, _cleared("consistency")),
    (check, _cleared("segments[0].claim.about")),
    (check, _cleared("segments[0].digest")),
    (check, _cleared("segments[0].bindings")),
    (check, _cleared("principal.attributes")),
    (check, lambda m: put(m, "segments[0].claim.about.end.seconds", 1_600_000_000)),
    (check, lambda m: _claimed(m, -62_135_596_800)),
    (check, lambda m: _claimed(m, 253_402_300_799)),
    (check, lambda m: _more_segments(m, SEGMENTS_MAX)),
    (commit, lambda m: _more_segments(m, SEGMENTS_MAX)),
    (replay, lambda m: _more_ids(m, SEGMENTS_MAX)),
    (replay, lambda m: put(m, "moment", 4)),
    (check, _cleared("segments[0].parents")),
    (check, lambda m: _more_parents(m, PARENTS_MAX)),
    (check, lambda m: _more_different_parents(m, PARENTS_PER_CALL_MAX)),
    (check, lambda m: _more_bindings(m, BINDINGS_MAX)),
    (check, lambda m: _more_scopes(m, SCOPES_MAX)),
    (check, lambda m: _more_attributes(m, ATTRIBUTES_MAX)),
    (check, lambda m: _more_fields(m, FIELDS_MAX)),
]


def _unbound(given: disclosure_pb2.Segment) -> None:
    given.grounding = common_pb2.GROUNDING_UNBOUND
    given.ClearField("bindings")


def _orphaned(given: disclosure_pb2.Segment) -> None:
    _unbound(given)
    given.ClearField("claim")


def _more_parents(m: Call, count: int) -> None:
    m.segments[0].parents[:] = [f"L-{i}" for i in range(count)]


def _more_different_parents(m: Call, count: int) -> None:
    """Many segments, each with as many parents as it may have; some are named by several."""
    names = [f"L-{i}" for i in range(count)]
    _more_segments(m, 2 * (count // PARENTS_MAX + 1))
    for place, one in enumerate(m.segments):
        one.grounding = common_pb2.GROUNDING_BOUND
        begin = place // 2 * PARENTS_MAX
        one.parents[:] = names[begin : begin + PARENTS_MAX]


def _claimed(m: Call, seconds: int) -> None:
    m.segments[0].bindings[0].claimed_as_of.seconds = seconds


def _more_segments(m: Call, count: int) -> None:
    plain = m.segments[0]
    del m.segments[:]
    for i in range(count):
        m.segments.add(id=f"s{i}", kind=plain.kind, digest=plain.digest, grounding=plain.grounding)


def _more_ids(m: Call, count: int) -> None:
    reach(m, "ledger_ids")[:] = [f"L{i}" for i in range(count)]


def _more_bindings(m: Call, count: int) -> None:
    plain = m.segments[0].bindings[0]
    while len(m.segments[0].bindings) < count:
        m.segments[0].bindings.append(plain)
        m.segments[0].bindings[-1].locator = f"p. {len(m.segments[0].bindings) + 10}"


def _more_scopes(m: Call, count: int) -> None:
    m.principal.claimed_scopes[:] = [f"scope-{i}" for i in range(count)]


def _more_attributes(m: Call, count: int) -> None:
    for i in range(1, count):
        m.principal.attributes[f"name_{i}"].int_value = i


def _more_fields(m: Call, count: int) -> None:
    m.segments[0].claim.required_fields[:] = [f"field_{i}" for i in range(count)]


def test_parents_are_facts_that_the_call_needs() -> None:
    """F6: each parent of each segment is looked up in the ledger, once; by ledger id no other entry is."""
    parsed = parse_commit(commit().SerializeToString())
    assert parsed.ids.ledger_ids == ("L-1", "L-2")
    assert [one.parents for one in parsed.request.segments] == [("L-1", "L-2")] * 2
    assert parse_check(replay().SerializeToString()).ids.ledger_ids == ("L1", "L2")


def test_the_whole_messages_are_taken() -> None:
    """What the cases below change one thing of is right."""
    assert [_parse(make()) for make in (check, commit, replay)] == [None, None, None]
    parsed = parse_check(check().SerializeToString())
    assert (parsed.request.moment, parsed.request.segments[0].grounding) == (Moment.PUBLISH, Grounding.BOUND)
    assert [ref.record_id for ref in parsed.ids.records] == ["kb-1", "kb-2"]
    assert parse_commit(commit().SerializeToString()).request.commit


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_a_wrong_shape_is_refused_by_path(number: int) -> None:
    """RPC-01, POL-03: counts one past their limit, missing, unknown and doubled things are named, with a hint."""
    path, make, change = REFUSED[number]
    problem = _changed(make, change)
    assert problem is not None
    assert (problem.field, bool(problem.problem), bool(problem.hint)) == (path, True, True)


@pytest.mark.parametrize("number", range(len(TAKEN)))
def test_what_is_at_its_limit_or_may_be_left_out_is_taken(number: int) -> None:
    """Limits are inclusive; what a field's comment calls optional is."""
    make, change = TAKEN[number]
    assert _changed(make, change) is None


MESSAGES = [
    *("", "principal.", "segments[1].", "segments[1].claim.", "segments[1].claim.about."),
    *("segments[1].claim.about.start.", "segments[1].bindings[1].", "segments[1].bindings[1].claimed_as_of."),
]
DEEPER = [
    ("principal.attributes[…].", "principal.attributes[desk]"),
    ("principal.attributes[…].map_value.", "principal.attributes[desk].map_value"),
    ("principal.attributes[…].map_value.fields[…].", "principal.attributes[desk].map_value.fields[inner]"),
    (
        "principal.attributes[…].map_value.fields[…].list_value.values[3].",
        "principal.attributes[desk].map_value.fields[inner].list_value.values[3]",
    ),
]
PLACES = [*((path, path.rstrip(".")) for path in MESSAGES), *DEEPER]


@pytest.mark.parametrize("junk, number", [(UNKNOWN, 99), (VARINT, 91)])
@pytest.mark.parametrize("make", [check, commit])
@pytest.mark.parametrize("told, place", PLACES, ids=[told or "top" for told, _ in PLACES])
def test_an_unknown_field_is_refused_at_every_depth(
    make: Callable[[], Call], told: str, place: str, junk: bytes, number: int
) -> None:
    """A1, YML-08: a misspelt or smuggled fact is never ignored; its number and place are named, not its text."""
    message = make()
    inner: Message = message
    for step in place.split(".") if place else []:
        inner = reach(inner, step)
    inner.MergeFromString(junk)
    problem = _parse(message)
    assert problem is not None
    assert (problem.field, problem.problem) == (f"{told}field number {number}", "is an unknown field")
    assert "api_level" in problem.hint
    assert "tok3n" not in str(problem)


def test_a_reserved_number_is_said_to_be_reserved() -> None:
    """A field of a later level of the API is told apart from a wrong one."""
    data = b"\x08\x00"
    with pytest.raises(Malformed) as raised:
        refuse_unknown(disclosure_pb2.NumberList.FromString(data), data)
    assert raised.value.field == "field number 1 (reserved)"


@pytest.mark.parametrize("name", ["trusted_hit", "allowlisted"])
def test_derived_facts_cannot_be_supplied(name: str) -> None:
    """A1: no message of a call has a field for what is derived, and the names are set aside for good."""
    assert name in _reserved_names(disclosure_pb2.Binding)
    for message in (disclosure_pb2.CheckRequest, disclosure_pb2.CommitRequest, disclosure_pb2.Segment):
        assert name not in message.DESCRIPTOR.fields_by_name


def _reserved_names(kind: type[Message]) -> list[str]:
    proto = DescriptorProto()
    kind.DESCRIPTOR.CopyToProto(proto)
    return list(proto.reserved_name)


def _nested(depth: int) -> common_pb2.Value:
    inner = common_pb2.Value(bool_value=True)
    for _ in range(depth - 1):
        inner = common_pb2.Value(list_value=common_pb2.ListValue(values=[inner]))
    return inner


VALUES: list[tuple[str, common_pb2.Value, bool]] = [
    ("[x]", common_pb2.Value(), False),
    ("[x]", common_pb2.Value(null_value=False), False),
    ("[x]", common_pb2.Value(double_value=float("nan")), False),
    ("[x]", common_pb2.Value(double_value=float("inf")), False),
    ("[x]", common_pb2.Value(double_value=float("-inf")), False),
    ("[x]", common_pb2.Value(double_value=-0.0), True),
    ("[x]", common_pb2.Value(int_value=-(2**63)), True),
    ("[x]", common_pb2.Value(string_value=""), True),
    ("[x]", common_pb2.Value(string_value="x" * 4096), True),
    ("[x]", common_pb2.Value(string_value="x" * 4097), False),
    ("[x]", common_pb2.Value(string_value="\u00e9" * 2049), False),
    ("[x]", common_pb2.Value(string_value="a\x00"), False),
    ("[x]", common_pb2.Value(string_value="a\x1b[0m"), False),
    ("[x]", common_pb2.Value(string_value="a\x85b"), False),
    ("[x]", common_pb2.Value(string_value="tab\t and\r\nlines, \u0644\u200c\u0645"), True),
    ("[x]", _nested(8), True),
    ("[x]" + "[0]" * 8, _nested(9), False),
    ("[x]" + "[0]" * 8, _nested(24), False),
    ("[x][996]", common_pb2.Value(list_value=common_pb2.ListValue(values=[_nested(1)] * 1000)), False),
    ("[x]", common_pb2.Value(list_value=common_pb2.ListValue(values=[_nested(1)] * 900)), True),
    ("[x][…]", common_pb2.Value(map_value=common_pb2.MapValue(fields={"a b": _nested(1)})), False),
    ("[x][…]", common_pb2.Value(map_value=common_pb2.MapValue(fields={"": _nested(1)})), False),
    ("[x][ok]", common_pb2.Value(map_value=common_pb2.MapValue(fields={"ok": common_pb2.Value()})), False),
]


@pytest.mark.parametrize("number", range(len(VALUES)))
def test_attribute_values_are_typed_bounded_and_finite(number: int) -> None:
    """POL-07, OBS-01: what a condition may read is a finite tree of plain values, refused by path where it is not."""
    path, given, taken = VALUES[number]
    message = check()
    del message.principal.attributes["desk"]
    message.principal.attributes["x"].CopyFrom(given)
    problem = _parse(message)
    assert (problem is None) == taken
    if problem is not None:
        assert problem.hint
        if not path.endswith("[996]"):
            assert problem.field == f"principal.attributes{path}"


@pytest.mark.parametrize("name", ["", "a b", "1a", "a" * 65, "\u0430", "a.b", "a\n"])
def test_attribute_names_are_identifiers(name: str) -> None:
    """A name that cannot be written in a condition is refused, and not repeated."""
    message = check()
    message.principal.attributes[name].CopyFrom(value())
    problem = _parse(message)
    assert problem is not None
    assert problem.field == "principal.attributes[…]"
