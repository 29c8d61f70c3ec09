"""The closed sets that a caller reads and writes, under the short names of the API's enums; a test compares them.

Members carry the numbers of the API and compare with members alone, never with plain numbers: no set has a zero, so an
unset or newer value has no member and can only become WITHHOLD. This module knows no message.
"""

from enum import Enum


class Moment(Enum):
    """When protected content is about to become visible; permission at one moment stands in for no other."""

    RETRIEVE = 1
    PUBLISH = 2
    REPLAY = 3
    EXPORT = 4


class Consistency(Enum):
    """How recent the facts behind an answer must be; BOUNDED at RETRIEVE alone, as far as the policy allows it."""

    AUTHORITATIVE = 1
    BOUNDED = 2


class Verdict(Enum):
    """What may happen to a segment; anything but ALLOW means: do not show it now."""

    ALLOW = 1
    WITHHOLD = 2
    PURGE = 3


class Grounding(Enum):
    """Whether a segment claims to rest on records."""

    BOUND = 1
    UNBOUND = 2


class Freshness(Enum):
    """How old evidence is for the time that the assertion is about; UNSPECIFIED where it was not judged."""

    UNSPECIFIED = 0
    FRESH = 1
    STALE = 2
    UNKNOWN = 3
    MISSING = 4


class Next(Enum):
    """What the reader may do next; nothing is started by itself."""

    NONE = 1
    EXPLICIT_REFRESH = 2
    ASK_OTHER_PERIOD = 3
    ASK_OTHER_ENTITY = 4
    GIVE_CONTEXT = 5
    CONTACT_OPERATOR = 6


class ActionTendency(Enum):
    """What an answer leans towards; NONE wherever it is not shown."""

    NONE = 1
    INFORM = 2
    ADVISE = 3


class Gate(Enum):
    """Where in the fixed order of gates a segment was decided; DEPENDENCY: it was not decided at all."""

    POLICY_AGE = 1
    AVAILABILITY = 2
    RETENTION = 3
    SUSPENSION = 4
    SOURCE = 5
    BINDING = 6
    FRESHNESS = 7
    BASIS = 8
    COMPLETENESS = 9
    NUMBERS = 10
    RULES = 11
    RELEASE = 12
    DEPENDENCY = 13


class OrderKind(Enum):
    """What came first: a commit or a change of the facts that it rests on."""

    COMMITTED = 1
    REPEATED = 2
    REFUSED = 3
    OVERTAKEN = 4


class Reason(Enum):
    """Why a segment is not shown; NONE goes with ALLOW alone."""

    NONE = 1
    NOT_AVAILABLE = 2
    DOCUMENT_UNKNOWN = 10
    TENANT_MISMATCH = 11
    SCOPE_DENIED = 12
    SCOPE_EXPIRED = 13
    SCOPE_NOT_YET_VALID = 14
    PRINCIPAL_MISMATCH = 15
    SESSION_MISMATCH = 16
    RETENTION_REVOKED = 20
    LEGAL_HOLD = 21
    SUSPENDED = 22
    FROZEN = 23
    TOMBSTONED = 24
    NO_BINDING = 30
    UNTRUSTED_SOURCE = 31
    COLLECTOR_NOT_ENTITLED = 32
    VERSION_MISMATCH = 40
    SUPERSEDED = 41
    CONTENT_MISMATCH = 42
    POLICY_REVISION_CHANGED = 43
    AUTH_REVISION_CHANGED = 44
    ASSESSMENT_EXPIRED = 45
    DOCUMENT_UNREACHABLE = 46
    ELIGIBILITY_UNKNOWN = 47
    NOT_RETRIEVED = 48
    PARENT_UNUSABLE = 49
    STALE = 50
    FRESHNESS_UNKNOWN = 51
    EVIDENCE_MISSING = 52
    BASIS_MISMATCH = 53
    INCOMPLETE = 54
    NO_TRUSTED_FACT = 55
    UNSUPPORTED_NUMBER = 56
    CITATION_MISSING = 57
    POLICY_RULE = 60
    POLICY_ERROR = 61
    POLICY_STALE = 62
    COST_EXCEEDED = 63
    AUDIT_UNAVAILABLE = 70
    DEPENDENCY_UNAVAILABLE = 71


# Causes that the audit alone may hold: readers are told NOT_AVAILABLE.
HIDDEN_CAUSES = frozenset(reason for reason in Reason if 10 <= reason.value <= 19)
