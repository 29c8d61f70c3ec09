"""Rules, sources and texts of which nothing is left, that another says already, or that look like a mistake."""

from __future__ import annotations

import pytest

from discreet.policy.check import check_set
from discreet.policy.lint import overlap
from discreet.policy.problems import Code
from tests.policy.lint.warned import of_rules, warned
from tests.policy.sets.sets import SET, SOURCES, TEXTS_HEAD, a_set, rules

NOTES = "effect: ALLOW, moments: [RETRIEVE, PUBLISH], sources: [notes]"
HOLD = NOTES.replace("ALLOW", "WITHHOLD")
IMPLIED = {
    "the same twice": (f"{{id: a, {NOTES}}}", f"{{id: b, {NOTES}}}", 1),
    "the same twice, other names": (f"{{id: b, {NOTES}}}", f"{{id: a, {NOTES}}}", 0),
    "a moment less": (f"{{id: a, {NOTES}}}", "{id: b, effect: ALLOW, moments: [PUBLISH], sources: [notes]}", 1),
    "a source less": (
        "{id: a, effect: ALLOW, moments: [PUBLISH], sources: [notes, equity-desk]}",
        "{id: b, effect: ALLOW, moments: [PUBLISH], sources: [notes]}",
        1,
    ),
    "any source": (
        "{id: a, effect: ALLOW, moments: [PUBLISH], kinds: [quote]}",
        "{id: b, effect: ALLOW, moments: [PUBLISH], kinds: [quote], sources: [notes]}",
        1,
    ),
    "any kind": (f"{{id: a, {NOTES}}}", f"{{id: b, {NOTES}, kinds: [quote]}}", 1),
    "a condition more": (f"{{id: a, {NOTES}}}", f'{{id: b, {NOTES}, when: principal.id == "x"}}', 1),
    "a part more": (
        f"{{id: a, {NOTES}, when: 'principal.id == \"x\"'}}",
        f'{{id: b, {NOTES}, when: \'document.basis == "y" && "x" == principal.id\'}}',
        1,
    ),
    "another layout": (
        f"{{id: a, {NOTES}, when: 'size(principal.id)>3'}}",
        f"{{id: b, {NOTES}, when: '( size( principal.id ) > 3 )'}}",
        1,
    ),
    "a withhold": (f"{{id: a, {HOLD}}}", f"{{id: b, {HOLD}, kinds: [quote]}}", 1),
    "a withhold whose text is never shown": (f"{{id: a, {HOLD}}}", f"{{id: b, {HOLD}, custom-reason: X}}", 1),
    "unbound": (
        "{id: a, effect: ALLOW, moments: [PUBLISH], grounding: UNBOUND, kinds: [chat, quote]}",
        "{id: b, effect: ALLOW, moments: [PUBLISH], grounding: UNBOUND, kinds: [chat]}",
        1,
    ),
    "advice beside advice": (f"{{id: a, {NOTES}, advice: true}}", f"{{id: b, {NOTES}, kinds: [x]}}", 1),
    "a shorter time": (
        f"{{id: a, {HOLD}, until: 2026-03-01T00:00:00Z}}",
        f"{{id: b, {HOLD}, from: 2026-01-01T00:00:00Z, until: 2026-02-01T00:00:00Z}}",
        1,
    ),
}


@pytest.mark.parametrize("first, second, which", IMPLIED.values(), ids=IMPLIED)
def test_a_rule_that_another_implies_is_told(first: str, second: str, which: int) -> None:
    """E1: it can be taken out, or one of the two is not what was meant."""
    found = of_rules(first, second)
    assert [(number, code) for number, code, _ in found] == [(which, "implied")]


APART = {
    "other moments": (
        "{id: a, effect: ALLOW, moments: [RETRIEVE], sources: [notes]}",
        "{id: b, effect: ALLOW, moments: [PUBLISH], sources: [notes]}",
    ),
    "moments that overlap": (f"{{id: a, {NOTES}}}", f"{{id: b, {NOTES.replace('RETRIEVE', 'REPLAY')}}}"),
    "other sources": (f"{{id: a, {NOTES}}}", f"{{id: b, {NOTES.replace('notes', 'equity-desk')}}}"),
    "other kinds": (f"{{id: a, {NOTES}, kinds: [x]}}", f"{{id: b, {NOTES}, kinds: [z]}}"),
    "other conditions": (
        f"{{id: a, {NOTES}, when: 'principal.id == \"x\"'}}",
        f"{{id: b, {NOTES}, when: 'principal.id == \"y\"'}}",
    ),
    "the wider condition in the narrower rule": (
        f"{{id: a, {NOTES}, kinds: [x]}}",
        f"{{id: b, {NOTES}, when: 'principal.id == \"y\"'}}",
    ),
    "either of two": (
        f"{{id: a, {NOTES}, when: 'principal.id == \"x\"'}}",
        f'{{id: b, {NOTES}, when: \'principal.id == "x" || document.basis == "y"\', kinds: [z]}}',
    ),
    "advice": (f"{{id: a, {NOTES}}}", f"{{id: b, {NOTES}, kinds: [x], advice: true}}"),
    "another reason, named first": (f"{{id: b, {HOLD}}}", f"{{id: a, {HOLD}, kinds: [x], custom-reason: X}}"),
    "other groundings": (
        f"{{id: a, {NOTES}, kinds: [chat]}}",
        "{id: b, effect: ALLOW, moments: [PUBLISH], grounding: UNBOUND, kinds: [chat]}",
    ),
    "an allow that a withhold narrows": (f"{{id: a, {NOTES}}}", f"{{id: b, {HOLD}, kinds: [x]}}"),
    "an allow that a withhold narrows by a condition": (
        f"{{id: a, {NOTES}}}",
        f"{{id: b, {HOLD}, when: 'document.basis == \"x\"'}}",
    ),
    "a longer time": (
        f"{{id: a, {HOLD}, until: 2026-02-01T00:00:00Z}}",
        f"{{id: b, {HOLD}, until: 2026-03-01T00:00:00Z, kinds: [x]}}",
    ),
    "a rule on trial": (f"{{id: a, {HOLD}, mode: observe}}", f"{{id: b, {HOLD}, kinds: [x]}}"),
}


