"""Tests of policies, beside the policies: files named *_test.yaml, run through the same decision as the server's."""

from discreet.policy.testing.run import CaseResult, Difference, load_tests, run_loaded, run_tests

__all__ = ["CaseResult", "Difference", "load_tests", "run_loaded", "run_tests"]
