"""A layout changes no decision, loses no comment, and is the same when it is made twice: over files of every kind."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.policy.compile import compile_set
from discreet.policy.fmt import formatted, said
from discreet.policy.fmt.comments import comments_of
from discreet.policy.fmt.layout import documents_of
from discreet.policy.problems import PolicyProblems
from discreet.policy.starter import starter_files
from discreet.policy.testing import run_tests
from discreet.policy.yaml import read
from tests.policy.sets.test_any_bytes import YAML_ISH
from tests.policy.sets.test_order import arranged, decided, some_rules

ROOT = Path(__file__).parents[3]
SETS = {
    "starter": starter_files(),
    "cases": {path.name: path.read_bytes() for path in sorted((ROOT / "tests" / "cases").glob("*.yaml"))},
    **{
        folder.name: {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.yaml"))}
        for folder in sorted((ROOT / "policy" / "examples").iterdir())
        if folder.is_dir()
    },
}
TEXTS = [data.decode() for files in SETS.values() for data in files.values()]


@pytest.mark.parametrize("name", SETS)
def test_what_is_shipped_is_laid_out_already(name: str) -> None:
    """E1: what people copy is what the formatter gives them."""
    assert [file for file, data in SETS[name].items() if formatted(file, data) != data] == []


def rules_of(files: dict[str, bytes]) -> str:
    """Returns all that a compiled set decides by: sources, rules, texts and demands, but for the places of rules."""
    found = compile_set(files, commit="", number=1, dirty=True)
    index = found.rules
    sets = [*index.by_source.items(), *index.any_source.items(), *index.by_kind.items(), *index.any_kind.items()]
    rules = sorted(
        repr((key, rule.id, rule.effect, rule.moments, rule.when and rule.when.digest, rule.text, rule.custom_reason))
        for key, group in sets
        for rule in (*group.plain, *(rule for keyed in group.keyed for rule in keyed.rules))
    )
    return repr((rules, sorted(found.sources.items()), found.texts, found.requires, found.claimed_scopes_from))


def scattered(text: str, order: random.Random) -> str:
    """Returns a file with comments, empty lines and broken brackets put in at random; it may be no YAML any more."""
    lines = text.split("\n")
    for _ in range(order.randint(1, 8)):
        at, kind = order.randrange(len(lines)), order.random()
        if kind < 0.4:
            lines.insert(at, " " * order.choice([0, 0, 2, 4, 6, 8]) + f"# c{order.randrange(99)}")
        elif kind < 0.55:
            lines.insert(at, "")
        elif kind < 0.75:
            lines[at] += f" # t{order.randrange(99)}"
        elif kind < 0.85 and (marks := [place for place, char in enumerate(lines[at]) if char in ",[{]}"]):
            cut = order.choice(marks) + 1
            lines[at] = lines[at][:cut] + order.choice(["\n", " # f\n"]) + " " * 12 + lines[at][cut:]
    return "\n".join(lines)


def comments(data: bytes) -> Counter[str]:
    """Returns the comments of a file that can be read."""
    text = data.decode().removeprefix("\ufeff").replace("\r\n", "\n")
    return Counter(comment.text for comment in comments_of(text, documents_of(text)))


def holds(data: bytes) -> bytes | None:
    """Lays out a file, and holds that nothing of it is lost; None where it is refused, for what it says."""
    documents, problems = read("f.yaml", data)
    try:
        found = formatted("f.yaml", data)
    except PolicyProblems as refused:
        if problems or "cannot be laid out" not in str(refused):
            return None
        raise
    assert not problems
    again, _ = read("f.yaml", found)
    assert [said(one) for one in documents] == [said(one) for one in again]
    assert comments(data) == comments(found)
    assert formatted("f.yaml", found) == found
    return found


@given(st.sampled_from(TEXTS), st.randoms(use_true_random=False))
def test_no_comment_is_lost_wherever_it_stands(text: str, order: random.Random) -> None:
    """E1: comments and empty lines at random places of files of every kind."""
    holds(scattered(text, order).encode())


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=30)
    | st.sampled_from(
        ["a\nb", "a\n\n", "  a", "a ", 'q"q', "it's", "x: y", "# no", "- x", "a # b", "\\", "long " * 40]
    ),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=8), below, max_size=4),
    max_leaves=15,
)


@given(
    VALUES,
    st.sampled_from([None, True, False]),
    st.sampled_from([None, "'", '"', "|", ">"]),
    st.randoms(),
    st.booleans(),
)
def test_any_values_in_any_style_say_the_same_afterwards(
    value: object, flow: bool | None, style: str | None, order: random.Random, scatter: bool
) -> None:
    """E1, YML-08: whatever a document holds, quoted, folded, in brackets or in lines."""
    document = {"rules": [value], "kind": "DisclosurePolicy", "zz": value, "apiVersion": "discreet/v1", "name": "x"}
    dumped = yaml.dump(
        document,
        Dumper=yaml.CSafeDumper,
        allow_unicode=True,
        default_flow_style=flow,
        default_style=style,
        width=order.choice([20, 80, 200]),
        indent=order.choice([2, 4]),
        sort_keys=False,
    )
    holds((scattered(dumped, order) if scatter else dumped).encode("utf-8", "surrogatepass"))


@given(st.binary(max_size=300) | YAML_ISH.map(str.encode))
def test_any_bytes_are_laid_out_or_refused(data: bytes) -> None:
    """YML-10: nothing crashes it."""
    holds(data)
    holds(b"apiVersion: discreet/v1\nkind: Texts\nname: x\n" + data)


@settings(max_examples=settings().max_examples // 2)
@given(some_rules(), st.randoms(use_true_random=False), st.integers(1, 3))
def test_a_layout_changes_no_decision(rules: list[dict[str, object]], order: random.Random, files: int) -> None:
    """E1: generated sets decide a battery of questions alike, and compile to the same rules."""
    before = arranged(rules, order, files)
    after = {file: formatted(file, data) for file, data in before.items()}
    assert decided(after) == decided(before)
    assert rules_of(after) == rules_of(before)


@pytest.mark.parametrize("name", SETS)
def test_a_layout_changes_no_decision_of_what_is_shipped(name: str) -> None:
    """E1: scattered with comments and laid out, each set decides its own tests as before."""
    order, files = random.Random(name), SETS[name]
    for _ in range(5):
        changed = {file: holds(scattered(data.decode(), order).encode()) or data for file, data in files.items()}
        try:
            assert rules_of(changed) == rules_of(files)
        except PolicyProblems:
            continue  # a comment cut a value in two
        assert [one.decision.verdict for one in run_tests(changed)] == [
            one.decision.verdict for one in run_tests(files)
        ]
