"""The checker finds what is wrong: each rule on a history made by hand in which one thing was broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.history import changes
from tests.history.checking import violations
from tests.history.events import NEVER, Call, Outcome, Told, decoded, encoded
from tests.history.final import AuditEntry, Final, LedgerRow, Order, Part, StandingState
from tests.history.handmade import DESKED, A, B, call, calls, changed, committed, final, state, told
from tests.history.world import records_of, ref_of


def rules(history: Sequence[Call], held: Final) -> set[str]:
    """The rules that a history breaks."""
    return {one.rule for one in violations(history, held)}


def broken_by(*more: Call, held: Final | None = None) -> set[str]:
    """What is wrong once these calls are added."""
    return rules([*calls(), *more], held or final())


def test_a_right_history_is_right() -> None:
    """B6: a commit before, a refusal under, a replay after a suspension; a purge after a revoke, none under a hold."""
    assert rules(calls(), final()) == set()


def test_calls_come_back_from_their_file_as_they_were() -> None:
    """What is checked is what was seen."""
    assert [decoded(encoded(one)) for one in calls()] == calls()


def test_an_allow_that_began_after_a_change_returned_is_found() -> None:
    """B6, F5: whatever the numbers say, real time alone convicts it; one that overlaps with the change goes free."""
    late = call("cy replay", 5, 6, seq=-1, told=(told("ALLOW", A, ledger_id="l1"),))
    assert "against a change" in broken_by(late)
    assert "against a change" not in broken_by(replace(late, began=4 * 10**6 - 1))
    assert "against a change" not in broken_by(replace(late, ended=8 * 10**6))


def test_a_change_whose_end_is_unknown_convicts_nobody_and_may_end_a_block() -> None:
    """An unknown outcome may have come at any time, or never."""
    history = calls()
    history[1] = replace(history[1], outcome=Outcome.UNKNOWN)
    late = call("cy replay", 5, 6, seq=-1, told=(told("ALLOW", A, ledger_id="l1"),))
    assert "against a change" not in rules([*history, late], final())
    history = calls()
    resumed = changed("bo", 4, 5, -1, "h:9", "suspended", f"ref:{A}", blocks=False)
    assert "against a change" not in rules([*history, late, replace(resumed, outcome=Outcome.UNKNOWN)], final())


def test_a_block_with_an_end_of_its_own_counts_up_to_it() -> None:
    """A suspension until a time, or a freeze, forbids nothing past it."""
    history = calls()
    suspended = history[1]
    assert suspended.change is not None
    until = suspended.wall + 1_000
    history[1] = replace(suspended, change=replace(suspended.change, until_us=until))
    inside = call("cy replay", 4, 4, seq=-1, told=(told("ALLOW", A, ledger_id="l1"),))
    inside = replace(inside, began=inside.began + 1, ended=inside.ended + 2)
    assert "against a change" in rules([*history, inside], final())
    assert "against a change" not in rules([*history, replace(inside, ended=inside.ended + 10**6)], final())


def test_a_block_that_another_replaces_counts_up_to_the_end_of_that_one() -> None:
    """A suspension without an end, then one until a time: past that time nothing is suspended."""
    again = changed("bo", 4, 5, -1, "h:9", "suspended", f"ref:{A}")
    assert again.change is not None
    late = call("cy replay", 6, 6, seq=-1, told=(told("ALLOW", A, ledger_id="l1"),))
    assert "against a change" in rules([*calls(), again, late], final())
    for outcome in (Outcome.ANSWERED, Outcome.UNKNOWN):
        until = replace(again.change, until_us=again.wall + 500)
        ending = replace(again, change=until, outcome=outcome)
        assert "against a change" not in rules([*calls(), ending, late], final())


def test_what_was_given_up_for_being_overtaken_convicts_nobody() -> None:
    """Withheld since the facts kept changing, whatever the last of them were."""
    given_up = replace(told("WITHHOLD", B, reason="DEPENDENCY_UNAVAILABLE"), order="OVERTAKEN")
    assert "withheld without a cause" not in broken_by(call("cy commit", 3, 4, seq=4, told=(given_up,)))
    assert "withheld without a cause" in broken_by(
        call("cy commit", 3, 4, seq=4, told=(replace(given_up, order="REFUSED"),))
    )


def test_a_withdrawn_scope_and_a_frozen_label_convict_too() -> None:
    """B6: changes on readers, labels and tenants cover what rests on them, and nothing else."""
    after = call("cy check", 40, 41, told=(told("ALLOW", DESKED),))
    for key in ("desk:p0", "label:src-0", "tenant", f"ref:{DESKED}"):
        assert "against a change" in broken_by(changed("bo", 30, 31, 10, "h:4", "x", key), after)
    for key in ("desk:p1", "label:src-1", f"ref:{B}"):
        assert "against a change" not in broken_by(changed("bo", 30, 31, 10, "h:4", "x", key), after)


def test_gaps_doubles_and_numbers_beyond_the_head_are_found() -> None:
    """F5: the numbers of all tables together are one order."""
    held = final()
    held.numbered["ledger"] = [4]
    assert "a gap" in rules(calls(), held)
    held.numbered["ledger"] = [4, 5, 9]
    assert "a number twice" in rules(calls(), held)
    held.numbered["ledger"] = [4, 9, 11]
    assert "beyond the head" in rules(calls(), held)


def test_numbers_against_real_time_are_found() -> None:
    """F1: what began after an end has a higher number, and reads no older state."""
    assert "an older state" in broken_by(call("cy check", 21, 22, seq=9, told=()))
    history = calls()
    history[7] = replace(history[7], began=1, ended=2)
    history[0] = replace(history[0], began=15 * 10**6, ended=16 * 10**6)
    assert "against real time" in rules(history, final())


def test_an_older_policy_after_a_newer_one_is_found() -> None:
    """F1, F2: by any client, and so by each."""
    newer = call("cy check", 21, 22, seq=10, policy=2)
    assert "an older policy" in broken_by(newer, call("ana check", 23, 24, seq=10, policy=1))
    assert "an older policy" not in broken_by(newer, call("ana check", 22, 24, seq=10, policy=1))


def test_a_purge_without_a_revoke_is_found() -> None:
    """B7, B8: nothing else leads to PURGE, and none that has not begun."""
    purge = told("PURGE", B, ledger_id="l2", reason="RETENTION_REVOKED")
    assert "purged without a revoke" in broken_by(call("cy replay", 30, 31, seq=10, told=(purge,)))
    history = calls()
    history[6] = replace(history[6], began=9 * 10**6, ended=10 * 10**6)
    assert "purged without a revoke" in rules(history, final())
    history[5] = replace(history[5], outcome=Outcome.REFUSED)
    assert "purged without a revoke" in rules(history, final())


@pytest.mark.parametrize("ref", ["b0022/r09@1", "b0022/r36@1"])
def test_a_revoke_by_query_is_known_to_cover_what_it_names(ref: str) -> None:
    """B7: wherever the client is by then: what it revokes of an earlier block is no purge without a revoke."""
    request, keys = changes.by_query(ref)
    named = [one for one in records_of(22) if one.startswith(request.query.record_id_prefix)]
    assert list(keys) == [f"ref:{ref_of(one)}" for one in named]
    assert f"ref:{ref}" in keys


def test_a_purge_before_its_time_or_under_a_hold_is_found() -> None:
    """B7: a revoke that is not due hides, and so does one that a hold covers."""
    history = calls()
    revoke = history[5]
    assert revoke.change is not None
    history[5] = replace(revoke, change=replace(revoke.change, due_us=NEVER))
    assert "purged before its time" in rules(history, final())
    purge = told("PURGE", A, ledger_id="l1", reason="RETENTION_REVOKED")
    assert "purged under a hold" in broken_by(call("cy replay", 21, 22, seq=10, told=(purge,)))
    derived = replace(told("PURGE", B, A, key="s/y/s0", order="REFUSED", reason="RETENTION_REVOKED"), own=1)
    assert "purged under a hold" not in broken_by(call("cy commit", 21, 22, seq=10, told=(derived,)))


def test_a_replay_that_withholds_what_is_due_is_found() -> None:
    """B7: who holds a copy is told to purge it."""
    hidden = told("WITHHOLD", A, ledger_id="l1", reason="RETENTION_REVOKED")
    assert "not purged" in broken_by(call("cy replay", 13, 14, seq=8, told=(hidden,)))


def test_a_revoke_of_its_own_keeps_its_time_under_a_revoked_source() -> None:
    """B7: a version that was revoked for later is not purged sooner because its source was revoked, too."""
    held = final()
    held.records[A][-1] = state(7, revoked=True, order_id="o1", due_us=NEVER)
    held.standing.insert(0, StandingState(8, "source-revoke", "o2", False, "src-0", "", 0))
    hidden = told("WITHHOLD", A, ledger_id="l1", reason="RETENTION_REVOKED")
    assert "not purged" not in broken_by(call("cy replay", 13, 14, seq=8, told=(hidden,)), held=held)
    other = told("WITHHOLD", B, ledger_id="l2", reason="RETENTION_REVOKED")
    assert "not purged" in broken_by(call("cy replay", 17, 18, seq=9, told=(other,)), held=held)


def test_verdicts_that_the_numbered_facts_do_not_bear_out_are_found() -> None:
    """F5: an ALLOW that the state named by its token forbids, and a WITHHOLD that nothing explains."""
    allowed = call("cy check", 3, 6, seq=5, told=(told("ALLOW", A),))
    assert "allowed against the order" in broken_by(allowed)
    assert "allowed against the order" not in broken_by(replace(allowed, seq=6))
    table = replace(told("ALLOW", B), kind="table")
    assert "allowed against the order" in broken_by(call("cy check", 3, 4, seq=4, told=(table,)))
    assert "withheld without a cause" in broken_by(call("cy check", 3, 4, seq=4, told=(told("WITHHOLD", B),)))
    held = final()
    held.records[B][0] = state(2, assessed_until_us=5)
    assert "allowed against the order" in rules(calls(), held)
    held = final()
    held.grants = {}
    assert "allowed against the order" in broken_by(
        call("cy check", 3, 4, seq=4, told=(told("ALLOW", DESKED),)), held=held
    )
    held = final()
    held.standing.append(StandingState(9, "freeze", "f", False, "", "", NEVER))
    assert "allowed against the order" in rules(calls(), held)


def test_a_lost_or_altered_ledger_row_is_found() -> None:
    """F4: every COMMITTED answer is in the ledger, as it was answered."""
    held = final()
    del held.ledger["l2"]
    assert {"lost", "audit without ledger"} <= rules(calls(), held)
    for row in (replace(final().ledger["l2"], key="other"), replace(final().ledger["l2"], roots=(A,))):
        held = final()
        held.ledger["l2"] = row
        assert "differs" in rules(calls(), held)
    history = calls()
    history[7] = replace(history[7], seq=10)
    assert "differs" in rules(history, final())


def test_rows_that_nobody_asked_for_or_that_were_refused_are_found() -> None:
    """F4, F7: nothing from nowhere, nothing twice, nothing after a refusal; an unknown outcome may be either."""
    held = final()
    held.ledger["l3"] = LedgerRow("l3", "s/x/s0", 6, 1, (1, 3), (A,))
    assert {"refused and written", "ledger without audit"} <= rules(calls(), held)
    lost = replace(calls()[2], outcome=Outcome.UNKNOWN)
    assert "refused and written" not in rules([*calls(), lost], held)
    held.ledger["l3"] = replace(held.ledger["l3"], key="s/never/s0")
    assert "from nowhere" in rules(calls(), held)
    held.ledger["l3"] = replace(held.ledger["l3"], key="s/l1/s0")
    assert "twice" in rules(calls(), held)


def test_ledger_and_audit_that_differ_are_found() -> None:
    """F4, F7: each row in one audit row of the same transaction."""
    held = final()
    held.audit.pop(0)
    assert "ledger without audit" in rules(calls(), held)
    held = final()
    held.audit.append(AuditEntry((1, 7), committed=("l1",)))
    assert {"ledger without audit", "audit elsewhere"} <= rules(calls(), held)


def test_changes_on_record_that_nobody_made_or_twice_are_found() -> None:
    """F7: each change once, by a call that was not refused."""
    for mark, rule in (("h:1", "twice"), ("h:77", "from nowhere")):
        held = final()
        held.audit.append(AuditEntry((1, 7), mark, 10))
        assert rule in rules(calls(), held)
    history = calls()
    history[1] = replace(history[1], outcome=Outcome.REFUSED)
    assert "refused and written" in rules(history, final())


def test_a_broken_chain_is_found() -> None:
    """F7: what the recomputation of the links says is reported."""
    held = final()
    held.broken_links.append("link 3 of v0")
    assert "the audit chain" in rules(calls(), held)


def test_a_report_that_was_lost_or_never_made_is_found() -> None:
    """F4: what was confirmed as shown is on record so, and nothing else is."""
    held = final()
    held.shown = frozenset()
    assert "report lost" in rules(calls(), held)
    held.shown = frozenset({"l1", "l2"})
    assert "from nowhere" in rules(calls(), held)
    unknown = Told("", "l1", "", (), "NO_SUCH", "", decided=False)
    assert "report refused" in broken_by(call("ana report", 21, 22, told=(unknown,)))


def test_what_a_holder_was_promised_is_there() -> None:
    """F3: an answer that was taken down is found, each item is handed to each holder of its kind, done means done."""
    ack = changed("answers", 21, 22, 10, "h:8", "acknowledged", "o1/1/NOT_FOUND", blocks=False, instance="other")
    assert "answer lost" in broken_by(ack)
    held = final()
    held.holders["second"] = "SEGMENT_STORE"
    assert "not handed out" in rules(calls(), held)
    held = final()
    held.done["o1"] = False
    assert "done or not" in rules(calls(), held)


def test_an_order_that_nobody_has_a_part_in_is_done_once_it_is_due() -> None:
    """F3: before then something may still come to be told; in the moment itself either is right."""
    for due, asked, said, right in (
        (50, (60, 70), True, True), (50, (60, 70), False, False), (80, (60, 70), False, True),
        (80, (60, 70), True, False), (65, (60, 70), True, True), (65, (60, 70), False, True),
    ):  # fmt: skip
        held = final()
        held.orders[0] = Order("o1", 8, due, tuple(replace(item, parts=()) for item in held.orders[0].items))
        held.done["o1"], held.asked_us = said, asked
        assert ("done or not" in rules(calls(), held)) is not right


def test_what_was_revoked_and_is_registered_again_is_found() -> None:
    """F3: a tombstone refuses it from the revoke's answer on."""
    put = changed("cy", 21, 22, 10, "h:9", "put", f"ref:{A}", blocks=False, instance="KIND_CREATED")
    assert "brought back" in broken_by(put)
    assert "brought back" not in broken_by(replace(put, began=11 * 10**6))


