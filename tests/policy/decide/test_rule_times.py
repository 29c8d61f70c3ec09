"""Rules that begin and end: where they hold, and that nothing allowed by them outlives them."""

from __future__ import annotations

from random import Random

import pytest

from discreet.policy.snapshot import Rule
from discreet.policy.words import ActionTendency, Effect, Grounding, Reason, Verdict
from tests.policy.decide.world import DAY, NOW, OPEN, SECOND, at, edit, record, rule, segment, world

ALLOW, WITHHOLD = Effect.ALLOW, Effect.WITHHOLD
SHUT = "shut"


@pytest.mark.parametrize("offset, holds", [(-1, False), (0, True), (1, True), (9, True), (10, False), (11, False)])
def test_a_rule_holds_from_its_beginning_and_before_its_end(offset: int, holds: bool) -> None:
    """TIM-01, F12: the first microsecond belongs to the rule and the last does not, for either effect."""
    plain = world(record(assessment_expires_at=at(2 * DAY)))
    opened = rule("open", from_us=NOW, until_us=at(10))
    assert (plain.one(rules=(opened,), now=at(offset)).verdict is Verdict.ALLOW) is holds
    shut = rule(SHUT, WITHHOLD, from_us=NOW, until_us=at(10))
    found = plain.one(rules=(*OPEN, shut), now=at(offset))
    assert (found.verdict, found.rule) == ((Verdict.WITHHOLD, SHUT) if holds else (Verdict.ALLOW, "open"))


def test_a_rule_that_errs_outside_its_time_withholds_nothing() -> None:
    """F12: a rule that is not there cannot fail; one that is there can."""
    broken = rule(SHUT, WITHHOLD, "document.attributes.absent == 1", until_us=NOW)
    assert world().one(rules=(*OPEN, broken)).verdict is Verdict.ALLOW
    assert world().one(rules=(*OPEN, edit(broken, until_us=at(1)))).reason is Reason.POLICY_ERROR


def test_what_a_rule_allows_ends_with_the_rule() -> None:
    """B2, F12: a commit is bound to the end of the rule that allows, and use_within never reaches past it."""
    plain = world(record(assessment_expires_at=at(DAY)))
    assert plain.one(rules=OPEN).valid_until == at(DAY)
    found = plain.one(rules=(rule("open", until_us=at(SECOND)),))
    assert (found.valid_until, found.use_within_ms) == (at(SECOND), 1_000)
    later = (rule("a", until_us=at(SECOND)), rule("b", until_us=at(3 * SECOND)))
    assert plain.one(rules=later).valid_until == at(3 * SECOND)
    assert plain.one(rules=(*later, *OPEN)).valid_until == at(DAY)


def test_what_is_allowed_ends_where_a_withholding_rule_begins() -> None:
    """B2, F12: an embargo that begins in a second ends every permission that it could reach, and no other."""
    plain = world(record(assessment_expires_at=at(DAY)))
    to_come = rule(SHUT, WITHHOLD, from_us=at(SECOND))
    assert plain.one(rules=(*OPEN, to_come)).valid_until == at(SECOND)
    assert plain.one(rules=(*OPEN, edit(to_come, from_us=at(2 * DAY)))).valid_until == at(DAY)
    for other in (
        edit(to_come, sources=frozenset({"news"})),
        edit(to_come, kinds=frozenset({"other"})),
        edit(to_come, observe=True),
        edit(to_come, effect=ALLOW),
    ):
        assert plain.one(rules=(*OPEN, other)).valid_until == at(DAY), other


def test_advice_ends_with_the_rule_that_gives_it() -> None:
    """B2: what may lean towards advice is valid only while a rule says so, though another still allows."""
    plain = world(record(assessment_expires_at=at(DAY)), need_advice=True)
    advising = rule("advising", advice=True, until_us=at(SECOND))
    found = plain.one(rules=(*OPEN, advising))
    assert (found.action_tendency, found.valid_until) == (ActionTendency.ADVISE, at(SECOND))


def test_an_unbound_segment_is_bound_to_the_times_of_its_rules() -> None:
    """B2: segments that rest on no record are allowed by rules alone, and no longer than they."""
    chat = rule("chat", grounding=Grounding.UNBOUND, kinds=frozenset({"answer"}), until_us=at(SECOND))
    found = world(segment=segment(grounding=Grounding.UNBOUND)).one(rules=(chat,))
    assert (found.verdict, found.valid_until) == (Verdict.ALLOW, at(SECOND))


def _timed(random: Random, number: int) -> Rule:
    begin = random.choice((None, at(random.randint(-5, 5))))
    end = random.choice((None, at(random.randint(-4, 6))))
    effect = random.choice((ALLOW, ALLOW, WITHHOLD))
    where = random.choice((None, None, frozenset({"news"}), frozenset({"wiki"})))
    return rule(f"r{number}", effect, from_us=begin, until_us=end, sources=where)


def test_nothing_that_is_allowed_is_withheld_before_its_end() -> None:
    """B2, F12: over 400 random sets of timed rules, an ALLOW stays one at every microsecond before `valid_until`."""
    ends = 0
    for seed in range(400):
        random = Random(seed)
        rules = tuple(_timed(random, number) for number in range(random.randint(1, 4)))
        bound = world(record(assessment_expires_at=at(DAY)), record("kb-2", assessment_expires_at=at(DAY)))
        found = bound.one(rules=rules)
        if found.verdict is not Verdict.ALLOW:
            continue
        assert found.valid_until is not None
        ends += found.valid_until < at(DAY)
        for us in range(min(found.valid_until, at(8)) - NOW):
            assert bound.one(rules=rules, now=at(us)).verdict is Verdict.ALLOW, f"seed {seed}, {us} us"
    assert ends > 40
