"""The policy sets of a storm, one a commit: good ones that answer by their own index, and bad ones. No I/O.

One rule stands in every good set: what rests on the source `secret` is never allowed. Bad sets carry their index, too,
so an answer made under one would show; where one lacks the rule, it would even allow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from discreet.v1 import common_pb2, disclosure_pb2
from tests.server.messages import binding, segment

OPEN, SECRET = "handbook/leave", "secret/plan"
NEVER: Final = "NEVER"
NEUTRAL: Final = frozenset({
    "POLICY_REVISION_CHANGED", "DEPENDENCY_UNAVAILABLE", "AUDIT_UNAVAILABLE",
})  # fmt: skip
"""Reasons of a segment that no revision decided: it is withheld, and asked again."""


class Kind(Enum):
    """What a commit holds."""

    GOOD = "good"
    MISSPELT = "misspelt"
    """Does not compile."""
    UNGUARDED = "unguarded"
    """Lacks the rule, and its own test says so."""
    HALF_RENAMED = "half renamed"
    """The first half of a change of two files: a source has a new name in one of them. Does not compile."""
    HALF_MOVED = "half moved"
    """The first half of a change of two files: the rule is gone from one and not yet in the other."""


BAD: Final = tuple(kind for kind in Kind if kind is not Kind.GOOD)

_HEAD = "apiVersion: discreet/v1\nkind: {}\nname: {}\n"
_MOMENTS = "    moments: [RETRIEVE, PUBLISH, REPLAY, EXPORT]\n"
_GUARD = (
    _HEAD.format("DisclosurePolicy", "guard")
    + f"rules:\n  - id: never\n    effect: WITHHOLD\n{_MOMENTS}    sources: [secret]\n    custom-reason: {NEVER}\n"
)
_NO_GUARD = (
    _HEAD.format("DisclosurePolicy", "guard")
    + f"rules:\n  - id: other\n    effect: WITHHOLD\n{_MOMENTS}    sources: [secret]\n    kinds: [other]\n"
)
_READ = "scopes: [public], assessment-expires-at: 2027-01-01T00:00:00Z"
_TEST = f"""{_HEAD.format("PolicyTest", "storm")}now: 2026-03-02T10:00:00Z
records:
  - {{record-id: {OPEN}, version: "1", source-label: handbook, {_READ}}}
  - {{record-id: {SECRET}, version: "1", source-label: secret, {_READ}}}
cases:
  - name: the secret is never told
    moment: PUBLISH
    principal: ana
    bindings: [{SECRET}]
    expect: {{verdict: WITHHOLD, reason: POLICY_RULE, custom-reason: {NEVER}}}
  - name: the handbook is
    moment: PUBLISH
    principal: ana
    bindings: [{OPEN}]
    expect: {{verdict: ALLOW}}
