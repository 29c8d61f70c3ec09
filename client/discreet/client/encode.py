"""Turns what a caller says into requests: checks arguments, cuts what is over the size of one call into several.

It knows messages and no channel. Nothing here depends on a server's answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import TypedDict

from google.protobuf.timestamp_pb2 import Timestamp

from discreet.client.model import Attribute, Binding, Claim, Principal, Segment, members, text_field
from discreet.client.texts import LOCALES
from discreet.client.words import Consistency, Moment
from discreet.v1 import common_pb2, disclosure_pb2

# Of the API.
SEGMENTS_PER_CALL_MAX = 1_000
# Below gRPC's default of 4 MiB a message, with room for what frames add.
REQUEST_BYTES_MAX = 3_500_000
ATTRIBUTE_DEPTH_MAX = 8


class Options(TypedDict, total=False):
    """What may be said with each question; unset ones are the client's own."""

    tenant: str
    locale: str
    need_numbers: bool
    need_advice: bool
    # The facts must be at least as new as this token of an earlier answer.
    min_token: str
    # BOUNDED: at RETRIEVE, what the server read lately does, as far as the policy allows it.
    consistency: Consistency
    # For the whole question, in seconds.
    deadline_s: float


@dataclass(frozen=True, slots=True)
class Asking:
    """The part of a question that all its calls share."""

    principal: Principal
    session_id: str
    tenant: str
    locale: str
    need_numbers: bool
    need_advice: bool
    min_token: str
    consistency: Consistency
    deadline_s: float


@dataclass(frozen=True, slots=True)
class Batch:
    """One call of a question: the request, and what its answer must be about."""

    request: disclosure_pb2.CheckRequest | disclosure_pb2.CommitRequest
    moment: Moment
    ids: tuple[str, ...]
    # Empty where ledger ids are asked about.
    segments: tuple[Segment, ...] = ()


def asking(principal: Principal | str, session_id: str, defaults: Options, options: Options) -> Asking:
    """The shared part of a question; refuses unknown options and values of wrong type."""
    unknown = sorted(set(options) - Options.__annotations__.keys())
    if unknown:
        raise TypeError(f"unknown option {unknown[0]!r}; there are {', '.join(sorted(Options.__annotations__))}")
    chosen: Options = {**defaults, **options}
    for name in ("tenant", "min_token"):
        text_field("options", name, chosen.get(name, ""))
    text_field("question", "session_id", session_id, required=True)
    if isinstance(principal, str):
        principal = Principal(principal)
    if not isinstance(principal, Principal):
        raise TypeError(f"principal is {type(principal).__name__}; give Principal or str")
    consistency = chosen.get("consistency", Consistency.AUTHORITATIVE)
    if not isinstance(consistency, Consistency):
        raise TypeError(f"consistency is {type(consistency).__name__}; give Consistency")
    return Asking(
        principal=principal,
        session_id=session_id,
        tenant=chosen.get("tenant", ""),
        locale=known_locale(chosen.get("locale", LOCALES[0])),
        need_numbers=_flag("need_numbers", chosen.get("need_numbers", False)),
        need_advice=_flag("need_advice", chosen.get("need_advice", False)),
        min_token=chosen.get("min_token", ""),
        consistency=consistency,
        deadline_s=positive_seconds("deadline_s", chosen.get("deadline_s", 0)),
    )


def known_locale(locale: str) -> str:
    """The locale; refuses one that no text is written in."""
    if locale not in LOCALES:
        raise ValueError(f"locale is unknown; give one of {', '.join(LOCALES)}")
    return locale