def test_an_order_that_covers_too_little_or_too_much_is_found() -> None:
    """F3: exactly the segments, and the records, that rest on what was revoked, as of the order's number."""
    held = final()
    held.orders[0] = replace(held.orders[0], items=held.orders[0].items[1:])
    assert "not covered" in rules(calls(), held)
    held = final()
    first = held.orders[0].items[0]
    held.orders[0] = replace(held.orders[0], items=(*held.orders[0].items, replace(first, item=3, ledger_id="l2")))
    assert "covered without cause" in rules(calls(), held)
    held.orders[0] = replace(held.orders[0], items=(*final().orders[0].items, replace(first, item=3)))
    assert "an item twice" in rules(calls(), held)
    held = final()
    held.orders[0] = replace(held.orders[0], items=held.orders[0].items[:1])
    assert "not covered" in rules(calls(), held)


def test_what_was_built_on_a_revoked_record_is_in_the_order() -> None:
    """F3: a quote falls with its document, and is named so; one that was revoked before is not named again."""
    held = final()
    held.records["b0000/r34@1"] = [state(3)]
    assert "not covered" in rules(calls(), held)
    held.records["b0000/r34@1"] = [state(3, revoked=True, order_id="o0")]
    assert "not covered" not in rules(calls(), held)


def test_a_source_revoke_covers_what_was_there_before_it() -> None:
    """F3: what a label's records bore when the order was made, and nothing that was committed later."""
    held = final()
    held.standing.append(StandingState(8, "source-revoke", "o1", False, "src-0", "", 0))
    assert "not covered" in rules(calls(), held)


def test_an_item_done_without_an_answer_is_found() -> None:
    """F3: done only when every item was answered so."""
    held = final()
    item = held.orders[0].items[0]
    items = (replace(item, parts=(Part("store", "PURGED", ("FAILED",)),)), *held.orders[0].items[1:])
    held.orders[0] = replace(held.orders[0], items=items)
    assert "done unanswered" in rules(calls(), held)


def test_a_commit_after_the_history_is_part_of_it() -> None:
    """The helper's own parts fit: a commit that the database does not have is lost."""
    assert "lost" in broken_by(committed("cy", 21, 22, 11, "l9", B))
