"""Which texts may name things: labels, tenants, kinds, record ids, scopes, principals, digests.

Every check says what is wrong. Labels and tenants are ours: plain ASCII, compared by code points. Record ids, scopes
and principal ids come from other people's systems: exact text, never folded, refused where it could be mistaken for
another. Functions return a problem in words, or None; they never repeat the text itself, except its code points where
a look-alike is the problem. What is remembered between calls is bounded in number and, by a look at the length first,
in size. No I/O, no clock.
"""

import re
import unicodedata
from functools import lru_cache

LABEL_MAX = 128
KIND_MAX = 64
NAME_MAX = 64
DIGEST_CHARS = 64
EXACT_BYTES_MAX = 512
SHORT_BYTES_MAX = 128

_LABEL = re.compile(r"[a-z0-9][a-z0-9._:-]{0,127}", re.ASCII)
_KIND = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_ENCODED = re.compile(r"%(2e|2f|5c)", re.IGNORECASE)

# Control, format (zero-width, bidi), surrogate, private use, unassigned, line and paragraph separators.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def label_problem(text: str) -> str | None:
    """What keeps a text from being a source label or a tenant."""
    return _label_problem(text) if len(text) <= LABEL_MAX else f"is longer than {LABEL_MAX} characters"


@lru_cache(maxsize=65_536)
def _label_problem(text: str) -> str | None:
    if _LABEL.fullmatch(text):
        return None
    return f"must match [a-z0-9][a-z0-9._:-]{{0,127}}; has {odd_characters(text)}" if text else "is empty"


def odd_characters(text: str) -> str:
    """The code points of up to three characters that a label may not hold.

    For look-alikes that print like the right ones.
    """
    odd = [c for c in text if not ("a" <= c <= "z" or "0" <= c <= "9" or c in "._:-")] or [text[0]]
    return ", ".join(f"U+{ord(c):04X} ({unicodedata.name(c, 'no name')})" for c in odd[:3])


def kind_problem(text: str) -> str | None:
    """What keeps a text from being a segment kind."""
    return _kind_problem(text) if len(text) <= KIND_MAX else f"is longer than {KIND_MAX} characters"


@lru_cache(maxsize=4_096)
def _kind_problem(text: str) -> str | None:
    if _KIND.fullmatch(text):
        return None
    return "must match [a-z0-9][a-z0-9._-]{0,63}" if text else "is empty"


def digest_problem(text: str) -> str | None:
    """What keeps a text from being a SHA-256 digest."""
    if len(text) == DIGEST_CHARS and _is_hex(text):
        return None
    return "must be 64 lower-case hex digits of a SHA-256" if text else "is empty"


@lru_cache(maxsize=65_536)
def _is_hex(text: str) -> bool:
    return _DIGEST.fullmatch(text) is not None


def name_problem(text: str) -> str | None:
    """What keeps a text from being the name of an attribute or field."""
    if len(text) <= NAME_MAX and _NAME.fullmatch(text):
        return None
    return "must match [A-Za-z_][A-Za-z0-9_]{0,63}" if text else "is empty"


def exact_problem(text: str, bytes_max: int = EXACT_BYTES_MAX) -> str | None:
    """What keeps a text from being a record id, scope or principal id.

    Slashes are fine (object keys, paths), and so is a scheme before them (`s3://`, `spiffe://`); empty and dot segments
    are not, nor text that normalisation would change.
    """
    return _exact_problem(text, bytes_max) if len(text) <= bytes_max else _too_long(bytes_max)


@lru_cache(maxsize=65_536)
def _exact_problem(text: str, bytes_max: int) -> str | None:
    problem = text_problem(text, bytes_max)
    if problem:
        return problem
    if unicodedata.normalize("NFKC", text) != text:
        return "is not in the normal form NFKC; give the normalised text"
    if text[0].isspace() or text[-1].isspace():
        return "begins or ends with white space"
    if any(part in ("", ".", "..") for part in _SCHEME.sub("", text).split("/")):
        return "has an empty or dot segment between slashes"
    if _ENCODED.search(text):
        return "has an encoded dot or slash; give it decoded"
    return None


def text_problem(text: str, bytes_max: int) -> str | None:
    """What keeps a text from being one that is recorded and compared, whatever it says.

    Empty, too long, hidden characters.
    """
    if not text:
        return "is empty"
    if len(text) > bytes_max:
        return _too_long(bytes_max)
    if text.isascii() and text.isprintable():
        return None
    if len(text.encode("utf-8", "surrogatepass")) > bytes_max:
        return _too_long(bytes_max)
    for char in text:
        if unicodedata.category(char) in _HIDDEN:
            return f"holds the control or format character U+{ord(char):04X}"
    return None


def _too_long(bytes_max: int) -> str:
    return f"is longer than {bytes_max} bytes"


# What prints nothing though it is no format character: fillers, joiners of graphemes, selectors of variants.
_INVISIBLE: dict[int, str | None] = dict.fromkeys(
    [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x3164, *range(0xFE00, 0xFE10), 0xFFA0]
)
_INVISIBLE |= dict.fromkeys(range(0xE0100, 0xE01F0))


def _table(letters: str) -> dict[int, str]:
    """A translation table from words that each begin with the Latin letter that the others print like."""
    return {ord(other): word[0] for word in letters.split() for other in word[1:]}


# Letters of other scripts that print like Latin ones: capitals before case is folded, small letters after.
_CAPITALS = _table("AАΑ BВΒ EЕΕ ZΖ HНΗ IІΙ JЈ KКΚ MМΜ NΝ OОΟ PРΡ CС SЅ TТΤ YУΥ XХΧ") | _INVISIBLE
_SMALL = _table("aаαɑ bвβ dԁ eеε gɡ hһнհ iіıι jј kкκ lʟℓ mм nηո oоοօ pрρ qԛ cс sѕ tтτ uυμս vνѵ wωԝ xхχ yуγ zζ")


@lru_cache(maxsize=65_536)
def skeleton(text: str) -> str:
    """The text with case, look-alike letters and invisible ones folded away, to refuse at registration, never to match.

    Two ids of one source with equal skeletons cannot coexist. Covers the Cyrillic, Greek, Armenian and special Latin
    letters that print like Latin ones, and by NFKC the forms of one letter. It does not cover digits (0 and O), pairs
    (rn and m), nor the case of the Greek letters whose capital prints like another Latin letter than the small one.

    >>> skeleton("kb/Сleared") == skeleton("kb/cleared")
    True
    """
    folded = unicodedata.normalize("NFKC", text.translate(_CAPITALS).casefold())
    return unicodedata.normalize("NFKC", folded.translate(_CAPITALS).casefold().translate(_SMALL))
