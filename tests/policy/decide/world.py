"""A small world in which everything passes, and the ways to change one thing of it. It judges nothing itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar, cast

from discreet.policy.cel import Condition, compile_condition
from discreet.policy.decide import decide
from discreet.policy.decision import Decided, SegmentDecision
from discreet.policy.facts import (
    NOTHING_STANDS,
    Caller,
    Facts,
    Freeze,
    GrantFacts,
    Hold,
    LedgerFacts,
    Micros,
    PrincipalGrants,
    ReceiptKey,
    RecordFacts,
    Ref,
    Revoke,
    Standing,
    Target,
)
from discreet.policy.request import Binding, Claim, Principal, Request, Segment
from discreet.policy.rule_index import rule_index
from discreet.policy.schema import schema_for
from discreet.policy.snapshot import Requires, Rule, Snapshot, Source
from discreet.policy.texts_builtin import BUILTIN
from discreet.policy.token import Token, encode
from discreet.policy.words import Duty, Effect, Grounding, Moment, Origin, RecordKind, Role

NOW = Micros(1_780_000_000_000_000)
SECOND = 1_000_000
DAY = 86_400 * SECOND
EPOCH = "0f" * 16
OTHER_EPOCH = "f0" * 16
SEQ = 900
KEY = ReceiptKey("k1", b"a key for tests, 32 bytes long..")
DIGEST = "a" * 64
OTHER_DIGEST = "b" * 64
EVERY_MOMENT = frozenset(Moment)
FIGURE = Claim("adjusted", None, ("value",))


T = TypeVar("T")


def edit(value: T, **changes: Any) -> T:
    """The value with some of its fields changed, dataclass or named tuple."""
    anything = cast(Any, value)
    return cast(T, replace(anything, **changes) if is_dataclass(value) else anything._replace(**changes))


def at(us: int) -> Micros:
    """The time so many microseconds after NOW."""
    return Micros(NOW + us)


def revoke(purge_not_before: Micros = NOW, seq: int = 800, order_id: str = "order-1") -> Revoke:
    """A retention revoke that is due from `purge_not_before` on."""
    return Revoke("ops", "erasure", "T-1", at(-DAY), purge_not_before, seq, order_id)


def holds(*targets: Target) -> Mapping[Target, tuple[Hold, ...]]:
    """A legal hold on each of the targets, the first called hold-1."""
    made = (Hold(f"hold-{i}", target, "counsel", "case", "T-2", at(-DAY)) for i, target in enumerate(targets, start=1))
    return {hold.target: (hold,) for hold in made}


def freeze(label: str = "", until: Micros | None = None) -> Freeze:
    """A freeze of a source, or of everything; for an hour unless told otherwise."""
    return Freeze("freeze-1", label, "ops", "leak", at(-DAY), at(3600 * SECOND) if until is None else until)


def stands(**changes: Any) -> Standing:
    """What stands for the tenant, as of sequence number 600."""
    return edit(Standing(600), **changes)


def record(record_id: str = "kb-1", version: str = "1", **changes: Any) -> RecordFacts:
    """A document of `wiki` that everyone of the tenant may read and that passes every gate."""
    plain: dict[str, Any] = {
        "revision": 10,
        "kind": RecordKind.DOCUMENT,
        "digest": DIGEST,
        "source_label": "wiki",
        "collector": "wiki-importer",
        "recorded_at": at(-DAY),
        "current": True,
        "scopes": ("staff",),
        "assessment_expires_at": at(DAY),
    }
    return RecordFacts(record_id, version, **(plain | changes))


def evidence(record_id: str = "quote-1", version: str = "1", **changes: Any) -> RecordFacts:
    """A figure of `ledger-feed`, an hour old, with time, basis and value."""
    plain: dict[str, Any] = {
        "kind": RecordKind.EVIDENCE,
        "source_label": "ledger-feed",
        "collector": "feed-importer",
        "as_of": at(-3600 * SECOND),
        "basis": "adjusted",
        "own_source": True,
        "origin": Origin.COLLECTED,
        "fields": {"value": 7, "unit": "EUR"},
    }
    return record(record_id, version, **(plain | changes))


def binding_to(target: RecordFacts, **changes: Any) -> Binding:
    """A binding that says of the record what the record says."""
    return edit(Binding(target.record_id, target.version, target.digest), **changes)


def segment(*bindings: Binding, **changes: Any) -> Segment:
    """A bound answer."""
    plain: dict[str, Any] = {"id": "s1", "kind": "answer", "grounding": Grounding.BOUND, "digest": "c" * 64}
    return Segment(bindings=bindings, **(plain | changes))


def grant(scope: str = "staff", not_before: Micros | None = None, expires_at: Micros | None = None) -> GrantFacts:
    """A grant that has been valid for a day."""
    return GrantFacts(scope, 1, 5, at(-DAY) if not_before is None else not_before, expires_at)


@cache
def condition(text: str, grounding: Grounding = Grounding.BOUND) -> Condition:
    """A compiled condition over the declared activation."""
    return compile_condition(text, schema_for(grounding))


def rule(rule_id: str, effect: Effect = Effect.ALLOW, when: str = "", **changes: Any) -> Rule:
    """A rule for bound segments of every moment, source and kind."""
    grounding = changes.pop("grounding", Grounding.BOUND)
    plain: dict[str, Any] = {"moments": EVERY_MOMENT, "sources": None, "kinds": None}
    compiled = condition(when, grounding) if when else None
    return Rule(rule_id, effect, grounding=grounding, when=compiled, **(plain | changes))


SOURCES = {
    "wiki": Source("wiki", "Wiki", Duty.DOCUMENT_STORE, frozenset({"wiki-importer"}), None),
    "news": Source("news", "News", Duty.DOCUMENT_STORE, frozenset({"news-importer"}), 7 * DAY),
    "ledger-feed": Source("ledger-feed", "Feed", Duty.DATA_CHANNEL, frozenset({"feed-importer"}), DAY),
    "models": Source("models", "Derived", Duty.DERIVATION, frozenset({"deriver"}), DAY),
    "memo": Source("memo", "Internal memos", Duty.DOCUMENT_STORE, frozenset({"memo-importer"}), None, listed=False),
}


OPEN = (rule("open"),)
"""The policy that allows everything that the gates let through."""


def snapshot(rules: Iterable[Rule] = OPEN, **changes: Any) -> Snapshot:
    """A policy revision; unless told otherwise one that allows everything that the gates let through."""
    plain: dict[str, Any] = {
        "name": "test",
        "number": 3,
        "commit": "d" * 40,
        "digest": "e" * 64,
        "dirty": False,
        "sources": SOURCES,
        "texts": BUILTIN,
        "requires": Requires(),
    }
    return Snapshot(rules=rule_index(rules), **(plain | changes))


def token(seq: int = SEQ, number: int = 3, epoch: str = EPOCH) -> str:
    """A token of this world's database."""
    return encode(Token(epoch, seq, number))


