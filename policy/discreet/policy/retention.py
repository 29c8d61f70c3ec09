"""The gates of what an operator decides over records: retention revokes, legal holds, suspensions, freezes.

A revoke takes its records away for good, a hold keeps them, and while a hold stands nothing is purged; the other two
only hide. What stands for a source or a whole tenant is judged here like what a record itself says. PURGE is said in
one line of this module and nowhere else.
"""

from collections.abc import Iterator

from discreet.policy.decision import Stop
from discreet.policy.facts import Hold, Revoke
from discreet.policy.subject import Root, Subject
from discreet.policy.words import Reason, Verdict


def purge_due(subject: Subject) -> Stop | None:
    """PURGE where any root is under a revoke that is due and none is under a legal hold: the one place that yields it.

    The order is that of the first such root that has one: each order that it is under lists the segment. Not where
    roots were left out: a hold may be on one of those.
    """
    now = subject.call.now
    due = [(root, revoke) for root, revoke in _revoked(subject) if now >= revoke.purge_not_before]
    if not due or subject.beyond or _held(subject) is not None:
        return None
    order_id = next((revoke.order_id for _, revoke in due if revoke.order_id), "")
    return Stop(Reason.RETENTION_REVOKED, Verdict.PURGE, due[0][0].ref, order_id=order_id)


def retention(subject: Subject) -> Stop | None:
    """What a revoke of any root comes to: PURGE; WITHHOLD under a hold, due or not; WITHHOLD where it is not due."""
    first = next(_revoked(subject), None)
    if first is None:
        return None
    held = _held(subject)
    if held is not None:
        return _kept(held, "revoked, and kept under")
    due = purge_due(subject)
    why = "not all that it rests on was looked at" if subject.beyond else "purge not due yet"
    return due if due is not None else Stop(Reason.RETENTION_REVOKED, ref=first[0].ref, detail=why)


def suspension(subject: Subject) -> Stop | None:
    """LEGAL_HOLD, SUSPENDED or FROZEN, in this order, where any root is; a frozen tenant shows nothing at all."""
    held = _held(subject)
    if held is not None:
        return _kept(held, "under")
    now = subject.call.now
    for root in subject.roots:
        if root.record is not None and root.record.suspended_at(now):
            return Stop(Reason.SUSPENDED, ref=root.ref)
    return _frozen(subject)


def _revoked(subject: Subject) -> Iterator[tuple[Root, Revoke]]:
    standing = subject.call.facts.standing
    for root in subject.roots:
        revoke = standing.revoke_of(root.record) if root.record is not None else None
        if revoke is not None:
            yield root, revoke


def _held(subject: Subject) -> tuple[Root, Hold] | None:
    """The first root that is under a hold, with the first hold on it."""
    standing = subject.call.facts.standing
    for root in subject.roots if standing.holds else ():
        holds = standing.holds_on(root.record) if root.record is not None else ()
        if holds:
            return root, holds[0]
    return None


def _kept(held: tuple[Root, Hold], how: str) -> Stop:
    root, hold = held
    return Stop(Reason.LEGAL_HOLD, ref=root.ref, detail=f"{how} hold {hold.hold_id}")


def _frozen(subject: Subject) -> Stop | None:
    """A freeze is of a source, so it is judged on what is known of a record; an absent version is like the others."""
    standing, now = subject.call.facts.standing, subject.call.now
    if not standing.freezes:
        return None
    everything = standing.frozen(None, now)
    if everything is not None:
        return Stop(Reason.FROZEN, detail=f"freeze {everything.freeze_id} of everything")
    for root in subject.roots:
        freeze = standing.frozen(root.known, now)
        if freeze is not None:
            return Stop(Reason.FROZEN, ref=root.ref, detail=f"freeze {freeze.freeze_id} of its source")
    return None
