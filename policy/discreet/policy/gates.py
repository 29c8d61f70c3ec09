"""The gates, in code and beneath the policy: a policy can tighten what they let through and loosen nothing.

Each gate takes a subject and gives the Stop that ends it, or None. Within a gate, roots are looked at in order and the
first that fails decides. The order of the gates is fixed (B11, A4); PURGE follows from a due retention revoke and from
nothing else.
"""

from collections.abc import Callable

from discreet.policy import freshness, receipts
from discreet.policy.decision import Stop
from discreet.policy.facts import Facts, Micros, Ref
from discreet.policy.request import Binding
from discreet.policy.retention import purge_due, retention, suspension
from discreet.policy.subject import Root, Subject, scope_cause
from discreet.policy.token import BadToken, decode
from discreet.policy.words import Freshness, Gate, Grounding, Moment, Origin, Reason, RecordKind


def policy_age(subject: Subject) -> Stop | None:
    """POLICY_STALE where the policy's source has not been read for longer than the policy allows."""
    limit = subject.call.snapshot.policy_max_age_us
    if limit is not None and subject.call.policy_age_us > limit:
        return Stop(Reason.POLICY_STALE, gap="service")
    return None


def availability(subject: Subject) -> Stop | None:
    """Existence and scope of every root (tenant was part of the look-up); the reader is told NOT_AVAILABLE alone."""
    if not subject.known_entry:
        return Stop(Reason.DOCUMENT_UNKNOWN, gap="source")
    if subject.mismatch:
        reason = Reason.PRINCIPAL_MISMATCH if subject.mismatch == "principal" else Reason.SESSION_MISMATCH
        return Stop(reason, gap="source")
    causes = [(scope_cause(subject.call.reader, root), root) for root in subject.roots]
    for cause, root in causes:
        if cause is not None:
            return Stop(cause, ref=root.ref, gap="source")
    return None


def source(subject: Subject) -> Stop | None:
    """NO_BINDING for a knowledge segment that rests on nothing; UNTRUSTED_SOURCE where a root is no trusted hit."""
    if subject.segment.grounding is not Grounding.UNBOUND and not (subject.direct or _made_from(subject)):
        return Stop(Reason.NO_BINDING, gap="source")
    for root in subject.roots:
        claimed = root.binding.claimed_label if root.binding is not None else ""
        known = root.known
        if not trusted_hit(root):
            return Stop(Reason.UNTRUSTED_SOURCE, ref=root.ref, gap="source")
        if claimed and (known is None or claimed != known.source_label):
            return Stop(Reason.UNTRUSTED_SOURCE, ref=root.ref, detail="claimed label differs", gap="source")
    return None


def _made_from(subject: Subject) -> bool:
    """True where parents give it something to rest on, or would if the reader could build on them."""
    return bool(subject.segment.parents and (subject.roots or subject.unusable or subject.beyond))


def allowlisted(root: Root) -> bool:
    """True where a collector that SourceList maps to the record's label registered it. Derived, never supplied."""
    known = root.known
    return known is not None and root.source is not None and known.collector in root.source.collectors


def trusted_hit(root: Root) -> bool:
    """True exactly where the label is non-empty, the record allowlisted, and the label listed in this revision (A1)."""
    known = root.known
    return (
        known is not None
        and bool(known.source_label)
        and allowlisted(root)
        and root.source is not None
        and root.source.listed
    )


def binding(subject: Subject) -> Stop | None:
    """Version, digest, reachability, assessment, and what the policy demands at PUBLISH: each has its own reason.

    Then the parents: one that the reader cannot build on is as one that never was, whatever the cause (F11). Last what
    rests on more than a call is judged on: that is only known to be too much.
    """
    for root in subject.roots:
        reason, detail = _record_cause(root, subject.call.now)
        if reason is None and root.binding is not None and subject.call.request.moment is Moment.PUBLISH:
            reason = _demand_cause(subject, root.binding)
        if reason is not None:
            return Stop(reason, ref=root.ref, detail=detail, gap="version")
    for parent in subject.unusable:
        return Stop(Reason.PARENT_UNUSABLE, detail=f"parent {parent.ledger_id}: {parent.why}", gap="source")
    if subject.beyond:
        return Stop(Reason.COST_EXCEEDED, detail="the call rests on too many records", gap="service")
    return None


