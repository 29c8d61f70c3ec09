"""One thing that is wrong with a history. Knows nothing else."""

from typing import NamedTuple


class Violation(NamedTuple):
    """The rule that is broken, and by what."""

    rule: str
    what: str
