"""Labels: a declared repertoire, so that two that look alike are alike."""

from __future__ import annotations

import pytest

from tests.policy.sets.sets import RULES, SOURCES, a_set, compiled, problems

LOOK_ALIKES = {
    "a Cyrillic letter": ("\u0441leared", "U+0441 CYRILLIC SMALL LETTER ES"),
    "a zero-width space": ("clear\\u200bed", "U+200B ZERO WIDTH SPACE"),
    "a direction override": ("cleared\\u202e", "U+202E RIGHT-TO-LEFT OVERRIDE"),
    "full-width letters": ("\uff43\uff4c\uff45\uff41\uff52\uff45\uff44", "U+FF43 FULLWIDTH LATIN SMALL LETTER C, "),
    "a space at its end": ("cleared ", "U+0020 SPACE"),
    "a line end": ("cleared\\n", "U+000A without a name"),
}


@pytest.mark.parametrize("what", LOOK_ALIKES)
def test_a_look_alike_label_is_refused_with_its_code_points(what: str) -> None:
    """SRC-04, A2: in a source list, in a rule and among collectors; the message shows the code points."""
    label, shown = LOOK_ALIKES[what]
    (line,) = problems(a_set(sources=SOURCES.replace("label: drafts", f'label: "{label}"')))
    assert line.startswith("sources.yaml:7:13: ")
    assert f"is no label: it has {shown}" in line
    (line,) = problems(a_set(rules=RULES.replace("[notes]", f'["{label}"]')))
    assert line.startswith("rules.yaml:6:")
    assert f"is no label: it has {shown}" in line
    (line,) = problems(a_set(sources=SOURCES.replace("[eq]", f'["{label}"]')))
    assert f"is no name of a caller: it has {shown}" in line


@pytest.mark.parametrize("label", ["Notes", "NOTES", "-notes", ".n", "", "n" * 129, "kb/1"])
def test_labels_outside_the_repertoire_are_refused(label: str) -> None:
    """SRC-04, A2: no case folding, no other signs, at most 128."""
    (line,) = problems(a_set(sources=SOURCES.replace("label: drafts", f'label: "{label}"')))
    assert "is no label" in line
    assert line.endswith("write lower-case ASCII letters, digits, . _ : -, first a letter or digit, at most 128")


@pytest.mark.parametrize("label", ["*", "**", "no*", "kb.*", "kb-?", "not[e]s", "kb/**", "../notes", "%2e%2e"])
def test_a_rule_has_no_patterns(label: str) -> None:
    """POL-12: sources and kinds are named one by one; a star is refused, so it never matches more than was meant."""
    kind = f'moments: [PUBLISH], kinds: ["{label}"]'
    for text in (RULES.replace("[notes]", f'["{label}"]'), RULES.replace("moments: [PUBLISH]", kind)):
        (line,) = problems(a_set(rules=text))
        assert "is no label" in line or "is no kind of segment" in line


@pytest.mark.parametrize("label", ["a", "0", "kb-1", "eu:finance.q_1", "n" * 128])
def test_labels_of_the_repertoire_are_taken_as_they_are(label: str) -> None:
    """A2: labels are compared by exact code points."""
    assert label in compiled(a_set(sources=SOURCES.replace("label: drafts", f"label: '{label}'"))).sources


def test_a_source_that_is_not_listed_is_declared_and_no_more() -> None:
    """A1, A2: `listed: false` keeps a source off the allowlist; nothing but a change of the file lists it."""
    sources = compiled(a_set()).sources
    assert {label: source.listed for label, source in sources.items()} == {
        "equity-desk": True, "notes": True, "drafts": False,
    }  # fmt: skip
    assert sources["equity-desk"].collectors == {"eq"}
    assert sources["equity-desk"].max_age_us == 36 * 3600 * 1_000_000
    assert sources["notes"].max_age_us is None
    assert not sources["notes"].case_sensitive_ids


def test_titles_are_stored_in_one_normal_form() -> None:
    """A title is NFC however its author's machine spells it."""
    nfd = SOURCES.replace("title: Drafts", "title: Cafe\u0301")
    assert compiled(a_set(sources=nfd)).sources["drafts"].title == "Caf\u00e9"