@pytest.mark.parametrize("first, second", APART.values(), ids=APART)
def test_rules_that_each_say_something_are_not_told(first: str, second: str) -> None:
    """E1: close neighbours of the above."""
    assert of_rules(first, second) == []


SHADOWED = {
    "by the same without a condition": (f"{{id: a, {NOTES}}}", f"{{id: b, {HOLD}}}"),
    "by a withhold of all": (f"{{id: a, {NOTES}}}", "{id: b, effect: WITHHOLD, moments: [RETRIEVE, PUBLISH, REPLAY]}"),
    "with a condition": (f"{{id: a, {NOTES}, when: 'principal.id == \"x\"'}}", f"{{id: b, {HOLD}}}"),
    "by a part of its condition": (
        f'{{id: a, {NOTES}, when: \'principal.id == "x" && document.basis == "y"\'}}',
        f"{{id: b, {HOLD}, when: 'document.basis == \"y\"'}}",
    ),
    "of a kind": (f"{{id: a, {NOTES}, kinds: [x]}}", f"{{id: b, {HOLD}, kinds: [x, z]}}"),
}


@pytest.mark.parametrize("allow, hold", SHADOWED.values(), ids=SHADOWED)
def test_an_allow_that_is_withheld_whole_is_told(allow: str, hold: str) -> None:
    """POL-14: the withholding rule wins, so the other never does anything, in whichever order they stand."""
    for lines in ((allow, hold), (hold, allow)):
        ((number, code, message),) = of_rules(*lines)
        assert (number, code) == (lines.index(allow), "never")
        assert message == 'the rule "a" never allows: whatever it fits, "b" withholds'


def test_a_rule_on_trial_withholds_nothing_yet() -> None:
    """E1: an observed rule takes no ALLOW away."""
    assert of_rules(f"{{id: a, {NOTES}}}", f"{{id: b, {HOLD}, mode: observe}}") == []


