"""Sources that are declared and listed, and that no rule can ever allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet.policy.lint.judged import Judged
from discreet.policy.lint.truth import Bounds
from discreet.policy.model import Loaded
from discreet.policy.problems import Code, PolicyProblem, problem, quoted
from discreet.policy.words import Grounding


def source_warnings(loaded: Loaded, rules: Sequence[Judged]) -> Iterator[PolicyProblem]:
    """Yields a warning for each listed source whose records no rule can allow."""
    allowing = (rule for rule in rules if rule.allows and rule.item.grounding is Grounding.BOUND)
    covered = {label for rule in allowing if rule.always is not False for label in _sources(rule)}
    for source in loaded.sources:
        if source.value.listed and source.value.label not in covered:
            what = f"no rule allows the source {quoted(source.value.label)}: all that rests on it is withheld"
            yield problem(source.place("label"), what, "allow it in a rule, or say listed: false", Code.UNUSED)


def _sources(rule: Judged) -> Iterator[str]:
    """Yields the labels that a rule can be true for: by its key, and by what its condition says of `source.label`."""
    bounds = Bounds(rule.facts)
    if rule.condition is not None:
        bounds.take(rule.condition.root, negated=False)
    for _, label in bounds.facts()["source.label"]:
        yield str(label)
