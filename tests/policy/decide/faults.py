"""One fault for each reason of each gate: how to make a passing figure fail for it alone. It judges nothing itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.policy.facts import PrincipalGrants, Ref, Target
from discreet.policy.receipts import issue
from discreet.policy.request import Claim
from discreet.policy.snapshot import Requires
from discreet.policy.words import Effect, Gate, Moment, Next, Origin, Reason, RecordKind, Verdict
from tests.policy.decide.world import (
    DAY,
    KEY,
    OTHER_DIGEST,
    OTHER_EPOCH,
    SECOND,
    World,
    at,
    edit,
    figure_world,
    freeze,
    grant,
    holds,
    revoke,
    rule,
    snapshot,
    token,
)


@dataclass(frozen=True)
class Fault:
    """A named way to fail. `publish_only`: the demand is made at PUBLISH alone."""

    name: str
    gate: Gate
    reason: Reason
    change: Callable[[World], World]
    next: Next
    gap: str
    verdict: Verdict = Verdict.WITHHOLD
    fault: str = "evidence"
    publish_only: bool = False
    hides_record: bool = False
    """The record version is not there, so that its own states are not known."""

    def __str__(self) -> str:
        return self.name


def passing() -> World:
    """A figure that passes every gate at PUBLISH, with every demand of a policy met."""
    plain = figure_world()
    (one,) = plain.segments
    (bound,) = one.bindings
    bound = edit(bound, granted_under=token(), receipt=issue((KEY,), plain.request, bound))
    demanding = snapshot(requires=Requires(True, True, True))
    return edit(plain, segments=(edit(one, bindings=(bound,)),), snapshot=demanding)


def records(**changes: Any) -> Callable[[World], World]:
    """The change of every record."""
    return lambda w: edit(w, records=tuple(edit(one, **changes) for one in w.records))


def bindings(**changes: Any) -> Callable[[World], World]:
    """The change of every binding."""

    def change(w: World) -> World:
        (one,) = w.segments
        return edit(w, segments=(edit(one, bindings=tuple(edit(b, **changes) for b in one.bindings)),))

    return change


def sources(**changes: Any) -> Callable[[World], World]:
    """The change of the feed's declaration; `gone`: it is not declared at all."""

    def change(w: World) -> World:
        known = dict(w.snapshot.sources)
        feed = known.pop("ledger-feed", None)
        if feed is not None and "gone" not in changes:
            known["ledger-feed"] = edit(feed, **changes)
        return edit(w, snapshot=edit(w.snapshot, sources=known))

    return change


def rules(*given: Any) -> Callable[[World], World]:
    """The change of all rules."""
    return fields(rules=given)


def fields(**changes: Any) -> Callable[[World], World]:
    """The change of the world's own fields."""
    return lambda w: edit(w, **changes)


def grants(*given: Any) -> Callable[[World], World]:
    """The change of what the principal was granted."""
    return fields(grants=PrincipalGrants(given, 5))


def claim(given: Claim) -> Callable[[World], World]:
    """The change of what is asserted."""

    def change(w: World) -> World:
        (one,) = w.segments
        return edit(w, segments=(edit(one, claim=given),))

    return change


def stand(**changes: Any) -> Callable[[World], World]:
    """The change of what stands for the tenant; what stands already stays."""
    return lambda w: edit(w, standing=edit(w.standing, revision=600, **changes))


def held(*targets: Target) -> Callable[[World], World]:
    """The change of the holds."""
    return stand(holds=holds(*targets))


def old_policy(w: World) -> World:
    """The policy's source was not read for a second longer than allowed."""
    return edit(w, snapshot=edit(w.snapshot, policy_max_age_us=DAY), policy_age_us=DAY + SECOND)


def timeless_document(w: World) -> World:
    """The evidence is a document of a source that does not age, and states no time."""
    return sources(max_age_us=None)(records(kind=RecordKind.DOCUMENT, as_of=None)(w))


NONE, REFRESH, CONTEXT, OPERATOR = Next.NONE, Next.EXPLICIT_REFRESH, Next.GIVE_CONTEXT, Next.CONTACT_OPERATOR
_AUTHORITY: dict[str, Any] = {"fault": "authority"}