@dataclass(frozen=True, slots=True)
class World:
    """All inputs of one call. `ask` decides it."""

    records: tuple[RecordFacts, ...]
    segments: tuple[Segment, ...]
    snapshot: Snapshot = field(default_factory=snapshot)
    rules: tuple[Rule, ...] = OPEN
    """The rules in force; those of `snapshot` do not count."""
    grants: PrincipalGrants = PrincipalGrants((grant(),), 5)
    ledger: Mapping[str, LedgerFacts] = field(default_factory=dict)
    stored: Mapping[str, Segment] = field(default_factory=dict)
    ledger_ids: tuple[str, ...] = ()
    standing: Standing = NOTHING_STANDS
    moment: Moment = Moment.PUBLISH
    principal: Principal = Principal("ana")
    caller: Caller = Caller("agent-1", Role.AGENT, None)
    session_id: str = "session-1"
    locale: str = "en"
    need_numbers: bool = False
    need_advice: bool = False
    now: Micros = NOW
    policy_age_us: int = 0
    receipt_keys: tuple[ReceiptKey, ...] = (KEY,)

    @property
    def policy(self) -> Snapshot:
        """The policy revision in force."""
        return replace(self.snapshot, rules=rule_index(self.rules))

    @property
    def facts(self) -> Facts:
        """What the index holds."""
        records = {one.ref: one for one in self.records}
        current = {one.record_id: one for one in self.records if one.current}
        return Facts(EPOCH, SEQ, records, current, self.grants, self.ledger, self.receipt_keys, self.standing)

    @property
    def request(self) -> Request:
        """What is asked."""
        replay = self.moment in {Moment.REPLAY, Moment.EXPORT}
        return Request(
            "marlowe",
            self.moment,
            self.principal,
            self.session_id,
            () if replay else self.segments,
            self.ledger_ids if replay else (),
            locale=self.locale,
            need_numbers=self.need_numbers,
            need_advice=self.need_advice,
        )

    def ask(self, **changes: Any) -> Decided:
        """The decision, after changes to this world's fields."""
        world = edit(self, **changes)
        return decide(
            world.policy,
            world.facts,
            world.caller,
            world.now,
            world.request,
            policy_age_us=world.policy_age_us,
            stored=dict(world.stored),
        )

    def one(self, **changes: Any) -> SegmentDecision:
        """The decision on the only segment, after changes."""
        (result,) = self.ask(**changes).results
        return result

    def replayed(self, ledger_id: str = "L1", **entry: Any) -> World:
        """The same world after its only segment was committed: asked again by ledger id, as a rule at REPLAY."""
        (stored,) = self.segments
        moment = entry.pop("moment", Moment.REPLAY)
        bound = {b.record_id for b in stored.bindings}
        behind = (ref for one in self.records if one.record_id in bound for ref in (one.ref, *one.roots))
        plain: dict[str, Any] = {
            "principal_id": "ana",
            "session_id": "session-1",
            "answer_id": "answer-1",
            "segment_id": stored.id,
            "segment_digest": stored.digest,
            "grounding": stored.grounding,
            "segment": b"",
            "roots": tuple(dict.fromkeys((*behind, *self._of_parents(stored)))),
            "seq": 700,
            "committed_at": at(-3600 * SECOND),
            "store_by": at(-3000 * SECOND),
            "need_numbers": self.need_numbers,
            "need_advice": self.need_advice,
        }
        ledger = {**self.ledger, ledger_id: LedgerFacts(ledger_id, **(plain | entry))}
        asked = {"ledger_ids": (ledger_id,), "segments": (), "moment": moment}
        return edit(self, ledger=ledger, stored={**self.stored, ledger_id: stored}, **asked)

    def _of_parents(self, stored: Segment) -> list[Ref]:
        return [ref for parent in stored.parents if parent in self.ledger for ref in self.ledger[parent].roots]


def world(*records: RecordFacts, claim: Claim | None = None, **changes: Any) -> World:
    """A world with these records and one segment that is bound to each of them."""
    given = records or (record(),)
    bound = segment(*(binding_to(one) for one in given), claim=claim)
    return World(given, (changes.pop("segment", bound),), **changes)


def figure_world(**changes: Any) -> World:
    """A claim about a figure, with numbers needed, that passes every gate."""
    return world(evidence(), claim=FIGURE, need_numbers=True, **changes)


def behind(*refs: RecordFacts) -> tuple[Ref, ...]:
    """The refs of records, to stand behind another."""
    return tuple(one.ref for one in refs)
