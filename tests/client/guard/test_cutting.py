"""Text is cut where the caller's splitter or the agent says, never inside a character, with all that it rests on."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.client import Claim, Delta, End, Grounding, by_agent, by_paragraph, by_sentence
from discreet.client.cutting import Cut, Cutter, Splitter
from discreet.client.graphemes import may_cut
from tests.client.asking import binding

A, B, C = binding("a"), binding("b"), binding("c")
# Characters that belong together, and texts around which segments end.
PARTS = [
    "e\u0301", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1eb\U0001f1f7", "\U0001f44d\U0001f3fd", "\r\n",
    "\u1112\u1161\u11ab", "\u0915\u094d\u0937\u093f", "\u0e01\u0e33", "1\ufe0f\u20e3", "x", "y", " ", " ", "\n\n",
    ". ", "! ", "。", "？”", "a" * 9, "\u2028", "3.5", "e.g. ",
]  # fmt: skip
CLUSTERS = PARTS[:9]
texts = st.lists(st.sampled_from(PARTS), max_size=60).map("".join)


def cut_up(items: list[Any], **settings: Any) -> list[Cut]:
    """All segments of a stream."""
    cutter = Cutter(**settings)
    found = [cut for item in items for cut in cutter.feed(item)]
    return found + cutter.finish()


def chopped(text: str, places: list[int]) -> list[str]:
    """The text in bits that end at these places."""
    ends = sorted({min(place, len(text)) for place in places} | {0, len(text)})
    return [text[start:end] for start, end in pairwise(ends)]


@given(texts, st.lists(st.integers(0, 200)), st.sampled_from([by_sentence, by_paragraph]), st.sampled_from([12, 40]))
def test_how_the_text_comes_changes_nothing(text: str, places: list[int], splitter: Any, chars_max: int) -> None:
    """F13: however a model's bits fall, the segments are the same, and together they are the text."""
    whole = cut_up([text], splitter=splitter, chars_max=chars_max)
    assert cut_up(list(chopped(text, places)), splitter=splitter, chars_max=chars_max) == whole
    assert "".join("".join(cut.text for cut in whole).split()) == "".join(text.split())
    assert all(0 < len(cut.text) <= chars_max and not cut.text.isspace() for cut in whole)


@given(texts, st.lists(st.integers(0, 400)), st.sampled_from([12, 40]))
def test_no_cut_falls_inside_a_character(text: str, places: list[int], chars_max: int) -> None:
    """F13: half a character is never a segment's end, whether it comes as text or as bytes cut anywhere."""
    data = text.encode()
    ends = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    bits = [data[start:end] for start, end in pairwise(ends)]
    whole = cut_up([text], chars_max=chars_max)
    assert cut_up(bits, chars_max=chars_max) == whole
    at = 0
    for cut in whole[:-1]:
        at = text.index(cut.text, at) + len(cut.text)
        assert may_cut(text, at)


@pytest.mark.parametrize("cluster", CLUSTERS, ids=ascii)
def test_a_character_as_readers_see_it_is_one(cluster: str) -> None:
    """F13: letters with marks, families, flags, skin tones, syllables, conjuncts, keycaps."""
    text = f"x{cluster}y"
    inside = range(2, 1 + len(cluster))
    assert [at for at in inside if may_cut(text, at)] == []
    assert may_cut(text, 1)
    assert may_cut(text, len(text) - 1)


def test_flags_in_a_row_are_cut_between_flags() -> None:
    """F13: two halves make a flag, and the next two another."""
    assert [at for at in range(1, 6) if may_cut("\U0001f1eb\U0001f1f7" * 3, at)] == [2, 4]


def test_korean_syllables_in_a_row_are_cut_between_syllables() -> None:
    """F13: whole ones, and those written in parts; a leading consonant belongs to whatever syllable follows it."""
    assert [at for at in range(1, 15) if may_cut("\u1112\u1161\u11ab" * 5, at)] == [3, 6, 9, 12]
    assert [at for at in range(1, 4) if may_cut("\ud55c\uae00\u11ab\uac00", at)] == [1, 3]
    assert [at for at in range(1, 5) if may_cut("\u1112\uac00\u11ab\u1112\u1161", at)] == [3]


def test_sentences_and_paragraphs() -> None:
    """The splitters at hand: full stops of several scripts, none in figures or short forms; empty lines."""
    text = "One is 3.5, e.g. here. Two! (“Three?”) Four\n\nFive"
    assert [cut.text for cut in cut_up([text])] == [
        "One is 3.5, e.g. here. ",
        "Two! ",
        "(“Three?”) ",
        "Four\n\n",
        "Five",
    ]
    assert [cut.text for cut in cut_up(["一。二？”三"])] == ["一。", "二？”", "三"]
    assert [cut.text for cut in cut_up(["A b. C\n \n\nD\n\n"], splitter=by_paragraph)] == ["A b. C\n \n\n", "D\n\n"]


def test_an_end_is_not_known_before_what_follows_it() -> None:
    """F13: the next bit may belong to the last character, or be a closing quote."""
    cutter = Cutter()
    assert cutter.feed("One.") == []
    assert cutter.feed(" ") == []
    assert cutter.feed("”") != []
    assert cutter.finish()[0].text == "”"


def test_a_splitter_of_ones_own_is_not_believed_before_the_next_character() -> None:
    """F13: it may say that a segment ends with the text at hand; whether a character does, the next one tells."""
    cutter = Cutter(lambda text: text.find("|") + 1)
    assert cutter.feed("One|") == []
    assert [cut.text for cut in cutter.feed("Two|\u0301 ")] == ["One|", "Two"]