def _record_cause(root: Root, now: Micros) -> tuple[Reason | None, str]:
    record = root.record
    if record is None:
        return Reason.VERSION_MISMATCH, "no such version" if root.hidden is None else "version out of scope"
    if record.superseded_by is not None:
        return Reason.SUPERSEDED, ""
    if not record.current:
        return Reason.VERSION_MISMATCH, "not the current version"
    if root.binding is not None and root.binding.digest != record.digest:
        return Reason.CONTENT_MISMATCH, ""
    if record.unreachable:
        return Reason.DOCUMENT_UNREACHABLE, ""
    if record.assessment_expires_at is None:
        return Reason.ELIGIBILITY_UNKNOWN, "not assessed"
    if record.assessment_expires_at <= now:
        return Reason.ASSESSMENT_EXPIRED, ""
    return None, ""


def _demand_cause(subject: Subject, bound: Binding) -> Reason | None:
    call = subject.call
    demands = call.snapshot.requires
    granted = granted_under(bound, call.facts)
    if demands.same_policy_revision and (granted is None or granted[1] != call.snapshot.number):
        return Reason.POLICY_REVISION_CHANGED
    if demands.same_grant_revision and (granted is None or granted[0] < call.facts.grants.revision):
        return Reason.AUTH_REVISION_CHANGED
    if demands.retrieved_in_session and not receipts.holds(call.facts.receipt_keys, call.request, bound):
        return Reason.NOT_RETRIEVED
    return None


def granted_under(bound: Binding, facts: Facts) -> tuple[int, int] | None:
    """(seq, policy revision) of the state that the binding was read under.

    None where it names none of this database, one that is yet to come included: nobody can have read under it.
    """
    try:
        token = decode(bound.granted_under)
    except BadToken:
        return None
    return (token.seq, token.policy_revision) if token.epoch == facts.epoch and token.seq <= facts.seq else None


def freshness_gate(subject: Subject) -> Stop | None:
    """Only FRESH passes: what is bound of a source that ages, and every carrier of what is asserted."""
    carriers = subject.carriers
    if subject.segment.claim is not None and not any(_states_time(root) for root in carriers):
        return Stop(Reason.EVIDENCE_MISSING, gap="time")
    for root in subject.aging:
        claimed = root.binding.claimed_as_of if root.binding is not None else None
        if claimed is not None and (root.record is None or root.record.as_of != claimed):
            return Stop(Reason.FRESHNESS_UNKNOWN, ref=root.ref, detail="claimed time differs", gap="time")
        found = judge(subject, root)
        if found is Freshness.STALE:
            return Stop(Reason.STALE, ref=root.ref, gap="time")
        if found is not Freshness.FRESH:
            return Stop(Reason.FRESHNESS_UNKNOWN, ref=root.ref, gap="time")
    return None


def judge(subject: Subject, root: Root) -> Freshness:
    """The freshness of one root for the assertion; a derived figure is as fresh as the freshest that it stands on."""
    own = _own_freshness(subject, root)
    leaves = [_own_freshness(subject, leaf) for leaf in derived_from(subject, root)]
    if own is not Freshness.FRESH or not leaves or Freshness.FRESH in leaves:
        return own
    return Freshness.STALE if Freshness.STALE in leaves else Freshness.UNKNOWN


def _own_freshness(subject: Subject, root: Root) -> Freshness:
    carries = root in subject.carriers
    return freshness.judge(root.record, root.source, subject.claim, subject.call.now, carries=carries)


