"""The gates once more, written naively from the requirements: slow, plain, and sharing no code with the product."""

from __future__ import annotations

from collections.abc import Callable

from discreet.policy.facts import RecordFacts, Ref
from discreet.policy.request import Binding, Segment
from discreet.policy.snapshot import Rule, Source
from discreet.policy.words import Effect, Grounding, Moment, Origin, Reason, RecordKind, Verdict
from tests.policy.decide.world import EPOCH, SEQ, World

Answer = tuple[Verdict, Reason]
HIDE = Verdict.WITHHOLD
Condition = Callable[[World, Segment, RecordFacts], bool | None]
"""True, False, or None for an error."""


def _level_low(_w: World, _s: Segment, r: RecordFacts) -> bool | None:
    level = r.attributes.get("level")
    return level < 3 if isinstance(level, int) else None


def _desk_is(desk: str) -> Condition:
    return lambda _w, _s, r: r.attributes["desk"] == desk if "desk" in r.attributes else None


def _north_and_low(w: World, s: Segment, r: RecordFacts) -> bool | None:
    both = (_desk_is("north")(w, s, r), _level_low(w, s, r))
    return False if False in both else None if None in both else True


def _south_if_any(_w: World, _s: Segment, r: RecordFacts) -> bool | None:
    return r.attributes.get("desk") == "south"


CONDITIONS: dict[str, Condition] = {
    "": lambda _w, _s, _r: True,
    "true": lambda _w, _s, _r: True,
    "false": lambda _w, _s, _r: False,
    "document.attributes.level < 3": _level_low,
    'principal.id == "ana"': lambda w, _s, _r: w.principal.id == "ana",
    **{f'document.attributes.desk == "{desk}"': _desk_is(desk) for desk in ("north", "south", "east", "west", "hub")},
    'document.attributes.desk == "north" && document.attributes.level < 3': _north_and_low,
    'has(document.attributes.desk) && document.attributes.desk == "south"': _south_if_any,
    'segment.kind == "quote"': lambda _w, s, _r: s.kind == "quote",
    'document.kind == "EVIDENCE"': lambda _w, _s, r: r.kind is RecordKind.EVIDENCE,
    '"secret" in document.attributes.tags': lambda _w, _s, r: None if "tags" not in r.attributes else False,
}


