"""Random worlds in which most facts are in order, so that every gate is reached by some. It judges nothing itself."""

from __future__ import annotations

from random import Random
from typing import Any

from discreet.policy.facts import LedgerFacts, Micros, PrincipalGrants, RecordFacts, Ref, Standing, Target
from discreet.policy.request import Binding, Claim, Principal, Segment
from discreet.policy.snapshot import Requires, Rule
from discreet.policy.words import Effect, Grounding, Moment, Origin
from tests.policy.decide.oracle import CONDITIONS, tokens_of
from tests.policy.decide.world import (
    DAY,
    DIGEST,
    NOW,
    OTHER_DIGEST,
    OTHER_EPOCH,
    SECOND,
    SOURCES,
    World,
    at,
    edit,
    evidence,
    freeze,
    grant,
    holds,
    record,
    revoke,
    rule,
    segment,
    snapshot,
    stands,
    token,
)

COLLECTORS = {"wiki": "wiki-importer", "news": "news-importer", "ledger-feed": "feed-importer", "models": "deriver"}
OFFSETS = (-10 * DAY, -DAY - 1, -DAY, -DAY + 1, -1, 0, 1, 5 * SECOND, 5 * SECOND + 1, DAY)
ATTRIBUTES: tuple[dict[str, object], ...] = (
    {},
    {"level": 1},
    {"level": 5, "desk": "north"},
    {"level": 1, "tags": [], "desk": "south"},
    {"desk": 7},
    {"level": 1, "desk": "north"},
)
TOKEN_TEXTS = (*tokens_of(token), token(epoch=OTHER_EPOCH))


