"""Nothing that a file holds crashes the compiler: there are problems with places, or a compiled set."""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.check import check_set
from discreet.policy.compile import compile_set, environments_of
from discreet.policy.problems import PolicyProblem, PolicyProblems
from discreet.policy.starter import starter_files
from discreet.policy.testing import run_tests
from discreet.policy.yaml import Scalar, plain, read, source_offset
from tests.policy.sets.sets import a_set

YAML_ISH = st.text(st.sampled_from("ab:-[]{},#&*!|>'\"%@`?~ \n0x1_.\\u<=\t\r\ufeff\u00a0é最"))
STARTER = starter_files()
GUIDE = (Path(__file__).parents[3] / "docs" / "policies.md").read_text("utf-8")
ESTATE = {name: text.encode() for name, text in re.findall(r"```yaml\n# (\S+)\n(.*?)```", GUIDE, re.DOTALL)}
"""The set of the guide, which has every kind of document and two environments."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=10), below, max_size=4),
    max_leaves=20,
)


def checked(files: dict[str, bytes]) -> tuple[PolicyProblem, ...]:
    """Returns the problems of a set, and holds that compiling and testing it agree with the check."""
    found = check_set(files).problems
    for problem in found:
        assert problem.line >= 1
        assert problem.column >= 1
        assert str(problem).isprintable()
        assert len(str(problem)) < 500
    try:
        compile_set(files, commit="", number=1, dirty=True)
        told: tuple[PolicyProblem, ...] = ()
    except PolicyProblems as wrong:
        told = wrong.problems
    assert set(told) == {problem for problem in found if not problem.file.endswith("_test.yaml")}
    return found


@given(st.binary(max_size=300) | YAML_ISH.map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """YML-10: random bytes and random YAML-like text never crash the reader; no error echoes content at length."""
    documents, problems = read("f.yaml", data)
    assert documents or problems
    checked(STARTER | {"more.yaml": data, "more_test.yaml": data})


@given(st.sampled_from(sorted(STARTER)), st.data())
def test_any_damage_to_a_file_is_survived(name: str, data: st.DataObject) -> None:
    """YML-08, YML-12: a piece cut out of or put into a file of a good set gives problems, or a good set."""
    whole = STARTER[name]
    start = data.draw(st.integers(0, len(whole)))
    length = data.draw(st.integers(0, 40))
    put = data.draw(
        st.binary(max_size=6) | YAML_ISH.map(str.encode) | st.sampled_from([b"~", b"[]", b"{}", b"1", b"- x\n"])
    )
    files = STARTER | {name: whole[:start] + put + whole[start + length :]}
    if not checked(files):
        assert all(result.name for result in run_tests(files))


@given(st.sampled_from(sorted(ESTATE)), st.data())
def test_any_damage_to_a_set_with_environments_is_survived(name: str, data: st.DataObject) -> None:
    """YML-08, F12: names, environments, embargoes and owners too; what check lets pass compiles in each environment."""
    whole = ESTATE[name]
    start = data.draw(st.integers(0, len(whole)))
    put = data.draw(st.sampled_from([b"", b"~", b"[]", b"{}", b"1", b"conditions.", b"{parameter: x}", b": ", b"a"]))
    files = ESTATE | {name: whole[:start] + put + whole[start + data.draw(st.integers(0, 30)) :]}
    if not check_set(files).problems:
        for environment in environments_of(files):
            compile_set(files, commit="", number=1, dirty=True, environment=environment)


KINDS = (
    *("Definitions", "DisclosurePolicy", "Embargo", "Environment", "Owners", "PolicySet", "PolicyTest"),
    *("RetentionPolicy", "SourceList"),
)


@given(st.sampled_from([*KINDS, "Texts"]), JSON, JSON)
def test_any_values_in_a_document_are_survived(kind: str, value: object, other: object) -> None:
    """YML-08: whatever stands where a list, a mapping or a text belongs is told, not tripped over."""
    head: dict[str, object] = {"apiVersion": "discreet/v1", "kind": kind, "name": "more"}
    keys = (
        "sources",
        "rules",
        "texts",
        "cases",
        "records",
        "grants",
        "audit",
        "requires",
        "locale",
        "now",
        "use-within",
        "parameters",
        "constants",
        "conditions",
        "owners",
        "until",
        "dry-run-above",
        "recheck-after",
    )
    for body in (dict.fromkeys(keys, value), {key: [value, {"id": other, "label": other}] for key in keys}):
        dumped = yaml.dump(head | body, Dumper=yaml.CSafeDumper, allow_unicode=True)
        data = dumped.encode("utf-8", "surrogatepass")
        assert checked(a_set() | {"more.yaml": data, "more_test.yaml": data})


@given(
    st.text(st.characters(codec="utf-8"), min_size=1), st.sampled_from(["'", '"', "|", ">", None]), st.integers(0, 6)
)
def test_every_visible_character_of_a_scalar_is_found_in_its_file(text: str, style: str | None, depth: int) -> None:
    """E1: an error inside a condition points at the character in the file, however the scalar is written."""
    value: object = text
    for _ in range(depth):
        value = [value]
    source = yaml.dump({"k": value}, default_style=style, allow_unicode=True, width=20)
    documents, problems = read("f.yaml", source.encode())
    if problems or not isinstance(plain(documents[0].root), dict):
        return
    node = documents[0].node(("k", *([0] * depth)))
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        return
    for offset, char in enumerate(node.value):
        found = source[source_offset(source, node, offset)]
        assert char.isspace() or found in {char, "\\", "'"}
