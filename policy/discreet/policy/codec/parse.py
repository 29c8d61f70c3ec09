"""From the bytes of a call to a validated question and the ids of the facts that it needs."""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from discreet.policy import idents
from discreet.policy.codec.malformed import Malformed
from discreet.policy.codec.shapes import period_of, segment_of
from discreet.policy.codec.values import attributes_of, micros_of
from discreet.policy.codec.wire import parse_message
from discreet.policy.facts import FactIds, Ref
from discreet.policy.receipts import RECEIPT_CHARS_MAX
from discreet.policy.request import Principal, Request, Segment, ShownReport
from discreet.policy.token import BadToken, decode
from discreet.policy.words import LOCALES, Grounding, Moment, Word
from discreet.v1 import common_pb2 as pb_common
from discreet.v1 import disclosure_pb2 as pb

SEGMENTS_MAX = 1_000
BINDINGS_MAX = 32
PARENTS_MAX = 32
PARENTS_PER_CALL_MAX = 1_000
"""Different ones: as many as ledger ids can be asked about."""
SCOPES_MAX = 64
ATTRIBUTES_MAX = 32
FIELDS_MAX = 64
TEXT_BYTES_MAX = 256

_SHORT = f"give 1 to {idents.SHORT_BYTES_MAX} bytes of text without control or format characters"
_TEXT = f"give up to {TEXT_BYTES_MAX} bytes of text without control or format characters, or leave it out"
_EXACT = f"give the exact text, 1 to {idents.EXACT_BYTES_MAX} bytes, as the system writes it that it comes from"
_LABEL = "give lower-case ASCII letters, digits and . _ : - alone"
_KIND = 'give a kind such as "answer" or "small-talk"'
_DIGEST = "give the SHA-256 in lower-case hex"
_NAME = "give the name of an evidence field"
_RECEIPT = "give back the receipt that Check gave at RETRIEVE, unchanged, or leave it out"

W = TypeVar("W", bound=Word)


class Parsed(NamedTuple):
    """A question with the ids of its facts. `request.tenant` is empty where the caller left it out."""

    request: Request
    ids: FactIds
    bounded: bool = False
    """Facts that were read lately do, as far as the policy lets them."""


def parse_check(data: bytes) -> Parsed:
    """The question of a CheckRequest. Raises Malformed."""
    return check_question(parse_message(pb.CheckRequest, data))


def check_question(message: pb.CheckRequest) -> Parsed:
    """The question of a CheckRequest that has no unknown fields. Raises Malformed."""
    moment = _word(Moment, message.moment, "moment")
    if message.consistency not in pb_common.Consistency.values():
        raise Malformed("consistency", "is not served", "leave it out or give CONSISTENCY_AUTHORITATIVE")
    bounded = message.consistency == pb_common.CONSISTENCY_BOUNDED
    if bounded and moment is not Moment.RETRIEVE:
        raise Malformed("consistency", f"cannot be BOUNDED at {moment.short}", "leave it out, or ask at RETRIEVE")
    if moment.by_ledger_id:
        if message.segments:
            raise Malformed("segments", f"cannot be given at {moment.short}", "give ledger_ids alone")
        _ledger_ids(message)
    elif message.ledger_ids:
        raise Malformed("ledger_ids", f"cannot be given at {moment.short}", "give segments, or ask at REPLAY or EXPORT")
    request = _request(message, moment, "", commit=False)
    return Parsed(request, _ids(request), bounded)


def parse_commit(data: bytes) -> Parsed:
    """The question of a CommitRequest, asked at PUBLISH. Raises Malformed."""
    message = parse_message(pb.CommitRequest, data)
    _check(idents.text_problem(message.answer_id, idents.SHORT_BYTES_MAX), "answer_id", _SHORT)
    request = _request(message, Moment.PUBLISH, message.answer_id, commit=True)
    return Parsed(request, _ids(request))


def parse_report_shown(data: bytes) -> ShownReport:
    """The report of a ReportShownRequest. Raises Malformed."""
    message = parse_message(pb.ReportShownRequest, data)
    if message.tenant:
        _check(idents.label_problem(message.tenant), "tenant", _LABEL)
    _check(idents.text_problem(message.session_id, idents.SHORT_BYTES_MAX), "session_id", _SHORT)
    return ShownReport(message.tenant, _principal(message), message.session_id, _ledger_ids(message))


