"""Sets to warn of: one rule with a condition, or several rules. Knows nothing of what is warned of."""

from __future__ import annotations

from discreet.policy.check import check_set
from discreet.policy.problems import PolicyProblem
from tests.policy.sets.sets import a_set, rules

#: Codes that the small set gives for what is not in question here: sources that the rules leave out.
ASIDE = "no rule allows the source"


def of_condition(
    condition: str, effect: str = "ALLOW", keys: str = "moments: [PUBLISH], sources: [notes]"
) -> list[tuple[str, str]]:
    """Returns the warnings of a rule with a condition of one line: code, and the condition from the place on."""
    policy = rules("{id: base, effect: ALLOW, moments: [RETRIEVE], sources: [notes, equity-desk]}")
    policy += f"  - id: r\n    effect: {effect}\n    {keys.replace('], ', ']' + chr(10) + '    ')}\n"
    policy += f"    when: |-\n      {condition}\n"
    line = policy.count("\n")
    found = warned(a_set(rules=policy))
    assert all(one.file == "rules.yaml" for one in found), found
    return [(str(one.code), condition[one.column - 7 :] if one.line == line else f"line {one.line}") for one in found]


def of_rules(*lines: str, **changed: str) -> list[tuple[int, str, str]]:
    """Returns the warnings of a set of rules: the number of the rule from 0, code, message."""
    found = warned(a_set(rules=rules(*lines), **changed))
    return [(one.line - 5, str(one.code), one.message) for one in found if one.file == "rules.yaml"]


def warned(files: dict[str, bytes]) -> list[PolicyProblem]:
    """Returns the warnings of a sound set, but those of sources that no rule allows."""
    report = check_set(files)
    assert report.problems == (), report.problems
    for one in report.warnings:
        assert one.hint or one.message
        assert str(one).isprintable()
    return [one for one in report.warnings if not one.message.startswith(ASIDE)]
