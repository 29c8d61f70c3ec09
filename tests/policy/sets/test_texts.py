"""Disclosure texts: fixed, in both locales, and never calling what is not available the latest."""

from __future__ import annotations

import json

import pytest

from discreet.policy.texts_builtin import BUILTIN, OVERRIDABLE, TEXT_CHARS_MAX
from discreet.policy.texts_lint import lint_text
from discreet.policy.words import LOCALES, Reason
from tests.policy.sets.sets import RULES, TEXTS_HEAD, a_set, compiled, problems, warnings

ZH_HEAD = TEXTS_HEAD.replace("name: words", "name: zh-words") + "locale: zh-Hans\ntexts:\n"
EN_HEAD = TEXTS_HEAD + "locale: en\ntexts:\n"


def with_text(key: str, text: str, locale: str = "en") -> dict[str, bytes]:
    """Returns a set that words one text."""
    head = EN_HEAD if locale == "en" else ZH_HEAD
    return a_set(words=head + f"  {key}: {json.dumps(text, ensure_ascii=False)}\n")


def test_every_reason_has_a_text_in_both_locales_that_passes_the_lint() -> None:
    """A6: nothing is worded ad hoc; the built-in texts obey the rule that policies' texts must obey."""
    assert set(BUILTIN) == set(LOCALES)
    for locale, texts in BUILTIN.items():
        assert set(texts) == {reason.short for reason in Reason if reason is not Reason.NONE}
        assert {key: found for key, text in texts.items() if (found := lint_text(key, locale, text))} == {}


def test_the_stale_text_says_its_three_things() -> None:
    """A6: no fresh trusted evidence, no assertion about the current state was made, an explicit retry is possible."""
    assert BUILTIN["en"]["STALE"] == (
        "There is no fresh trusted evidence for this part. No assertion about the current state was made. "
        "An explicit retry is possible."
    )
    assert BUILTIN["zh-Hans"]["STALE"] == "这部分内容没有新鲜的可信证据。未对当前状态作出任何断言。可以明确要求重试。"


CLAIMS = [
    "This is the latest figure.",
    "The CURRENT value is shown.",
    "Data are up to date.",
    "Data are up\u2010to\u2010date.",
    "A real-time view.",
    "A realtime view.",
    "The most recent report.",
    "Correct as of today.",
    "The last known value.",
    "The freshest number we hold.",
    "The value as it stands now.",
    "The value at this moment.",
    "Recent figures are given instead.",
    "Ｌａｔｅｓｔ figure.",
    "No assertion about the current state was made. The current figure is small.",
    "最新数据如下。",
    "当前为三百。",
    "目前的数字。",
    "反映了现状。",
    "现在的数值。",
    "实时数据。",
    "今日数据如下。",
    "此刻的数值。",
    "近期数据如下。",
    "最 新 数 据",
    "未对当前状态作出任何断言。当前数值很小。",
]
EXCUSES = [
    "An older figure, for reference only.",
    "Given for your reference.",
    "For information only.",
    "The figure is indicative only.",
    "For informational purposes.",
    "The figure may serve as a reference.",
    "Merely illustrative.",
    "A rough guide only.",
    "仅供参考。",
    "旧数据，供您参考。",
    "仅作参考",
    "仅做参考",
    "供您查阅参考。",
    "仅供参阅。",
    "以下为旧数据，仅供借鉴。",
    "参考值。",
]


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("text", CLAIMS)
def test_a_text_may_not_call_unavailable_data_the_latest(text: str, locale: str) -> None:
    """A6: in both languages, whichever locale the text stands in, for reasons and for texts of rules."""
    for key in ("INCOMPLETE", "my-text"):
        assert any("up to date" in found.message for found in lint_text(key, locale, text))


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("text", EXCUSES)
def test_a_text_may_not_excuse_an_old_figure(text: str, locale: str) -> None:
    """A6: "for reference only" is refused in both languages, whichever locale the text stands in."""
    assert any("excused" in found.message for found in lint_text("STALE", locale, text))


@pytest.mark.parametrize(
    "locale, text",
    [
        (
            "en",
            "No fresh trusted evidence. No assertion about the current state was made. An explicit retry is possible.",
        ),
        (
            "en",
            "We hold no fresh, trusted evidence; no statement was made about the current state; "
            "you may ask for an explicit retry.",
        ),
        ("zh-Hans", "没有足够新鲜的可信证据；没有就当前情况做出任何判断；可以明确请求重试。"),
    ],
)
def test_a_denial_of_the_current_state_passes(locale: str, text: str) -> None:
    """A6: saying that nothing was asserted about the current state is what the rule asks for."""
    assert lint_text("STALE", locale, text) == []


