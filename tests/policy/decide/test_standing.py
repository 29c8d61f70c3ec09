"""What stands above single records: source revokes, legal holds, freezes; and a suspension that ends by itself."""

from __future__ import annotations

import pytest

from discreet.policy.facts import Target
from discreet.policy.request import Segment
from discreet.policy.words import Effect, Gate, Grounding, Moment, Reason, Verdict
from tests.policy.decide.faults import HELD, Fault, bindings, held, passing, records, stand
from tests.policy.decide.replies import reply, reply_bytes, row
from tests.policy.decide.world import (
    DAY,
    SECOND,
    World,
    at,
    binding_to,
    edit,
    figure_world,
    freeze,
    holds,
    record,
    revoke,
    rule,
    segment,
    stands,
    token,
    world,
)

WIKI = Target("wiki")
SMALL_TALK = Segment("s1", "small-talk", Grounding.UNBOUND, digest="c" * 64)
TALK = rule("talk", grounding=Grounding.UNBOUND, kinds=frozenset({"small-talk"}))


def _reasons(given: World, **changes: object) -> tuple[Verdict, Reason, Gate]:
    result = given.one(**changes)
    return result.verdict, result.reason, result.gate


def test_a_revoked_source_takes_everything_under_it_whatever_its_records_say() -> None:
    """B7, F3: a source revoke is a standing fact; what was registered before and after it is under it alike."""
    revoked = stands(revoked_sources={"wiki": revoke(order_id="order-7")})
    for given in (world(), world(record(revision=10**6)), world(record(superseded_by=record("kb-2").ref))):
        result = given.one(standing=revoked)
        assert (result.verdict, result.reason, result.purge_order_id) == (
            *(Verdict.PURGE, Reason.RETENTION_REVOKED),
            "order-7",
        )
    other = record("kb-2", source_label="news", collector="news-importer", as_of=at(-DAY))
    assert world(other).one(standing=revoked).verdict is Verdict.ALLOW
    assert world(other, record()).one(standing=revoked).verdict is Verdict.PURGE


def test_a_source_revoke_hides_at_once_and_purges_from_its_time_on() -> None:
    """B7, B8: before `purge_not_before` it is WITHHOLD, at that instant PURGE, for the draft and for what is stored."""
    for late, verdict in ((1, Verdict.WITHHOLD), (0, Verdict.PURGE), (-1, Verdict.PURGE)):
        standing = stands(revoked_sources={"wiki": revoke(at(late))})
        for given in (world(), world().replayed(), world().replayed(moment=Moment.EXPORT)):
            assert (given.one(standing=standing).verdict, given.one(standing=standing).reason) == (
                *(verdict, Reason.RETENTION_REVOKED),
            )


def test_a_records_own_revoke_counts_before_that_of_its_source() -> None:
    """F3: its terms were set for it; a later revoke of the source neither hurries nor delays its purge."""
    own = world(record(revoked=revoke(at(DAY), order_id="order-1")))
    assert own.one(standing=stands(revoked_sources={"wiki": revoke(order_id="order-2")})).verdict is Verdict.WITHHOLD
    due = world(record(revoked=revoke(order_id="order-1")))
    later = due.one(standing=stands(revoked_sources={"wiki": revoke(at(DAY), order_id="order-2")}))
    assert (later.verdict, later.purge_order_id) == (Verdict.PURGE, "order-1")


@pytest.mark.parametrize("hold", HELD, ids=str)
@pytest.mark.parametrize("late", [-1, 0, 1])
def test_a_hold_keeps_what_is_revoked(hold: Fault, late: int) -> None:
    """F3, B8: while it is held nothing is purged and nothing shown, due or not; once it is lifted the revoke counts."""
    revoked = records(revoked=revoke(at(late)))
    for given in (passing(), passing().replayed(), passing().replayed(moment=Moment.EXPORT)):
        kept = revoked(hold.change(given))
        assert _reasons(kept) == (Verdict.WITHHOLD, Reason.LEGAL_HOLD, Gate.RETENTION)
        assert (kept.one().purge_order_id, kept.one().bases) == ("", ())
        lifted = revoked(given).one()
        assert lifted.verdict is (Verdict.WITHHOLD if late > 0 else Verdict.PURGE)


