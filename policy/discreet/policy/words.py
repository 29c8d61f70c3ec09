"""The closed sets of words that policies, decisions, audit and CLI share; numbers are those of the proto enums.

Short names are the proto names without their prefix; a test keeps both sides equal. This module knows no message
and no store.
"""

from enum import IntEnum


class Word(IntEnum):
    """A member of a closed set. `short` is the word as YAML, JSON, audit and CLI write it."""

    short: str

    def __init__(self, _number: int) -> None:
        self.short = self._name_


class LowerWord(Word):
    """A word whose short form is lower-case: names kept from the source of the requirement."""

    def __init__(self, _number: int) -> None:
        self.short = self._name_.lower()


class Moment(Word):
    """When protected content is about to become visible."""

    RETRIEVE = 1
    PUBLISH = 2
    REPLAY = 3
    EXPORT = 4

    @property
    def by_ledger_id(self) -> bool:
        """True where what is asked about was committed before and is named by its ledger id."""
        return self >= 3


class Verdict(Word):
    """What may happen to a segment; the order of precedence is PURGE, WITHHOLD, ALLOW."""

    ALLOW = 1
    WITHHOLD = 2
    PURGE = 3


class Grounding(Word):
    """Whether a segment claims to rest on records."""

    BOUND = 1
    UNBOUND = 2


class Freshness(LowerWord):
    """How old evidence is for the time that the assertion is about; only FRESH passes."""

    FRESH = 1
    STALE = 2
    UNKNOWN = 3
    MISSING = 4


class OutputStatus(LowerWord):
    """AVAILABLE exactly where the verdict is ALLOW."""

    AVAILABLE = 1
    UNAVAILABLE = 2


class Next(Word):
    """What the reader may do next."""

    NONE = 1
    EXPLICIT_REFRESH = 2
    ASK_OTHER_PERIOD = 3
    ASK_OTHER_ENTITY = 4
    GIVE_CONTEXT = 5
    CONTACT_OPERATOR = 6


class ActionTendency(LowerWord):
    """What an answer leans towards; NONE wherever it is unavailable."""

    NONE = 1
    INFORM = 2
    ADVISE = 3


class Gate(Word):
    """The fixed order of the gates; a segment is decided at the first that stops it."""

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


class RecordKind(Word):
    """Whether a record is a document or a piece of evidence."""

    DOCUMENT = 1
    EVIDENCE = 2


class Origin(Word):
    """How a piece of evidence came about."""

    COLLECTED = 1
    DERIVED = 2
    INFERRED = 3


class AuditAct(Word):
    """What kind of act an audit row records."""

    CHECK = 1
    COMMIT = 2
    CHANGE = 3
    REFUSED = 4
    SHOWN = 5
    READ = 6


class OrderKind(Word):
    """Where a commit's outcome stands in the one order of the index."""

    COMMITTED = 1
    REPEATED = 2
    REFUSED = 3
    OVERTAKEN = 4


class ShownKind(Word):
    """What became of the report that a committed segment was shown."""

    CONFIRMED = 1
    ALREADY_CONFIRMED = 2
    UNKNOWN = 3


class Reason(Word):
    """Why a segment is not shown."""

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

    @property
    def looks_unavailable(self) -> bool:
        """True for the causes that a reader is told as NOT_AVAILABLE: tenant, existence, scope (F11)."""
        return 10 <= self <= 19


class Duty(Word):
    """What a source is for; its duty says which records it takes (A19)."""

    DATA_CHANNEL = 1
    DOCUMENT_STORE = 2
    DERIVATION = 3


class Effect(Word):
    """What a matching rule does."""

    ALLOW = 1
    WITHHOLD = 2


class AuditMode(LowerWord):
    """When the audit rows of a Check are durable; a Commit's are always in its own transaction."""

    REQUIRED = 1
    NONE = 2
    SPOOLED = 3


class Role(LowerWord):
    """What a caller's identity is entitled to do."""

    AGENT = 1
    COLLECTOR = 2
    HOLDER = 3
    OPERATOR = 4
    AUDITOR = 5
    PUBLISHER = 6


class PurgeItemKind(Word):
    """What kind of thing an item of a purge order is."""

    SEGMENT = 1
    RECORD = 2


class PurgeOutcome(Word):
    """What a holder says of an item; the last two answer a recheck."""

    PURGED = 1
    NOT_FOUND = 2
    FAILED = 3
    ABSENT = 4
    PRESENT = 5


class PurgeState(Word):
    """Where an item of a holder's part of a purge order stands. SCHEDULED and HELD are derived, the rest is stored."""

    SCHEDULED = 1
    OPEN = 2
    HELD = 3
    FAILED = 4
    UNCONFIRMED = 5
    PURGED = 6
    NOT_FOUND = 7


class HolderKind(Word):
    """What a holder keeps."""

    SEGMENT_STORE = 1
    DOCUMENT_STORE = 2


class TombstoneKind(Word):
    """What a tombstone matches."""

    DIGEST = 1
    RECORD = 2
    SOURCE = 3


LOCALES = ("en", "zh-Hans")
PUBLIC_SCOPE = "public"
"""The scope that every principal of a tenant holds."""
