"""Where a rule stands has no meaning: files, documents, rules and keys may come in any order."""

from __future__ import annotations

import hashlib
import json
import random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.policy.bundle import bundle_digest
from discreet.policy.compile import compile_set
from discreet.policy.testing import CaseResult, load_tests, run_loaded
from tests.policy.sets.sets import SET

LABELS = ("kb-1", "kb-2")
MOMENTS = ("RETRIEVE", "PUBLISH")


class Decided(NamedTuple):
    """What a battery of questions was answered under one arrangement of a set."""

    digest: str
    rules: frozenset[str]


def record(label: str, number: int) -> dict[str, object]:
    """Returns a record of a source."""
    return {
        "record-id": f"{label}/{number}",
        "version": "1",
        "source-label": label,
        "scopes": ["public"],
        "assessment-expires-at": "2030-01-01T00:00:00Z",
        "attributes": {"level": number} if number else {},
    }


def battery() -> bytes:
    """Returns tests that ask for every source, level, kind and moment; what they expect does not matter here."""
    cases = [
        {
            "name": f"{moment} {label} {number} {kind}",
            "moment": moment,
            "principal": "ana",
            "kind": kind,
            "bindings": [{"record-id": f"{label}/{number}", "version": "1"}],
            "expect": {"verdict": "ALLOW"},
        }
        for moment in MOMENTS
        for label in LABELS
        for number in range(3)
        for kind in ("answer", "quote")
    ]
    cases += [
        {
            "name": f"{moment} {kind}",
            "moment": moment,
            "principal": "ana",
            "kind": kind,
            "grounding": "UNBOUND",
            "expect": {"verdict": "ALLOW"},
        }
        for moment in MOMENTS
        for kind in ("answer", "small-talk")
    ]
    records = [record(label, number) for label in LABELS for number in range(3)]
    return dumped("PolicyTest", "battery", {"now": "2026-01-05T09:00:00Z", "records": records, "cases": cases})


def dumped(kind: str, name: str, body: dict[str, object]) -> bytes:
    """Returns a document as JSON, which YAML is, too; its keys stand in the order of the mapping."""
    document = {"apiVersion": "discreet/v1", "kind": kind, "name": name, **body}
    return json.dumps(document).encode()


SOURCES = dumped(
    "SourceList",
    "sources",
    {
        "sources": [
            {"label": label, "title": label, "duty": "DOCUMENT_STORE", "collectors": ["clerk"]} for label in LABELS
        ]
    },
)
TESTS = load_tests({"battery_test.yaml": battery()})[0]


def arranged(rules: list[dict[str, object]], order: random.Random, files: int) -> dict[str, bytes]:
    """Returns a set whose rules are shuffled, split over files with random names, with keys in random order."""
    parts: list[list[dict[str, object]]] = [[] for _ in range(files)]
    for rule in order.sample(rules, len(rules)):
        keys = list(rule)
        order.shuffle(keys)
        order.choice(parts).append({key: rule[key] for key in keys})
    found = {"discreet.yaml": SET.encode(), f"{order.random()}/s.yaml": SOURCES}
    for number, part in enumerate(parts):
        body: dict[str, object] = {"rules": part} if part else {"empty": True}
        found[f"{order.random()}-{number}.yaml"] = dumped("DisclosurePolicy", f"part-{number}", body)
    return dict(order.sample(list(found.items()), len(found)))


def outcome(result: CaseResult) -> str:
    """Returns all that a decision says, without the place of its rule."""
    decision = result.decision
    return repr((result.name, decision.verdict, decision.reason, decision.rule, decision.custom_reason, decision.text,
                 decision.gate, decision.trace, decision.action_tendency))  # fmt: skip


def decided(files: dict[str, bytes]) -> Decided:
    """Returns what the battery is answered under a set."""
    snapshot = compile_set(files, commit="", number=2, dirty=True)
    results = run_loaded(TESTS, snapshot)
    digest = hashlib.sha256("\n".join(map(outcome, results)).encode()).hexdigest()
    return Decided(digest, frozenset(result.decision.rule for result in results))


def verdicts(rules: list[dict[str, object]]) -> dict[str, str]:
    """Returns the verdict of each question of the battery under a set of rules."""
    snapshot = compile_set(arranged(rules, random.Random(0), 1), commit="", number=2, dirty=True)
    return {result.name: result.decision.verdict.name for result in run_loaded(TESTS, snapshot)}


