"""What a caller may say, and how wrong arguments are told before anything is asked."""

import doctest
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from typing import Any

import pytest

import discreet.client
from discreet.client import (
    Binding,
    Claim,
    Client,
    Grounding,
    Moment,
    Principal,
    Reason,
    Segment,
    cutting,
    digest,
    graphemes,
    model,
    words,
)
from discreet.client.encode import Options, asking, check_batches
from discreet.client.model import Attribute
from discreet.client.texts import LOCALES, fixed_text
from discreet.v1 import common_pb2, disclosure_pb2
from tests.client.asking import PRINCIPAL, RECORD_DIGEST, SESSION, binding, segments

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAIVE = NOON.replace(tzinfo=None)
CLIENT = Client("unix:/nobody.sock", deadline_s=0.2)

WRONG_VALUES: dict[str, Callable[[], object]] = {
    "an empty record id": lambda: Binding("", "v1", RECORD_DIGEST),
    "an empty version": lambda: Binding("r", "", RECORD_DIGEST),
    "a short digest": lambda: Binding("r", "v1", "abc"),
    "an upper-case digest": lambda: Binding("r", "v1", RECORD_DIGEST.upper()),
    "a digest with a line end": lambda: Binding("r", "v1", RECORD_DIGEST + "\n"),
    "a naive time": lambda: Binding("r", "v1", RECORD_DIGEST, claimed_as_of=NAIVE),
    "a naive period": lambda: Claim(about=(NOON, NAIVE)),
    "a period that ends before it starts": lambda: Claim(about=(NOON, NOON - timedelta(days=1))),
    "a segment without an id": lambda: Segment(""),
    "a segment without a kind": lambda: Segment("s", kind=""),
    "a segment with half a digest": lambda: Segment("s", digest="0" * 32),
    "an unbound segment with bindings": lambda: Segment("s", grounding=Grounding.UNBOUND, bindings=(binding(),)),
    "an unbound segment with parents": lambda: Segment("s", grounding=Grounding.UNBOUND, parents=("l",)),
    "a principal without an id": lambda: Principal(""),
    "a target that is empty": lambda: Client(""),
    "a locale without texts": lambda: Client("unix:/x.sock", locale="zh"),
    "a deadline of nothing": lambda: Client("unix:/x.sock", deadline_s=0),
    "a deadline without end": lambda: Client("unix:/x.sock", deadline_s=float("inf")),
    "a deadline that is no number": lambda: Client("unix:/x.sock", deadline_s=float("nan")),
    "no session": lambda: CLIENT.retrieve(segments(), PRINCIPAL, ""),
    "no answer id": lambda: CLIENT.commit(segments(), PRINCIPAL, SESSION, ""),
    "one id twice": lambda: CLIENT.retrieve([Segment("s"), Segment("s")], PRINCIPAL, SESSION),
    "one ledger id twice": lambda: CLIENT.replay(["l", "l"], PRINCIPAL, SESSION),
    "an empty ledger id": lambda: CLIENT.replay([""], PRINCIPAL, SESSION),
    "a commit without a digest": lambda: CLIENT.commit([Segment("s")], PRINCIPAL, SESSION, "a"),
    "a check at REPLAY": lambda: CLIENT.check(Moment.REPLAY, segments(), PRINCIPAL, SESSION),
    "a locale of one question": lambda: CLIENT.retrieve(segments(), PRINCIPAL, SESSION, locale="fr"),
    "half a character": lambda: CLIENT.retrieve([Segment("s\ud800")], PRINCIPAL, SESSION),
    "an attribute that is not finite": lambda: CLIENT.retrieve([], Principal("ana", (), {"a": float("nan")}), SESSION),
    "an attribute too large": lambda: CLIENT.retrieve([], Principal("ana", (), {"a": 2**63}), SESSION),
    "an attribute too deep": lambda: CLIENT.retrieve([], Principal("ana", (), {"a": _nested(9)}), SESSION),
}
ANY: Any = object()
TEXT: Any = "text"
DERIVED: Any = {"trusted_hit": True}
WRONG_TYPES: dict[str, Callable[[], object]] = {
    "a digest of a number": lambda: digest(ANY),
    "a record id that is no text": lambda: Binding(ANY, "v1", RECORD_DIGEST),
    "one text for a list of fields": lambda: Claim(required_fields=TEXT),
    "one text for a list of scopes": lambda: Principal("ana", TEXT),
    "bindings that are none": lambda: Segment("s", bindings=(TEXT,)),
    "a claim that is none": lambda: Segment("s", claim=ANY),
    "a grounding that is none": lambda: Segment("s", grounding=ANY),
    "a time that is none": lambda: Binding("r", "v1", RECORD_DIGEST, claimed_as_of=ANY),
    "a target that is no text": lambda: Client(ANY),
    "a deadline that is a flag": lambda: Client("unix:/x.sock", deadline_s=True),
    "a principal that is none": lambda: CLIENT.retrieve(segments(), ANY, SESSION),
    "segments that are none": lambda: CLIENT.retrieve([TEXT], PRINCIPAL, SESSION),
    "a moment that is none": lambda: CLIENT.check(ANY, segments(), PRINCIPAL, SESSION),
    "one text for a list of ledger ids": lambda: CLIENT.replay("l-1", PRINCIPAL, SESSION),
    "an unknown option": lambda: CLIENT.retrieve([], PRINCIPAL, SESSION, **DERIVED),
    "a flag that is none": lambda: CLIENT.retrieve([], PRINCIPAL, SESSION, need_numbers=ANY),
    "a token that is no text": lambda: CLIENT.retrieve([], PRINCIPAL, SESSION, min_token=ANY),
    "a consistency that is none": lambda: CLIENT.retrieve([], PRINCIPAL, SESSION, consistency=ANY),
    "an attribute of a class": lambda: CLIENT.retrieve([], Principal("ana", (), {"a": ANY}), SESSION),
}