def test_the_comparison_of_many_rules_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A16: past the bound the rest is not compared, and nothing fails."""
    lines = [f"{{id: r{number}, {NOTES}}}" for number in range(9)]
    assert len(of_rules(*lines)) == 8
    monkeypatch.setattr(overlap, "COMPARISONS_MAX", 3)
    assert len(of_rules(*lines)) < 8


def test_a_source_that_no_rule_can_allow_is_told() -> None:
    """E1: a rule that is never true, one for other sources by its condition, or one that withholds, allows nothing."""
    what = 'no rule allows the source "equity-desk": all that rests on it is withheld'
    base = f"{{id: base, {NOTES}}}"
    for more, told in (
        ("{id: x, effect: ALLOW, moments: [PUBLISH], sources: [equity-desk]}", False),
        ("{id: x, effect: ALLOW, moments: [PUBLISH], kinds: [quote]}", False),
        ("{id: x, effect: ALLOW, moments: [PUBLISH], when: 'source.label != \"notes\"'}", False),
        ("{id: x, effect: ALLOW, moments: [PUBLISH], when: 'source.label == \"notes\"'}", True),
        ('{id: x, effect: ALLOW, moments: [PUBLISH], when: \'source.label in ["notes", "drafts"]\'}', True),
        ("{id: x, effect: ALLOW, moments: [PUBLISH], sources: [equity-desk], when: document.suspended}", True),
        ("{id: x, effect: WITHHOLD, moments: [PUBLISH], sources: [equity-desk]}", True),
        ("{id: x, effect: ALLOW, moments: [PUBLISH], grounding: UNBOUND, kinds: [chat]}", True),
    ):
        found = [str(one.place) for one in check_set(a_set(rules=rules(base, more))).warnings if one.message == what]
        assert found == ["sources.yaml:5:13"] * told, more


def test_a_withhold_of_unlisted_sources_alone_is_told() -> None:
    """E1: a gate stops there first; beside a listed source it is harmless."""
    alone = "{id: x, effect: WITHHOLD, moments: [PUBLISH], sources: [drafts]}"
    assert [(code, message) for _, code, message in of_rules(f"{{id: a, {NOTES}}}", alone)] == [
        ("unused", 'the source "drafts" is not listed, so a gate withholds it before this rule is asked')
    ]
    assert of_rules(f"{{id: a, {NOTES}}}", alone.replace("[drafts]", "[drafts, equity-desk]")) == []


def both(key: str, en: str, zh: str) -> str:
    """Returns the documents of a text in both locales."""
    return "---\n".join(
        f"{TEXTS_HEAD}locale: {name}\ntexts:\n  {key}: {text}\n" for name, text in (("en", en), ("zh-Hans", zh))
    )


def texts(en: str, zh: str, key: str = "one") -> list[tuple[str, str]]:
    """Returns the warnings of a set with one text in each locale, which a rule uses where it has a name of its own."""
    files = a_set(
        rules=rules(f"{{id: a, {NOTES}}}", f"{{id: w, {HOLD}, kinds: [x], text: one}}")
        if key == "one"
        else rules(f"{{id: a, {NOTES}}}"),
        texts=both(key, en, zh),
    )
    return [(str(one.code), one.message) for one in warned(files)]


def test_a_text_in_the_other_language_is_told() -> None:
    """A6: readers see the text of their locale."""
    assert texts("Not shown.", "不予展示。") == []
    assert texts("Not shown.", "Not shown.") == [("words", "the zh-Hans text holds no Chinese")]
    assert texts("不予展示。", "不予展示。") == [("words", "the en text holds no English")]
    assert texts("See section 3.", "见 MiFID 第 3 条。") == []


def test_the_built_in_text_word_for_word_is_told() -> None:
    """E1: it would no longer follow the built-in one."""
    built_in = "This content is suspended and is not shown for the time being."
    found = texts(built_in, "暂不展示。", "SUSPENDED")
    assert found == [("words", "the text of SUSPENDED is the built-in one, word for word")]


def test_two_texts_that_say_the_same_are_told_across_files() -> None:
    """E1: one that is mended would leave the other behind; white space makes no difference."""
    use = "{id: w1, " + HOLD + ", kinds: [x], text: one}", "{id: w2, " + HOLD + ", kinds: [z], text: two}"
    files = a_set(
        rules=rules(f"{{id: a, {NOTES}}}", *use),
        texts=both("one", "Not  yet.", "尚未。"),
        zmore=both("two", "Not yet.", "暂不。").replace("name: words", "name: more"),
    )
    (found,) = warned(files)
    assert (str(found.place), found.code) == ("zmore.yaml:6:8", Code.WORDS)
    assert found.message == 'the text "two" says word for word what "one" says'
    assert found.hint == "that one stands at texts.yaml:6:3; keep one"


def test_warnings_of_the_small_set() -> None:
    """The set that the tests start from has none."""
    assert warned(a_set(sources=SOURCES)) == []


def environments(production: str, staging: str) -> list[tuple[str, str]]:
    """Returns the warnings of a rule that a parameter switches, in a set with two environments."""
    head = "apiVersion: discreet/v1\nkind: Environment\nname: {}\nparameters: {{ closed: {} }}\n"
    files = a_set(
        discreet=SET + "parameters:\n  closed: { type: boolean }\n",
        environments=head.format("production", production) + "---\n" + head.format("staging", staging),
        rules=rules(f"{{id: a, {NOTES}}}", f"{{id: w, {HOLD}, when: parameters.closed}}"),
    )
    return [(str(one.place), str(one.code)) for one in warned(files)]


def test_what_a_parameter_switches_off_in_one_environment_is_meant() -> None:
    """E1: a warning holds in every environment."""
    assert environments("true", "false") == []
    assert environments("false", "false") == [("rules.yaml:6:85", "never")]
    assert environments("true", "true") == [("rules.yaml:5:10", "never"), ("rules.yaml:6:85", "always")]


def test_what_stands_in_a_named_condition_is_told_at_the_rule_that_uses_it() -> None:
    """E1, POL-07: a rule's own part at its own place, a named condition where it is used."""
    named = (
        "apiVersion: discreet/v1\nkind: Definitions\nname: names\nconditions:\n"
        '  open: document.attributes.tags.all(t, t != "secret")\n  desk: has(document.attributes.desk)\n'
    )
    both = 'conditions.desk && conditions.open && request.moment != "publish"'
    policy = rules(f"{{id: a, {NOTES}, when: '{both}'}}")
    found = [(str(one.place), str(one.code)) for one in warned(a_set(rules=policy, names=named))]
    column = policy.splitlines()[4].index('"publish"') + 1
    start = policy.splitlines()[4].index("conditions.open") + 1
    assert found == [(f"rules.yaml:5:{start}", "empty-list"), (f"rules.yaml:5:{column}", "never")]