class Maker:
    """Makes worlds. `trouble` is how likely each fact is out of order."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.trouble = self.random.choice((0.0, 0.01, 0.03, 0.08))

    def odd(self) -> bool:
        """True where this fact is to be out of order."""
        return self.random.random() < self.trouble

    def some_time(self) -> Micros:
        """A time at or near a boundary."""
        return at(self.random.choice(OFFSETS))

    def states(self) -> dict[str, Any]:
        """The changes that trouble makes to a record."""
        pick = self.random.choice
        trouble: dict[str, Any] = {
            "scopes": pick(((), ("staff",), ("board",), ("staff", "board"), ("public",))),
            "digest": OTHER_DIGEST,
            "current": False,
            "assessment_expires_at": pick((None, at(-1), at(0), at(1))),
            "superseded_by": Ref("kb-9", "1"),
            "suspended": True,
            "suspended_until": pick((None, self.some_time())),
            "unreachable": True,
            "revoked": revoke(self.some_time()),
            "collector": "intruder",
            "source_label": pick((*COLLECTORS, "memo", "nowhere")),
            "as_of": pick((None, self.some_time())),
            "basis": pick(("", "reported")),
            "fields": pick(({}, {"value": None}, {"unit": "EUR"})),
            "origin": pick(list(Origin)),
        }
        return {name: value for name, value in trouble.items() if self.odd()}

    def records(self) -> tuple[RecordFacts, ...]:
        """Documents, figures of them, and a figure derived from figures; some behind others, some missing."""
        level = {"attributes": self.random.choice(ATTRIBUTES)}
        docs = [record(f"kb-{i}", **(level | self.states())) for i in range(2)]
        news = record("news-1", source_label="news", collector=COLLECTORS["news"], as_of=at(-DAY), **self._more("news"))
        figures = [
            evidence(f"quote-{i}", **(level | self._behind(docs) | self._age() | self.states())) for i in range(2)
        ]
        derived = evidence(
            "sum-1",
            source_label="models",
            collector="deriver",
            own_source=False,
            inputs=tuple(f.ref for f in figures),
            roots=tuple(dict.fromkeys([f.ref for f in figures] + [r for f in figures for r in f.roots])),
            formula="a + b",
            **self._more("models"),
        )
        return tuple(one for one in (*docs, news, *figures, derived) if not self.odd())

    def _more(self, _label: str) -> dict[str, Any]:
        kept = ("suspended", "suspended_until", "unreachable", "revoked", "assessment_expires_at", "current", "scopes")
        return {name: value for name, value in self.states().items() if name in kept}

    def _age(self) -> dict[str, Any]:
        return {"as_of": at(self.random.choice((-DAY - 1, -DAY, -DAY + 1)))} if self.random.random() < 0.2 else {}

    def _behind(self, docs: list[RecordFacts]) -> dict[str, Any]:
        of = tuple(d.ref for d in docs if self.random.random() < 0.4)
        return {"of": of, "roots": of, "own_source": not of}

    def binding(self, known: tuple[RecordFacts, ...]) -> Binding:
        """A binding to some record, mostly telling the truth about it."""
        pick = self.random.choice
        target = pick(known) if known and not self.odd() else record("kb-404")
        made: dict[str, Any] = {
            "version": "9",
            "digest": OTHER_DIGEST,
            "claimed_label": pick((target.source_label, "wiki", "memo")),
            "claimed_as_of": pick((target.as_of, self.some_time())),
            "claimed_basis": pick((target.basis, "reported")),
        }
        wrong = {name: value for name, value in made.items() if self.odd()}
        true = Binding(target.record_id, target.version, DIGEST, granted_under=pick(TOKEN_TEXTS))
        return edit(true, **wrong)

    def claim(self) -> Claim | None:
        """No claim, one about now, or one about a period."""
        about = self.random.choice((None, None, (at(-2 * DAY), at(-DAY)), (at(-DAY), at(DAY)), (at(1), at(DAY))))
        basis = self.random.choice(("", "adjusted", "adjusted", "reported"))
        made = Claim(basis, about, self.random.choice(((), ("value",), ("value", "unit"))))
        return self.random.choice((None, made))

    def segments(self, known: tuple[RecordFacts, ...]) -> tuple[Segment, ...]:
        """Up to three bound segments of up to three bindings."""
        return tuple(
            segment(
                *(self.binding(known) for _ in range(self.random.choice((1, 1, 1, 2, 3)) - self.odd())),
                id=f"s{i}",
                kind=self.random.choice(("answer", "quote")),
                claim=self.claim(),
                parents=self._parents(),
            )
            for i in range(self.random.choice((1, 2, 3)))
        )

    def _parents(self) -> tuple[str, ...]:
        """Mostly none; else one or two of the ledger, or an id that is in no ledger."""
        if self.random.random() < 0.8:
            return ()
        known = ["L-one", "L-all", "L-board", "L-nothing", "L-bare"]
        return tuple(self.random.sample(known, self.random.choice((1, 1, 2)))) + (("L-404",) if self.odd() else ())

    def ledger(self, known: tuple[RecordFacts, ...]) -> dict[str, LedgerFacts]:
        """Entries of ana and of bo: on one record, on all, on what only the board may see, on nothing."""
        board = tuple(one.ref for one in known if "staff" not in one.scopes)
        plain: dict[str, Any] = {"session_id": "session-0", "answer_id": "a", "segment_id": "s", "segment": b""}
        plain |= {"segment_digest": DIGEST, "seq": 7, "committed_at": at(-DAY), "store_by": at(-DAY)}
        roots = {"L-one": known[:1], "L-all": known, "L-bare": (), "L-nothing": ()}
        refs = {
            name: tuple(dict.fromkeys(r for one in of for r in (one.ref, *one.roots))) for name, of in roots.items()
        }
        refs["L-board"] = board
        return {
            name: LedgerFacts(name, "bo" if name in {"L-all", "L-bare"} else "ana", **plain, roots=of, grounding=ground)
            for name, of in refs.items()
            for ground in [Grounding.BOUND if of else Grounding.UNBOUND]
        }

    def standing(self) -> Standing:
        """Nothing, mostly; else holds, freezes and revokes of what these worlds have."""
        pick, labels = self.random.choice, (*COLLECTORS, "memo")
        targets = [Target(pick(labels)), Target(record_id=pick(("kb-0", "quote-1"))), Target("", "kb-1", pick("19"))]
        frozen = [freeze(pick(labels), self.some_time()), freeze("", self.some_time())]
        return stands(
            revoked_sources={pick(labels): revoke(self.some_time(), order_id="order-2")} if self.odd() else {},
            holds=holds(*(target for target in targets if self.odd())),
            freezes=tuple(each for each in frozen if self.odd()),
        )

    def rule(self, rule_id: str, effect: Effect) -> Rule:
        """A rule of an effect with some moments, sources, kinds and a condition that the oracle knows."""
        pick = self.random.choice
        return rule(
            rule_id,
            effect,
            pick(list(CONDITIONS)),
            moments=frozenset(self.random.sample(list(Moment), pick((1, 2, 4, 4, 4)))),
            sources=pick((None, None, frozenset({"wiki"}), frozenset({"ledger-feed", "wiki"}))),
            kinds=pick((None, None, frozenset({"answer"}))),
        )

    def rules(self) -> list[Rule]:
        """Mostly an open policy, with some withholding rules; sometimes a careful one."""
        allow = [self.rule(f"allow-{i}", Effect.ALLOW) for i in range(self.random.choice((0, 1, 2, 3, 12)))]
        shut = [self.rule(f"shut-{i}", Effect.WITHHOLD) for i in range(self.random.choice((0, 0, 0, 0, 1, 2, 12)))]
        return [*allow, *shut, *([rule("open")] if self.random.random() < 0.6 else [])]

    def world(self) -> World:
        """A whole world."""
        pick = self.random.choice
        known = self.records()
        demands = Requires(*(self.random.random() < 0.1 for _ in range(3)))
        sources = {label: s for label, s in SOURCES.items() if not self.odd()}
        policy = snapshot(
            requires=demands,
            sources=sources,
            policy_max_age_us=pick((None, 100)),
            claimed_scopes_from=pick((frozenset[str](), frozenset({"agent-1"}))),
        )
        grants = [grant(), *([grant("board", self.some_time(), pick((None, self.some_time())))])]
        held = tuple(g for g in grants if not self.odd())
        if self.odd():
            held = (grant("staff", expires_at=self.some_time()), grant("staff", self.some_time()))
        return World(
            known,
            self.segments(known),
            snapshot=policy,
            rules=tuple(self.rules()),
            grants=PrincipalGrants(held, 5),
            ledger=self.ledger(known),
            standing=self.standing(),
            moment=pick((Moment.RETRIEVE, Moment.PUBLISH)),
            principal=Principal(pick(("ana", "ana", "bo")), pick(((), ("board",)))),
            need_numbers=self.random.random() < 0.3,
            policy_age_us=pick((0, 100, 101)) if self.odd() else 0,
            now=NOW,
        )


def random_world(seed: int) -> World:
    """The world of a seed."""
    return Maker(seed).world()