def _nested(levels: int) -> Any:
    return [_nested(levels - 1)] if levels else 1


@pytest.mark.parametrize("say", WRONG_VALUES.values(), ids=WRONG_VALUES.keys())
def test_wrong_values_are_told_early(say: Callable[[], object]) -> None:
    """A wrong argument is no failing sidecar: it raises before anything is sent."""
    with pytest.raises(ValueError, match=r"\w"):
        say()


@pytest.mark.parametrize("say", WRONG_TYPES.values(), ids=WRONG_TYPES.keys())
def test_wrong_types_are_told_early(say: Callable[[], object]) -> None:
    """The same for types; a derived fact such as `trusted_hit` (A1) has no place to be said in."""
    with pytest.raises(TypeError, match=r"\w"):
        say()


def test_nothing_asked_is_nothing_sent() -> None:
    """A question without segments needs no server, and allows nothing."""
    answer = CLIENT.retrieve([], PRINCIPAL, SESSION)
    assert (len(answer), answer.error, answer.everything_withheld) == (0, None, True)
    with pytest.raises(KeyError):
        answer["s0"]


def test_times_claims_and_attributes_are_written_whole() -> None:
    """TIM-01, A3: times keep their instant; attributes keep their types."""
    defaults: Options = {"deadline_s": 1.0}
    tokyo = datetime(2026, 3, 1, 21, tzinfo=timezone(timedelta(hours=9)))
    attributes: dict[str, Attribute] = {"flag": True, "count": 3, "share": 0.5, "name": "a", "none": None}
    attributes |= {"list": [1, "b"], "map": {"k": False}}
    principal = Principal("ana", ("desk",), attributes)
    claim = Claim("count", (NOON - timedelta(days=1), tokyo), ("total",))
    said = Segment("s", bindings=(Binding("r", "v1", RECORD_DIGEST, claimed_as_of=tokyo),), claim=claim)
    request = check_batches(asking(principal, SESSION, defaults, {}), Moment.RETRIEVE, [said])[0].request
    segment = request.segments[0]
    assert segment.bindings[0].claimed_as_of.ToDatetime(UTC) == NOON
    assert segment.claim.about.end.ToDatetime(UTC) == NOON
    assert list(segment.claim.required_fields) == ["total"]
    kinds = {name: value.WhichOneof("kind") for name, value in request.principal.attributes.items()}
    assert kinds == {
        "flag": "bool_value",
        "count": "int_value",
        "share": "double_value",
        "name": "string_value",
        "none": "null_value",
        "list": "list_value",
        "map": "map_value",
    }
    assert list(request.principal.claimed_scopes) == ["desk"]