def positive_seconds(name: str, value: object) -> float:
    """The seconds; refuses what is not a positive, finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is {type(value).__name__}; give seconds")
    if not isfinite(value) or value <= 0:
        raise ValueError(f"{name} is not a positive number of seconds")
    return float(value)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} is {type(value).__name__}; give bool")
    return value


def check_batches(asked: Asking, moment: Moment, segments: Iterable[Segment]) -> list[Batch]:
    """The calls of a check at RETRIEVE or PUBLISH."""
    if not isinstance(moment, Moment):
        raise TypeError(f"moment is {type(moment).__name__}; give Moment")
    if moment in {Moment.REPLAY, Moment.EXPORT}:
        raise ValueError(f"moment {moment.name} takes ledger ids alone; call {moment.name.lower()}()")
    found = _segments(segments)
    head = _check_head(asked, moment)
    batches = []
    for part, messages in _cut(found, head.ByteSize()):
        request = disclosure_pb2.CheckRequest()
        request.CopyFrom(head)
        request.segments.extend(messages)
        batches.append(Batch(request, moment, tuple(segment.id for segment in part), part))
    return batches


def replay_batches(asked: Asking, ledger_ids: Iterable[str], moment: Moment = Moment.REPLAY) -> list[Batch]:
    """The calls of a check at REPLAY or EXPORT."""
    batches = []
    for part in _ledger_ids(ledger_ids):
        request = _check_head(asked, moment)
        request.ledger_ids.extend(part)
        batches.append(Batch(request, moment, part))
    return batches


def shown_requests(asked: Asking, ledger_ids: Iterable[str]) -> list[disclosure_pb2.ReportShownRequest]:
    """The calls that say what a reader was shown."""
    _bounded(asked, None)
    return [
        disclosure_pb2.ReportShownRequest(
            tenant=asked.tenant,
            principal=_principal(asked.principal),
            session_id=asked.session_id,
            ledger_ids=part,
        )
        for part in _ledger_ids(ledger_ids)
    ]


def _ledger_ids(ledger_ids: Iterable[str]) -> list[tuple[str, ...]]:
    """The ids in parts of the size of a call, each once."""
    if isinstance(ledger_ids, str):
        raise TypeError("ledger_ids is one str; give a list of them")
    ids = members("ledger_ids", ledger_ids, str)
    _unique("ledger_ids", ids)
    return [ids[start : start + SEGMENTS_PER_CALL_MAX] for start in range(0, len(ids), SEGMENTS_PER_CALL_MAX)]


def commit_batches(asked: Asking, answer_id: str, segments: Iterable[Segment]) -> list[Batch]:
    """The calls of a commit; each segment needs the digest of its text."""
    _bounded(asked, Moment.PUBLISH)
    text_field("question", "answer_id", answer_id, required=True)
    found = _segments(segments)
    for at, segment in enumerate(found):
        if not segment.digest:
            raise ValueError(f"segments[{at}].digest is empty; a commit needs the digest of the text that is shown")
    head = disclosure_pb2.CommitRequest(
        tenant=asked.tenant,
        principal=_principal(asked.principal),
        session_id=asked.session_id,
        answer_id=answer_id,
        locale=asked.locale,
        need_numbers=asked.need_numbers,
        need_advice=asked.need_advice,
        min_token=asked.min_token,
    )
    batches = []
    for part, messages in _cut(found, head.ByteSize()):
        request = disclosure_pb2.CommitRequest()
        request.CopyFrom(head)
        request.segments.extend(messages)
        batches.append(Batch(request, Moment.PUBLISH, tuple(segment.id for segment in part), part))
    return batches


def _bounded(asked: Asking, moment: Moment | None) -> bool:
    """Whether earlier facts do; refuses that where something is about to be shown. No moment: none is asked about."""
    if asked.consistency is Consistency.BOUNDED and moment is not Moment.RETRIEVE:
        raise ValueError("consistency BOUNDED is for retrieve() alone; leave it out")
    return asked.consistency is Consistency.BOUNDED


def _check_head(asked: Asking, moment: Moment) -> disclosure_pb2.CheckRequest:
    # Left out where it is what is meant anyway: servers that do not know the field are served as well.
    consistency = common_pb2.CONSISTENCY_BOUNDED if _bounded(asked, moment) else common_pb2.CONSISTENCY_UNSPECIFIED
    return disclosure_pb2.CheckRequest(
        consistency=consistency,
        tenant=asked.tenant,
        moment=common_pb2.Moment.ValueType(moment.value),
        principal=_principal(asked.principal),
        session_id=asked.session_id,
        locale=asked.locale,
        need_numbers=asked.need_numbers,
        need_advice=asked.need_advice,
        min_token=asked.min_token,
    )


def _segments(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    found = members("segments", segments, Segment)
    _unique("segments", [segment.id for segment in found])
    return found


def _unique(name: str, ids: Sequence[str]) -> None:
    seen: dict[str, int] = {}
    for at, found in enumerate(ids):
        if not found:
            raise ValueError(f"{name}[{at}] has an empty id; it is required")
        if found in seen:
            raise ValueError(f"{name}[{at}] has the id of {name}[{seen[found]}]; ids are unique within a question")
        seen[found] = at


def _cut(
    segments: Sequence[Segment], head_bytes: int
) -> Iterable[tuple[tuple[Segment, ...], list[disclosure_pb2.Segment]]]:
    """Groups within the API's number of segments and the size of one message; an oversized segment stands alone."""
    part: list[Segment] = []
    messages: list[disclosure_pb2.Segment] = []
    size = head_bytes
    for segment in segments:
        message = segment_message(segment)
        more = message.ByteSize() + 8
        if part and (len(part) == SEGMENTS_PER_CALL_MAX or size + more > REQUEST_BYTES_MAX):
            yield tuple(part), messages
            part, messages, size = [], [], head_bytes
        part.append(segment)
        messages.append(message)
        size += more
    if part:
        yield tuple(part), messages