def derived_from(subject: Subject, root: Root) -> list[Root]:
    """What a derived figure was made from in the end: the roots behind it that are not derived themselves.

    A new time on a figure that only old ones went into would be an old figure that looks fresh (A19).
    """
    if root.record is None or root.record.origin is not Origin.DERIVED:
        return []
    if subject.by_ref:
        found = [subject.by_ref[ref] for ref in root.record.roots if ref in subject.by_ref]
    else:
        behind = set(root.record.roots)
        found = [r for r in subject.roots if r.ref in behind]
    return [r for r in found if r.record is None or r.record.origin is not Origin.DERIVED]


def _states_time(root: Root) -> bool:
    return root.record is not None and (root.record.kind is RecordKind.EVIDENCE or root.record.as_of is not None)


def basis(subject: Subject) -> Stop | None:
    """Every carrier states its basis, and it is the one asked for; an unstated one is unusable from any source.

    What a binding claims of the basis is compared for every record, carrier or not.
    """
    asked = subject.claim.basis
    for root in subject.carriers:
        stated = root.record.basis if root.record is not None else ""
        if not stated:
            return Stop(Reason.BASIS_MISMATCH, ref=root.ref, detail="basis not stated", gap="basis")
        if asked and asked != stated:
            return Stop(Reason.BASIS_MISMATCH, ref=root.ref, detail="basis differs", gap="basis")
    for root in subject.direct:
        claimed = root.binding.claimed_basis if root.binding is not None else ""
        if claimed and (root.record is None or claimed != root.record.basis):
            return Stop(Reason.BASIS_MISMATCH, ref=root.ref, detail="claimed basis differs", gap="basis")
    return None


def completeness(subject: Subject) -> Stop | None:
    """Every carrier holds every required field: one missing makes the whole unavailable, none is spliced in."""
    required = subject.claim.required_fields
    for root in subject.carriers if required else ():
        present = root.record.fields if root.record is not None else {}
        missing = tuple(name for name in required if present.get(name) is None)
        if missing:
            return Stop(Reason.INCOMPLETE, ref=root.ref, missing_fields=missing, gap="field")
    return None


def numbers(subject: Subject) -> Stop | None:
    """Where numbers are needed: at least one piece of evidence with a value in it that is not inference.

    Nor made from inference: a formula over what a model said gives no fact. It is bound to the segment itself: that a
    parent had one makes no citation.
    """
    if not subject.need_numbers:
        return None
    inferred = {root.ref for root in subject.roots if root.record is not None and root.record.origin is Origin.INFERRED}
    if any(_gives_figures(root, inferred) for root in subject.direct):
        return None
    return Stop(Reason.NO_TRUSTED_FACT, gap="source")


def _gives_figures(root: Root, inferred: set[Ref]) -> bool:
    record = root.record
    if record is None or record.kind is not RecordKind.EVIDENCE:
        return False
    if root.ref in inferred or not inferred.isdisjoint(record.roots):
        return False
    return any(value is not None for value in record.fields.values())


GateCheck = Callable[[Subject], Stop | None]

ORDER: tuple[tuple[Gate, GateCheck], ...] = (
    (Gate.POLICY_AGE, policy_age),
    (Gate.AVAILABILITY, availability),
    (Gate.RETENTION, retention),
    (Gate.SUSPENSION, suspension),
    (Gate.SOURCE, source),
    (Gate.BINDING, binding),
    (Gate.FRESHNESS, freshness_gate),
    (Gate.BASIS, basis),
    (Gate.COMPLETENESS, completeness),
    (Gate.NUMBERS, numbers),
)
"""RETRIEVE and PUBLISH; the policy's rules come after the last."""

LEDGER_ORDER: tuple[tuple[Gate, GateCheck], ...] = ((Gate.RETENTION, purge_due), *ORDER)
"""REPLAY and EXPORT. The due revoke comes first of all: the caller holds the copy and must purge it, whoever reads."""


def order_at(moment: Moment) -> tuple[tuple[Gate, GateCheck], ...]:
    """The gates of a moment, in their order."""
    return LEDGER_ORDER if moment.by_ledger_id else ORDER
