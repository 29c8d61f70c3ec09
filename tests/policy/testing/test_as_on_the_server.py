"""The index that sequences run on is a model of the server's: the same steps, here and over gRPC, decide the same."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.policy.compile import compile_set
from discreet.policy.testing.index import Index
from discreet.policy.testing.load import LoadedTest, load_tests
from discreet.policy.testing.play import begin
from discreet.policy.testing.registering import TAKES
from discreet.policy.testing.revisions import revisions
from discreet.policy.testing.steps import ActStep
from discreet.policy.words import Role
from discreet.server.identity.callers import ONE_DEVELOPER, Identity
from discreet.server.servicers.index import registering
from discreet.server.stores.sqlite import SqliteStore
from tests.policy.testing.authority_on_server import OrderSeen
from tests.policy.testing.held_and_purged import derived, held_and_purged, random_act, random_parents
from tests.policy.testing.on_server import OnServer, Publishing, Setting, said
from tests.server.conftest import place
from tests.server.support import config_of, in_process, make_repo

__all__ = ["place"]

POLICY = {
    "discreet.yaml": """apiVersion: discreet/v1
kind: PolicySet
name: test
parameters:
  shelf_listed: {type: boolean, default: shelf_listed}
  price_age: {type: duration, default: price_age}
  desks: {type: list, default: desks}
""",
    "sources.yaml": """apiVersion: discreet/v1
kind: SourceList
name: sources
sources:
  - {label: handbook, title: Book, duty: DOCUMENT_STORE, collectors: [collector], listed: {parameter: shelf_listed}}
  - {label: prices, title: Prices, duty: DATA_CHANNEL, collectors: [collector], max-age: {parameter: price_age}}
  - {label: notes, title: Notes, duty: DOCUMENT_STORE, collectors: [collector], listed: false}
""",
    "rules.yaml": """apiVersion: discreet/v1
kind: DisclosurePolicy
name: rules
requires: {%s}
rules:
  - {id: shown, effect: ALLOW, moments: [RETRIEVE, PUBLISH, REPLAY], sources: [handbook, prices, notes], advice: true}
  - {id: taken, effect: ALLOW, moments: [EXPORT], sources: [handbook]}
  - id: other-desk
    effect: WITHHOLD
    moments: [PUBLISH, REPLAY]
    sources: [handbook]
    when: document.attributes.desk != principal.attributes.desk || !(document.attributes.desk in parameters.desks)
    custom-reason: OTHER_DESK
  - id: fresh-from-the-press
    effect: WITHHOLD
    moments: [RETRIEVE]
    when: now - document.recorded_at < duration("1s") && document.version == "9"
  - {id: talk, effect: ALLOW, moments: [PUBLISH, REPLAY], grounding: UNBOUND, kinds: [talk]}
