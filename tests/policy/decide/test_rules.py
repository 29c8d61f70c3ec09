"""The last gate: nothing is allowed unless a rule says so, any withholding rule wins, and an error opens no door."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from discreet.policy.decision import SegmentDecision
from discreet.policy.snapshot import Rule
from discreet.policy.words import ActionTendency, Effect, Gate, Grounding, Moment, Next, Reason, Verdict
from tests.policy.decide.replies import reply, row
from tests.policy.decide.world import World, edit, evidence, record, rule, segment, world

ALLOW, WITHHOLD = Effect.ALLOW, Effect.WITHHOLD
DESK, ROLE = 'principal.attributes.desk == "north"', 'principal.attributes.role == "reader"'


def _reader(**attributes: object) -> World:
    plain = world()
    return edit(plain, principal=edit(plain.principal, attributes=attributes))


def _doc(**attributes: object) -> World:
    return world(record(attributes=attributes))


def _told(result: SegmentDecision) -> tuple[Verdict, Reason, str]:
    return result.verdict, result.reason, result.stop.detail if result.stop is not None else ""


MISSING_DESK = (Verdict.WITHHOLD, Reason.POLICY_ERROR, "missing_attribute: principal.attributes.desk")


def test_one_absent_attribute_does_not_silence_its_siblings() -> None:
    """POL-01: any-of is true where one arm is, whatever the other lacks, in any order of arms."""
    for arms in permutations([DESK, ROLE]):
        assert _reader(role="reader").one(rules=(rule("r", when=" || ".join(arms)),)).verdict is Verdict.ALLOW


def test_what_cannot_be_decided_withholds_and_names_the_attribute() -> None:
    """POL-01, F12: all-of, none-of and withholding rules that lack an attribute withhold, in any order of arms."""
    for arms in permutations([DESK, ROLE]):
        all_of, none_of = " && ".join(arms), f"!({' || '.join(arms)})"
        assert _told(_reader(role="reader").one(rules=(rule("r", when=all_of),))) == MISSING_DESK
        assert _told(_reader(role="writer").one(rules=(rule("r", when=none_of),))) == MISSING_DESK
        shut = rule("shut", WITHHOLD, " || ".join(arms))
        assert _told(_reader(role="writer").one(rules=(rule("open"), shut))) == MISSING_DESK


def test_the_audit_names_the_missing_attribute_and_the_rule() -> None:
    """POL-01, B3: the auditor finds which rule could not be evaluated and for want of what; no value is repeated."""
    (found,) = row(edit(_reader(role="tok3n-AB"), rules=(rule("r", when=f"{DESK} && {ROLE}"),))).decisions
    (other,) = row(edit(_reader(role="reader"), rules=(rule("r", when=DESK),))).decisions
    assert found.reason != other.reason
    assert (other.rule, other.detail, other.fault) == ("r", MISSING_DESK[2], "policy")


def test_no_rule_withholds() -> None:
    """POL-03: a moment without a rule is withheld, by the policy, with the text of POLICY_RULE."""
    for moment in (Moment.RETRIEVE, Moment.PUBLISH):
        others = frozenset(Moment) - {moment}
        result = world().one(moment=moment, rules=(rule("open", moments=others),))
        assert _told(result) == (Verdict.WITHHOLD, Reason.POLICY_RULE, "no rule allows")
        assert (result.gate, result.rule, result.next) == (Gate.RULES, "", Next.NONE)
    committed = world().replayed()
    assert committed.one(rules=()).reason is Reason.POLICY_RULE
    assert committed.one(rules=(rule("open", moments=frozenset({Moment.PUBLISH})),)).reason is Reason.POLICY_RULE


def test_exists_over_mixed_items_says_what_it_lacks() -> None:
    """POL-05: a hit is true; a miss that met an item without the field is an error, negated or not."""
    mixed = _doc(items=[{"b": 1}, {"c": 1}])
    for when, verdict, reason in (
        ("document.attributes.items.exists(x, x.b == 1)", Verdict.ALLOW, Reason.NONE),
        ("document.attributes.items.exists(x, x.b == 3)", Verdict.WITHHOLD, Reason.POLICY_ERROR),
        ("!document.attributes.items.exists(x, x.b == 3)", Verdict.WITHHOLD, Reason.POLICY_ERROR),
        ("!document.attributes.items.exists(x, has(x.b) && x.b == 3)", Verdict.ALLOW, Reason.NONE),
    ):
        result = mixed.one(rules=(rule("r", when=when),))
        assert (result.verdict, result.reason) == (verdict, reason), when


@pytest.mark.parametrize("tags", [None, "", {}, 7, "absent"])
def test_what_is_no_list_is_an_error_where_a_list_is_expected(tags: object) -> None:
    """POL-07: null, text, number or nothing under all() withholds with a stable code, and the next call is normal."""
    shape = {} if tags == "absent" else {"tags": tags}
    rules = (rule("r", when='document.attributes.tags.all(t, t != "secret")'),)
    result = _doc(**shape).one(rules=rules)
    assert (result.verdict, result.reason) == (Verdict.WITHHOLD, Reason.POLICY_ERROR)
    assert _doc(tags=["open"]).one(rules=rules).verdict is Verdict.ALLOW
    assert _doc(tags=["secret"]).one(rules=rules).reason is Reason.POLICY_RULE


def test_withholding_wins_in_every_order_with_the_same_rule_named() -> None:
    """POL-14: 50 shuffles of the rules give one decision, one rule id, one audit row."""
    hr = 'document.record_id.startsWith("kb/hr/")'
    rules: list[Rule] = [
        rule("z-open"),
        rule("a-open"),
        rule("m-hr", WITHHOLD, hr, custom_reason="hr"),
        rule("n-hr", WITHHOLD, hr),
        rule("b-never", WITHHOLD, "false"),
        rule("c-errs", WITHHOLD, "document.attributes.nothing == 1"),
    ]
    random, asked = Random(14), world(record("kb/hr/x"))
    rows = set()
    for _ in range(50):
        random.shuffle(rules)
        result = asked.one(rules=tuple(rules))
        assert (result.reason, result.rule, result.custom_reason) == (Reason.POLICY_RULE, "m-hr", "hr")
        rows.add(row(edit(asked, rules=tuple(rules))).SerializeToString(deterministic=True))
    assert len(rows) == 1
    it = world(record("kb/it/x"))
    sound = [one for one in rules if one.id != "c-errs"]
    assert {it.one(rules=tuple(given)).rule for given in permutations(sound)} == {"a-open"}


def test_of_several_failing_rules_the_smallest_id_is_named() -> None:
    """POL-14, F12: errors are reported alike in every order as well, for withholding and for allowing rules."""
    bad = "document.attributes.nothing == 1"
    for effect in Effect:
        rules = [rule(name, effect, bad) for name in ("c", "a", "b")]
        more = (rule("open"),) if effect is WITHHOLD else ()
        for given in permutations(rules):
            result = world().one(rules=(*given, *more))
            assert (result.reason, result.rule) == (Reason.POLICY_ERROR, "a")


def test_a_failing_rule_gives_neither_its_own_reason_nor_its_own_text() -> None:
    """F12: whether the rule's reason is true is not known where it errs."""
    shut = rule("shut", WITHHOLD, "document.attributes.nothing == 1", custom_reason="embargo", text="STALE")
    result = world().one(rules=(rule("open"), shut))
    assert (result.custom_reason, result.template_id) == ("", "POLICY_ERROR")


