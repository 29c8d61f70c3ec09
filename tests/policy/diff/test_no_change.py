"""What is written otherwise and means the same is no difference."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.diff import Aside, Difference, Kind, compare_sets, editions
from discreet.policy.fmt import formatted
from discreet.policy.starter import starter_files
from tests.policy.diff.pairs import document, rule, sides, source, the_set
from tests.policy.sets.large import large_set
from tests.policy.sets.sets import RULES, rules
from tests.policy.sets.test_order import arranged, some_rules

ROOT: Final = Path(__file__).parents[3]
SETS: Final = {
    "starter": starter_files(),
    **{
        folder.name: {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.yaml"))}
        for folder in sorted((ROOT / "policy" / "examples").iterdir())
        if folder.is_dir()
    },
}
WHEN: Final = "effect: ALLOW, moments: [PUBLISH], when: "
DEFINED: Final = {
    "defined": document(
        "Definitions",
        'constants:\n  desks: [north, south]\n  span: {duration: 36h}\n  since: {time: "2026-01-01T00:00:00Z"}\n'
        "conditions:\n  mine: document.attributes.desk in constants.desks && principal.id != 'x'\n",
    )
}


@pytest.mark.parametrize("name", SETS)
def test_a_set_does_not_differ_from_itself_however_it_is_laid_out(name: str) -> None:
    """F8: with comments and empty lines, and as the formatter gives it."""
    files = SETS[name]
    said = {path: b"# said\n\n" + data + b"\n# and said\n" for path, data in files.items()}
    laid_out = {path: formatted(path, data) for path, data in files.items()}
    plain = editions(files)
    assert compare_sets(plain, plain) == compare_sets(plain, editions(laid_out)) == Difference(())
    assert compare_sets(plain, editions(said)) == Difference(())


@given(some_rules(), st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 2**32), st.integers(1, 4))
def test_where_rules_stand_is_no_difference(
    some: list[dict[str, object]], one: int, files: int, other: int, more: int
) -> None:
    """F8: files, documents, rules and keys in any order, rules in other files under other names, and laid out anew."""
    first = arranged(some, random.Random(one), files)
    second = arranged(some, random.Random(other), more)
    laid_out = {path: formatted(path, data) for path, data in second.items()}
    assert compare_sets(editions(first), editions(second)) == Difference(())
    assert compare_sets(editions(first), editions(laid_out)) == Difference(())


@pytest.mark.parametrize(
    "named, written",
    [
        ("document.attributes.desk in constants.desks", "document.attributes.desk in ['north', 'south']"),
        (
            "now - document.recorded_at < constants.span",
            "now - document.recorded_at < duration('1h') + duration('35h')",
        ),
        ("document.recorded_at > constants.since", "document.recorded_at > timestamp('2026-01-01T01:00:00+01:00')"),
        (
            "conditions.mine && request.need_advice",
            "document.attributes.desk in ['north', 'south'] && principal.id != 'x' && request.need_advice",
        ),
        ("!conditions.mine", "!(document.attributes.desk in ['north', 'south'] && principal.id != 'x')"),
    ],
)
def test_what_is_named_and_what_is_written_out_are_the_same(named: str, written: str) -> None:
    """F8: constants and conditions of a set in their places; another sum of spans is another condition."""
    found = sides({**DEFINED, **rule(WHEN + f'"{named}"')}, rule(WHEN + f'"{written}"')).found
    if "duration" in written:
        assert [change.kind for change in found.changes] == [Kind.RULE_CONDITION]
    else:
        assert found.changes == ()


def test_names_of_a_set_may_change() -> None:
    """F8: a constant, a condition, a file or a document under another name, used or not, is no difference."""
    using = rule(WHEN + '"conditions.mine"')
    renamed = {"elsewhere": DEFINED["defined"].replace("mine", "ours").replace("desks", "tables").replace("one", "two")}
    assert sides({**DEFINED, **using}, {**renamed, **rule(WHEN + '"conditions.ours"')}).found == Difference(())
    assert sides({}, DEFINED).found == Difference(())


def test_a_parameter_that_gives_what_stood_there_is_no_difference_but_itself() -> None:
    """F8: a value that comes from a parameter now is what it was."""
    given_ = the_set("parameters:\n  age: {type: duration, default: 36h}\n")
    found = sides(source(max_age="36h"), {**given_, **source(max_age="{parameter: age}")}).found
    assert [(change.kind, change.subject) for change in found.changes] == [(Kind.PARAMETER_ADDED, "age")]


def test_an_embargo_is_the_rule_that_it_stands_for() -> None:
    """F8: which kind of document says it makes no difference."""
    embargo = {"embargo": document("Embargo", "until: '2027-01-01T00:00:00Z'\nsources: [notes]\n", "results")}
    written = rule(
        "id: embargo.results, effect: WITHHOLD, moments: [RETRIEVE, PUBLISH, REPLAY, EXPORT], sources: [notes],"
        " until: '2027-01-01T00:00:00Z', custom-reason: UNDER_EMBARGO"
    )
    assert sides(embargo, written).found == Difference(())


def test_a_condition_that_is_always_true_is_none() -> None:
    """F8: `when: "true"` says what no condition says; what it takes to evaluate is told apart."""
    found = sides(rule(WHEN + '"true"'), rule("effect: ALLOW, moments: [PUBLISH]")).found
    assert found.changes == ()
    assert [(note.aside, note.subject, note.old, note.new) for note in found.notes] == [(Aside.STEPS, "more", "1", "0")]


def test_owners_are_told_apart_from_what_changes_meaning() -> None:
    """F8: another team that answers for a rule is worth knowing, and no change of meaning."""
    owners = document("Owners", "owners:\n  .: ['@acme/desk']\n")
    found = sides({}, {"owners": owners}).found
    assert found.changes == ()
    notes = [(note.aside, note.subject, note.old, note.new) for note in found.notes]
    assert notes == [(Aside.OWNERS, name, "none", "@acme/desk") for name in ("figures", "notes")]


def test_a_rule_that_is_renamed_and_moved_is_renamed() -> None:
    """F8: what is left of it elsewhere under another name is the same rule; one that differs besides is another."""
    moved = {
        "rules": rules("{id: figures, effect: ALLOW, moments: [PUBLISH], sources: [equity-desk]}"),
        "more": rules("{id: scribbles, effect: ALLOW, moments: [RETRIEVE, PUBLISH], sources: [notes]}", name="more"),
    }
    (change,) = sides({"rules": RULES}, moved).found.changes
    assert (change.kind, change.old, change.new) == (Kind.RULE_RENAMED, "notes", "scribbles")
    assert (change.old_place, change.new_place) == ("rules.yaml:6", "more.yaml:5")
    other = {**moved, "more": moved["more"].replace("RETRIEVE, ", "")}
    kinds = [change.kind for change in sides({"rules": RULES}, other).found.changes]
    assert kinds == [Kind.RULE_ADDED, Kind.RULE_REMOVED]


def test_a_large_set_is_compared_rule_by_rule() -> None:
    """F8: one changed rule of 600 over 20 files is found, and nothing else."""
    files = large_set(600, 20)
    changed = {path: data.replace(b'"p77"', b'"p78"') for path, data in files.items()}
    (change,) = compare_sets(editions(files), editions(changed)).changes
    assert (change.subject, change.kind, change.old_place) == ("r77", Kind.RULE_CONDITION, change.new_place)
