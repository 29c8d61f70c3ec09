"""A policy revision as decisions use it: compiled, indexed, immutable, swapped as one reference."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from discreet.policy.cel import Condition
from discreet.policy.facts import Micros
from discreet.policy.words import AuditMode, Duty, Effect, Grounding, Moment


@dataclass(frozen=True, slots=True)
class Source:
    """A declared source. `listed` False: declared, but not on the allowlist.

    `max_age_us` None: its content does not age.
    """

    label: str
    title: str
    duty: Duty
    collectors: frozenset[str]
    max_age_us: int | None
    listed: bool = True
    case_sensitive_ids: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. None for sources or kinds: any.

    It applies where moment, source, kind and grounding fit and `when` is true.
    """

    id: str
    effect: Effect
    moments: frozenset[Moment]
    sources: frozenset[str] | None
    kinds: frozenset[str] | None
    grounding: Grounding
    when: Condition | None
    custom_reason: str = ""
    text: str = ""
    """Template id of the disclosure text; empty: that of the reason."""
    advice: bool = False
    """An allowing rule that lets an answer lean towards advice where the request asks for it."""
    place: str = ""
    """file:line of the rule, for explanations."""
    from_us: Micros | None = None
    """The rule is not there before this time; None: it always was."""
    until_us: Micros | None = None
    """The rule is no longer there from this time on; None: it does not end."""
    observe: bool = False
    """A withholding rule that is only watched: what it would withhold is recorded, and it withholds nothing."""
    owners: tuple[str, ...] = ()
    """The teams that answer for the file it stands in, for explanations."""

    def holds_at(self, now: Micros) -> bool:
        """True from `from_us` on and before `until_us`."""
        return (self.from_us is None or self.from_us <= now) and (self.until_us is None or now < self.until_us)


@dataclass(frozen=True, slots=True)
class Requires:
    """Demands of the policy on every binding, beneath the rules and on top of the gates."""

    retrieved_in_session: bool = False
    same_policy_revision: bool = False
    same_grant_revision: bool = False


@dataclass(frozen=True, slots=True)
class Retention:
    """What a RetentionPolicy asks of who revokes and of who holds copies; these defaults where a set has none."""

    dry_run_above: int = 100
    """Versions and segments together: a revoke of more than these names the digest of its dry run."""
    purge_within_us: int = 86_400_000_000
    """A purge is due so long after copies must go."""
    recheck_after_us: int | None = None
    """So long after a holder said that an item is gone it is asked to look again; None: it is believed."""


class Keyed(NamedTuple):
    """Rules that cannot be true unless one path holds one text each: looked up by that text instead of evaluated."""

    path: tuple[str, ...]
    by_text: Mapping[str, tuple[Rule, ...]]
    rules: tuple[Rule, ...]
    """All of them: what is evaluated where the path is absent, since then each of them may be an error."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules that fit a moment and a label or kind: those to evaluate in any case, and those that a look-up selects."""

    plain: tuple[Rule, ...] = ()
    keyed: tuple[Keyed, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleIndex:
    """Rules by what can be looked up: bound rules by (moment, label), unbound ones by (moment, kind).

    `any_source` and `any_kind` hold the rules that name none. The order of rules has no meaning: of several that decide
    alike the one with the smallest id is named, so explanations are stable.
    """

    by_source: Mapping[tuple[Moment, str], RuleSet]
    any_source: Mapping[Moment, RuleSet]
    by_kind: Mapping[tuple[Moment, str], RuleSet]
    any_kind: Mapping[Moment, RuleSet]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One policy revision. A request, a batch and a stream frame each see exactly one."""

    name: str
    number: int
    commit: str
    digest: str
    dirty: bool
    sources: Mapping[str, Source]
    rules: RuleIndex
    texts: Mapping[str, Mapping[str, str]]
    """Locale, then template id: a reason's short name, or a text that a rule names."""
    requires: Requires = field(default_factory=Requires)
    claimed_scopes_from: frozenset[str] = frozenset()
    """Callers whose `claimed_scopes` count besides the grants."""
    audit_checks: AuditMode = AuditMode.REQUIRED
    policy_max_age_us: int | None = None
    read_max_staleness_us: int | None = None
    """How old the facts of a BOUNDED check at RETRIEVE may be; None: they are read for it like any."""
    use_within_ms: int = 2_000
    store_within_us: int = 600_000_000
    environment: str = ""
    """The environment that the set was compiled for; empty: it declares none."""
    masked_attributes: frozenset[str] = frozenset()
    """Attributes of principals whose values no audit row holds."""
    retention: Retention = field(default_factory=Retention)