def test_an_allowing_rule_that_errs_does_not_hide_one_that_is_true() -> None:
    """F12, POL-18: errors of allowing rules matter only where no other allows."""
    bad = rule("a-bad", when="document.attributes.nothing == 1")
    result = world().one(rules=(bad, rule("b-open")))
    assert (result.verdict, result.rule) == (Verdict.ALLOW, "b-open")


def test_every_binding_needs_an_allowing_rule_and_none_may_be_withheld() -> None:
    """B4: a public citation lends a private source no authority; one withheld root withholds the segment."""
    wiki = rule("wiki", sources=frozenset({"wiki"}))
    both = world(record(), evidence())
    assert both.one(rules=(wiki,)).reason is Reason.POLICY_RULE
    assert both.one(rules=(wiki, rule("feed", sources=frozenset({"ledger-feed"})))).verdict is Verdict.ALLOW
    shut = rule("no-feed", WITHHOLD, sources=frozenset({"ledger-feed"}))
    assert both.one(rules=(rule("open"), shut)).rule == "no-feed"


def test_what_stands_behind_can_be_withheld_and_need_not_be_allowed() -> None:
    """A19, B4: withholding rules see the records behind a quote; allowing rules judge what is cited."""
    document = record("kb-7", attributes={"desk": "north"})
    quote = evidence(own_source=False, of=(document.ref,), roots=(document.ref,))
    asked = edit(world(quote), records=(quote, document))
    feed = rule("feed", sources=frozenset({"ledger-feed"}))
    assert asked.one(rules=(feed,)).verdict is Verdict.ALLOW
    shut = rule("shut", WITHHOLD, 'document.record_id == "kb-7"')
    assert asked.one(rules=(feed, shut)).rule == "shut"
    unbound = rule("cited", WITHHOLD, 'binding.locator != ""')
    assert asked.one(rules=(feed, unbound)).reason is Reason.POLICY_ERROR


