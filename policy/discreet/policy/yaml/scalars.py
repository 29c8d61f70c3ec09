r"""Plain scalars by the core schema of YAML 1.2, less what other readers take for something else.

`no`, `on`, `0123`, `1_000`, `12:30` mean a boolean or a number to YAML 1.1 readers and text (or another number) to YAML
1.2 ones. A file that means different things to different readers is no policy: such scalars have to be quoted.

>>> resolve("true"), resolve("0x1F"), resolve("1e3"), resolve("2024-01-01")
(True, 31, 1000.0, '2024-01-01')
>>> is_ambiguous("no"), is_ambiguous("0123")
(True, True)
"""

from __future__ import annotations

import re
from typing import Final

from discreet.policy.yaml.nodes import Value

#: Digits of a plain integer; more is no number that a policy needs, and reading them takes quadratic time.
DIGITS_MAX: Final = 40

_WORDS: Final[dict[str, Value]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_INT: Final = re.compile(r"[-+]?[0-9]+")
_OCT: Final = re.compile(r"0o[0-7]+")
_HEX: Final = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_AMBIGUOUS: Final = re.compile(
    r"(?i:y|n|yes|no|on|off)"
    r"|[-+]?0[0-9]+"
    r"|[-+]?0b[01_]+"
    r"|[-+]?0x[0-9a-fA-F_]*_[0-9a-fA-F_]*"
    r"|[-+]0[xo][0-9a-fA-F]+"
    r"|[-+]?(?:[0-9]+_[0-9_]*|[0-9]*_[0-9_]*[0-9][0-9_]*)(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"
)


def is_ambiguous(text: str) -> bool:
    """Says whether readers of YAML 1.1 and 1.2 differ on a plain scalar, or people may."""
    return len(text) <= DIGITS_MAX and not text.startswith("_") and _AMBIGUOUS.fullmatch(text) is not None


def resolve(text: str) -> Value:
    """Returns the value of a plain scalar; text where it is nothing else. Raises ValueError for too many digits."""
    if text in _WORDS:
        return _WORDS[text]
    number = _number(text)
    if number is not None and len(text) > DIGITS_MAX:
        raise ValueError(f"a number of more than {DIGITS_MAX} digits")
    return text if number is None else int(text, number) if number else float(text)


def _number(text: str) -> int | None:
    """Returns the base of an integer, 0 for a float, None for what is no number."""
    if _INT.fullmatch(text):
        return 10
    if _OCT.fullmatch(text):
        return 8
    if _HEX.fullmatch(text):
        return 16
    return 0 if _FLOAT.fullmatch(text) else None