"""


def files_of(index: int, kind: Kind = Kind.GOOD) -> dict[str, str]:
    """The files of the commit of that index."""
    label = "sealed" if kind is Kind.HALF_RENAMED else "secret"
    files = {
        "discreet.yaml": _HEAD.format("PolicySet", "storm") + "use-within: 2s\naudit: {checks: none}\n",
        "sources.yaml": _HEAD.format("SourceList", "sources")
        + "sources:\n"
        + "".join(
            f"  - {{label: {one}, title: {one}, duty: DOCUMENT_STORE, collectors: [collector]}}\n"
            for one in ("handbook", label)
        ),
        "guard.yaml": _NO_GUARD if kind is Kind.UNGUARDED else _GUARD,
        "rules.yaml": _rules(index),
        "storm_test.yaml": _TEST,
    }
    if kind is Kind.MISSPELT:
        files["rules.yaml"] = files["rules.yaml"].replace("effect: ALLOW", "efect: ALLOW")
    if kind is Kind.HALF_MOVED:
        del files["guard.yaml"]
    return files


def _rules(index: int) -> str:
    """Odd sets withhold segments of the kind `turn`, which even ones allow."""
    kinds = ("mark", "turn") if index % 2 else ("mark",)
    return (
        _HEAD.format("DisclosurePolicy", "rules")
        + f"rules:\n  - id: allow-{index}\n    effect: ALLOW\n{_MOMENTS}    sources: [handbook, secret]\n"
        + "".join(
            f"  - id: {kind}-{index}\n    effect: WITHHOLD\n{_MOMENTS}    kinds: [{kind}]\n"
            f"    custom-reason: I_{index}\n"
            for kind in kinds
        )
    )


class Said(NamedTuple):
    """What a segment was answered, in short words."""

    verdict: str
    reason: str
    custom_reason: str
    rule: str


_KINDS = ("plain", "mark", "turn", "plain", "plain")
"""The segments of a question, in turn: two of the open record by kind, one by turns, two that rest on the secret."""
_BOUND = ((OPEN,), (OPEN,), (OPEN,), (SECRET,), (OPEN, SECRET))
PATTERN: Final = len(_KINDS)
GUARDED: Final = (3, 4)
"""Places of the pattern that rest on the secret."""


def segments(repeats: int) -> list[disclosure_pb2.Segment]:
    """The segments of a question: the pattern, so often."""
    return [
        segment(f"s{number}-{place}", *(binding(record) for record in _BOUND[place]), kind=_KINDS[place])
        for number in range(repeats)
        for place in range(PATTERN)
    ]


@lru_cache(maxsize=64)
def expected(index: int) -> tuple[Said, ...]:
    """What the good set of that index says of the pattern."""
    allow = Said("ALLOW", "NONE", "", f"allow-{index}")
    never = Said("WITHHOLD", "POLICY_RULE", NEVER, "never")
    mark = Said("WITHHOLD", "POLICY_RULE", f"I_{index}", f"mark-{index}")
    turn = Said("WITHHOLD", "POLICY_RULE", f"I_{index}", f"turn-{index}") if index % 2 else allow
    return allow, mark, turn, never, never


def index_of(said: Said) -> int | None:
    """The index of the set that said this; None where it names none."""
    found = re.fullmatch(r"(?:allow|mark|turn)-(\d+)", said.rule)
    return int(found[1]) if found else None


def said_of(result: disclosure_pb2.SegmentResult) -> Said:
    """A result in short words."""
    return Said(_VERDICTS[result.verdict], _REASONS[result.reason], result.custom_reason, result.rule)


_VERDICTS = {number: name.removeprefix("VERDICT_") for name, number in common_pb2.Verdict.items()}
_REASONS = {number: name.removeprefix("REASON_") for name, number in common_pb2.Reason.items()}


class Judged(NamedTuple):
    """An answer by its content: the index of the set that made it, how many segments it decided, and what is wrong."""

    shown: int | None
    decided: int
    wrong: tuple[str, ...]


def judged(told: Sequence[Said]) -> Judged:
    """Whether all segments of an answer were decided by one and the same good set."""
    first = index_of(told[0]) if told else None
    if first is not None and list(told) == list(expected(first)) * (len(told) // PATTERN):
        return Judged(first, len(told), ())
    decided = [(place % PATTERN, one) for place, one in enumerate(told) if one.reason not in NEUTRAL]
    leaks = tuple(
        f"ALLOW of the secret: {one}" for place, one in decided if place in GUARDED and one.verdict == "ALLOW"
    )
    neutral = [one for one in told if one.reason in NEUTRAL and one.verdict != "WITHHOLD"]
    named = {index_of(one) for _, one in decided} - {None}
    wrong = leaks + tuple(f"not withheld: {one}" for one in neutral)
    if len(named) > 1:
        wrong += (f"sets {sorted(index for index in named if index is not None)} in one answer",)
    index = named.pop() if len(named) == 1 else None
    if index is not None and not wrong:
        right = expected(index)
        wrong += tuple(f"{one} at {place}, not {right[place]}" for place, one in decided if one != right[place])
    return Judged(index, len(decided), wrong)