def test_unbound_talk_is_allowed_by_kind_alone() -> None:
    """B12: an unbound segment is withheld unless a rule for unbound ones allows its kind; bound rules never do."""
    talk = edit(world(), segments=(segment(kind="small-talk", grounding=Grounding.UNBOUND),))
    assert talk.one().reason is Reason.POLICY_RULE
    kinds = frozenset({"small-talk"})
    for given, verdict in (
        ([rule("talk", kinds=kinds, grounding=Grounding.UNBOUND)], Verdict.ALLOW),
        ([rule("talk", kinds=kinds)], Verdict.WITHHOLD),
        ([rule("talk", kinds=frozenset({"question"}), grounding=Grounding.UNBOUND)], Verdict.WITHHOLD),
        ([rule("any", grounding=Grounding.UNBOUND)], Verdict.ALLOW),
        (
            [rule("no", WITHHOLD, grounding=Grounding.UNBOUND), rule("any", grounding=Grounding.UNBOUND)],
            Verdict.WITHHOLD,
        ),
        ([rule("any", when="segment.need_advice", grounding=Grounding.UNBOUND)], Verdict.WITHHOLD),
    ):
        assert talk.one(rules=tuple(given)).verdict is verdict
    assert world().one(rules=(rule("any", grounding=Grounding.UNBOUND),)).verdict is Verdict.WITHHOLD
    assert talk.one(need_numbers=True).reason is Reason.NO_TRUSTED_FACT


def test_advice_needs_the_request_and_every_bindings_rule() -> None:
    """A15: need_advice changes the outcome only where the rules of all bindings let an answer advise."""
    both = world(record(), evidence())
    wiki, feed = (
        rule("wiki", sources=frozenset({"wiki"}), advice=True),
        rule("feed", sources=frozenset({"ledger-feed"})),
    )
    advising = edit(feed, advice=True)
    for rules, asked, tendency in (
        ((wiki, advising), True, ActionTendency.ADVISE),
        ((wiki, advising), False, ActionTendency.INFORM),
        ((wiki, feed), True, ActionTendency.INFORM),
        ((wiki, feed, edit(advising, id="z")), True, ActionTendency.ADVISE),
    ):
        result = both.one(rules=rules, need_advice=asked)
        assert (result.verdict, result.action_tendency) == (Verdict.ALLOW, tendency)
        output = reply(edit(both, rules=rules, need_advice=asked)).results[0].output
        assert output.audit.execution_allowed is False


def test_a_condition_that_costs_too_much_withholds() -> None:
    """POL-09, F12: what the step budget cannot finish is COST_EXCEEDED, for allowing and for withholding rules."""
    asked = _doc(items=list(range(300)))
    costly = "document.attributes.items.all(x, document.attributes.items.all(y, x + y >= 0))"
    for rules in ((rule("costly", when=costly),), (rule("open"), rule("costly", WITHHOLD, f"!{costly}"))):
        result = asked.one(rules=rules)
        assert (result.verdict, result.reason, result.rule) == (Verdict.WITHHOLD, Reason.COST_EXCEEDED, "costly")
        assert (result.next, result.fault) == (Next.CONTACT_OPERATOR, "policy")
    assert asked.one(rules=(rule("open"), rule("cheap", when="true"))).verdict is Verdict.ALLOW


def test_one_segments_costs_are_not_anothers() -> None:
    """B4: each segment has a budget of its own, so that a costly one takes nothing with it."""
    cheap, costly = record("kb-1"), record("kb-2", attributes={"items": list(range(300))})
    when = (
        'document.record_id == "kb-1" || document.attributes.items.all(x, document.attributes.items.all(y, x + y >= 0))'
    )
    pair = world(cheap, costly)
    (one,) = pair.segments
    asked = edit(
        pair,
        segments=tuple(
            edit(one, id=f"s{i}", bindings=(b,)) for i, b in enumerate((*one.bindings[::-1], *one.bindings))
        ),
        rules=(rule("r", when=when),),
    )
    reasons = [result.reason for result in asked.ask().results]
    assert reasons == [Reason.COST_EXCEEDED, Reason.NONE, Reason.NONE, Reason.COST_EXCEEDED]


def test_a_rules_own_text_and_reason_reach_the_reader() -> None:
    """A6: a rule names a template of the policy set; the reader gets its text, and the code POLICY_RULE."""
    plain = world()
    texts = {locale: {**known, "embargo": f"Embargo ({locale})."} for locale, known in plain.snapshot.texts.items()}
    shut = rule("shut", WITHHOLD, custom_reason="embargo-2", text="embargo")
    asked = edit(plain, snapshot=edit(plain.snapshot, texts=texts), rules=(rule("open"), shut), locale="zh-Hans")
    (result,) = reply(asked).results
    assert (result.output.disclosure, result.output.template_id) == ("Embargo (zh-Hans).", "embargo")
    assert (result.custom_reason, result.rule) == ("embargo-2", "shut")


def test_conditions_see_what_the_index_says_not_what_the_request_claims() -> None:
    """A16: label, time and basis in conditions are the record's; the binding shows only how it names the record."""
    asked = world(evidence())
    when = 'source.label == "ledger-feed" && document.basis == "adjusted" && document.fields.value == 7'
    assert asked.one(rules=(rule("r", when=when),)).verdict is Verdict.ALLOW
    with pytest.raises(Exception, match="claimed_label"):
        rule("r", when='binding.claimed_label == "wiki"')