@pytest.mark.parametrize(
    "word, described",
    [
        (words.Moment, common_pb2.Moment.DESCRIPTOR),
        (words.Consistency, common_pb2.Consistency.DESCRIPTOR),
        (words.Verdict, common_pb2.Verdict.DESCRIPTOR),
        (words.Reason, common_pb2.Reason.DESCRIPTOR),
        (words.Gate, common_pb2.Gate.DESCRIPTOR),
        (words.Freshness, common_pb2.Freshness.DESCRIPTOR),
        (words.Next, common_pb2.Next.DESCRIPTOR),
        (words.ActionTendency, common_pb2.ActionTendency.DESCRIPTOR),
        (words.Grounding, common_pb2.Grounding.DESCRIPTOR),
        (words.OrderKind, disclosure_pb2.CommitOrder.Kind.DESCRIPTOR),
    ],
)
def test_the_closed_sets_are_those_of_the_api(word: type[Enum], described: Any) -> None:
    """POL-03: the same names and numbers, and no member for the zero value but where it only says "not judged"."""
    prefix = described.values_by_number[0].name.removesuffix("UNSPECIFIED")
    api = {value.name.removeprefix(prefix): value.number for value in described.values}
    mine = {member.name: member.value for member in word}
    assert mine == (api if word is words.Freshness else {name: number for name, number in api.items() if number})


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("reason", list(Reason))
def test_fixed_texts_stand_in_both_languages_and_promise_nothing(locale: str, reason: Reason) -> None:
    """A6: no built-in text calls what is not shown the latest or current, or excuses an old figure."""
    text = fixed_text(reason, locale)
    assert text
    assert text.isascii() == (locale == "en")
    for word in ("latest", "current", "up to date", "for reference", "最新", "当前", "目前", "现在", "仅供参考"):
        assert word not in text.lower()


def test_the_public_names_are_these() -> None:
    """What agents import; a name that goes breaks them."""
    assert sorted(discreet.client.__all__) == [
        "API_LEVEL", "ActionTendency", "Answer", "AsyncClient", "AsyncGuard", "AsyncPublishing", "Binding", "Claim",
        "Client", "Consistency", "Cutting", "Delta", "End", "Evidence", "Failure", "Filtered", "Freshness", "Gap",
        "Gate", "Grounding", "Guard", "Kept", "Limits", "Moment", "Next", "OrderKind", "Piece", "Principal",
        "Publishing", "Reason", "Reported", "Result", "Segment", "ServerInfo", "ServerUnreachable", "Stored",
        "Verdict", "by_agent", "by_paragraph", "by_sentence", "digest",
    ]  # fmt: skip
    assert discreet.client.API_LEVEL == 1


def test_the_two_clients_have_the_same_methods() -> None:
    """Whoever knows one knows the other."""
    mine = {name for name in dir(discreet.client.Client) if not name.startswith("_")}
    assert mine == {name for name in dir(discreet.client.AsyncClient) if not name.startswith("_")}
    assert mine == {
        "check", "check_publish", "close", "commit", "export", "filter", "guard", "publishing", "replay",
        "report_shown", "retrieve", "server_info",
    }  # fmt: skip


def test_the_examples_of_the_docstrings_hold() -> None:
    """Docs are tested."""
    for module in (model, cutting, graphemes):
        ran = doctest.testmod(module)
        assert ran.attempted
        assert not ran.failed
