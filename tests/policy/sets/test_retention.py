"""The RetentionPolicy of a set: what a revoke asks of people and of holders."""

from __future__ import annotations

import pytest

from discreet.policy.bundle import bundle_digest
from discreet.policy.compile import compile_set
from discreet.policy.snapshot import Retention
from tests.policy.sets.sets import SET, a_set, compiled, problems

HEAD = "apiVersion: discreet/v1\nkind: RetentionPolicy\nname: retention\n"
HOUR = 3_600_000_000


def test_a_set_without_one_has_the_defaults_and_keeps_its_digest() -> None:
    """F3: the kind is new and changes nothing of a set that does not use it, the digest of its bundle included."""
    assert compiled(a_set()).retention == Retention(100, 24 * HOUR, None)
    assert bundle_digest(a_set()) == "73d97c0039c7024fc45c5c03f9d813d7f2c08819d5e54ef8fa89beb9a93fcb52"
    assert compiled(a_set(more=HEAD)).retention == Retention()


@pytest.mark.parametrize(
    "keys, expected",
    [
        ("dry-run-above: 0\n", Retention(dry_run_above=0)),
        ("dry-run-above: 1000000\n", Retention(dry_run_above=1_000_000)),
        ("purge-within: 1s\n", Retention(purge_within_us=1_000_000)),
        ("purge-within: 90d\n", Retention(purge_within_us=90 * 24 * HOUR)),
        ("recheck-after: 1h\n", Retention(recheck_after_us=HOUR)),
        ("recheck-after: never\n", Retention()),
    ],
)
def test_its_values_are_those_of_the_snapshot(keys: str, expected: Retention) -> None:
    """F3: limits, deadlines and the re-check are the policy's, in the units that it is written in."""
    assert compiled(a_set(more=HEAD + keys)).retention == expected


def test_an_environment_may_say_them() -> None:
    """E1: what differs between environments stands in parameters here as elsewhere."""
    declared = "parameters:\n  many: {type: integer, default: 3}\n  look: {type: duration}\n"
    given = "apiVersion: discreet/v1\nkind: Environment\nname: live\nparameters: {look: 2h}\n"
    body = "dry-run-above: {parameter: many}\nrecheck-after: {parameter: look}\n"
    files = a_set(discreet=SET + declared, envs=given, more=HEAD + body)
    snapshot = compile_set(files, commit="", number=1, dirty=True, environment="live")
    assert snapshot.retention == Retention(dry_run_above=3, recheck_after_us=2 * HOUR)


@pytest.mark.parametrize(
    "keys, expected",
    [
        ("dry-run-above: -1\n", "more.yaml:4:16: the number is out of range; from 0 to 1000000"),
        ("dry-run-above: 1000001\n", "more.yaml:4:16: the number is out of range; from 0 to 1000000"),
        ("dry-run-above: many\n", "more.yaml:4:16: dry-run-above must be a whole number, not text"),
        ("dry-run-above: true\n", "more.yaml:4:16: dry-run-above must be a whole number, not a boolean"),
        (
            "purge-within: never\n",
            'more.yaml:4:15: "never" is no duration; write for example 30s, 15m, 36h, 7d or 1d12h',
        ),
        ("purge-within: 91d\n", "more.yaml:4:15: the duration is out of range; from 1s to 90d"),
        ("purge-within: 90d1ms\n", "more.yaml:4:15: the duration is out of range; from 1s to 90d"),
        ("recheck-after: 999ms\n", "more.yaml:4:16: the duration is out of range; from 1s to 90d"),
        ("recheck: 1h\n", 'more.yaml:4:1: no key "recheck" here; did you mean "recheck-after"?'),
        ("purge: everything\n", 'more.yaml:4:1: no key "purge" here; one of'),
    ],
)
def test_what_is_wrong_is_told_at_its_place(keys: str, expected: str) -> None:
    """RET-09: a wrong period is no period: the set is refused, and nothing is purged sooner for it."""
    [found] = problems(a_set(more=HEAD + keys))
    assert found.startswith(expected)


def test_there_is_one_at_most() -> None:
    """F3: of two that differ none is chosen by chance."""
    [found] = problems(a_set(more=HEAD, other=HEAD.replace("name: retention", "name: again")))
    assert found == (
        "other.yaml:2:7: a second RetentionPolicy; the first stands at more.yaml:2:7; put all of it into one"
    )