""",
}
RETENTION = """apiVersion: discreet/v1
kind: RetentionPolicy
name: retention
dry-run-above: 3
"""
DEFAULTS: dict[str, object] = {"shelf_listed": True, "price_age": "2h", "desks": ["north", "south"]}
CHANGES: list[tuple[str, object]] = [("shelf_listed", False), ("price_age", "30m"), ("desks", ["south"])]
HEAD = {
    "apiVersion": "discreet/v1",
    "kind": "PolicyTest",
    "name": "sequences",
    "now": "2026-03-01T12:00:00Z",
    "principals": [{"id": "ana", "attributes": {"desk": "north"}}, {"id": "bo", "attributes": {"desk": "south"}},
                   {"id": "cy"}],
    "grants": [{"principal": "ana", "scope": "desk"}, {"principal": "bo", "scope": "desk",
                                                       "expires-at": "2026-03-01T15:00:00Z"}],
}  # fmt: skip
UNTIL = "2026-03-01T18:00:00Z"
RECORDS: list[dict[str, Any]] = [
    {"record-id": "page/open", "version": "1", "source-label": "handbook", "scopes": ["public"],
     "collector": "collector", "attributes": {"desk": "north"}, "assessment-expires-at": UNTIL},
    {"record-id": "page/desk", "version": "1", "source-label": "handbook", "scopes": ["desk"],
     "collector": "collector", "attributes": {"desk": "north"}, "assessment-expires-at": UNTIL},
    {"record-id": "page/bare", "version": "1", "source-label": "handbook", "scopes": ["public"],
     "collector": "collector", "assessment-expires-at": UNTIL},
    {"record-id": "price/today", "version": "1", "kind": "EVIDENCE", "source-label": "prices", "own-source": True,
     "collector": "collector", "scopes": ["desk", "traders"], "as-of": "2026-03-01T11:30:00Z", "basis": "close",
     "fields": {"value": 3}, "assessment-expires-at": UNTIL},
    {"record-id": "quote/desk", "version": "1", "kind": "EVIDENCE", "source-label": "handbook", "scopes": ["public"],
     "collector": "collector", "attributes": {"desk": "north"}, "basis": "text", "as-of": "2026-03-01T10:00:00Z",
     "of": [{"record-id": "page/desk", "version": "1"}], "assessment-expires-at": UNTIL},
    {"record-id": "note/idea", "version": "1", "source-label": "notes", "scopes": ["public"],
     "collector": "collector", "assessment-expires-at": UNTIL},
]  # fmt: skip
NAMES = [record["record-id"] for record in RECORDS]
ANY = {"gate": "DEPENDENCY"}
DEMANDS = (
    *("retrieved-in-session: false", "retrieved-in-session: true", "same-grant-revision: true"),
    "same-policy-revision: true",
)


TOLD = {"held and purged", "derived"}
"""Sequences that say what becomes of each step where policies demand nothing of bindings."""


def test_every_duty_takes_the_same_origins() -> None:
    """A19: the model's table of what a source takes is the server's."""
    assert TAKES == registering.TAKES


@pytest.mark.parametrize("demand", DEMANDS)
async def test_the_same_steps_decide_the_same_here_and_on_the_server(place: Path, demand: str) -> None:
    """F12, B3, B7: sequences (retrieve, commit, revoke, replay, grants and time) are decided as the server does.

    Verdict, cause, what the reader is told, gate, rule, text and what a condition lacked are equal at each step, and a
    step is refused here where the server refuses it; every purge order stands alike after each of them. Written
    sequences, and many random ones.
    """
    policy = {name: text % demand if "%s" in text else text for name, text in POLICY.items()}
    policy["retention.yaml"] = RETENTION + ("recheck-after: 20m\n" if demand in DEMANDS[1::2] else "")
    bare = policy["discreet.yaml"]
    for name, value in DEFAULTS.items():
        policy["discreet.yaml"] = policy["discreet.yaml"].replace(f"default: {name}", f"default: {json.dumps(value)}")
    files = {name: text.encode() for name, text in policy.items()}
    loaded = loaded_test(files, random.Random(f"20260301 {demand}"))
    snapshot = compile_set(files, commit="", number=1, dirty=True)
    others, problems = revisions(files, [loaded], "")
    assert problems == []
    clock = Setting(loaded.test.now)
    store = SqliteStore(place / "discreet.db", clock)
    seen: set[tuple[str, str]] = set()
    repo = make_repo(place / "policy", policy)
    holders = {"identities": (*ONE_DEVELOPER, Identity("shelves", Role.HOLDER, None))}
    async with in_process(config_of(place, repo.path, **holders), store=store) as running:
        publishing = Publishing(repo, running.lines, bare, DEFAULTS)
        for number, sequence in enumerate(loaded.sequences):
            clock.now = type(clock.now)(loaded.test.now)
            value = sequence.sequence.value
            there = OnServer(running.lines, store, publishing, clock, f"tenant-{number}", loaded.test, value, snapshot)
            await there.begin()
            here = begin(loaded.test, snapshot, sequence.sequence, others)
            for position, step in enumerate(sequence.steps):
                what = f"{value.name}, step {position}: {step.placed.value!r}"
                result, judged = here.step(step)
                if isinstance(step.placed.value, ActStep):
                    unexpected = any(one.what == "step" for one in result.differences)
                    done = step.placed.value.refused == unexpected
                    assert not (value.name in TOLD and demand == DEMANDS[0] and result.differences), what
                    assert await there.act(step.verb, step.placed.value) == done, what
                    assert await there.authority.orders() == orders(here.index), what
                    continue
                assert judged is not None
                found = said(judged.decision)
                assert await there.ask(step.verb, step.placed.value) == found, what
                seen.add((found.verdict, found.reason))
    assert {"ALLOW", "WITHHOLD", "PURGE"} == {verdict for verdict, _ in seen}
    assert len({reason for _, reason in seen}) >= 12
    assert ("WITHHOLD", "UNTRUSTED_SOURCE") in seen
    assert {"LEGAL_HOLD", "FROZEN", "PARENT_UNUSABLE"} <= {reason for _, reason in seen}
    assert (("WITHHOLD", "POLICY_REVISION_CHANGED") in seen) == demand.startswith("same-policy")


def orders(index: Index) -> dict[str, OrderSeen]:
    """Every purge order of the model that a step has named, by its name."""
    return {
        name: OrderSeen(
            index.purges.counts(order_id, "", index.now, index.is_held), index.purges.done(order_id, index.now)
        )
        for (kind, name), order_id in index.names.items()
        if kind == "order"
    }


def loaded_test(files: dict[str, bytes], chance: random.Random) -> LoadedTest:
    """The written sequence and random ones, through the loader that people's tests go through."""
    stories = {"written": written(), "held and purged": held_and_purged(), "derived": derived()}
    sequences = [{"name": name, "principal": "ana", "steps": list(story)} for name, story in stories.items()]
    sequences += [
        {"name": f"random {number}", "principal": "ana", "steps": list(steps(chance))} for number in range(10)
    ]
    test = json.dumps(HEAD | {"records": RECORDS, "sequences": sequences}).encode()
    (loaded,), problems = load_tests(files | {"a_test.yaml": test})
    assert [str(problem) for problem in problems] == []
    return loaded


