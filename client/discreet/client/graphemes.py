"""Where a text may be cut without cutting a character in two, as readers see characters.

The rule is on the safe side of Unicode's (UAX 29, extended grapheme clusters): a place where clusters end may be
missed, a place inside a cluster is never offered. Whether the end of an unfinished text is such a place cannot be
known, since the next character may belong to its last one. This module knows nothing of segments.
"""

import unicodedata

_JOINER = "\u200d"
# Extend what comes before, though their category does not say so: joiners, vowels of Thai and Lao, half-width marks.
_EXTENDING = frozenset("\u200c\u200d\u0e33\u0eb3\uff9e\uff9f")
# Belong to what comes after: signs that enclose numbers, and letters that lean forward.
_LEADING = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\U000110bd\U000110cd\U000111c2\U000111c3"
    "\U000113d1\U0001193f\U00011941\U00011a84\U00011a85\U00011a86\U00011a87\U00011a88\U00011a89\U00011d46\U00011f02"
)
# Combining class of signs that join two consonants into one.
_VIRAMA = 9


def may_cut(text: str, at: int) -> bool:
    """Whether the text may be cut before its character number `at`, which lies inside the text.

    >>> [at for at in range(1, 5) if may_cut("e" + chr(0x301) + " ok", at)]
    [2, 3, 4]
    """
    before, after = text[at - 1], text[at]
    if before == "\r" and after == "\n":
        return False
    if _extends(after) or before == _JOINER or before in _LEADING or unicodedata.combining(before) == _VIRAMA:
        return False
    if _is_flag_half(before) and _is_flag_half(after):
        return _flag_halves_before(text, at) % 2 == 0
    return _hangul(after) not in _HANGUL_GOES_ON.get(_hangul(before), "")


def _extends(char: str) -> bool:
    """Marks, modifiers of emoji and tags, which add to the character before."""
    return (
        char in _EXTENDING
        or unicodedata.category(char) in {"Mn", "Me", "Mc"}
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
    )


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_halves_before(text: str, at: int) -> int:
    count = 0
    while count < at and _is_flag_half(text[at - 1 - count]):
        count += 1
    return count


# Which parts of a Korean syllable may follow which: "L" leading consonants, "V" vowels, "T" trailing consonants, and
# whole syllables, "O" open and "C" closed by a trailing consonant.
_HANGUL_GOES_ON = {"L": "LVOC", "V": "VT", "O": "VT", "T": "T", "C": "T"}


def _hangul(char: str) -> str:
    """What of a Korean syllable it is; something that follows nothing where it is none."""
    if "\u1100" <= char <= "\u115f" or "\ua960" <= char <= "\ua97c":
        return "L"
    if "\u1160" <= char <= "\u11a7" or "\ud7b0" <= char <= "\ud7c6":
        return "V"
    if "\u11a8" <= char <= "\u11ff" or "\ud7cb" <= char <= "\ud7fb":
        return "T"
    if "\uac00" <= char <= "\ud7a3":
        return "C" if (ord(char) - 0xAC00) % 28 else "O"
    return "-"