CONDITIONS = [
    "document.attributes.level > 1",
    "has(document.attributes.level)",
    'principal.id == "ana"',
    "1 / 0 == 1",
    None,
]


@st.composite
def some_rules(draw: st.DrawFn) -> list[dict[str, object]]:
    """Draws up to eight rules of every effect, over any sources, kinds and conditions."""
    rules: list[dict[str, object]] = []
    for number in range(draw(st.integers(1, 8))):
        effect = draw(st.sampled_from(["ALLOW", "WITHHOLD"]))
        unbound = draw(st.booleans())
        rule: dict[str, object] = {
            "id": f"r{number}",
            "effect": effect,
            "moments": draw(st.lists(st.sampled_from(MOMENTS), min_size=1, unique=True)),
            "kinds": draw(st.lists(st.sampled_from(["answer", "quote", "small-talk"]), min_size=1, unique=True)),
        }
        if unbound:
            rule["grounding"] = "UNBOUND"
        elif draw(st.booleans()):
            rule["sources"] = draw(st.lists(st.sampled_from(LABELS), min_size=1, unique=True))
        when = draw(st.sampled_from(CONDITIONS[2:] if unbound else CONDITIONS))
        if when is not None:
            rule["when"] = when
        if effect == "WITHHOLD":
            rule["custom-reason"] = f"REASON_{number}"
        rules.append(rule)
    return rules


@settings(max_examples=settings().max_examples // 2)
@given(some_rules(), st.randoms(use_true_random=False), st.integers(1, 4))
def test_the_order_of_rules_files_and_keys_changes_no_decision(
    rules: list[dict[str, object]], order: random.Random, files: int
) -> None:
    """E1, POL-14: verdict, reason, rule and text are the same for any arrangement of the same rules."""
    plain = arranged(rules, random.Random(0), 1)
    assert decided(arranged(rules, order, files)) == decided(plain)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_specific_withhold_beats_a_general_allow_in_every_order(swapped: bool) -> None:
    """POL-14: allow everything public, withhold one source; 50 shuffles over three files, names swapped; one digest."""
    names = ("z-allow", "a-withhold") if swapped else ("a-allow", "z-withhold")
    both: dict[str, object] = {"effect": "ALLOW", "moments": list(MOMENTS), "sources": list(LABELS), "kinds": ["quote"]}
    rules: list[dict[str, object]] = [
        {"id": names[0], "effect": "ALLOW", "moments": list(MOMENTS)},
        {"id": names[1], "effect": "WITHHOLD", "moments": list(MOMENTS), "sources": ["kb-2"]},
        *({"id": f"m{number}", **both} for number in range(5)),
    ]
    seen = {decided(arranged(rules, random.Random(seed), 3)) for seed in range(50)}
    assert len(seen) == 1
    snapshot = compile_set(arranged(rules, random.Random(1), 3), commit="", number=2, dirty=True)
    for result in run_loaded(TESTS, snapshot):
        if "kb-2" in result.name:
            assert result.decision.verdict.name == "WITHHOLD"
            assert result.decision.rule == names[1]
        elif "kb-1" in result.name:
            assert result.decision.verdict.name == "ALLOW"


@settings(max_examples=settings().max_examples // 2)
@given(some_rules(), some_rules(), st.integers(0, 7))
def test_adding_a_withholding_rule_never_allows_more(
    rules: list[dict[str, object]], more: list[dict[str, object]], place: int
) -> None:
    """F12, POL-14: whatever the set says, one more withholding rule, conditions that err among them, opens nothing."""
    for number, rule in enumerate(more):
        extra = {**rule, "id": f"zz{number}", "effect": "WITHHOLD"}
        before, after = verdicts(rules), verdicts([*rules[:place], extra, *rules[place:]])
        assert {name: found for name, found in after.items() if found not in (before[name], "WITHHOLD")} == {}
        assert {name for name, found in before.items() if found != "ALLOW" and after[name] != found} == set()


def test_the_bundle_digest_follows_the_files_and_not_their_order() -> None:
    """F2: the same files give the same digest whatever order a folder lists them in; another file gives another."""
    rules: list[dict[str, object]] = [{"id": "a", "effect": "ALLOW", "moments": ["PUBLISH"]}]
    files = arranged(rules, random.Random(3), 2)
    assert bundle_digest(dict(reversed(files.items()))) == bundle_digest(files)
    assert bundle_digest(files | {"x.yaml": b"a: 1\n"}) != bundle_digest(files)