def _ledger_ids(message: pb.CheckRequest | pb.ReportShownRequest) -> tuple[str, ...]:
    _count("ledger_ids", len(message.ledger_ids), 1, SEGMENTS_MAX)
    for index, ledger_id in enumerate(message.ledger_ids):
        _check(idents.text_problem(ledger_id, idents.SHORT_BYTES_MAX), f"ledger_ids[{index}]", _SHORT)
    _distinct("ledger_ids", message.ledger_ids)
    return tuple(message.ledger_ids)


def _request(message: pb.CheckRequest | pb.CommitRequest, moment: Moment, answer_id: str, *, commit: bool) -> Request:
    if message.tenant:
        _check(idents.label_problem(message.tenant), "tenant", _LABEL)
    if message.locale and message.locale not in LOCALES:
        raise Malformed("locale", "is not served", f"give one of {', '.join(LOCALES)}")
    _check(idents.text_problem(message.session_id, idents.SHORT_BYTES_MAX), "session_id", _SHORT)
    if message.min_token:
        token(message.min_token, "min_token")
    if not moment.by_ledger_id:
        _count("segments", len(message.segments), 1, SEGMENTS_MAX)
    segments = tuple(_segment(item, f"segments[{i}]", commit) for i, item in enumerate(message.segments))
    _distinct("segments", [segment.id for segment in segments], ".id")
    named = len({parent for segment in segments for parent in segment.parents})
    if named > PARENTS_PER_CALL_MAX:
        hint = f"name up to {PARENTS_PER_CALL_MAX} in one call"
        raise Malformed("segments", f"name {named} different parents", hint)
    return Request(
        tenant=message.tenant,
        moment=moment,
        principal=_principal(message),
        session_id=message.session_id,
        segments=segments,
        ledger_ids=tuple(message.ledger_ids) if isinstance(message, pb.CheckRequest) else (),
        answer_id=answer_id,
        locale=message.locale or LOCALES[0],
        need_numbers=message.need_numbers,
        need_advice=message.need_advice,
        min_token=message.min_token,
        commit=commit,
    )


def _principal(message: pb.CheckRequest | pb.CommitRequest | pb.ReportShownRequest) -> Principal:
    if not message.HasField("principal"):
        raise Malformed("principal", "is missing", "name the end user that you ask for")
    given = message.principal
    _check(idents.exact_problem(given.id), "principal.id", _EXACT)
    _count("principal.claimed_scopes", len(given.claimed_scopes), 0, SCOPES_MAX)
    for index, scope in enumerate(given.claimed_scopes):
        _check(idents.exact_problem(scope), f"principal.claimed_scopes[{index}]", _EXACT)
    attributes = attributes_of(given.attributes, "principal.attributes", ATTRIBUTES_MAX) if given.attributes else {}
    return Principal(given.id, tuple(given.claimed_scopes), attributes)


def _segment(given: pb.Segment, path: str, commit: bool) -> Segment:
    _check(idents.text_problem(given.id, idents.SHORT_BYTES_MAX), f"{path}.id", _SHORT)
    _check(idents.kind_problem(given.kind), f"{path}.kind", _KIND)
    if commit or given.digest:
        _check(idents.digest_problem(given.digest), f"{path}.digest", _DIGEST)
    grounding = _word(Grounding, given.grounding, f"{path}.grounding")
    if grounding is Grounding.UNBOUND and given.bindings:
        raise Malformed(
            f"{path}.bindings", "cannot be given with GROUNDING_UNBOUND", "give GROUNDING_BOUND, or no bindings"
        )
    if grounding is Grounding.UNBOUND and given.HasField("claim"):
        raise Malformed(f"{path}.claim", "cannot be given with GROUNDING_UNBOUND", "an unbound segment asserts nothing")
    if grounding is Grounding.UNBOUND and given.parents:
        hint = "give GROUNDING_BOUND: it rests on what its parents rest on"
        raise Malformed(f"{path}.parents", "cannot be given with GROUNDING_UNBOUND", hint)
    if given.parents:
        _check_parents(given, path)
    _count(f"{path}.bindings", len(given.bindings), 0, BINDINGS_MAX)
    for index, item in enumerate(given.bindings):
        _check_binding(item, f"{path}.bindings[{index}]")
    if len(given.bindings) > 1:
        _distinct(f"{path}.bindings", [(b.record_id, b.version, b.locator) for b in given.bindings])
    if given.HasField("claim"):
        _check_claim(given.claim, f"{path}.claim")
    return segment_of(given)


