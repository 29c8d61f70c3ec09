"""Rules that can never be true, or whose condition says nothing."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.policy.lint.judged import Judged
from discreet.policy.problems import Code, PolicyProblem, problem, quoted
from discreet.policy.words import Grounding


def rule_warnings(rule: Judged) -> Iterator[PolicyProblem]:
    """Yields what is odd about one rule by itself."""
    item = rule.item
    if item.grounding is Grounding.BOUND:
        yield from _unlisted(rule)
        if rule.allows and item.sources is None and item.kinds is None and rule.condition is None:
            what = f"the rule {rule.name} allows every record of every listed source"
            yield problem(rule.placed.place(), what, "name sources, kinds or a condition", Code.UNUSED)
    if rule.condition is None or rule.always is None:
        return
    start = rule.condition.root.start
    if rule.always:
        effect = "allows" if rule.allows else "withholds"
        what = f"the condition is always true, so the rule {rule.name} {effect} all that it is asked about"
        yield rule.warn_at(start, what, "leave `when` out, or mend the condition", Code.ALWAYS)
    else:
        what = (
            f"the condition can never be true, so the rule {rule.name} never {'allows' if rule.allows else 'withholds'}"
        )
        hint = "it asks for what the rule's own keys or the gates rule out; mend it, or take the rule out"
        yield rule.warn_at(start, what, hint, Code.NEVER)


def _unlisted(rule: Judged) -> Iterator[PolicyProblem]:
    named = rule.item.sources or ()
    unlisted = [label for label in named if not rule.vocabulary.sources[label].listed]
    if not rule.allows and len(unlisted) < len(named):
        return
    for label in unlisted:
        position = named.index(label)
        what, hint = "so this rule never allows it", "list it, or leave it out here"
        if not rule.allows:
            what = "so a gate withholds it before this rule is asked"
        yield problem(
            rule.placed.place("sources", position),
            f"the source {quoted(label)} is not listed, {what}",
            hint,
            Code.UNUSED,
        )
