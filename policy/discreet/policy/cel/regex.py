"""Regular expressions of conditions: RE2 alone, which is linear in the text whatever the pattern.

`re2.Set` answers false when its automaton runs out of memory, which would be a wrong answer; a plain search falls back
to a slower automaton instead, so that is what is used, over bytes, where the wrapper does not count characters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import re2

from discreet.policy.cel.errors import bad_argument
from discreet.policy.cel.limits import Budget

PATTERN_MAX: Final = 1024
PATTERNS_CACHED_MAX: Final = 256
#: Memory of a pattern that stands in a policy, and of one that comes from data, which so is refused in under 1 ms.
MEMORY_BYTES: Final = 1 << 20
DATA_MEMORY_BYTES: Final = 1 << 17
DATA_PATTERN_STEPS: Final = 500
#: Bytes of text that one step may search, and instructions of a pattern that make a byte cost double.
BYTES_PER_STEP: Final = 32
INSTRUCTIONS_PER_STEP: Final = 256

Search = Callable[[str, Budget], bool]


def searcher(pattern: str, memory_bytes: int = MEMORY_BYTES) -> Search:
    """Returns the search for a pattern anywhere in a text. Raises EvaluationError(ARGUMENT) for a bad pattern."""
    if len(pattern) > PATTERN_MAX:
        raise bad_argument(f"a pattern has at most {PATTERN_MAX} characters")
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = memory_bytes
    try:
        compiled = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError):
        raise bad_argument("not a regular expression of RE2") from None
    search = compiled.search
    weight = 1 + compiled.programsize // INSTRUCTIONS_PER_STEP

    def found(text: str, budget: Budget) -> bool:
        budget.charge(1 + len(text) * weight // BYTES_PER_STEP)
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise bad_argument("matches() on text that is no Unicode") from None
        budget.charge((len(data) - len(text)) * weight // BYTES_PER_STEP)
        return search(data) is not None

    return found


@lru_cache(maxsize=PATTERNS_CACHED_MAX)
def _data_searcher(pattern: str) -> Search:
    return searcher(pattern, DATA_MEMORY_BYTES)


def matches(text: str, pattern: str, budget: Budget) -> bool:
    """Says whether a pattern that is only known now is found in a text; it costs the same, cached or not."""
    budget.charge(DATA_PATTERN_STEPS + len(pattern))
    return _data_searcher(pattern)(text, budget)