def _check_parents(given: pb.Segment, path: str) -> None:
    _count(f"{path}.parents", len(given.parents), 0, PARENTS_MAX)
    for index, ledger_id in enumerate(given.parents):
        _check(idents.text_problem(ledger_id, idents.SHORT_BYTES_MAX), f"{path}.parents[{index}]", _SHORT)
    _distinct(f"{path}.parents", given.parents)


def _check_binding(given: pb.Binding, path: str) -> None:
    _check(idents.exact_problem(given.record_id), f"{path}.record_id", _EXACT)
    _check(idents.text_problem(given.version, idents.SHORT_BYTES_MAX), f"{path}.version", _SHORT)
    _check(idents.digest_problem(given.digest), f"{path}.digest", _DIGEST)
    if given.locator:
        _check(idents.text_problem(given.locator, TEXT_BYTES_MAX), f"{path}.locator", _TEXT)
    if given.granted_under:
        token(given.granted_under, f"{path}.granted_under")
    if given.receipt:
        _check(idents.text_problem(given.receipt, RECEIPT_CHARS_MAX), f"{path}.receipt", _RECEIPT)
    if given.claimed_label:
        _check(idents.label_problem(given.claimed_label), f"{path}.claimed_label", _LABEL)
    if given.claimed_basis:
        _check(idents.text_problem(given.claimed_basis, TEXT_BYTES_MAX), f"{path}.claimed_basis", _TEXT)
    if given.HasField("claimed_as_of"):
        micros_of(given.claimed_as_of, f"{path}.claimed_as_of")


def _check_claim(given: pb.Claim, path: str) -> None:
    if given.basis:
        _check(idents.text_problem(given.basis, TEXT_BYTES_MAX), f"{path}.basis", _TEXT)
    _count(f"{path}.required_fields", len(given.required_fields), 0, FIELDS_MAX)
    for index, name in enumerate(given.required_fields):
        _check(idents.name_problem(name), f"{path}.required_fields[{index}]", _NAME)
    _distinct(f"{path}.required_fields", given.required_fields)
    if given.HasField("about"):
        for name, given_end in (("start", given.about.HasField("start")), ("end", given.about.HasField("end"))):
            if not given_end:
                raise Malformed(f"{path}.about.{name}", "is missing", "give both ends, or leave about out for now")
        start, end = period_of(given, path)
        if start > end:
            raise Malformed(f"{path}.about", "ends before it starts", "give an end that is not before the start")


def token(text: str, path: str) -> None:
    """Raises Malformed where the text is no token."""
    try:
        decode(text)
    except BadToken as bad:
        problem, _, hint = str(bad).partition("; ")
        raise Malformed(path, problem, hint) from None


def _word(words: type[W], number: int, path: str) -> W:
    if number == 0:
        raise Malformed(path, "is missing", f"give one of {', '.join(word.short for word in words)}")
    try:
        return words(number)
    except ValueError:
        raise Malformed(
            path, "is a number without a meaning here", f"give one of {', '.join(word.short for word in words)}"
        ) from None


def _check(problem: str | None, path: str, hint: str) -> None:
    if problem is not None:
        raise Malformed(path, problem, hint)


def _count(path: str, count: int, least: int, most: int) -> None:
    if not least <= count <= most:
        raise Malformed(path, f"has {count} entries", f"give {least} to {most}")


def _distinct(path: str, items: Iterable[object], field: str = "") -> None:
    seen: dict[object, int] = {}
    for index, item in enumerate(items):
        first = seen.setdefault(item, index)
        if first != index:
            raise Malformed(f"{path}[{index}]{field}", f"is the same as {path}[{first}]{field}", "give each once")


def _ids(request: Request) -> FactIds:
    refs = dict.fromkeys(Ref(b.record_id, b.version) for segment in request.segments for b in segment.bindings)
    parents = dict.fromkeys(parent for segment in request.segments for parent in segment.parents)
    return FactIds(tuple(refs), request.principal.id, (*request.ledger_ids, *parents))
