"""Freshness is judged for the time that the assertion is about, from the record's own time, never for another."""

from __future__ import annotations

import pytest

from discreet.policy.freshness import judge
from discreet.policy.request import Claim
from discreet.policy.words import Freshness, Reason, Verdict
from tests.policy.decide.faults import claim, records, sources
from tests.policy.decide.world import DAY, SOURCES, World, at, evidence, figure_world, record, world

Period = tuple[int, int]
CASES = [
    # as_of, the period asserted about (None: now), and what must come of it; the feed's maximum age is one day.
    (-DAY, None, Reason.NONE),
    (-DAY - 1, None, Reason.STALE),
    (0, None, Reason.NONE),
    (1, None, Reason.FRESHNESS_UNKNOWN),
    (-9 * DAY, (-10 * DAY, -9 * DAY), Reason.NONE),
    (-10 * DAY, (-10 * DAY, -9 * DAY), Reason.NONE),
    (-10 * DAY - 1, (-10 * DAY, -9 * DAY), Reason.STALE),
    (-9 * DAY + 1, (-10 * DAY, -9 * DAY), Reason.FRESHNESS_UNKNOWN),
    (0, (-10 * DAY, -9 * DAY), Reason.FRESHNESS_UNKNOWN),
    (-9 * DAY, (-10 * DAY, 0), Reason.STALE),
    (-9 * DAY, (-10 * DAY, DAY), Reason.STALE),
    (-DAY, (-10 * DAY, 10 * DAY), Reason.NONE),
    (-DAY, (0, 10 * DAY), Reason.NONE),
    (-DAY, (1, 10 * DAY), Reason.FRESHNESS_UNKNOWN),
    (-3 * DAY, (-3 * DAY, -3 * DAY), Reason.NONE),
]


def _asked(as_of: int, about: Period | None) -> World:
    period = (at(about[0]), at(about[1])) if about is not None else None
    return claim(Claim("adjusted", period, ("value",)))(records(as_of=at(as_of))(figure_world()))


@pytest.mark.parametrize("as_of, about, reason", CASES)
def test_an_old_record_speaks_of_its_own_time_alone(as_of: int, about: Period | None, reason: Reason) -> None:
    """A3: within the maximum age before the end of what is asserted about, not after it, and never of what is ahead."""
    result = _asked(as_of, about).one()
    assert result.reason is reason
    expected = {Reason.NONE: Freshness.FRESH, Reason.STALE: Freshness.STALE}.get(reason, Freshness.UNKNOWN)
    assert [view.freshness for view in result.evidence] == [expected]


def test_a_period_that_is_over_never_ages() -> None:
    """A3: what was true of last week is as well supported in ten years; the assessment bounds the use, not the age."""
    assert _asked(-9 * DAY, (-10 * DAY, -9 * DAY)).one().valid_until == at(DAY)
    later = records(assessment_expires_at=at(4_000 * DAY))(_asked(-9 * DAY, (-10 * DAY, -9 * DAY)))
    assert later.one(now=at(3_650 * DAY)).verdict is Verdict.ALLOW


@pytest.mark.parametrize("about", [None, (-DAY, DAY)])
def test_an_answer_about_now_is_valid_until_its_evidence_ages(about: Period | None) -> None:
    """A3, B6: the answer names the instant at which it would be STALE, also within a period that is not over."""
    asked = _asked(-DAY + 1_500_000, about)
    result = asked.one()
    assert result.valid_until == at(1_500_001)
    assert result.use_within_ms == 1_500
    assert asked.one(now=at(1_500_000)).verdict is Verdict.ALLOW
    assert asked.one(now=at(1_500_001)).reason is Reason.STALE


def test_a_running_period_that_ends_in_time_bounds_nothing() -> None:
    """A3: evidence young enough at the period's end stays so for ever."""
    assert _asked(0, (-DAY, DAY)).one().valid_until == at(DAY)
    longer = records(assessment_expires_at=at(9 * DAY))(_asked(0, (-DAY, DAY)))
    assert longer.one().valid_until == at(9 * DAY)
    assert longer.one(now=at(8 * DAY)).verdict is Verdict.ALLOW


def test_a_source_that_does_not_age_still_wants_a_time_of_evidence() -> None:
    """A3: without `as_of` a figure is unusable from any source; with one it stays usable."""
    timeless = sources(max_age_us=None)(figure_world())
    assert timeless.one().verdict is Verdict.ALLOW
    assert records(as_of=at(-3_650 * DAY))(timeless).one().verdict is Verdict.ALLOW
    assert records(as_of=None)(timeless).one().reason is Reason.FRESHNESS_UNKNOWN


def test_a_document_ages_only_where_its_source_does() -> None:
    """A3, A4: a wiki page without a time is fine where nothing is claimed; a news page needs a fresh one."""
    assert world(record()).one().verdict is Verdict.ALLOW
    news = {"source_label": "news", "collector": "news-importer"}
    assert world(record(**news)).one().reason is Reason.FRESHNESS_UNKNOWN
    assert world(record(**news, as_of=at(-7 * DAY))).one().verdict is Verdict.ALLOW
    assert world(record(**news, as_of=at(-7 * DAY - 1))).one().reason is Reason.STALE


def test_each_carrier_of_a_claim_states_its_time() -> None:
    """A3: of two documents that carry a claim, one with a time does not lend it to the other."""
    dated = record("kb-1", as_of=at(-DAY), basis="adjusted")
    undated = record("kb-2", basis="adjusted")
    asked = Claim("adjusted")
    assert world(dated, claim=asked).one().verdict is Verdict.ALLOW
    assert world(undated, claim=asked).one().reason is Reason.EVIDENCE_MISSING
    assert world(dated, undated, claim=asked).one().reason is Reason.FRESHNESS_UNKNOWN


def test_basis_is_stated_and_is_the_one_asked() -> None:
    """A3: by exact text; an unstated basis is unusable even where none in particular is asked for."""
    for basis, asked, reason in (
        ("adjusted", "", Reason.NONE),
        ("adjusted", "Adjusted", Reason.BASIS_MISMATCH),
        ("adjusted ", "adjusted", Reason.BASIS_MISMATCH),
        ("", "", Reason.BASIS_MISMATCH),
    ):
        assert claim(Claim(asked))(records(basis=basis)(figure_world())).one().reason is reason


def test_fields_are_not_spliced_from_several_records() -> None:
    """A4: each carrier holds every required field, else the whole is unavailable and the fields are named."""
    both = world(
        evidence("quote-1", fields={"value": 1}),
        evidence("quote-2", fields={"unit": "EUR"}),
        claim=Claim("adjusted", None, ("value", "unit")),
    )
    result = both.one()
    assert result.reason is Reason.INCOMPLETE
    assert result.stop is not None
    assert result.stop.missing_fields == ("unit",)


def test_evidence_carries_where_both_are_bound() -> None:
    """A3: a document beside the evidence need not state time and basis; it must pass every other gate."""
    asked = Claim("adjusted", None, ("value",))
    assert world(evidence(), record(), claim=asked).one().verdict is Verdict.ALLOW
    assert world(evidence(), record(unreachable=True), claim=asked).one().reason is Reason.DOCUMENT_UNREACHABLE


def test_what_is_not_known_is_never_fresh() -> None:
    """A4: no record is `missing`, no declared source is `unknown`, whatever the claim."""
    for carries in (True, False):
        assert judge(None, SOURCES["wiki"], Claim(), at(0), carries=carries) is Freshness.MISSING
        assert judge(record(as_of=at(-1)), None, Claim(), at(0), carries=carries) is Freshness.UNKNOWN
