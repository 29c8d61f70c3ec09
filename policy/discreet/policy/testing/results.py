"""What became of tests: cases and steps with what was decided otherwise than expected. Runs nothing."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.policy.decision import SegmentDecision
from discreet.policy.problems import Place
from discreet.policy.testing.expectations import Difference


@dataclass(frozen=True, slots=True)
class StepResult:
    """What became of one step. `decision`: what was decided, where the step asked."""

    file: str
    line: int
    label: str
    differences: tuple[Difference, ...]
    decision: SegmentDecision | None = None

    @property
    def passed(self) -> bool:
        """True where the step went as expected."""
        return not self.differences


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of one case or sequence. `decision` is what was decided, in a sequence last, for a report to show."""

    file: str
    line: int
    test: str
    name: str
    differences: tuple[Difference, ...]
    decision: SegmentDecision
    steps: tuple[StepResult, ...] = ()
    environment: str = ""
    column: int = 1

    @property
    def passed(self) -> bool:
        """True where everything expected was found."""
        return not self.differences

    @property
    def place(self) -> Place:
        """Where the case stands."""
        return Place(self.file, self.line, self.column)