def segment_message(segment: Segment) -> disclosure_pb2.Segment:
    """The segment as the API writes it."""
    return disclosure_pb2.Segment(
        id=segment.id,
        kind=segment.kind,
        digest=segment.digest,
        grounding=common_pb2.Grounding.ValueType(segment.grounding.value),
        bindings=[_binding(binding) for binding in segment.bindings],
        claim=None if segment.claim is None else _claim(segment.claim),
        parents=segment.parents,
    )


def _binding(binding: Binding) -> disclosure_pb2.Binding:
    return disclosure_pb2.Binding(
        record_id=binding.record_id,
        version=binding.version,
        digest=binding.digest,
        locator=binding.locator,
        granted_under=binding.granted_under,
        receipt=binding.receipt,
        claimed_label=binding.claimed_label,
        claimed_as_of=None if binding.claimed_as_of is None else _timestamp(binding.claimed_as_of),
        claimed_basis=binding.claimed_basis,
    )


def _claim(claim: Claim) -> disclosure_pb2.Claim:
    about = None
    if claim.about is not None:
        about = common_pb2.Period(start=_timestamp(claim.about[0]), end=_timestamp(claim.about[1]))
    return disclosure_pb2.Claim(basis=claim.basis, about=about, required_fields=claim.required_fields)


def _principal(principal: Principal) -> disclosure_pb2.Principal:
    attributes = {
        name: _value(f"Principal.attributes[{name!r}]", value, 1) for name, value in principal.attributes.items()
    }
    return disclosure_pb2.Principal(id=principal.id, claimed_scopes=principal.claimed_scopes, attributes=attributes)


def _timestamp(moment: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


def _value(where: str, value: Attribute, depth: int) -> common_pb2.Value:
    if depth > ATTRIBUTE_DEPTH_MAX:
        raise ValueError(f"{where} nests deeper than {ATTRIBUTE_DEPTH_MAX} levels")
    match value:
        case None:
            return common_pb2.Value(null_value=True)
        case bool():
            return common_pb2.Value(bool_value=value)
        case int():
            if not -(2**63) <= value < 2**63:
                raise ValueError(f"{where} is outside 64-bit integers")
            return common_pb2.Value(int_value=value)
        case float():
            if not isfinite(value):
                raise ValueError(f"{where} is not finite")
            return common_pb2.Value(double_value=value)
        case str():
            return common_pb2.Value(string_value=value)
        case Mapping():
            fields = {name: _value(where, item, depth + 1) for name, item in value.items()}
            return common_pb2.Value(map_value=common_pb2.MapValue(fields=fields))
        case list() | tuple():
            return common_pb2.Value(
                list_value=common_pb2.ListValue(values=[_value(where, v, depth + 1) for v in value])
            )
    raise TypeError(f"{where} holds {type(value).__name__}; give None, bool, int, float, str, list or dict")
