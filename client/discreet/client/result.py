"""What a caller reads: one result a segment, and the answer that holds them.

A result is only as good as its time: past `use_within` an ALLOW counts as WITHHOLD. That time runs from when the
question left, on a clock that goes on while the machine sleeps, so that an answer that lay in a buffer is not taken for
a fresh one. This module knows no message and no channel.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from discreet.client.texts import fixed_text
from discreet.client.words import (
    ActionTendency,
    Freshness,
    Gate,
    Moment,
    Next,
    OrderKind,
    Reason,
    Verdict,
)

# Gives seconds that never go back.
Clock = Callable[[], float]


def steady_clock() -> float:
    """Seconds since boot, time asleep included; where the system has no such clock, seconds that only never go back."""
    boot: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer of the server to go by.

    `code` is the gRPC status by name, or MALFORMED_ANSWER, EXPIRED or FORKED. `INVALID_ARGUMENT`, `UNAUTHENTICATED` and
    `PERMISSION_DENIED` are faults of the caller, which no repetition mends.
    """

    code: str
    message: str = ""

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" if self.message else self.code


CALLER_FAULTS = frozenset(
    {"INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED", "FAILED_PRECONDITION", "UNIMPLEMENTED", "FORKED"}
)


# The call itself is faulty: asked again, it is refused again.
REFUSED_FOR_GOOD = frozenset({"INVALID_ARGUMENT", "ALREADY_EXISTS"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the index knows behind one binding; masked (empty) where the reason is NOT_AVAILABLE."""

    source_label: str = ""
    allowlisted: bool = False
    trusted_hit: bool = False
    freshness: Freshness = Freshness.UNSPECIFIED
    source_id: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """What is missing: of source, time, basis, field, version, scope, rule, service; and of which record."""

    kind: str = ""
    record_id: str = ""
    version: str = ""
    missing_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What may happen to one segment, and why.

    Show the segment only where `allowed` is true, else show `text`. `verdict` is what was answered, and does not age;
    `allowed` and `text` count the time. A result of a check at PUBLISH is advice: its verdict says what would be
    allowed, `allowed` is false, since only a commit permits to publish.
    """

    segment_id: str
    verdict: Verdict = Verdict.WITHHOLD
    reason: Reason = Reason.DEPENDENCY_UNAVAILABLE
    moment: Moment = Moment.PUBLISH
    advice: bool = False
    custom_reason: str = ""
    gate: Gate = Gate.DEPENDENCY
    rule: str = ""
    disclosure: str = ""
    template_id: str = ""
    next: Next = Next.NONE
    action_tendency: ActionTendency = ActionTendency.NONE
    gap: Gap | None = None
    evidence: tuple[Evidence, ...] = ()
    receipts: tuple[str, ...] = ()
    use_within_ms: int = 0
    decision_id: str = ""
    # PURGE: the order to delete the copy under, where there is one.
    purge_order_id: str = ""
    ledger_id: str = ""
    order: OrderKind | None = None
    store_by: datetime | None = None
    # The same on `clock`, so that a wall clock that is set back gives no more time; None: no such time.
    store_until: float | None = field(default=None, repr=False, compare=False)
    token: str = ""
    locale: str = "en"
    error: Failure | None = None
    asked_at: float = field(default=0.0, repr=False, compare=False)
    clock: Clock = field(default=steady_clock, repr=False, compare=False)

    def expired(self, clock: Clock | None = None) -> bool:
        """Whether an ALLOW is past its time and counts as WITHHOLD; ask again."""
        now = (clock or self.clock)()
        return self.verdict is Verdict.ALLOW and not 0 <= now - self.asked_at <= self.use_within_ms / 1000

    @property
    def allowed(self) -> bool:
        """Whether the segment may be shown (RETRIEVE: taken into a context) at this instant."""
        return self.verdict is Verdict.ALLOW and not self.advice and not self.expired()

    @property
    def purge(self) -> bool:
        """Whether stored copies must be deleted: from an explicit retention revoke and from nothing else."""
        return self.verdict is Verdict.PURGE

    @property
    def text(self) -> str:
        """The fixed text to show in the segment's place; empty exactly where it may be shown."""
        if self.allowed:
            return ""
        return self.disclosure or fixed_text(self.reason, self.locale)

    @property
    def permits(self) -> bool:
        """Whether the verdict is a permission, whatever time has passed since."""
        return self.verdict is Verdict.ALLOW and not self.advice

    @property
    def undecided(self) -> bool:
        """Whether nothing could be decided: the sidecar failed or is unclear, the outcome of a commit unknown.

        What is faulty itself will never be decided, and is not meant.
        """
        faulty = self.error is not None and self.error.code in REFUSED_FOR_GOOD
        return self.gate is Gate.DEPENDENCY and not faulty

    def may_store(self, now: datetime | None = None) -> bool:
        """Whether a copy of what was shown may still be stored: a commit allowed it, and `store_by` has not passed.

        It has passed when either clock says so: the wall clock (or `now`), or the one that is never set.
        """
        if not self.permits or not self.ledger_id or self.store_by is None or self.store_until is None:
            return False
        return (now or datetime.now(UTC)) < self.store_by and self.clock() < self.store_until

    def now(self) -> "Result":
        """The result as it counts at this instant: itself, or WITHHOLD where it has expired."""
        if not self.expired():
            return self
        late = Failure("EXPIRED", f"the verdict held for {self.use_within_ms} ms; ask again")
        return replace(
            self,
            verdict=Verdict.WITHHOLD,
            reason=Reason.DEPENDENCY_UNAVAILABLE,
            gate=Gate.DEPENDENCY,
            receipts=(),
            use_within_ms=0,
            action_tendency=ActionTendency.NONE,
            error=late,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """The results of one question, one a segment or ledger id, in the order asked.

    A question over the size of one call is asked in several: then token, policy and instance are those of the last one
    answered (each result has its own token), and `errors` holds what failed.
    """

    results: tuple[Result, ...]
    token: str = ""
    policy_revision: int = 0
    policy_commit: str = ""
    instance: str = ""
    request_ids: tuple[str, ...] = ()
    errors: tuple[Failure, ...] = ()

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, segment_id: str) -> Result:
        """The result of a segment, or of a ledger id."""
        for result in self.results:
            if result.segment_id == segment_id:
                return result
        raise KeyError(segment_id)

    @property
    def error(self) -> Failure | None:
        """The first failure, if any call of the question failed."""
        return self.errors[0] if self.errors else None

    @property
    def everything_withheld(self) -> bool:
        """Whether nothing may be shown or used."""
        return not any(result.allowed for result in self.results)