AVAILABILITY = [
    Fault("unknown", Gate.AVAILABILITY, Reason.DOCUMENT_UNKNOWN, fields(records=()), NONE, "source", **_AUTHORITY),
    Fault("scope-denied", Gate.AVAILABILITY, Reason.SCOPE_DENIED, grants(), NONE, "source", **_AUTHORITY),
    Fault(
        "scope-expired",
        Gate.AVAILABILITY,
        Reason.SCOPE_EXPIRED,
        grants(grant(expires_at=at(0))),
        NONE,
        "source",
        **_AUTHORITY,
    ),
    Fault(
        "scope-not-yet",
        Gate.AVAILABILITY,
        Reason.SCOPE_NOT_YET_VALID,
        grants(grant(not_before=at(6 * SECOND))),
        NONE,
        "source",
        **_AUTHORITY,
    ),
]
DUE = Fault(
    "revoked",
    Gate.RETENTION,
    Reason.RETENTION_REVOKED,
    records(revoked=revoke()),
    NONE,
    "",
    verdict=Verdict.PURGE,
    **_AUTHORITY,
)


def _frozen(name: str, label: str) -> Fault:
    change = stand(freezes=(freeze(label),))
    return Fault(name, Gate.SUSPENSION, Reason.FROZEN, change, OPERATOR, "", **_AUTHORITY)


def _held(name: str, change: Callable[[World], World]) -> Fault:
    return Fault(name, Gate.SUSPENSION, Reason.LEGAL_HOLD, change, NONE, "", **_AUTHORITY)


AUTHORITY = [
    DUE,
    Fault(
        "revoked-later",
        Gate.RETENTION,
        Reason.RETENTION_REVOKED,
        records(revoked=revoke(at(1))),
        NONE,
        "",
        **_AUTHORITY,
    ),
    Fault(
        "source-revoked-later",
        Gate.RETENTION,
        Reason.RETENTION_REVOKED,
        stand(revoked_sources={"ledger-feed": revoke(at(1))}),
        NONE,
        "",
        **_AUTHORITY,
    ),
    Fault("suspended", Gate.SUSPENSION, Reason.SUSPENDED, records(suspended=True), OPERATOR, "", **_AUTHORITY),
    Fault(
        "suspended-until",
        Gate.SUSPENSION,
        Reason.SUSPENDED,
        records(suspended=True, suspended_until=at(1)),
        OPERATOR,
        "",
        **_AUTHORITY,
    ),
    _frozen("source-frozen", "ledger-feed"),
    _frozen("tenant-frozen", ""),
]
HELD = [
    _held("record-held", held(Target(record_id="quote-1"))),
    _held("version-held", held(Target(record_id="quote-1", version="1"))),
    _held("source-held", held(Target("ledger-feed"))),
]
"""Holds, which come before and after the revokes: a revoked record that is held is kept."""


def _source(name: str, change: Callable[[World], World]) -> Fault:
    return Fault(name, Gate.SOURCE, Reason.UNTRUSTED_SOURCE, change, REFRESH, "source")


SOURCE = [
    _source("delisted", sources(listed=False)),
    _source("undeclared", sources(gone=True)),
    _source("other-collector", records(collector="wiki-importer")),
    _source("claimed-label", bindings(claimed_label="wiki")),
]


def _binding(name: str, reason: Reason, change: Callable[[World], World], then: Next, **more: Any) -> Fault:
    return Fault(name, Gate.BINDING, reason, change, then, "version", **more)


