"""A rule with what a judgement of it needs: its place, its compiled condition, and what is known when it is asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.policy.cel import Condition
from discreet.policy.lint.known import Facts, Vocabulary, facts_of, vocabulary_of
from discreet.policy.lint.truth import truth
from discreet.policy.model import Loaded, Placed, RuleItem
from discreet.policy.problems import Code, Place, PolicyProblem, problem, quoted
from discreet.policy.snapshot import Rule
from discreet.policy.words import Effect
from discreet.policy.yaml import Scalar, source_offset


@dataclass(frozen=True, slots=True)
class Judged:
    """One rule. `always`: its condition is true, or false, whatever is read; None where that is open."""

    placed: Placed[RuleItem]
    condition: Condition | None
    vocabulary: Vocabulary
    facts: Facts
    always: bool | None

    @property
    def item(self) -> RuleItem:
        """The rule as it is written."""
        return self.placed.value

    @property
    def allows(self) -> bool:
        """True for an ALLOW rule."""
        return self.item.effect is Effect.ALLOW

    @property
    def name(self) -> str:
        """The rule's id in quotes."""
        return quoted(self.item.id)

    def place_at(self, offset: int) -> Place:
        """Returns where a code point of the condition stands in its file."""
        source, node = self.placed.document.source, self.placed.document.node((*self.placed.path, "when"))
        if isinstance(node, Scalar) and offset < len(str(node.value)):
            return source.place_at(source_offset(source.text, node, offset))
        return node.place  # in a named condition, whose text stands behind the rule's own

    def warn_at(self, offset: int, message: str, hint: str, code: Code) -> PolicyProblem:
        """Returns a warning at a code point of the condition."""
        return problem(self.place_at(offset), message, hint, code)


def judged_rules(loaded: Loaded, rules: Iterable[Rule]) -> list[Judged]:
    """Returns the rules of a set that has no problems, in the order of their places."""
    conditions = {rule.id: rule.when for rule in rules}
    vocabulary = vocabulary_of(placed.value for placed in loaded.sources)
    return [_judged(placed, conditions.get(placed.value.id), vocabulary) for placed in loaded.rules]


def _judged(placed: Placed[RuleItem], condition: Condition | None, vocabulary: Vocabulary) -> Judged:
    facts = facts_of(placed.value, vocabulary)
    always = True if condition is None else truth(condition.root, facts)
    return Judged(placed, condition, vocabulary, facts, always)
