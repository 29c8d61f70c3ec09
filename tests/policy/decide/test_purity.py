"""A decision is a function of its inputs: nothing is kept between calls, and nothing said beside them counts."""

from __future__ import annotations

from itertools import permutations
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.policy.words import Grounding, Moment, Reason, Verdict
from tests.policy.decide.random_worlds import random_world
from tests.policy.decide.replies import reply_bytes, row_bytes
from tests.policy.decide.world import DAY, at, edit, figure_world, grant, record, rule, segment, world


def test_verdicts_do_not_depend_on_the_order_of_calls() -> None:
    """REV-10: with, without and again with an attribute that a rule reads in all six orders: no call leaks."""
    plain = edit(world(), rules=(rule("case", when='principal.attributes["case"] == "c1"'),))
    checks = {
        "first": (edit(plain, principal=edit(plain.principal, attributes={"case": "c1"})), Reason.NONE),
        "without": (plain, Reason.POLICY_ERROR),
        "other": (edit(plain, principal=edit(plain.principal, attributes={"case": "c2"})), Reason.POLICY_RULE),
    }
    for order in permutations(checks):
        for name in (*order, *order):
            asked, reason = checks[name]
            assert asked.one().reason is reason, order


def test_each_segment_of_a_call_is_seen_as_itself() -> None:
    """B4, REV-10: what a rule reads of a segment is never that of the one before it."""
    plain = world()
    (one,) = plain.segments
    kinds = ["quote", "answer", "quote", "summary", "answer"]
    asked = edit(
        plain,
        segments=tuple(edit(one, id=f"s{i}", kind=kind) for i, kind in enumerate(kinds)),
        rules=(rule("answers", when='segment.kind == "answer"'),),
    )
    assert [r.verdict is Verdict.ALLOW for r in asked.ask().results] == [kind == "answer" for kind in kinds]


@settings(max_examples=settings().max_examples // 2)
@given(st.integers(0, 2**32))
def test_the_same_inputs_give_the_same_bytes_whatever_was_decided_between(seed: int) -> None:
    """F8, A14: deciding again after other decisions gives the same reply and the same row, bit for bit."""
    asked = random_world(seed)
    before = reply_bytes(asked), row_bytes(asked)
    for other in range(3):
        random_world(other).ask()
    assert (reply_bytes(asked), row_bytes(asked)) == before


@settings(max_examples=settings().max_examples // 2)
@given(st.integers(0, 2**32))
def test_the_order_of_records_and_grants_changes_nothing(seed: int) -> None:
    """POL-18, F8: what the index returned first has no meaning."""
    asked = random_world(seed)
    records, grants = list(asked.records), list(asked.grants.grants)
    Random(seed).shuffle(records)
    Random(seed).shuffle(grants)
    shuffled = edit(asked, records=tuple(records), grants=edit(asked.grants, grants=tuple(grants)))
    assert reply_bytes(shuffled) == reply_bytes(asked)
    assert row_bytes(shuffled) == row_bytes(asked)


def test_facts_that_nothing_names_change_nothing() -> None:
    """B4, F11: other records and ledger entries beside those asked about leave the reply as it is."""
    asked = figure_world()
    more = edit(asked, records=(*asked.records, *world().records), ledger=world().replayed().ledger)
    assert reply_bytes(more) == reply_bytes(asked)
    assert row_bytes(more) == row_bytes(asked)


def test_a_ledger_entry_without_its_segment_is_unknown_rather_than_guessed() -> None:
    """A12: where the stored segment was not handed in, nothing is shown."""
    asked = world().replayed()
    for result in (asked.one(stored={}), asked.one(ledger={})):
        assert (result.verdict, result.reason) == (Verdict.WITHHOLD, Reason.DOCUMENT_UNKNOWN)


def test_an_allow_names_what_it_rests_on_and_until_when() -> None:
    """B6: the commit compares these revisions and this time again inside the lock; nothing that stopped has any."""
    result = figure_world().one()
    assert result.bases == (((figure_world().records[0].ref), 10),)
    assert result.valid_until is not None
    assert result.valid_until > figure_world().now
    for seed in range(150):
        asked = random_world(seed)
        for found in asked.ask().results:
            if found.verdict is Verdict.ALLOW:
                assert found.valid_until is not None
                late = edit(asked, now=found.valid_until, policy_age_us=0)
                again = {r.key: r for r in late.ask().results}[found.key]
                assert again.verdict is not Verdict.ALLOW, f"seed {seed}: it was said to end"
                assert 1 <= found.use_within_ms <= asked.snapshot.use_within_ms
            else:
                assert (found.bases, found.valid_until, found.use_within_ms) == ((), None, 0)


def test_an_allow_holds_until_the_time_that_it_names() -> None:
    """B6, B8: with unchanged facts the answer stays ALLOW up to its `valid_until`, a microsecond before it included."""
    for seed in range(150):
        asked = random_world(seed)
        for found in asked.ask().results:
            if found.verdict is Verdict.ALLOW and found.valid_until is not None:
                last = edit(asked, now=found.valid_until - 1)
                again = {r.key: r for r in last.ask().results}[found.key]
                assert again.verdict is Verdict.ALLOW, f"seed {seed}"


def test_an_allow_ends_with_the_scope_that_lets_the_reader_in() -> None:
    """B6, TIM-03: the longest grant of any scope of the record; one without end, or a trusted claim, bounds none."""
    page = world(record(scopes=("staff", "board"), assessment_expires_at=at(DAY)))
    soon, later = grant(expires_at=at(1_500_000)), grant("board", expires_at=at(2_500_000))
    for grants, end in (
        ((soon,), at(1_500_000)),
        ((soon, later), at(2_500_000)),
        ((later, grant(expires_at=at(9)), soon), at(2_500_000)),
        ((soon, grant("board")), at(DAY)),
        ((soon, grant()), at(DAY)),
        ((soon, grant("sales")), at(1_500_000)),
    ):
        result = page.one(grants=edit(page.grants, grants=grants))
        assert (result.verdict, result.valid_until) == (Verdict.ALLOW, end)
    claiming = edit(
        page, principal=edit(page.principal, claimed_scopes=("board",)), grants=edit(page.grants, grants=(soon,))
    )
    trusted = edit(page.snapshot, claimed_scopes_from=frozenset({"agent-1"}))
    assert claiming.one().valid_until == at(1_500_000)
    assert claiming.one(snapshot=trusted).valid_until == at(DAY)
    assert page.one(grants=edit(page.grants, grants=(soon,))).use_within_ms == 1_500


def test_an_unbound_segment_has_no_end() -> None:
    """B12: talk rests on nothing, so nothing of it runs out."""
    talk = segment(kind="small-talk", grounding=Grounding.UNBOUND)
    asked = edit(world(), segments=(talk,), rules=(rule("talk", grounding=talk.grounding),))
    result = asked.one(moment=Moment.PUBLISH)
    assert (result.verdict, result.valid_until, result.bases) == (Verdict.ALLOW, None, ())
