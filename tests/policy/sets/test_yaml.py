"""The reader of policy files: a value means what its author sees, and everything else is refused with its place."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from discreet.policy.problems import PROBLEMS_MAX
from discreet.policy.yaml import plain, read
from tests.policy.sets.sets import RULES, SET, a_set, compiled, problems


def one(text: str | bytes) -> object:
    """Returns what a valid file of one document holds."""
    documents, found = read("f.yaml", text.encode() if isinstance(text, str) else text)
    assert found == []
    (document,) = documents
    return plain(document.root)


def refusals(text: str | bytes) -> list[str]:
    """Returns the problems of a file."""
    return [str(found) for found in read("f.yaml", text.encode() if isinstance(text, str) else text)[1]]


def test_plain_scalars_follow_the_core_schema_of_yaml_1_2() -> None:
    """true, false, null, integers and floats of YAML 1.2, whatever YAML 1.1 made of the rest."""
    assert one("[true, False, null, ~, 12, -3, 0x1F, 0o17, 1.5, 1e3, .inf]") == (
        True, False, None, None, 12, -3, 31, 15, 1.5, 1000.0, float("inf"),
    )  # fmt: skip
    assert one("[2024-01-01, 2026-01-05T09:00:00Z, NOT, nulls, _, v1.2.3, a:b]") == (
        "2024-01-01", "2026-01-05T09:00:00Z", "NOT", "nulls", "_", "v1.2.3", "a:b",
    )  # fmt: skip


@pytest.mark.parametrize("scalar", ["NO", "no", "yes", "On", "off", "y", "N"])
def test_norway_is_refused_with_quotes_suggested(scalar: str) -> None:
    """YML-02: an unquoted yes, no, on, off never becomes a boolean, nor "False"; quoted it is text."""
    (line,) = refusals(f"regions: [{scalar}, SE]")
    assert line == (
        f"f.yaml:1:11: {scalar} means different things to different readers of YAML; "
        f'quote it: "{scalar}"; or write true, false or a plain number'
    )
    assert one(f'regions: ["{scalar}"]') == {"regions": (scalar,)}


@pytest.mark.parametrize("scalar", ["0123", "1_000", "0b11", "0x1_F", "-0017", "12:30", "1:20:30", "1_0.5"])
def test_numbers_that_readers_read_differently_are_refused(scalar: str) -> None:
    """YML-04: no octal by a leading zero, no grouped digits, no sexagesimal: such a scalar is quoted or refused."""
    (line,) = refusals(f"batch: {scalar}")
    assert line.startswith(f"f.yaml:1:8: {scalar} means different things")
    assert one(f"batch: '{scalar}'") == {"batch": scalar}


def test_a_number_is_never_made_text() -> None:
    """YML-04: a text field refuses a number and a boolean, and shows what to quote."""
    sources = "apiVersion: discreet/v1\nkind: SourceList\nname: 0x1F\nsources:\n"
    found = problems(a_set(sources=sources + "  - {label: 12, title: true, duty: DERIVATION, collectors: [1.5]}\n"))
    assert [line for line in found if line.startswith("sources")] == [
        'sources.yaml:3:7: name must be text, not a number; quote it: "0x1F"',
        'sources.yaml:5:13: label must be text, not a number; quote it: "12"',
        'sources.yaml:5:24: title must be text, not a boolean; quote it: "true"',
        'sources.yaml:5:61: an item of collectors must be text, not a number; quote it: "1.5"',
    ]


def test_a_duplicate_key_is_refused_with_both_places() -> None:
    """YML-01: the last one never wins silently, at any depth."""
    assert refusals("rules: {deny: [kb-9], allow: [kb-1], deny: []}\nrules: 1\n") == [
        'f.yaml:1:38: the key "deny" is given twice; it stands at f.yaml:1:9 already; keep one of them',
        'f.yaml:2:1: the key "rules" is given twice; it stands at f.yaml:1:1 already; keep one of them',
    ]


def test_rule_ids_are_unique_over_all_files() -> None:
    """YML-01: the same rule id in two files is refused, naming both."""
    found = problems(a_set(more=RULES.replace("name: main", "name: more")))
    assert found == [
        'rules.yaml:5:10: the rule id "figures" is given twice; it stands at more.yaml:5:10 already; rename '
        "or remove one",
        'rules.yaml:6:10: the rule id "notes" is given twice; it stands at more.yaml:6:10 already; rename '
        "or remove one",
    ]


def test_an_alias_bomb_is_refused_before_anything_is_expanded() -> None:
    """YML-06: nine levels of nine aliases end within a second and 50 MB; merge keys are refused likewise."""
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    bomb = "\n".join([*levels, "<<: *a8"])
    tracemalloc.start()
    begun = time.perf_counter()
    found = problems(a_set(bomb=bomb))
    spent, peak = time.perf_counter() - begun, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 'bomb.yaml:1:5: the anchor "&a0" is not allowed; write the value out' in found
    assert 'bomb.yaml:2:10: the alias "*a0" is not allowed; write the value out' in found
    assert "bomb.yaml:10:1: merge keys (<<) are not allowed; write the keys out" in found
    assert spent < 1
    assert peak < 50_000_000


@pytest.mark.parametrize(
    "text, line",
    [
        ("a: !!str 3", 'f.yaml:1:4: the tag "tag:yaml.org,2002:str" is not allowed; quote a value to make it text'),
        ("a: !x 3", 'f.yaml:1:4: the tag "!x" is not allowed; quote a value to make it text'),
        ("a: ! 3", 'f.yaml:1:4: the tag "!" is not allowed; quote a value to make it text'),
        ("%YAML 1.1\n--- {a: 1}", "f.yaml:1:1: a % directive has no place in a policy file; leave it out"),
        ("3: a", 'f.yaml:1:1: a key must be text; quote it: "3"'),
        ("null: a", 'f.yaml:1:1: a key must be text; quote it: "null"'),
        ("? [a]\n: 1", "f.yaml:1:3: a key must be text, not a list or a mapping; give it a name"),
    ],
)
def test_what_a_policy_has_no_use_for_is_refused(text: str, line: str) -> None:
    """YML-06: tags, directives and keys that are no text are refused where they stand."""
    assert refusals(text) == [line]


def test_a_leading_mark_and_crlf_equal_the_plain_file() -> None:
    """YML-10: same values, same places, same digest."""
    marked = a_set(rules=b"\xef\xbb\xbf" + RULES.replace("\n", "\r\n").encode())
    assert compiled(marked) == compiled(a_set())
    broken = RULES.replace("equity-desk", "eqity-desk")
    plain_lines = problems(a_set(rules=broken))
    assert plain_lines == problems(a_set(rules=b"\xef\xbb\xbf" + broken.replace("\n", "\r\n").encode()))
    assert plain_lines == ['rules.yaml:5:64: no source "eqity-desk"; did you mean "equity-desk"?']


@pytest.mark.parametrize(
    "text, start",
    [
        ("version: 1\n\ufeffkind: x", "f.yaml:2:1: a byte-order mark (U+FEFF) is not allowed"),
        ("effect:\u00a0deny", "f.yaml:1:8: U+00A0 NO-BREAK SPACE is not allowed"),
        ("a:\n\t- b", "f.yaml:2:1: a tab is not allowed in a policy file; use spaces"),
        ("a: b\rc: d", "f.yaml:1:5: a carriage return without a line feed is not allowed"),
        ("a: b\u2028c: d", "f.yaml:1:5: U+2028 LINE SEPARATOR is not allowed"),
        ("a: x\u200by", "f.yaml:1:5: U+200B ZERO WIDTH SPACE is not allowed"),
        ("# \u202e", "f.yaml:1:3: U+202E RIGHT-TO-LEFT OVERRIDE is not allowed"),
        ("a: \x00", "f.yaml:1:4: U+0000 a character without a name is not allowed"),
        ("a: \x85", "f.yaml:1:4: U+0085 a character without a name is not allowed"),
        (b"a: b\nc: \xff", "f.yaml:2:4: the byte 0xff is no UTF-8; save the file as UTF-8"),
        ("€: ".encode() + b"\xed\xa0\x80", "f.yaml:1:4: a lone surrogate is no UTF-8"),
        ('a: "\\ud800"', "f.yaml:1:7: not valid YAML: found invalid Unicode character escape code"),
        ("", "f.yaml:1:1: the file holds nothing; delete it"),
        ("# only this\n", "f.yaml:1:1: the file holds nothing but comments; delete it"),
    ],
)
def test_what_cannot_be_seen_is_refused_with_its_place(text: str | bytes, start: str) -> None:
    """YML-10: marks in the middle, no-break spaces, tabs, control and format characters, broken UTF-8, empty files."""
    (line,) = refusals(text)
    assert line.startswith(start)


@pytest.mark.parametrize("rule_lines", ["rules: []\n", "", "rules:\n", "rules:\n# - {id: a}\n"])
def test_a_policy_without_rules_says_so(rule_lines: str) -> None:
    """YML-10: a file with no rules is an error unless it says that it is empty on purpose."""
    head = RULES.split("rules:")[0]
    (line,) = problems(a_set(rules=head + rule_lines))
    assert "there are no rules" in line or "rules has no value" in line
    assert problems(a_set(rules=head + "empty: true\n")) == []
    assert problems(a_set(rules=RULES + "empty: true\n")) == [
        "rules.yaml:7:8: `empty: true` stands beside rules; take one of them out"
    ]


def test_the_limits_hold_at_and_one_past_them() -> None:
    """YML-06: depth 32, 200,000 values, 1 MiB a file."""
    assert refusals("[" * 32 + "]" * 32) == []
    assert refusals("[" * 33 + "]" * 33) == ["f.yaml:1:33: nested deeper than 32 levels; flatten it"]
    assert refusals("[" + "1," * 199_999 + "]") == []
    assert refusals("[" + "1," * 200_000 + "]") == ["f.yaml:1:400000: the file has more than 200000 values; split it"]
    assert len(refusals("- *a\n" * 200_000)) == PROBLEMS_MAX + 1
    filler = "#" * (1024 * 1024 - len(SET) - 1) + "\n"
    assert refusals(SET + filler) == []
    assert refusals(SET + "#" + filler) == ["f.yaml:1:1: the file has 1048577 bytes, more than 1048576; split it"]


def test_documents_of_one_file_know_their_lines() -> None:
    """Several documents may share a file; each value tells the line of the file."""
    both = (
        RULES
        + "---\n"
        + RULES.replace("main", "more").replace("id: figures", "id: Figures").replace("id: notes", "id: n2")
    )
    assert problems(a_set(rules=both)) == [
        'rules.yaml:12:10: "Figures" is no rule id; write [a-z0-9][a-z0-9._-]{0,127}, for example public-notes'
    ]
