"""How old a record is for the time that an assertion is about (A3), and until when it will be young enough."""

from discreet.policy.facts import Micros, RecordFacts
from discreet.policy.request import Claim
from discreet.policy.snapshot import Source
from discreet.policy.words import Freshness


def judge(record: RecordFacts | None, source: Source | None, claim: Claim, now: Micros, *, carries: bool) -> Freshness:
    """The freshness of a record for the claim's time.

    An assertion about now: `as_of` is at most the source's maximum age before now. One about a period that is over:
    `as_of` is at most that age before the period's end, and not after it, so an old record may speak of its own time
    and of no other. `as_of` unstated or in the future, a source that declares none, and a claim about what has not
    begun: UNKNOWN. A record of a source that does not age is never STALE; where it carries nothing of what is
    asserted (`carries` False) it is FRESH, else it needs a stated `as_of` that fits the claim all the same.
    """
    if record is None:
        return Freshness.MISSING
    if source is None:
        return Freshness.UNKNOWN
    if source.max_age_us is None and not carries:
        return Freshness.FRESH
    about = _about(claim, now)
    if record.as_of is None or about is None or record.as_of > about:
        return Freshness.UNKNOWN
    if source.max_age_us is not None and about - record.as_of > source.max_age_us:
        return Freshness.STALE
    return Freshness.FRESH


def _about(claim: Claim, now: Micros) -> Micros | None:
    """The latest time that the claim speaks of, never later than now; None where all of it lies ahead."""
    if claim.about is None:
        return now
    start, end = claim.about
    return None if start > now else min(end, now)


def fresh_until(record: RecordFacts, source: Source | None, claim: Claim) -> Micros | None:
    """When a record that is fresh for the claim stops being so; None: never by itself.

    A period that is not over yet is asserted about up to now, so its evidence ages until the period ends.
    """
    if source is None or source.max_age_us is None or record.as_of is None:
        return None
    last = record.as_of + source.max_age_us
    return None if claim.about is not None and claim.about[1] <= last else Micros(last + 1)
