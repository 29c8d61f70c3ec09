"""Random expressions of every kind in Google's own implementation: the same value, to the last digit and item."""

from __future__ import annotations

from typing import Final

import pytest

from tests.policy.cel.oracle import fuzzed
from tests.policy.cel.test_oracle import COUNT, ROUNDS, SEED

PARTS: Final = ROUNDS * 3 // 7
KINDS: Final = ("int", "uint", "double", "string", "bytes", "list", "map", "timestamp", "duration")


@pytest.mark.hypothesis
@pytest.mark.parametrize("part", range(PARTS))
def test_no_expression_has_another_value_than_the_oracle(part: int) -> None:
    """F12: numbers, text, times, lists and maps come out as the oracle's, or as errors where it has errors."""
    tally = fuzzed(COUNT, -SEED - part, KINDS)
    assert not tally.unlisted, "\n".join(tally.unlisted[:20])
    assert not tally.apart, "\n".join(tally.apart[:20])
    assert min(tally.seen["value"], tally.seen["error"]) > COUNT // 20, tally.seen
