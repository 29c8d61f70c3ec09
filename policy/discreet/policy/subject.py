"""One segment laid out for the gates: what it rests on, as the index holds it, and who wants to read it, when.

Building it touches every binding in the same way, whether the record exists or not (F11). No gate logic here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from discreet.policy.facts import Caller, Facts, GrantFacts, Micros, RecordFacts, Ref
from discreet.policy.request import Binding, Claim, Request, Segment
from discreet.policy.snapshot import Snapshot, Source
from discreet.policy.words import PUBLIC_SCOPE, Reason, RecordKind

NOT_BEFORE_LEEWAY_US = 5_000_000
"""How much a clock may lag for a brand-new grant; expiry and revocation have none (TIM-03)."""

NO_CLAIM = Claim()


class Root(NamedTuple):
    """Something that a segment rests on. `binding` None: it stands behind a bound record (`of`, `inputs`)."""

    ref: Ref
    binding: Binding | None
    record: RecordFacts | None
    current: RecordFacts | None
    source: Source | None
    hidden: RecordFacts | None = None
    """The version itself, where it is kept from a reader who may read the record's current one (F11)."""

    @property
    def known(self) -> RecordFacts | None:
        """The version itself, or else the record's current version: what existence and scope are judged on."""
        return self.record if self.record is not None else self.current


class Unusable(NamedTuple):
    """A parent that this reader cannot build on. `why` is in fixed words and names; `roots` are those looked at."""

    ledger_id: str
    why: str
    roots: tuple[Root, ...] = ()


NO_ROOTS: Mapping[Ref, Root] = {}


@dataclass(frozen=True, slots=True)
class Reader:
    """Who wants to read, and which scopes they hold at `now`."""

    held: Mapping[str, Micros | None]
    """Scope to the end of its longest valid grant; None: no end."""
    expired: frozenset[str]
    not_yet: frozenset[str]


@dataclass(frozen=True, slots=True)
class Call:
    """What all segments of one call share."""

    snapshot: Snapshot
    facts: Facts
    caller: Caller
    request: Request
    now: Micros
    policy_age_us: int
    reader: Reader
    activation: dict[str, object] = field(default_factory=dict)
    """What conditions read of the call as a whole; filled on first use, since most calls need it once a segment."""
    parents: dict[str, "Unusable | None"] = field(default_factory=dict)
    """Why each parent is not usable, or None, as far as it was judged: once a call, however many segments name it."""


class Subject(NamedTuple):
    """One segment with what it rests on, ready for the gates. Made by `subject_of`."""

    call: Call
    segment: Segment
    roots: tuple[Root, ...]
    """Everything that it rests on, direct roots first and in the order of their bindings."""
    direct: tuple[Root, ...]
    """The roots that are bindings of the segment."""
    carriers: tuple[Root, ...]
    """The direct roots that carry what is asserted: evidence, or, where none is bound, a claim's documents."""
    claim: Claim
    """What the segment asserts; the empty claim where the request made none."""
    need_numbers: bool
    need_advice: bool
    mismatch: str = ""
    """By ledger id: "principal" or "session" where the ledger entry is another's; else empty."""
    known_entry: bool = True
    """By ledger id: False where there is no such ledger entry in this tenant."""
    unusable: tuple[Unusable, ...] = ()
    """RETRIEVE and PUBLISH: the parents that this reader cannot build on."""
    by_ref: Mapping[Ref, Root] = NO_ROOTS
    """The roots by name, where there may be many: of a segment that has parents."""
    beyond: bool = False
    """It rests on more than a call is judged on: `roots` are its bindings alone, and it may only be withheld."""

    @property
    def aging(self) -> tuple[Root, ...]:
        """The roots whose age counts: what is bound, and for a segment made from others everything (F6).

        What its parents bound is not told from what stood behind that, so all of it must be young enough.
        """
        return self.roots if self.segment.parents else self.direct