class Oracle:
    """One segment of one world, judged gate by gate in the words of the requirements."""

    def __init__(self, world: World, segment: Segment, stored: tuple[Ref, ...] = ()) -> None:
        self.world = world
        self.segment = segment
        self.records = {(one.record_id, one.version): one for one in world.records}
        self.current = {one.record_id: one for one in world.records if one.current}
        self.names: list[tuple[str, str]] = [(b.record_id, b.version) for b in segment.bindings]
        for name in list(self.names):
            if name in self.records:
                self.names += [(r.record_id, r.version) for r in self.records[name].roots]
        self.names += [(r.record_id, r.version) for r in stored]
        self.bad_parent = False
        by_ledger_id = world.moment in {Moment.REPLAY, Moment.EXPORT}
        for parent in () if by_ledger_id else segment.parents:
            self._build_on(parent)

    def _build_on(self, parent: str) -> None:
        """A parent counts with all that it rests on, if the reader may know of all that, and else not at all."""
        entry = self.world.ledger.get(parent)
        roots = [(r.record_id, r.version) for r in entry.roots] if entry is not None else []
        theirs = entry is None or (not roots and entry.principal_id != self.world.principal.id)
        if theirs or any(self._shut_out(name) for name in roots):
            self.bad_parent = True
        else:
            self.names += roots

    def at_replay(self, principal_id: str, session_id: str) -> Answer:
        """By ledger id: the purge first, then whose entry it is, then everything else."""
        if self._due():
            return Verdict.PURGE, Reason.RETENTION_REVOKED
        if self._old_policy():
            return HIDE, Reason.POLICY_STALE
        if principal_id != self.world.principal.id:
            return HIDE, Reason.PRINCIPAL_MISMATCH
        if session_id != self.world.session_id:
            return HIDE, Reason.SESSION_MISMATCH
        return self.answer()

    def answer(self) -> Answer:
        """Verdict and reason."""
        if self._old_policy():
            return HIDE, Reason.POLICY_STALE
        for gate in (self._scope, self._retention, self._suspension, self._source, self._binding, self._evidence):
            found = gate()
            if found is not None:
                return found if isinstance(found, tuple) else (HIDE, found)
        return self._rules()

    def _old_policy(self) -> bool:
        limit = self.world.snapshot.policy_max_age_us
        return limit is not None and self.world.policy_age_us > limit

    def _known(self, name: tuple[str, str]) -> RecordFacts | None:
        return self.records.get(name) or self.current.get(name[0])

    def _scope(self) -> Reason | None:
        return next((reason for name in self.names if (reason := self._shut_out(name)) is not None), None)

    def _shut_out(self, name: tuple[str, str]) -> Reason | None:
        now, valid = self.world.now, {"public"}
        over, early = set[str](), set[str]()
        for grant in self.world.grants.grants:
            ended = grant.expires_at is not None and now >= grant.expires_at
            begun = now >= grant.not_before - 5_000_000
            (over if ended else valid if begun else early).add(grant.scope)
        if self.world.caller.name in self.world.snapshot.claimed_scopes_from:
            valid |= set(self.world.principal.claimed_scopes)
        known = self._known(name)
        if known is None:
            return Reason.DOCUMENT_UNKNOWN
        scopes = set(known.scopes)
        if scopes & valid:
            return None
        if scopes & over:
            return Reason.SCOPE_EXPIRED
        return Reason.SCOPE_NOT_YET_VALID if scopes & early else Reason.SCOPE_DENIED

    def _there(self) -> list[RecordFacts]:
        return [self.records[name] for name in self.names if name in self.records]

    def _revoked(self) -> list[int]:
        of_sources = self.world.standing.revoked_sources
        found = [
            revoke for one in self._there() for revoke in (one.revoked, of_sources.get(one.source_label)) if revoke
        ]
        return [revoke.purge_not_before for revoke in found]

    def _kept(self) -> bool:
        targets = set(self.world.standing.holds)
        ways = [{("", r.record_id, ""), ("", r.record_id, r.version), (r.source_label, "", "")} for r in self._there()]
        return any(targets & way for way in ways)

    def _due(self) -> bool:
        """PURGE. Where a record and its source are revoked the record's own terms count."""
        times = []
        for one in self._there():
            revoke = one.revoked or self.world.standing.revoked_sources.get(one.source_label)
            times += [revoke.purge_not_before] if revoke else []
        return any(time <= self.world.now for time in times) and not self._kept()

    def _retention(self) -> Answer | None:
        if self._due():
            return Verdict.PURGE, Reason.RETENTION_REVOKED
        if self._revoked():
            return HIDE, Reason.LEGAL_HOLD if self._kept() else Reason.RETENTION_REVOKED
        return None

    def _suspension(self) -> Reason | None:
        if self._kept():
            return Reason.LEGAL_HOLD
        for one in self._there():
            if one.suspended and not (one.suspended_until is not None and self.world.now >= one.suspended_until):
                return Reason.SUSPENDED
        labels = {known.source_label for name in self.names if (known := self._known(name)) is not None} | {""}
        frozen = [f for f in self.world.standing.freezes if f.label in labels and f.until > self.world.now]
        return Reason.FROZEN if frozen else None

    def _source_of(self, name: tuple[str, str]) -> Source | None:
        known = self._known(name)
        return self.world.snapshot.sources.get(known.source_label) if known is not None else None

    def _bound_at(self, position: int) -> Binding | None:
        return self.segment.bindings[position] if position < len(self.segment.bindings) else None

    def _source(self) -> Reason | None:
        rests = self.segment.bindings or (self.segment.parents and (self.names or self.bad_parent))
        if self.segment.grounding is Grounding.BOUND and not rests:
            return Reason.NO_BINDING
        for position, name in enumerate(self.names):
            known, source, bound = self._known(name), self._source_of(name), self._bound_at(position)
            trusted = known and source and source.listed and known.collector in source.collectors
            claimed = bound.claimed_label if bound else ""
            if not trusted or (claimed and known and claimed != known.source_label):
                return Reason.UNTRUSTED_SOURCE
        return None

    def _binding(self) -> Reason | None:
        for position, name in enumerate(self.names):
            reason = self._state(name, self._bound_at(position)) or self._demanded(self._bound_at(position))
            if reason is not None:
                return reason
        return Reason.PARENT_UNUSABLE if self.bad_parent else None

    def _state(self, name: tuple[str, str], bound: Binding | None) -> Reason | None:
        record = self.records.get(name)
        if record is None:
            return Reason.VERSION_MISMATCH
        ends = record.assessment_expires_at
        checks = [
            (record.superseded_by is not None, Reason.SUPERSEDED),
            (not record.current, Reason.VERSION_MISMATCH),
            (bound is not None and bound.digest != record.digest, Reason.CONTENT_MISMATCH),
            (record.unreachable, Reason.DOCUMENT_UNREACHABLE),
            (ends is None, Reason.ELIGIBILITY_UNKNOWN),
            (ends is not None and self.world.now >= ends, Reason.ASSESSMENT_EXPIRED),
        ]
        return next((reason for is_so, reason in checks if is_so), None)

    def _demanded(self, bound: Binding | None) -> Reason | None:
        """Of `granted_under` these worlds know three texts: none, one of now, and one of another state."""
        if bound is None or self.world.moment is not Moment.PUBLISH:
            return None
        requires, state = self.world.snapshot.requires, TOKENS.get(bound.granted_under)
        if requires.same_policy_revision and (state is None or state[2] != self.world.snapshot.number):
            return Reason.POLICY_REVISION_CHANGED
        if requires.same_grant_revision and (state is None or state[1] < self.world.grants.revision):
            return Reason.AUTH_REVISION_CHANGED
        return Reason.NOT_RETRIEVED if requires.retrieved_in_session else None

    def _carriers(self) -> list[tuple[Binding, RecordFacts]]:
        bound = [(b, self.records[b.record_id, b.version]) for b in self.segment.bindings]
        figures = [(b, r) for b, r in bound if r.kind is RecordKind.EVIDENCE]
        return figures if figures or self.segment.claim is None else bound

    def _evidence(self) -> Reason | None:
        return self._time() or self._basis() or self._fields() or self._numbers()

    def _time(self) -> Reason | None:
        if self.segment.claim is not None and not any(
            r.kind is RecordKind.EVIDENCE or r.as_of is not None for _, r in self._carriers()
        ):
            return Reason.EVIDENCE_MISSING
        for bound in self.segment.bindings:
            record = self.records[bound.record_id, bound.version]
            if bound.claimed_as_of is not None and bound.claimed_as_of != record.as_of:
                return Reason.FRESHNESS_UNKNOWN
            reason = self._age(record, self._source_of((bound.record_id, bound.version)))
            if reason is not None:
                return reason
        behind = self.names[len(self.segment.bindings) :] if self.segment.parents else []
        ages = (self._age(self.records[name], self._source_of(name)) for name in behind)
        return next((reason for reason in ages if reason is not None), None)

    def _age(self, record: RecordFacts, source: Source | None) -> Reason | None:
        assert source is not None
        if source.max_age_us is None and record not in [carrier for _, carrier in self._carriers()]:
            return None
        about = self.segment.claim.about if self.segment.claim is not None else None
        start, end = about or (self.world.now, self.world.now)
        latest = min(end, self.world.now)
        if start > self.world.now or record.as_of is None or record.as_of > latest:
            return Reason.FRESHNESS_UNKNOWN
        too_old = source.max_age_us is not None and record.as_of + source.max_age_us < latest
        return Reason.STALE if too_old else self._age_of_inputs(record)

    def _age_of_inputs(self, record: RecordFacts) -> Reason | None:
        """A derived figure needs one input, derived from nothing itself, that is young enough."""
        if record.origin is not Origin.DERIVED:
            return None
        reasons = [
            self._age(self.records[name], self._source_of(name))
            for name in record.roots
            if self.records[name].origin is not Origin.DERIVED
        ]
        if not reasons or None in reasons:
            return None
        return Reason.STALE if Reason.STALE in reasons else Reason.FRESHNESS_UNKNOWN

    def _basis(self) -> Reason | None:
        asked = self.segment.claim.basis if self.segment.claim is not None else ""
        carriers = self._carriers()
        for bound in self.segment.bindings:
            record = self.records[bound.record_id, bound.version]
            wanted = {bound.claimed_basis} - {""}
            if (bound, record) in carriers:
                if record.basis == "":
                    return Reason.BASIS_MISMATCH
                wanted |= {asked} - {""}
            if wanted - {record.basis}:
                return Reason.BASIS_MISMATCH
        return None

    def _fields(self) -> Reason | None:
        needed = self.segment.claim.required_fields if self.segment.claim is not None else ()
        gaps = [name for _, r in self._carriers() for name in needed if r.fields.get(name) is None]
        return Reason.INCOMPLETE if gaps else None

    def _numbers(self) -> Reason | None:
        if not self.world.need_numbers:
            return None
        bound = [self.records[b.record_id, b.version] for b in self.segment.bindings]
        usable = [
            r
            for r in bound
            if r.kind is RecordKind.EVIDENCE
            and all(one.origin is not Origin.INFERRED for one in (r, *(self.records[ref] for ref in r.roots)))
            and any(v is not None for v in r.fields.values())
        ]
        return None if usable else Reason.NO_TRUSTED_FACT

    def _applies(self, rule: Rule, name: tuple[str, str]) -> bool | None:
        """Whether a rule is true of a root; None where it errs."""
        record = self.records[name]
        fits = (
            rule.grounding is Grounding.BOUND
            and self.world.moment in rule.moments
            and (rule.sources is None or record.source_label in rule.sources)
            and (rule.kinds is None or self.segment.kind in rule.kinds)
        )
        return CONDITIONS[rule.when.text if rule.when else ""](self.world, self.segment, record) if fits else False

    def _rules(self) -> Answer:
        every = self.world.rules
        shut = [self._applies(r, name) for r in every if r.effect is Effect.WITHHOLD for name in self.names]
        if True in shut:
            return HIDE, Reason.POLICY_RULE
        if None in shut:
            return HIDE, Reason.POLICY_ERROR
        asked = self.names if self.segment.parents else self.names[: len(self.segment.bindings)]
        for name in asked:
            opened = [self._applies(r, name) for r in every if r.effect is Effect.ALLOW]
            if True not in opened:
                return HIDE, Reason.POLICY_ERROR if None in opened else Reason.POLICY_RULE
        return Verdict.ALLOW, Reason.NONE


TOKENS: dict[str, tuple[str, int, int]] = {}
"""What each token text of a random world names: epoch, seq, policy revision. Absent: it names nothing here."""


def tokens_of(encode: Callable[[int, int], str]) -> tuple[str, ...]:
    """The token texts that random worlds use, noted for the oracle."""
    states = ((SEQ, 3), (4, 3), (SEQ, 2))
    TOKENS.update({encode(seq, number): (EPOCH, seq, number) for seq, number in states})
    return ("", *TOKENS)
