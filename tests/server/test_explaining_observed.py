"""What an auditor is told of rules in observe mode and of who answers for a rule."""

from __future__ import annotations

from discreet.policy.rule_index import rule_index
from discreet.policy.words import Effect
from discreet.server.servicers.explaining import lines_of
from tests.policy.decide.replies import row
from tests.policy.decide.world import OPEN, edit, rule, world


def test_an_explanation_names_observed_rules_with_their_places_and_owners() -> None:
    """B3, F12: what would have withheld stands in the explanation as what it is, and what erred with what it lacked."""
    new = rule("new", Effect.WITHHOLD, observe=True, place="rules.yaml:9", owners=("desk",))
    broken = rule("broken", Effect.WITHHOLD, "document.attributes.absent == 1", observe=True)
    (opened,) = OPEN
    known = edit(opened, place="rules.yaml:3", owners=("a", "b"))
    asked = edit(world(), rules=(known, new, broken))
    found = row(asked)
    lines = lines_of(found, found.decisions[0], edit(asked.snapshot, rules=rule_index(asked.rules)))
    assert "rule open at rules.yaml:3 (owners: a, b)" in lines
    assert "observed, without effect: new at rules.yaml:9 (owners: desk)" in lines
    assert "observed, without effect: broken POLICY_ERROR missing_attribute: document.attributes.absent" in lines
