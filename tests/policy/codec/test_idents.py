"""Names: what could be mistaken for another is refused at registration; nothing is folded when it is compared."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.policy import idents
from discreet.policy.idents import exact_problem, label_problem, skeleton, text_problem
from discreet.policy.words import Reason
from tests.policy.decide.world import SOURCES, edit, record, world

LOOKALIKES = [
    ("\u0441leared", "cleared"),
    ("CLEARED", "cleared"),
    ("\uff43leared", "cleared"),
    ("\u0421LEARED", "cleared"),
    ("p\u0430y", "pay"),
    ("\u0440\u0430\u0443", "pay"),
    ("kb-\u03bfne", "kb-one"),
    ("\u0391tlas", "atlas"),
    ("\u0397R", "hr"),
    ("\u041d\u0420", "hp"),
    ("\u043d\u0440", "\u041d\u0420"),
    ("f\u0131le", "file"),
    ("\u0581o"[1:], "o"),
    ("kb\ufe0f-1", "kb-1"),
    ("k\u034fb-1", "kb-1"),
    ("kb-1\U000e0101", "kb-1"),
    ("\u3164kb", "kb"),
    ("stra\u00dfe", "STRASSE"),
    ("caf\u00e9", "cafe\u0301"),
    ("\u212aelvin", "kelvin"),
]
APART = [
    ("kb-1", "kb-2"),
    ("cafe", "caf\u00e9"),
    ("kb/1", "kb-1"),
    ("kb_1", "kb-1"),
    ("\u6587", "\u6587\u4ef6"),
    ("rn", "m"),
]


@pytest.mark.parametrize("one, other", LOOKALIKES)
def test_ids_that_differ_by_case_or_look_alike_letters_have_one_skeleton(one: str, other: str) -> None:
    """SRC-04, SRC-06, SRC-08: two such ids of one source cannot be registered beside each other."""
    assert skeleton(one) == skeleton(other)


@pytest.mark.parametrize("one, other", APART)
def test_ids_that_a_reader_can_tell_apart_keep_apart(one: str, other: str) -> None:
    """SRC-06: what is refused is what can be mistaken, not what is similar."""
    assert skeleton(one) != skeleton(other)


GREEK_BY_CASE = set("\u0397\u03b7\u039c\u03bc\u039d\u03bd\u03a5\u03c5\u0393\u03b3\u03a9\u03c9\u00b5\u2126")
"""Greek letters whose capital prints like another Latin letter than the small one, or like none."""


@given(st.text(st.characters(max_codepoint=0x24FF, exclude_categories=["Cs"]), max_size=8))
def test_a_skeleton_is_its_own_and_that_of_other_cases(text: str) -> None:
    """SRC-08: folding twice changes nothing, and case alone makes no other id."""
    assert skeleton(skeleton(text)) == skeleton(text)
    if (
        not GREEK_BY_CASE & set(unicodedata.normalize("NFKD", text))
        and text.upper().casefold() == text.casefold() == text.lower().casefold()
    ):
        assert skeleton(text.upper()) == skeleton(text.lower()) == skeleton(text)


@given(st.text(max_size=600))
def test_an_exact_id_that_is_taken_is_exactly_itself(text: str) -> None:
    """POL-12, SRC-06: whatever is taken is short, normal, visible, and stays the same when paths are resolved."""
    if exact_problem(text) is not None:
        return
    assert 0 < len(text.encode()) <= idents.EXACT_BYTES_MAX
    assert unicodedata.normalize("NFKC", text) == text == text.strip()
    assert not {unicodedata.category(c) for c in text} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert not {"", ".", ".."} & set(text.split("/"))


@given(st.text(max_size=200))
def test_a_label_that_is_taken_is_plain(text: str) -> None:
    """A2, SRC-04: the repertoire is lower-case ASCII letters, digits and four signs."""
    taken = label_problem(text) is None
    plain = bool(text) and len(text) <= 128 and set(text) <= set("abcdefghijklmnopqrstuvwxyz0123456789._:-")
    assert taken == (plain and text[0] not in "._:-")


def test_what_is_remembered_is_bounded_in_size() -> None:
    """RPC-01: a refused text of any size is not kept; the limits of number times size are some tens of megabytes."""
    big = "x" * 10_000_000
    before = idents._exact_problem.cache_info().currsize + idents._label_problem.cache_info().currsize
    for check in (label_problem, idents.kind_problem, idents.digest_problem, idents.name_problem, exact_problem):
        assert check(big) is not None
    assert text_problem(big, 256) is not None
    after = idents._exact_problem.cache_info().currsize + idents._label_problem.cache_info().currsize
    assert after == before


@pytest.mark.parametrize(
    "label", ["Wiki", "wiki ", " wiki", "w\u0456ki", "wiki\u200b", "\uff57iki", "WIKI", "wik", "wikis"]
)
def test_labels_are_compared_by_exact_code_points(label: str) -> None:
    """A2, SRC-01, SRC-04: whatever looks like a listed label is not listed, in a record and in a claim."""
    assert world(record()).one().reason is Reason.NONE
    assert world(record(source_label=label)).one().reason is Reason.UNTRUSTED_SOURCE
    asked = world(record())
    (one,) = asked.segments
    claimed = edit(one, bindings=(edit(one.bindings[0], claimed_label=label),))
    assert asked.one(segments=(claimed,)).reason is Reason.UNTRUSTED_SOURCE


def test_trust_is_derived_from_collector_and_list_alone() -> None:
    """A1, A2: label and name of a source count for nothing; collector and list both must hold; a later list opens."""
    memo = record(source_label="memo", collector="memo-importer")
    refused = world(memo).one()
    assert (refused.reason, refused.evidence[0].allowlisted, refused.evidence[0].trusted_hit) == (
        Reason.UNTRUSTED_SOURCE,
        True,
        False,
    )
    assert world(memo).one() == refused
    listed = edit(world(memo).snapshot, sources={**SOURCES, "memo": edit(SOURCES["memo"], listed=True)})
    assert world(memo).one(snapshot=listed).evidence[0].trusted_hit
    other = world(record(collector="memo-importer")).one()
    assert (other.reason, other.evidence[0].allowlisted) == (Reason.UNTRUSTED_SOURCE, False)
    nameless = record(source_label="", collector="wiki-importer")
    assert world(nameless).one().reason is Reason.UNTRUSTED_SOURCE
    declared = edit(world(nameless).snapshot, sources={"": edit(SOURCES["wiki"], label="")})
    result = world(nameless).one(snapshot=declared)
    assert (result.reason, result.evidence[0].trusted_hit) == (Reason.UNTRUSTED_SOURCE, False)