def written() -> Iterator[dict[str, Any]]:
    """The lifecycle that F12 names: disclosed, hidden, shown again, revoked, purged."""
    document = "page/desk"
    yield {"retrieve": document, "as": "read", "never": ANY}
    yield {"publish": document, "never": ANY}
    yield {"commit": document, "as": "answer", "never": ANY}
    yield {"replay": "answer", "never": ANY}
    yield {"replay": "answer", "principal": "bo", "never": ANY}
    yield {"replay": "answer", "session": "another", "never": ANY}
    yield {"suspend": document}
    yield {"replay": "answer", "never": ANY}
    yield {"resume": document}
    yield {"withdraw": {"principal": "ana", "scope": "desk"}}
    yield {"replay": "answer", "never": ANY}
    yield {"grant": {"principal": "ana", "scope": "desk", "expires-at": "2026-03-01T14:00:00Z"}}
    yield {"replay": "answer", "never": ANY}
    yield {"revoke": {"record": document, "purge-not-before": "2026-03-01T13:00:00Z"}}
    yield {"replay": "answer", "never": ANY}
    yield {"set-scopes": {"record": document, "scopes": ["public"]}}
    yield {"wait": "2h"}
    yield {"replay": "answer", "never": ANY}
    yield {"replay": "answer", "principal": "bo", "never": ANY}
    yield {"retrieve": [document, "page/open"], "never": ANY}
    page, first = RECORDS[0] | {"version": "2"}, {"record-id": "page/open", "version": "1"}
    yield {"put": {"record": page, "supersedes": first}}
    for taken_back in ({"wait": "1s"}, {"supersede": {"record": first}}, {"put": {"record": page}}):
        yield taken_back
        yield {"publish": first, "never": ANY}
        yield {"retrieve": "page/open", "never": ANY}
    yield {"publish": "quote/desk", "claim": {"basis": "text"}, "never": ANY}
    yield from _under_other_policies()


def _under_other_policies() -> Iterator[dict[str, Any]]:
    """What was shown, under a policy that changes; and commits that are made again, whatever became of them."""
    yield {"retrieve": ["page/open", "quote/desk"], "never": ANY}
    yield {"commit": "quote/desk", "as": "quoted", "claim": {"basis": "text"}, "never": ANY}
    yield {"commit": "page/bare", "as": "bare", "never": ANY}
    for parameters in ({"shelf_listed": False}, {"desks": ["south"]}, {}, {"price_age": "1h"}):
        yield {"policy": {"parameters": parameters}}
        for name in ("quoted", "bare"):
            yield {"replay": name, "never": ANY}
            yield {"commit-again": name, "locale": "zh-Hans", "never": ANY}
        yield {"publish": "page/open", "never": ANY}
        yield {"publish": "price/today", "claim": {"basis": "close"}, "never": ANY}


