"""Which texts may name things: labels, tenants, kinds, record ids, scopes, principals, digests.

Every check says what is wrong. Labels and tenants are ours: plain ASCII, compared by code points. Record ids,
scopes and
principal ids come from other people's systems: exact text, never folded, refused where it could be mistaken for
another.
Functions return a problem in words, or None; they never repeat the text itself, except its code points where a
look-alike is
the problem. No I/O, no clock.
"""

import re
import unicodedata
from functools import lru_cache

LABEL_MAX = 128
EXACT_BYTES_MAX = 512
SHORT_BYTES_MAX = 128

_LABEL = re.compile(r"[a-z0-9][a-z0-9._:-]{0,127}", re.ASCII)
_KIND = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_PLAIN = re.compile(r"[ -~]+", re.ASCII)

# Control, format (zero-width, bidi), surrogate, private use, unassigned, line and paragraph separators.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


@lru_cache(maxsize=65_536)
def label_problem(text: str) -> str | None:
    """What keeps a text from being a source label or a tenant."""
    if _LABEL.fullmatch(text):
        return None
    if not text:
        return "is empty"
    if len(text) > LABEL_MAX:
        return f"is longer than {LABEL_MAX} characters"
    return f"must match [a-z0-9][a-z0-9._:-]{{0,127}}; has {odd_characters(text)}"


def odd_characters(text: str) -> str:
    """The code points of up to three characters that a label may not hold.

    For look-alikes that print like the right ones.
    """
    odd = [c for c in text if not ("a" <= c <= "z" or "0" <= c <= "9" or c in "._:-")] or [text[0]]
    return ", ".join(f"U+{ord(c):04X} ({unicodedata.name(c, 'no name')})" for c in odd[:3])


@lru_cache(maxsize=65_536)
def kind_problem(text: str) -> str | None:
    """What keeps a text from being a segment kind."""
    if _KIND.fullmatch(text):
        return None
    return "is empty" if not text else "must match [a-z0-9][a-z0-9._-]{0,63}"


@lru_cache(maxsize=65_536)
def digest_problem(text: str) -> str | None:
    """What keeps a text from being a SHA-256 digest."""
    if _DIGEST.fullmatch(text):
        return None
    return "is empty" if not text else "must be 64 lower-case hex digits of a SHA-256"


@lru_cache(maxsize=4_096)
def name_problem(text: str) -> str | None:
    """What keeps a text from being the name of an attribute or field."""
    return None if _NAME.fullmatch(text) else "must match [A-Za-z_][A-Za-z0-9_]{0,63}"


@lru_cache(maxsize=262_144)
def exact_problem(text: str, bytes_max: int = EXACT_BYTES_MAX) -> str | None:
    """What keeps a text from being a record id, scope or principal id.

    Slashes are fine (object keys, paths); empty and dot segments are not, nor text that normalisation would change.
    """
    problem = text_problem(text, bytes_max)
    if problem:
        return problem
    if unicodedata.normalize("NFKC", text) != text:
        return "is not in the normal form NFKC; give the normalised text"
    if text[0].isspace() or text[-1].isspace():
        return "begins or ends with white space"
    if any(part in ("", ".", "..") for part in text.split("/")):
        return "has an empty or dot segment between slashes"
    if re.search(r"%(2e|2f|5c)", text, re.IGNORECASE):
        return "has an encoded dot or slash; give it decoded"
    return None


@lru_cache(maxsize=262_144)
def text_problem(text: str, bytes_max: int) -> str | None:
    """What keeps a text from being one that is recorded and compared, whatever it says.

    Empty, too long, hidden characters.
    """
    if not text:
        return "is empty"
    if len(text) > bytes_max or len(text.encode("utf-8", "surrogatepass")) > bytes_max:
        return f"is longer than {bytes_max} bytes"
    if _PLAIN.fullmatch(text):
        return None
    for char in text:
        if unicodedata.category(char) in _HIDDEN:
            return f"holds the control or format character U+{ord(char):04X}"
    return None


# Letters of other scripts that print like Latin ones, upper-case first since case is folded afterwards.
_LOOKALIKES = str.maketrans(
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0405\u0408\u0430"
    "\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0458\u04bb\u0501\u051b\u051d\u0432\u043a\u043c"
    "\u043d\u0442\u0475\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5"
    "\u03a7\u03b1\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03b3\u03c9\u0585\u057d\u0570"
    "\u0578\u0131\u0251\u0261\u029f\u2113",
    "ABEKMHOPCTYXISJaeopcyxisjhdqwbkmhtvABEZHIKMNOPTYXaeikvoptuxywouhniagll",
)


@lru_cache(maxsize=65_536)
def skeleton(text: str) -> str:
    """The text with case and look-alike letters folded away: two ids of one source with equal skeletons cannot coexist.

    Covers the Cyrillic, Greek, Armenian and special Latin letters that print like Latin ones, and accents'
    compositions by NFKC.
    It is used to refuse at registration, never to match.

    >>> skeleton("kb/Сleared") == skeleton("kb/cleared")
    True
    """
    return unicodedata.normalize("NFKC", text.translate(_LOOKALIKES).casefold()).translate(_LOOKALIKES).casefold()