@pytest.mark.parametrize("locale", LOCALES)
def test_a_reworded_stale_text_says_all_three_things(locale: str) -> None:
    """A6: each missing thing is told."""
    sentences = [part for part in BUILTIN[locale]["STALE"].replace("。", "。|").replace(". ", ".|").split("|") if part]
    assert len(sentences) == 3
    for left_out in range(3):
        text = "".join(part for position, part in enumerate(sentences) if position != left_out)
        (found,) = lint_text("STALE", locale, text)
        assert found.message.startswith("the text of STALE does not say: ")
    assert len(lint_text("STALE", locale, "X.")) == 3


def test_the_wording_of_one_locale_does_not_do_for_the_other() -> None:
    """A6: an English text under zh-Hans does not say the three things to its readers."""
    assert len(lint_text("STALE", "zh-Hans", BUILTIN["en"]["STALE"])) == 3


def test_texts_are_fixed_and_bounded() -> None:
    """A6: no placeholders, no hidden characters, 1 to 600 characters."""
    assert lint_text("x", "en", "w" * TEXT_CHARS_MAX) == []
    assert lint_text("x", "en", "w" * (TEXT_CHARS_MAX + 1))[0].message == "the text has 601 characters, more than 600"
    for text in ("{title}", "%s", "$(x)", "<name>", "a\u200bb", " "):
        assert len(lint_text("x", "en", text)) == 1


def test_a_bad_text_keeps_the_set_from_loading() -> None:
    """A6, E1: the lint speaks with the place of the text."""
    assert problems(with_text("INCOMPLETE", "The latest figure.")) == [
        'words.yaml:6:15: a disclosure text may not say "latest": it would call data that is not available up to date; '
        "say what is missing instead, for example that there is no fresh trusted evidence"
    ]


def test_a_reworded_text_is_used_and_the_other_locale_is_warned_of() -> None:
    """A6: what a policy words is what readers see; a text reworded in one locale alone is warned of."""
    files = with_text("INCOMPLETE", "Fields are missing.\n  So nothing is shown.")
    texts = compiled(files).texts
    assert texts["en"]["INCOMPLETE"] == "Fields are missing. So nothing is shown."
    assert texts["zh-Hans"]["INCOMPLETE"] == BUILTIN["zh-Hans"]["INCOMPLETE"]
    assert warnings(files) == [
        "words.yaml:6:3: INCOMPLETE is reworded in en alone; zh-Hans keeps the built-in text; reword it there too"
    ]


def test_every_cause_behind_not_available_shares_its_text() -> None:
    """F11: rewording NOT_AVAILABLE rewords all of them; none can be told apart by a text of its own."""
    texts = compiled(with_text("NOT_AVAILABLE", "Nothing here.")).texts["en"]
    hidden = [reason.short for reason in Reason if reason.looks_unavailable]
    assert {texts[key] for key in (*hidden, "NOT_AVAILABLE")} == {"Nothing here."}
    for key in hidden:
        assert problems(with_text(key, "x")) == [
            f"words.yaml:6:3: {key} has no text of its own; "
            "readers are told NOT_AVAILABLE for every such cause; reword that"
        ]


def test_keys_of_texts_are_reasons_or_own_names() -> None:
    """YML-08: a misspelt reason is not taken for a name of one's own."""
    assert problems(with_text("STALLE", "x")) == ['words.yaml:6:3: no reason "STALLE" to word; did you mean "STALE"?']
    assert problems(with_text("NONE", "x")) != []
    assert "NONE" not in OVERRIDABLE
    assert warnings(with_text("my-text", "x")) == [
        'words.yaml:6:3: no rule uses the text "my-text"; use it or remove it'
    ]


def test_a_text_that_a_rule_names_exists_in_both_locales() -> None:
    """A6: a reader of either locale finds the text; a missing one is an error at the rule."""
    rule = "  - {id: w, effect: WITHHOLD, moments: [PUBLISH], text: embargo-note}\n"
    english = EN_HEAD + "  embargo-note: Under embargo.\n"
    assert problems(a_set(rules=RULES + rule, words=english)) == [
        'rules.yaml:7:57: the text "embargo-note" has no zh-Hans; define it in Texts with locale: zh-Hans'
    ]
    both = a_set(rules=RULES + rule, words=english, zh=ZH_HEAD + "  embargo-note: 尚在禁发期内。\n")
    assert problems(both) == []
    assert compiled(both).texts["zh-Hans"]["embargo-note"] == "尚在禁发期内。"


def test_a_text_is_worded_once_a_locale() -> None:
    """YML-01: the same text in two files is refused with both places."""
    files = with_text("STALE", BUILTIN["en"]["STALE"]) | {
        "zz.yaml": with_text("STALE", BUILTIN["en"]["STALE"])["words.yaml"]
    }
    assert [line for line in problems(files) if "en text" in line] == [
        'zz.yaml:6:3: the en text "STALE" is given twice; it stands at words.yaml:6:3 already; rename or remove one'
    ]
