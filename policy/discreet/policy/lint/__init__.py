"""What is legal in a policy set and most likely not meant. A warning never keeps a set from loading.

What is looked for is what can be told for sure from the files: a rule that can never be true, one that another says
already, a condition that is true of everything. Style is nobody's business here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from discreet.policy.lint.conditions import condition_warnings
from discreet.policy.lint.judged import judged_rules
from discreet.policy.lint.masked import masked_warnings
from discreet.policy.lint.names import name_warnings
from discreet.policy.lint.overlap import overlap_warnings
from discreet.policy.lint.rules import rule_warnings
from discreet.policy.lint.sources import source_warnings
from discreet.policy.lint.texts import text_warnings
from discreet.policy.model import Loaded
from discreet.policy.problems import PolicyProblem
from discreet.policy.snapshot import Rule

__all__ = ["warnings_of"]


def warnings_of(loaded: Loaded, rules: Iterable[Rule]) -> Iterator[PolicyProblem]:
    """Yields the warnings of a set that has no problems, and whose rules are the given ones."""
    judged = judged_rules(loaded, rules)
    yield from source_warnings(loaded, judged)
    for rule in judged:
        yield from rule_warnings(rule)
        yield from condition_warnings(rule)
    yield from masked_warnings(loaded, judged)
    yield from overlap_warnings(judged)
    yield from text_warnings(loaded)
    yield from name_warnings(loaded)