def subject_of(
    call: Call,
    segment: Segment,
    *,
    needs: tuple[bool, bool],
    stored: tuple[Ref, ...] = (),
    mismatch: str = "",
    known_entry: bool = True,
    unusable: tuple[Unusable, ...] = (),
    beyond: bool = False,
) -> Subject:
    """The segment laid out.

    `needs`: numbers, advice; `stored`: roots besides those of its bindings, which a ledger entry names, or its parents.
    """
    roots = roots_of(call, segment.bindings, stored, behind=not beyond)
    direct = roots[: len(segment.bindings)]
    evidence = tuple(r for r in direct if r.record is not None and r.record.kind is RecordKind.EVIDENCE)
    carriers = direct if not evidence and segment.claim is not None else evidence
    by_ref = {root.ref: root for root in roots} if segment.parents else NO_ROOTS
    return Subject(
        *(call, segment, roots, direct, carriers, segment.claim or NO_CLAIM, *needs, mismatch, known_entry),
        *(unusable, by_ref, beyond),
    )


def reader_of(snapshot: Snapshot, facts: Facts, caller: Caller, request: Request, now: Micros) -> Reader:
    """The scopes that the principal holds now, by grants and, where policy trusts this caller for it, by claim."""
    held: dict[str, Micros | None] = {PUBLIC_SCOPE: None}
    expired, not_yet = set(), set()
    for grant in facts.grants.grants:
        if grant.expires_at is not None and grant.expires_at <= now:
            expired.add(grant.scope)
        elif grant.not_before - NOT_BEFORE_LEEWAY_US > now:
            not_yet.add(grant.scope)
        else:
            held[grant.scope] = _longest(held, grant)
    if caller.name in snapshot.claimed_scopes_from:
        held.update((scope, None) for scope in request.principal.claimed_scopes)
    return Reader(held, frozenset(expired), frozenset(not_yet))


def _longest(held: Mapping[str, Micros | None], grant: GrantFacts) -> Micros | None:
    if grant.scope not in held:
        return grant.expires_at
    known = held[grant.scope]
    return None if known is None or grant.expires_at is None else max(known, grant.expires_at)


def roots_of(
    call: Call, bindings: tuple[Binding, ...], stored: tuple[Ref, ...] = (), *, behind: bool = True
) -> tuple[Root, ...]:
    """Everything that is rested on: the bound records, those behind them if asked for, and those in `stored`."""
    roots = [root_of(call, Ref(b.record_id, b.version), b) for b in bindings]
    seen = {root.ref for root in roots}
    below = [ref for root in roots if behind and root.record is not None for ref in root.record.roots]
    for ref in (*below, *stored):
        if ref not in seen:
            seen.add(ref)
            roots.append(root_of(call, ref, None))
    return tuple(roots)


def root_of(call: Call, ref: Ref, binding: Binding | None) -> Root:
    """One of them: the record version as the index holds it, its record's current version, and its source."""
    record, current = call.facts.records.get(ref), call.facts.current.get(ref.record_id)
    hidden = record if binding is not None and _kept_from(call, record, current) else None
    record = None if hidden is not None else record
    known = record if record is not None else current
    source = call.snapshot.sources.get(known.source_label if known is not None else "")
    return Root(ref, binding, record, current, source, hidden)


def _kept_from(call: Call, record: RecordFacts | None, current: RecordFacts | None) -> bool:
    """True for a version out of the reader's scope of a record whose current version is in it.

    To this reader it looks like a version that never was. By ledger id the caller holds a copy, and nothing is hidden.
    """
    if record is None or current is None or record.current or call.request.moment.by_ledger_id:
        return False
    held = call.reader.held.keys()
    return held.isdisjoint(record.scopes) and not held.isdisjoint(current.scopes)


def scope_cause(reader: Reader, root: Root) -> Reason | None:
    """Why the reader may not know of this root. An unknown record takes the same steps as a denied one."""
    known = root.known
    scopes = known.scopes if known is not None else ()
    held = not reader.held.keys().isdisjoint(scopes)
    expired = not reader.expired.isdisjoint(scopes)
    not_yet = not reader.not_yet.isdisjoint(scopes)
    if known is None:
        return Reason.DOCUMENT_UNKNOWN
    if held:
        return None
    if expired:
        return Reason.SCOPE_EXPIRED
    return Reason.SCOPE_NOT_YET_VALID if not_yet else Reason.SCOPE_DENIED
