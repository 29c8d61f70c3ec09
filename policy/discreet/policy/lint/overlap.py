"""Rules of which others leave nothing: the same rule twice, a rule that a wider one implies, an ALLOW withheld whole.

A condition implies another where it joins all parts of the other, and more, with `&&`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from discreet.policy.lint.judged import Judged
from discreet.policy.lint.truth import conjuncts, name_of
from discreet.policy.problems import Code, PolicyProblem, problem
from discreet.policy.words import Effect

#: Pairs of rules that are compared at most; a set that needs more is warned of by what was found until then.
COMPARISONS_MAX: Final = 1_000_000

_Key = tuple[Effect, object, str, str | None]


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a rule fits, as sets to compare."""

    rule: Judged
    parts: frozenset[str]

    def within(self, other: _Shape) -> bool:
        """Says whether all that this rule fits, the other fits as well."""
        mine, theirs = self.rule.item, other.rule.item
        return (
            mine.grounding is theirs.grounding
            and set(mine.moments) <= set(theirs.moments)
            and _inside(mine.sources, theirs.sources)
            and _inside(mine.kinds, theirs.kinds)
            and other.parts <= self.parts
            and theirs.mode == "enforce"
            and (theirs.from_ is None or (mine.from_ is not None and theirs.from_ <= mine.from_))
            and (theirs.until is None or (mine.until is not None and mine.until <= theirs.until))
        )


@dataclass(slots=True)
class _Index:
    """The rules under what a rule that implies another must share with it."""

    under: dict[_Key, list[_Shape]] = field(default_factory=dict)
    compared: int = 0

    def add(self, shape: _Shape) -> None:
        """Takes a rule, under one part of its condition and each source that it names."""
        part, item = min(shape.parts, default=""), shape.rule.item
        for label in item.sources if item.sources is not None else (None,):
            self.under.setdefault((item.effect, item.grounding, part, label), []).append(shape)

    def wider(self, shape: _Shape, effect: Effect) -> _Shape | None:
        """Returns the first rule of an effect within which a rule lies, other than itself."""
        item = shape.rule.item
        labels = {None, item.sources[0]} if item.sources else {None}
        for part in sorted({"", *shape.parts}):
            for label in sorted(labels, key=str):
                for other in self.under.get((effect, item.grounding, part, label), ()):
                    self.compared += 1
                    if other is not shape and shape.within(other) and not self._is_first(shape, other):
                        return other
                    if self.compared > COMPARISONS_MAX:
                        return None
        return None

    @staticmethod
    def _is_first(shape: _Shape, other: _Shape) -> bool:
        """Says whether a rule stays beside the other: of two equal ones the first does, and what says more does."""
        mine, theirs = shape.rule.item, other.rule.item
        if mine.effect is not theirs.effect:
            return False
        if mine.effect is Effect.ALLOW and mine.advice and not theirs.advice:
            return True
        if (mine.custom_reason, mine.text) != (theirs.custom_reason, theirs.text) and mine.id < theirs.id:
            return True
        return other.within(shape) and mine.advice == theirs.advice and mine.id < theirs.id


def _inside(mine: Sequence[str] | None, theirs: Sequence[str] | None) -> bool:
    return theirs is None or (mine is not None and set(mine) <= set(theirs))


def overlap_warnings(rules: Sequence[Judged]) -> Iterator[PolicyProblem]:
    """Yields a warning for each rule that could be taken out and nothing would be decided otherwise."""
    shapes = [_Shape(rule, _parts(rule)) for rule in rules if rule.always is not False]
    index = _Index()
    for shape in shapes:
        index.add(shape)
    for shape in shapes:
        found = _overlap(shape, index)
        if found is not None:
            yield found
        if index.compared > COMPARISONS_MAX:
            return


def _parts(rule: Judged) -> frozenset[str]:
    if rule.condition is None or rule.always:
        return frozenset()
    return frozenset(map(name_of, conjuncts(rule.condition.root)))


def _overlap(shape: _Shape, index: _Index) -> PolicyProblem | None:
    rule = shape.rule
    if rule.allows:
        stronger = index.wider(shape, Effect.WITHHOLD)
        if stronger is not None:
            what = f"the rule {rule.name} never allows: whatever it fits, {stronger.rule.name} withholds"
            hint = f"that one stands at {stronger.rule.placed.place('id')}; narrow it, or take this one out"
            return problem(rule.placed.place("id"), what, hint, Code.NEVER)
    wider = index.wider(shape, rule.item.effect)
    if wider is None:
        return None
    same = wider.within(shape)
    what = f"the rule {rule.name} says {'the same as' if same else 'nothing beyond'} {wider.rule.name}"
    hint = f"that one stands at {wider.rule.placed.place('id')}; take one of them out"
    return problem(rule.placed.place("id"), what, hint, Code.IMPLIED)
