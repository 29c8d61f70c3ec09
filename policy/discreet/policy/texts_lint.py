"""What a disclosure text may not say (A6), checked by fixed phrases, in both languages whatever the locale.

A text may not call data that is not available latest, current, up to date or real-time, nor excuse an old figure as
being for reference only. The text of STALE must say three things, each in one of the wordings below. One phrase with
"current" is allowed, since it denies: that no assertion about the current state was made. Everything else is refused
even where a person would see a harmless meaning; the check reads words, and another wording is easily found.

Required of STALE, in English: "no fresh trusted evidence"; "no assertion about the current state was made"; "an
explicit retry is possible" or "you can ask for an explicit retry". In Chinese: 没有新鲜的可信证据;
未对当前状态作出任何断言; 可以明确要求重试.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple

from discreet.policy.texts_builtin import TEXT_CHARS_MAX
from discreet.policy.words import Reason


class Finding(NamedTuple):
    """What is wrong with a text, and what would be right."""

    message: str
    hint: str


_DENIALS_EN: Final = (
    r"no (?:assertion|statement) about the current state (?:is|was|has been) made",
    r"no (?:assertion|statement) (?:is|was|has been) made about the current state",
)
_DENIALS_ZH: Final = (r"(?:未|没有)(?:对|就)当前(?:状态|情况)(?:作出|做出)(?:任何)?(?:断言|陈述|判断)",)
_DENIALS: Final = {"en": re.compile("|".join(_DENIALS_EN)), "zh-Hans": re.compile("|".join(_DENIALS_ZH))}

_CLAIMS_EN: Final = re.compile(
    r"\b(?:latest|newest|current(?:ly)?|presently|nowadays|up[ -]to[ -](?:date|the[ -]minute)|real[ -]?time|most recent"
    r"|at present|right now|as of (?:now|today|this (?:moment|writing))|today'?s|live (?:data|figures?|values?)"
    r"|at (?:this|the) moment|at this (?:time|point)|freshest|(?:most|newly) updated|recent (?:data|figures?|values?)"
    r"|last known|best available|stands? (?:now|today)"
    r"|still (?:valid|accurate|correct|true))\b"
)
_CLAIMS_ZH: Final = re.compile(
    "最新|最近(?:的)?(?:数据|數據|数字|結果|结果|一次)|当前|當前|目前|现状|現狀|现在|現在|现时|現時|现值|實時|实时|即时|即時"
    "|如今|眼下|时下|当下|當下|此刻|今日|今天|最近更新|近期(?:的)?(?:数据|數據|数字|數字|结果|結果)|截至今|截止今|仍(?:然)?(?:有效|准确|準確|正确|正確)"
)
_EXCUSES_EN: Final = re.compile(
    r"\bfor (?:your |general )?(?:reference|information|orientation|guidance)\b"
    r"|\bfor (?:informational|illustrative|illustration|background)\b"
    r"|\b(?:as|only) a (?:reference|(?:rough )?guide)\b|\bguide only\b"
    r"|\breference (?:only|purposes?|values?)\b|\b(?:indicative|illustrative) only\b"
    r"|\b(?:only|merely|purely) (?:indicative|illustrative)\b"
)
_EXCUSES_ZH: Final = re.compile(
    "[仅僅只]供|供.{0,4}(?:参考|參考|参阅|參閱|借鉴|借鑒)|[仅僅只][作做为為]?(?:参考|參考)|作为参考|作為參考|(?:参考|參考)(?:值|之用|用途)"
)

_REQUIRED_OF_STALE: Final = {
    "en": (
        ("that there is no fresh trusted evidence", re.compile(r"no fresh,? (?:and )?trusted evidence")),
        ("that no assertion about the current state was made", _DENIALS["en"]),
        (
            "that an explicit retry is possible",
            re.compile(r"an explicit retry is possible|you (?:can|may) (?:ask for|request) an explicit retry"),
        ),
    ),
    "zh-Hans": (
        ("没有新鲜的可信证据", re.compile("没有(?:足够)?新鲜(?:的|且|、|而)?可信的?证据")),
        ("未对当前状态作出任何断言", _DENIALS["zh-Hans"]),
        ("可以明确要求重试", re.compile("可以?(?:由您)?(?:明确(?:要求|请求|提出)|显式)重试")),
    ),
}
_PLACEHOLDER: Final = re.compile(r"[{}]|\$\(|%\(|%[sdrif]\b|<[a-zA-Z_]")


def normal_text(text: str) -> str:
    r"""Returns a text as it is shown: NFC, one line, single spaces.

    >>> normal_text("  No fresh\n trusted evidence. ")
    'No fresh trusted evidence.'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def lint_text(template_id: str, locale: str, text: str) -> list[Finding]:
    """Returns everything that keeps a text from being shown under a template id in a locale."""
    found = _form(text)
    words = _words(text)
    found += _forbidden(words, _DENIALS["en"], _CLAIMS_EN, _EXCUSES_EN)
    found += _forbidden(words.replace(" ", ""), _DENIALS["zh-Hans"], _CLAIMS_ZH, _EXCUSES_ZH)
    if template_id == Reason.STALE.short and not found:
        said = words if locale == "en" else words.replace(" ", "")
        missing = [what for what, pattern in _REQUIRED_OF_STALE[locale] if not pattern.search(said)]
        found += [Finding(f"the text of STALE does not say: {what}", _HINT_STALE) for what in missing]
    return found


_HINT_STALE: Final = "use the wording of the guide, see docs/policies.md, Texts"


def _form(text: str) -> list[Finding]:
    if not text.strip():
        return [Finding("the text is empty", "write one, or leave the key out for the built-in text")]
    if len(text) > TEXT_CHARS_MAX:
        return [Finding(f"the text has {len(text)} characters, more than {TEXT_CHARS_MAX}", "shorten it")]
    hidden = next((char for char in normal_text(text) if unicodedata.category(char).startswith("C")), None)
    if hidden is not None:
        return [Finding(f"the text holds the hidden character U+{ord(hidden):04X}", "leave it out")]
    placeholder = _PLACEHOLDER.search(text)
    if placeholder:
        return [Finding(f"the text holds {placeholder.group()!r}", "texts are fixed; nothing is filled in")]
    return []


def _words(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    dashes = re.sub(r"[\u2010-\u2015\u2212\ufe63\uff0d]", "-", folded).replace("\u2019", "'")
    return " ".join(dashes.split())


def _forbidden(words: str, denial: re.Pattern[str], claims: re.Pattern[str], excuses: re.Pattern[str]) -> list[Finding]:
    rest = denial.sub("\x00", words)
    claim, excuse = claims.search(rest), excuses.search(rest)
    found: list[Finding] = []
    if claim:
        what = f'a disclosure text may not say "{claim.group()}": it would call data that is not available up to date'
        found.append(Finding(what, "say what is missing instead, for example that there is no fresh trusted evidence"))
    if excuse:
        what = f'a disclosure text may not say "{excuse.group()}": an old figure is not excused, it is left out'
        found.append(Finding(what, "leave the excuse out"))
    return found