def steps(chance: random.Random) -> Iterator[dict[str, Any]]:
    """Random steps: as many that ask as that change something."""
    commits: list[str] = []
    reads: list[str] = []
    made: dict[str, list[str]] = {"hold": [], "freeze": [], "order": [], "holder": []}
    for number in range(28):
        asked: dict[str, Any] = {"never": ANY}
        asked |= {"principal": chance.choice(["ana", "bo", "cy"])} if chance.random() < 0.4 else {}
        asked |= {"session": "another"} if chance.random() < 0.1 else {}
        asked |= {"need-advice": True} if chance.random() < 0.2 else {}
        kind = chance.random()
        if kind < 0.15:
            reads.append(f"read {number}")
            yield {"retrieve": _documents(chance), "as": reads[-1]} | asked
        elif kind < 0.3:
            commits.append(f"commit {number}")
            asked |= {"receipts": chance.choice(["own", "none", *reads])} if chance.random() < 0.3 else {}
            talk = {"commit": [], "grounding": "UNBOUND", "kind": chance.choice(["talk", "answer"])}
            bound = {"commit": _documents(chance), "need-numbers": chance.random() < 0.2}
            bound |= random_parents(chance, commits[:-1])
            yield {"as": commits[-1]} | (talk if chance.random() < 0.1 else bound) | asked
        elif kind < 0.4:
            yield {"publish": _documents(chance), "claim": {"basis": "close"}} | asked
        elif kind < 0.5 and commits:
            yield {chance.choice(["replay", "export"]): chance.choice(commits)} | asked
        elif kind < 0.56 and commits:
            yield {"commit-again": chance.choice(commits), "never": ANY}
        elif kind < 0.6:
            yield {"policy": {"parameters": dict([chance.choice(CHANGES)])}}
        elif kind < 0.8:
            yield _change(chance, number)
        else:
            yield random_act(chance, made, NAMES)


def _documents(chance: random.Random) -> list[object]:
    unknown = {"record-id": "page/none", "version": "1", "unregistered": True}
    old = {"record-id": "page/desk", "version": "1"}
    others = [name for name in NAMES if name != "page/desk"]
    return chance.sample([*others, unknown, chance.choice([old, "page/desk"])], chance.choice([1, 1, 1, 2]))


def _change(chance: random.Random, number: int) -> dict[str, Any]:
    name = chance.choice(NAMES)
    whom = {"principal": chance.choice(["ana", "bo", "cy"]), "scope": chance.choice(["desk", "traders"])}
    later = f"2026-03-01T{chance.randint(12, 20)}:30:00Z"
    page = chance.choice(RECORDS[:3]) | {"version": chance.choice(["1", "2", "9"])}
    page |= {"scopes": chance.choice([["public"], ["desk"]])}
    put: dict[str, Any] = {"record": page}
    put |= {"supersedes": {"record-id": page["record-id"], "version": "1"}} if page["version"] != "1" else {}
    choices: list[dict[str, Any]] = [
        {"put": put},
        {"put": {"record": page}},
        {"suspend": name},
        {"resume": name},
        {"supersede": {"record": name, "by": chance.choice([one for one in NAMES if one != name])}},
        {"supersede": {"record": name}},
        {"set-scopes": {"record": name, "scopes": chance.choice([[], ["public"], ["desk"], ["traders", "desk"]])}},
        {"assess": {"record": name, "expires-at": later}},
        {"assess": {"record": name}},
        {"unreachable": name},
        {"reachable": name},
        {"grant": whom},
        {"grant": whom | {"expires-at": later}},
        {"grant": whom | {"not-before": later}},
        {"withdraw": whom},
        {"wait": chance.choice(["30m", "1h", "2s"])},
    ]
    return chance.choice(choices)
