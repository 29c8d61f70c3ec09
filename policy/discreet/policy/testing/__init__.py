"""Tests of policies, beside the policies: files named *_test.yaml, run through the same decision as the server's."""

from discreet.policy.testing.expectations import Difference
from discreet.policy.testing.load import LoadedTest, load_tests
from discreet.policy.testing.results import CaseResult, StepResult
from discreet.policy.testing.run import Prepared, prepare, run_loaded, run_tests

__all__ = [
    "CaseResult",
    "Difference",
    "LoadedTest",
    "Prepared",
    "StepResult",
    "load_tests",
    "prepare",
    "run_loaded",
    "run_tests",
]
