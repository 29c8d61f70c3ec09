"""Texts that nobody will see, that say what another says, or that look like another language than theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from discreet.policy.model import Loaded
from discreet.policy.problems import Code, Place, PolicyProblem, problem, quoted
from discreet.policy.texts_builtin import BUILTIN, OVERRIDABLE
from discreet.policy.texts_lint import normal_text
from discreet.policy.words import LOCALES

_HAN: Final = re.compile("[\u3400-\u9fff]")
_LATIN_WORD: Final = re.compile("[A-Za-z]{2,}")


def text_warnings(loaded: Loaded) -> Iterator[PolicyProblem]:
    """Yields what is odd about the texts of a set."""
    used = {rule.value.text for rule in loaded.rules}
    first: dict[tuple[str, str], tuple[str, Place]] = {}
    for text in loaded.texts:
        locale = text.value.locale
        other = next(name for name in LOCALES if name != locale)
        for key, words in text.value.texts.items():
            place, shown = text.key_place("texts", key), normal_text(words)
            if key not in OVERRIDABLE and key not in used:
                yield problem(place, f"no rule uses the text {quoted(key)}", "use it or remove it", Code.UNUSED)
            elif key in OVERRIDABLE and key not in loaded.text_ids.get(other, set()):
                what = f"{key} is reworded in {locale} alone"
                yield problem(place, what, f"{other} keeps the built-in text; reword it there too", Code.UNUSED)
            elif BUILTIN[locale].get(key) == shown:
                what = f"the text of {key} is the built-in one, word for word"
                yield problem(place, what, "leave it out", Code.WORDS)
            yield from _other_language(text.place("texts", key), locale, shown)
            if (locale, shown) in first:
                name, where = first[locale, shown]
                what = f"the text {quoted(key)} says word for word what {quoted(name)} says"
                yield problem(text.place("texts", key), what, f"that one stands at {where}; keep one", Code.WORDS)
            first.setdefault((locale, shown), (key, place))


def _other_language(place: Place, locale: str, shown: str) -> Iterator[PolicyProblem]:
    if locale == "zh-Hans" and not _HAN.search(shown) and _LATIN_WORD.search(shown):
        yield problem(place, "the zh-Hans text holds no Chinese", "translate it", Code.WORDS)
    elif locale == "en" and _HAN.search(shown) and not _LATIN_WORD.search(shown):
        yield problem(place, "the en text holds no English", "translate it", Code.WORDS)