def test_a_hold_on_one_root_keeps_all_that_rests_on_it() -> None:
    """F3: a segment on a held record and on a revoked one holds the text of both; it is kept whole."""
    pair = world(record("kb-1"), record("kb-2", revoked=revoke()))
    for target in (Target("", "kb-1"), Target("", "kb-1", "1"), Target("", "kb-2")):
        for given in (pair, pair.replayed()):
            result = given.one(standing=stands(holds=holds(target)))
            assert (result.verdict, result.reason) == (Verdict.WITHHOLD, Reason.LEGAL_HOLD)
            assert result.stop is not None
            assert result.stop.detail.endswith("hold hold-1")
    assert pair.one(standing=stands(holds=holds(Target("", "kb-1", "2"), Target("news")))).verdict is Verdict.PURGE


def test_a_held_record_is_shown_to_nobody_and_again_once_the_hold_is_lifted() -> None:
    """B8: kept, whether revoked or not; lifting shows it again."""
    for given in (world(), world().replayed(), world().replayed(moment=Moment.EXPORT)):
        assert _reasons(given, standing=stands(holds=holds(WIKI)))[:2] == (Verdict.WITHHOLD, Reason.LEGAL_HOLD)
        assert given.one(standing=stands(holds={})).verdict is Verdict.ALLOW


def test_no_reader_is_told_to_purge_what_is_held() -> None:
    """B11, F11: by ledger id a held revoke comes behind gate 0: a foreign reader gets what an unknown id gives."""
    foreign = world(record(revoked=revoke())).replayed(principal_id="bo")
    assert foreign.one().verdict is Verdict.PURGE
    kept = edit(foreign, standing=stands(holds=holds(WIKI)))
    unknown = edit(kept, ledger={}, stored={})
    assert kept.one().reason is Reason.PRINCIPAL_MISMATCH
    assert reply_bytes(kept) == reply_bytes(unknown)


def test_a_freeze_ends_by_itself() -> None:
    """B8: a freeze of a source or of all withholds until before its end, deletes nothing, and shows again."""
    for label in ("", "wiki"):
        standing = stands(freezes=(freeze(label, at(0)),))
        for given in (world(), world().replayed(), world().replayed(moment=Moment.EXPORT)):
            before = _reasons(given, standing=standing, now=at(-1))
            assert before == (Verdict.WITHHOLD, Reason.FROZEN, Gate.SUSPENSION)
            assert given.one(standing=standing, now=at(0)).verdict is Verdict.ALLOW
    assert world().one(standing=stands(freezes=(freeze("news"),))).verdict is Verdict.ALLOW


def test_a_freeze_of_everything_freezes_what_rests_on_nothing() -> None:
    """B8, B12: a frozen tenant says nothing at all; the freeze of a source says nothing of small talk."""
    talk = edit(world(), segments=(SMALL_TALK,), rules=(TALK,))
    assert talk.one().verdict is Verdict.ALLOW
    assert talk.one(standing=stands(freezes=(freeze("wiki"),))).verdict is Verdict.ALLOW
    assert talk.one(standing=stands(freezes=(freeze(),))).reason is Reason.FROZEN
    assert talk.replayed().one(standing=stands(freezes=(freeze(),))).reason is Reason.FROZEN


def test_a_suspension_ends_at_its_time() -> None:
    """B8: suspended until before that instant, then as if it had never been; without a time it does not end."""
    timed = record(suspended=True, suspended_until=at(0))
    for given in (world(timed), world(timed).replayed(), world(timed).replayed(moment=Moment.EXPORT)):
        assert _reasons(given, now=at(-1)) == (Verdict.WITHHOLD, Reason.SUSPENDED, Gate.SUSPENSION)
        assert given.one(now=at(0)).verdict is Verdict.ALLOW
    assert world(record(suspended=True)).one(now=at(10**9)).reason is Reason.SUSPENDED
    seen = rule("seen", Effect.WITHHOLD, "document.suspended")
    assert world(timed).one(rules=(rule("open"), seen)).verdict is Verdict.ALLOW


