"""What follows from a reason: the next step, who is at fault, the fixed text. A test holds the tables complete."""

from typing import Final

from discreet.policy.snapshot import Snapshot
from discreet.policy.texts_builtin import BUILTIN
from discreet.policy.words import Next, Reason

NEXT: Final[dict[Reason, Next]] = {
    Reason.NONE: Next.NONE,
    Reason.NOT_AVAILABLE: Next.NONE,
    Reason.DOCUMENT_UNKNOWN: Next.NONE,
    Reason.TENANT_MISMATCH: Next.NONE,
    Reason.SCOPE_DENIED: Next.NONE,
    Reason.SCOPE_EXPIRED: Next.NONE,
    Reason.SCOPE_NOT_YET_VALID: Next.NONE,
    Reason.PRINCIPAL_MISMATCH: Next.NONE,
    Reason.SESSION_MISMATCH: Next.NONE,
    Reason.RETENTION_REVOKED: Next.NONE,
    Reason.LEGAL_HOLD: Next.NONE,
    Reason.SUSPENDED: Next.CONTACT_OPERATOR,
    Reason.FROZEN: Next.CONTACT_OPERATOR,
    Reason.TOMBSTONED: Next.NONE,
    Reason.NO_BINDING: Next.GIVE_CONTEXT,
    Reason.UNTRUSTED_SOURCE: Next.EXPLICIT_REFRESH,
    Reason.COLLECTOR_NOT_ENTITLED: Next.CONTACT_OPERATOR,
    Reason.VERSION_MISMATCH: Next.NONE,
    Reason.SUPERSEDED: Next.NONE,
    Reason.CONTENT_MISMATCH: Next.NONE,
    Reason.POLICY_REVISION_CHANGED: Next.NONE,
    Reason.AUTH_REVISION_CHANGED: Next.NONE,
    Reason.ASSESSMENT_EXPIRED: Next.CONTACT_OPERATOR,
    Reason.DOCUMENT_UNREACHABLE: Next.CONTACT_OPERATOR,
    Reason.ELIGIBILITY_UNKNOWN: Next.CONTACT_OPERATOR,
    Reason.NOT_RETRIEVED: Next.NONE,
    Reason.PARENT_UNUSABLE: Next.NONE,
    Reason.STALE: Next.EXPLICIT_REFRESH,
    Reason.FRESHNESS_UNKNOWN: Next.EXPLICIT_REFRESH,
    Reason.EVIDENCE_MISSING: Next.EXPLICIT_REFRESH,
    Reason.BASIS_MISMATCH: Next.GIVE_CONTEXT,
    Reason.INCOMPLETE: Next.EXPLICIT_REFRESH,
    Reason.NO_TRUSTED_FACT: Next.EXPLICIT_REFRESH,
    Reason.UNSUPPORTED_NUMBER: Next.GIVE_CONTEXT,
    Reason.CITATION_MISSING: Next.GIVE_CONTEXT,
    Reason.POLICY_RULE: Next.NONE,
    Reason.POLICY_ERROR: Next.CONTACT_OPERATOR,
    Reason.POLICY_STALE: Next.CONTACT_OPERATOR,
    Reason.COST_EXCEEDED: Next.CONTACT_OPERATOR,
    Reason.AUDIT_UNAVAILABLE: Next.CONTACT_OPERATOR,
    Reason.DEPENDENCY_UNAVAILABLE: Next.CONTACT_OPERATOR,
}

_GENERATION = frozenset(
    {
        Reason.NO_BINDING,
        Reason.CONTENT_MISMATCH,
        Reason.NOT_RETRIEVED,
        Reason.UNSUPPORTED_NUMBER,
        Reason.CITATION_MISSING,
    }
)


def fault_of(reason: Reason) -> str:
    """What is at fault: "evidence", "generation", "policy", "authority" or "service"; "none" where nothing is."""
    if reason is Reason.NONE:
        return "none"
    if reason in _GENERATION:
        return "generation"
    if reason.value < 30:
        return "authority"
    if reason.value < 60:
        return "evidence"
    return "policy" if reason.value < 70 else "service"


def text_of(snapshot: Snapshot | None, locale: str, template_id: str) -> str:
    """The fixed text of a template in a locale: the policy set's own, else the built-in one."""
    own = snapshot.texts.get(locale, {}).get(template_id) if snapshot is not None else None
    return own if own is not None else BUILTIN[locale][template_id]