def test_the_agent_ends_segments_and_may_name_them() -> None:
    """F13: `End` ends one under every splitter; under `by_agent` nothing else does."""
    items = ["One. Two. ", End(segment_id="first"), "Three", End(), End()]
    assert [(cut.text, cut.segment_id) for cut in cut_up(items, splitter=by_agent)] == [
        ("One. Two. ", "first"),
        ("Three", ""),
    ]
    assert [cut.text for cut in cut_up(items)] == ["One. ", "Two. ", "Three"]


def test_a_segment_rests_on_every_bit_that_it_has_text_of() -> None:
    """B4, B12: a bit that two segments share gives its bindings to both; the agent may add some at the end."""
    bits = [Delta("One and ", (A,)), Delta("half. Two", (B,)), " and more", End((C,))]
    assert [cut.bindings for cut in cut_up(bits)] == [(A, B), (C, B)]
    assert [cut.bindings for cut in cut_up(["One. ", "Two"], bindings=[A])] == [(A,), (A,)]


def test_a_segment_is_made_from_what_its_bits_were_made_from() -> None:
    """B7: parents are gathered as bindings are; a summary falls with any of them."""
    cuts = cut_up([Delta("One. ", parents=("l1", "l2")), Delta("Two ", parents=("l2",)), End(parents=("l3", "l2"))])
    assert [cut.parents for cut in cuts] == [("l1", "l2"), ("l3", "l2")]
    with pytest.raises(ValueError, match="UNBOUND"):
        Delta("x", grounding=Grounding.UNBOUND, parents=("l1",))


def test_of_two_retrievals_of_one_record_the_last_counts() -> None:
    """B2: a segment names a record once; one said to have two contents is left to the server, which refuses it."""
    again = replace(A, receipt="second", granted_under="later")
    other = replace(A, digest="0" * 64)
    assert cut_up([Delta("One ", (A,)), Delta("two", (again,))])[0].bindings == (again,)
    assert cut_up([Delta("One ", (A,)), Delta("two", (other,))])[0].bindings == (A, other)


def test_text_of_another_kind_is_a_segment_of_its_own() -> None:
    """B12: talk never lends its kind to what follows, nor a claim its figures."""
    claim = Claim(basis="count")
    talk = Delta("Here it is: ", kind="small-talk", grounding=Grounding.UNBOUND)
    cuts = cut_up([talk, "plain ", Delta("claimed", (A,), claim=claim)], bindings=[B])
    assert [(cut.text, cut.kind, cut.grounding, cut.claim) for cut in cuts] == [
        ("Here it is: ", "small-talk", Grounding.UNBOUND, None),
        ("plain ", "answer", Grounding.BOUND, None),
        ("claimed", "answer", Grounding.BOUND, claim),
    ]
    assert [cut.bindings for cut in cuts] == [(), (B,), (B, A)]


def test_a_segment_is_cut_at_its_limit_and_not_before() -> None:
    """Limits: `chars_max` characters fit; one more is cut at the last space, else at the last whole character."""
    assert [cut.text for cut in cut_up(["x" * 12], chars_max=12)] == ["x" * 12]
    assert [cut.text for cut in cut_up(["x" * 13], chars_max=12)] == ["x" * 12, "x"]
    assert [cut.text for cut in cut_up(["one two three"], chars_max=12)] == ["one two ", "three"]
    assert [cut.text for cut in cut_up(["x" * 11 + "e\u0301"], chars_max=12)] == ["x" * 11, "e\u0301"]


@pytest.mark.parametrize(
    "items, settings, says",
    [
        (["x" * 13], {"splitter": by_agent, "chars_max": 12}, "longer than 12 characters"),
        (["x" + "\u0301" * 12], {"chars_max": 12}, "single character"),
        ([b"\xe2\x82"], {}, "middle of a character"),
        ([b"\xe2\x82", End()], {}, "middle of a character"),
        ([b"\xe2\x82", "x"], {}, "middle of a character"),
        ([b"\xff"], {}, "utf-8"),
        (["\ud83d"], {}, "half a character"),
        (["x"], {"splitter": lambda text: 9}, "outside the text"),
    ],
)
def test_what_cannot_be_cut_is_an_error(items: list[Any], settings: dict[str, Any], says: str) -> None:
    """F13: text over the limit that the agent calls one, and what is no text; an error lets nothing out."""
    with pytest.raises(ValueError, match=says):
        cut_up(items, **settings)


def test_what_is_no_text_is_refused_by_type() -> None:
    """Programming errors are told as such."""
    not_text: Any = 7
    with pytest.raises(TypeError, match="int"):
        Delta(not_text)
    with pytest.raises(TypeError, match=r"Delta.bindings\[0\]"):
        Delta("x", (not_text,))
    with pytest.raises(ValueError, match="UNBOUND"):
        Delta("x", (A,), grounding=Grounding.UNBOUND)


def test_a_cleared_cutter_holds_nothing() -> None:
    """F13: what was given up never comes out later."""
    cutter = Cutter()
    cutter.feed("One. Two")
    cutter.feed(b"\xe2")
    cutter.clear()
    assert cutter.finish() == []


@pytest.mark.parametrize("run", [".", "!", "。", "…", "\n", "\n ", " ", "1.", '!"', "\u0301"])
@pytest.mark.parametrize("splitter", [by_sentence, by_paragraph])
def test_a_long_run_of_one_character_costs_no_more_than_other_text(run: str, splitter: Splitter) -> None:
    """F13: a model that goes on with dots keeps nothing waiting; from every place of a run, this would take hours."""
    assert splitter("word" + run * 50_000) == 0
