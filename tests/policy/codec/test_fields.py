"""Each text field of a call: what is missing, empty, too long, hidden, not text, or mistakable is refused by path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from discreet.policy.codec import Malformed, parse_check, parse_commit
from discreet.v1 import disclosure_pb2
from tests.policy.codec.messages import check, commit, put, replay

Call = disclosure_pb2.CheckRequest | disclosure_pb2.CommitRequest
SECRET = "tok3n-AB"


class Field(NamedTuple):
    """A text field: which message it is in, where, what it may hold, and how many bytes of it."""

    make: Callable[[], Call]
    path: str
    rule: str
    bytes_max: int
    required: bool

    def __str__(self) -> str:
        return f"{self.make.__name__}:{self.path}"


def _segment(make: Callable[[], Call]) -> Iterator[Field]:
    """Every text field of the second segment and of its second binding."""
    segment, binding = "segments[1]", "segments[1].bindings[1]"
    yield Field(make, f"{segment}.id", "short", 128, True)
    yield Field(make, f"{segment}.kind", "kind", 64, True)
    yield Field(make, f"{segment}.digest", "digest", 64, make is commit)
    yield Field(make, f"{segment}.parents[1]", "short", 128, True)
    yield Field(make, f"{segment}.claim.basis", "text", 256, False)
    yield Field(make, f"{segment}.claim.required_fields[1]", "name", 64, True)
    yield Field(make, f"{binding}.record_id", "exact", 512, True)
    yield Field(make, f"{binding}.version", "short", 128, True)
    yield Field(make, f"{binding}.digest", "digest", 64, True)
    yield Field(make, f"{binding}.locator", "text", 256, False)
    yield Field(make, f"{binding}.granted_under", "token", 64, False)
    yield Field(make, f"{binding}.receipt", "text", 128, False)
    yield Field(make, f"{binding}.claimed_label", "label", 128, False)
    yield Field(make, f"{binding}.claimed_basis", "text", 256, False)


def _call(make: Callable[[], Call]) -> Iterator[Field]:
    yield Field(make, "tenant", "label", 128, False)
    yield Field(make, "session_id", "short", 128, True)
    yield Field(make, "locale", "locale", 16, False)
    yield Field(make, "min_token", "token", 64, False)
    yield Field(make, "principal.id", "exact", 512, True)
    yield Field(make, "principal.claimed_scopes[1]", "exact", 512, True)
    yield from _segment(make)


FIELDS = [
    *_call(check),
    *_call(commit),
    Field(commit, "answer_id", "short", 128, True),
    Field(replay, "ledger_ids[1]", "short", 128, True),
]
HIDDEN = {
    "NUL": "a\x00b",
    "line feed": "a\nb",
    "escape": "a\x1bb",
    "delete": "a\x7fb",
    "next line": "a\x85b",
    "soft hyphen": "a\xadb",
    "zero width space": "a\u200bb",
    "right-to-left override": "a\u202eb",
    "line separator": "a\u2028b",
    "byte order mark": "\ufeffab",
    "private use": "a\ue000b",
    "unassigned": "a\u0378b",
    "noncharacter": "a\ufffeb",
    "tag": "a\U000e0041b",
}
EXACT = {
    "full width": "\uff43leared",
    "decomposed": "cafe\u0301",
    "ligature": "\ufb01le",
    "dot": "kb/./x",
    "dot dot": "kb/../x",
    "only dots": "..",
    "empty segment": "kb//x",
    "leading slash": "/kb",
    "trailing slash": "kb/",
    "encoded dots": "kb/%2e%2E/x",
    "encoded slash": "kb%2fx",
    "encoded backslash": "kb%5Cx",
    "leading blank": " kb",
    "trailing blank": "kb ",
}
ASCII_ONLY = {
    "Cyrillic": "\u0441leared",
    "upper case": "Cleared",
    "blank": "a b",
    "slash": "a/b",
    "leading dot": ".a",
    "accent": "caf\u00e9",
}
GOOD = {
    "short": "x",
    "exact": "x",
    "text": "x",
    "label": "x",
    "kind": "x",
    "name": "x",
}


def _problem(field: Field, given: str) -> Malformed | None:
    """What the parser says of the message with this one field changed."""
    message = field.make()
    put(message, field.path, given)
    return _parsed(field, message.SerializeToString())


def _parsed(field: Field, data: bytes) -> Malformed | None:
    try:
        (parse_commit if field.make is commit else parse_check)(data)
    except Malformed as malformed:
        return malformed
    return None


def _refused(field: Field, given: str) -> Malformed:
    problem = _problem(field, given)
    assert problem is not None, f"{field} took {given!r}"
    assert problem.field == field.path
    assert problem.problem
    assert problem.hint
    if len(given) > 4:
        assert given not in str(problem)
    return problem


@pytest.mark.parametrize("field", FIELDS, ids=str)
def test_an_empty_field_is_refused_only_where_it_is_needed(field: Field) -> None:
    """An empty text is a missing one: named and refused where the field is needed, taken where it may be left out."""
    if field.required:
        assert "empty" in _refused(field, "").problem
    else:
        assert _problem(field, "") is None


@pytest.mark.parametrize("field", [f for f in FIELDS if f.rule in GOOD], ids=str)
def test_the_limit_is_taken_and_one_past_it_is_not(field: Field) -> None:
    """RPC-01: limits are bytes, held exactly, whatever the characters; a text far past it is refused alike."""
    assert _problem(field, "x" * field.bytes_max) is None
    _refused(field, "x" * (field.bytes_max + 1))
    _refused(field, "x" * 1_000_000)
    if field.rule in {"short", "exact", "text"}:
        assert _problem(field, "\u00e9" * (field.bytes_max // 2)) is None
        _refused(field, "\u00e9" * (field.bytes_max // 2) + "x")
        _refused(field, "\u6f22" * (field.bytes_max // 3 + 1))


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("field", FIELDS, ids=str)
def test_hidden_characters_are_refused(field: Field, hidden: str) -> None:
    """OBS-01, SRC-04: what a reader of a log or a list cannot see stands in no field of a call."""
    problem = _refused(field, HIDDEN[hidden])
    if field.rule in {"short", "exact", "text", "label"} and HIDDEN[hidden][0] == "a":
        assert f"U+{ord(HIDDEN[hidden][1]):04X}" in problem.problem


@pytest.mark.parametrize("case", EXACT)
@pytest.mark.parametrize("field", [f for f in FIELDS if f.rule == "exact"], ids=str)
def test_exact_ids_that_could_be_mistaken_are_refused(field: Field, case: str) -> None:
    """POL-12, SRC-06: text that normalising or resolving would change is refused before anything is matched."""
    _refused(field, EXACT[case])


@pytest.mark.parametrize("field", [f for f in FIELDS if f.rule == "exact"], ids=str)
def test_exact_ids_of_other_systems_are_taken_as_they_are(field: Field) -> None:
    """SRC-06, SRC-08: keys and identities keep their case, blanks, scripts and slashes."""
    for given in (
        "kb/HR/Pay 2024.pdf",
        "auth0|12",
        "urn:x:y",
        "caf\u00e9",
        "\u6587\u4ef6/\u4e00",
        "a...b",
        "CN=Ana,O=M",
    ):
        assert _problem(field, given) is None, given


@pytest.mark.parametrize("case", ASCII_ONLY)
@pytest.mark.parametrize("field", [f for f in FIELDS if f.rule in {"label", "kind"}], ids=str)
def test_labels_are_plain_ascii(field: Field, case: str) -> None:
    """A2, SRC-04: look-alikes and other cases of a label are refused at the door, in words of code points."""
    problem = _refused(field, ASCII_ONLY[case])
    if case == "Cyrillic" and field.rule == "label":
        assert "U+0441 (CYRILLIC SMALL LETTER ES)" in problem.problem


@pytest.mark.parametrize("field", [f for f in FIELDS if f.rule == "digest"], ids=str)
def test_digests_are_lower_case_hex_of_one_length(field: Field) -> None:
    """B2: there is one way to write a digest."""
    for given in ("A" * 64, "a" * 63, "a" * 65, "g" * 64, "\uff41" * 64, "0x" + "a" * 62, "a" * 63 + "\n", "a" * 10**6):
        _refused(field, given)


@pytest.mark.parametrize("field", [f for f in FIELDS if f.rule == "name"], ids=str)
def test_field_names_are_identifiers(field: Field) -> None:
    """A4: names of evidence fields are plain."""
    for given in ("1a", "a-b", "a.b", "caf\u00e9", "a b", "a\n"):
        _refused(field, given)


@pytest.mark.parametrize("field", [f for f in FIELDS if f.rule in {"token", "locale"}], ids=str)
def test_tokens_and_locales_are_of_ours(field: Field) -> None:
    """F1: what is no token of this format, or no locale that is served, is refused."""
    for given in (SECRET, "EN", "en ", "zh", "e" * 17, "A" * 42, "=" * 42, "A" * 65, "A" * 10**6):
        _refused(field, given)


@pytest.mark.parametrize("junk", [b"\xed\xa0\x80", b"\xc0\x80", b"\xff\xfe\xfd", b"\xf4\x90\x80", b"\xe2\x82"])
@pytest.mark.parametrize("field", FIELDS, ids=str)
def test_bytes_that_are_no_text_are_refused_by_path(field: Field, junk: bytes) -> None:
    """Lone surrogates, over-long forms and cut-off characters: the path is named though the message cannot be read."""
    message = field.make()
    mark = "@" * len(junk)
    put(message, field.path, mark)
    problem = _parsed(field, message.SerializeToString().replace(mark.encode(), junk))
    assert problem is not None
    assert (problem.field, bool(problem.hint)) == (field.path, True)
    assert "UTF-8" in problem.problem


def test_a_secret_in_any_field_is_never_repeated() -> None:
    """OBS-03: the message names the field and what is wrong with it; the text itself stays out."""
    for field in FIELDS:
        given = f"{SECRET}\x00 ssn 123-45-6789"
        text = str(_refused(field, given))
        assert SECRET not in text
        assert "123-45" not in text