BINDING = [
    _binding("superseded", Reason.SUPERSEDED, records(superseded_by=Ref("quote-2", "1")), NONE),
    _binding("not-current", Reason.VERSION_MISMATCH, records(current=False), NONE),
    _binding("other-version", Reason.VERSION_MISMATCH, bindings(version="9"), NONE, hides_record=True),
    _binding("other-content", Reason.CONTENT_MISMATCH, bindings(digest=OTHER_DIGEST), NONE, fault="generation"),
    _binding("unreachable", Reason.DOCUMENT_UNREACHABLE, records(unreachable=True), OPERATOR),
    _binding("not-assessed", Reason.ELIGIBILITY_UNKNOWN, records(assessment_expires_at=None), OPERATOR),
    _binding("assessment-over", Reason.ASSESSMENT_EXPIRED, records(assessment_expires_at=at(0)), OPERATOR),
    _binding(
        "other-policy",
        Reason.POLICY_REVISION_CHANGED,
        bindings(granted_under=token(number=2)),
        NONE,
        publish_only=True,
    ),
    _binding(
        "other-database",
        Reason.POLICY_REVISION_CHANGED,
        bindings(granted_under=token(epoch=OTHER_EPOCH)),
        NONE,
        publish_only=True,
    ),
    _binding("older-grants", Reason.AUTH_REVISION_CHANGED, bindings(granted_under=token(4)), NONE, publish_only=True),
    _binding(
        "not-retrieved",
        Reason.NOT_RETRIEVED,
        bindings(receipt="k1.made-up"),
        NONE,
        fault="generation",
        publish_only=True,
    ),
]
EVIDENCE = [
    Fault("stale", Gate.FRESHNESS, Reason.STALE, records(as_of=at(-DAY - 1)), REFRESH, "time"),
    Fault("no-time", Gate.FRESHNESS, Reason.FRESHNESS_UNKNOWN, records(as_of=None), REFRESH, "time"),
    Fault("time-ahead", Gate.FRESHNESS, Reason.FRESHNESS_UNKNOWN, records(as_of=at(1)), REFRESH, "time"),
    Fault(
        "claimed-time", Gate.FRESHNESS, Reason.FRESHNESS_UNKNOWN, bindings(claimed_as_of=at(-SECOND)), REFRESH, "time"
    ),
    Fault("no-evidence", Gate.FRESHNESS, Reason.EVIDENCE_MISSING, timeless_document, REFRESH, "time"),
    Fault("no-basis", Gate.BASIS, Reason.BASIS_MISMATCH, records(basis=""), CONTEXT, "basis"),
    Fault("other-basis", Gate.BASIS, Reason.BASIS_MISMATCH, records(basis="reported"), CONTEXT, "basis"),
    Fault("claimed-basis", Gate.BASIS, Reason.BASIS_MISMATCH, bindings(claimed_basis="reported"), CONTEXT, "basis"),
    Fault("no-value", Gate.COMPLETENESS, Reason.INCOMPLETE, records(fields={"unit": "EUR"}), REFRESH, "field"),
    Fault("null-value", Gate.COMPLETENESS, Reason.INCOMPLETE, records(fields={"value": None}), REFRESH, "field"),
    Fault("inferred", Gate.NUMBERS, Reason.NO_TRUSTED_FACT, records(origin=Origin.INFERRED), REFRESH, "source"),
]
BAD = 'document.attributes.desk == "north"'


def _rules(name: str, reason: Reason, change: Callable[[World], World], then: Next) -> Fault:
    return Fault(name, Gate.RULES, reason, change, then, "rule", fault="policy")


RULES = [
    _rules("no-rule", Reason.POLICY_RULE, rules(), NONE),
    _rules("withheld", Reason.POLICY_RULE, rules(rule("open"), rule("shut", Effect.WITHHOLD)), NONE),
    _rules("withhold-errs", Reason.POLICY_ERROR, rules(rule("open"), rule("shut", Effect.WITHHOLD, BAD)), OPERATOR),
    _rules("allow-errs", Reason.POLICY_ERROR, rules(rule("open", when=BAD)), OPERATOR),
    _rules("other-moment", Reason.POLICY_RULE, rules(rule("open", moments=frozenset({Moment.RETRIEVE}))), NONE),
]
POLICY_AGE = [
    Fault("old-policy", Gate.POLICY_AGE, Reason.POLICY_STALE, old_policy, OPERATOR, "service", fault="policy"),
]
FAULTS = [*POLICY_AGE, *AVAILABILITY, *AUTHORITY, *HELD, *SOURCE, *BINDING, *EVIDENCE, *RULES]