def test_what_only_opens_with_time_ends_no_permission() -> None:
    """B6, TIM-03: an end of a suspension or a freeze cuts no ALLOW short; what cuts it is the same with and without."""
    over = record(suspended=True, suspended_until=at(-1))
    standing = stands(freezes=(freeze("wiki", at(-1)), freeze("news", at(5))))
    assert world(over).one(standing=standing).valid_until == world().one().valid_until == at(DAY)


def test_hold_before_suspension_before_freeze() -> None:
    """A4, B9: within the gate the order is fixed, whatever the order of facts and roots."""
    frozen, kept = stands(freezes=(freeze("news"), freeze("wiki"))), holds(Target("", "kb-2"))
    both = world(record("kb-1", suspended=True), record("kb-2"))
    assert both.one(standing=edit(frozen, holds=kept)).reason is Reason.LEGAL_HOLD
    assert both.one(standing=frozen).reason is Reason.SUSPENDED
    assert world().one(standing=frozen).reason is Reason.FROZEN


def test_a_hidden_version_under_a_hold_is_as_one_that_never_was() -> None:
    """F11: whether an older version exists that a reader may not see is not told by what stands over it."""
    old = record("kb-1", "1", current=False, scopes=("board",))
    new = record("kb-1", "2")
    due = record("kb-3", revoked=revoke())
    asked = (segment(binding_to(old)), segment(binding_to(old), binding_to(due)))
    standings = (stands(holds=holds(Target("", "kb-1", "1"))), stands())
    for one in asked:
        answers = {
            reply_bytes(World(known, (one,), standing=standing))
            for known in ((old, new, due), (new, due))
            for standing in standings
        }
        assert len(answers) == 1


def test_the_audit_names_what_stood_and_what_decided() -> None:
    """B3, A16, F3: the standing facts by their revision, the states of each record, the hold, the freeze, the order."""
    given = held(Target("", "quote-1"))(stand(freezes=(freeze("ledger-feed"),))(passing()))
    written = row(given)
    assert [(f.id, f.revision) for f in written.facts if f.kind == "standing"] == [("", 600)]
    assert [list(f.states) for f in written.facts if f.kind == "record"] == [["current", "frozen", "held"]]
    (decision,) = written.decisions
    assert (Reason(decision.reason), decision.detail) == (Reason.LEGAL_HOLD, "under hold hold-1")
    assert decision.deciding_record.record_id == "quote-1"
    (frozen,) = row(stand(freezes=(freeze(),))(passing())).decisions
    assert frozen.detail == "freeze freeze-1 of everything"
    assert not frozen.HasField("deciding_record")
    purged = stand(revoked_sources={"ledger-feed": revoke(order_id="order-7")})(passing().replayed())
    assert row(purged).decisions[0].purge_order_id == reply(purged).results[0].purge_order_id == "order-7"
    assert [list(f.states) for f in row(purged).facts if f.kind == "record"] == [["current", "revoked"]]
    assert row(passing()).decisions[0].purge_order_id == ""


def test_the_first_order_that_there_is_goes_to_whoever_holds_the_copy() -> None:
    """F3, B11: a revoke from before orders were kept has none; foreign readers get the same order, and no more."""
    pair = world(record("kb-1", revoked=revoke(order_id="")), record("kb-2", revoked=revoke(order_id="order-2")))
    for given in (pair, pair.replayed(), pair.replayed(principal_id="bo")):
        assert given.one().purge_order_id == "order-2"
    assert world(record(revoked=revoke(order_id=""))).one().purge_order_id == ""


def test_the_row_says_that_what_stands_changed_since_the_binding_was_read() -> None:
    """B3: a hold or freeze that came after the read is named as a fact that changed."""
    for revision, expected in ((899, [("standing", "", 850, 899)]), (850, [])):
        given = bindings(granted_under=token(850))(stand(freezes=(freeze(),))(figure_world()))
        found = row(edit(given, standing=edit(given.standing, revision=revision))).decisions[0].changed
        assert [(c.kind, c.id, c.from_revision, c.to_revision) for c in found] == expected


def test_time_does_not_pass_on_for_what_has_ended() -> None:
    """B8, TIM-03: the end of a freeze in the past frees at once, however many there were."""
    many = stands(freezes=tuple(freeze("wiki", at(-second * SECOND)) for second in range(64)))
    assert world().one(standing=many).verdict is Verdict.ALLOW
