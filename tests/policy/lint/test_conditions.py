"""Conditions that say what their author did not mean, and close neighbours that are fine."""

from __future__ import annotations

import pytest

from tests.policy.lint.warned import of_condition

A = "document.attributes"

NEVER = [
    'document.basis == "a" && document.basis == "b"',
    '"a" == document.basis && document.basis in ["b", "c"]',
    'document.basis == "a" && document.basis != "a"',
    'document.basis == "a" && !(document.basis == "a")',
    'document.basis in ["a", "b"] && !(document.basis in ["a", "b", "c"])',
    'document.basis in ["a", "b"] && document.basis in ["c"]',
    f"{A}.level > 3 && {A}.level < 3",
    f"{A}.level >= 3 && 2 >= {A}.level",
    f"{A}.level == 1 && {A}.level == 2",
    f"{A}.level == 1 && {A}.level > 1",
    f'{A}.level == 1 && {A}.level == "1"',
    f"{A}.open && !{A}.open",
    f"has({A}.x) && !has({A}.x)",
    'now < timestamp("2026-01-01T00:00:00Z") && now >= timestamp("2026-01-01T01:00:00+01:00")',
    'document.basis == "x" && (document.basis == "a" || document.basis == "b")',
    '(document.basis == "a" && principal.id == "p") && document.basis == "b"',
    'document.basis == "a" && document.basis == "b" || request.locale == "zh-Hans" && request.locale == "en"',
    'request.moment == "RETRIEVE"',
    'request.moment != "PUBLISH"',
    'request.moment in ["RETRIEVE", "REPLAY"]',
    'source.label == "equity-desk"',
    'source.duty == "DATA_CHANNEL"',
    'segment.grounding == "UNBOUND"',
    "document.suspended",
    "document.superseded || document.unreachable",
    "!document.current",
    "!source.listed",
    "document.suspended == true",
    "principal.id in []",
    "false",
    '"a" == "b"',
    "2 < 1",
    '[].exists(x, x == "a")',
    '!(document.basis == "a" || document.basis != "a")',
    'document.current ? document.suspended : document.basis == "x"',
]


@pytest.mark.parametrize("condition", NEVER)
@pytest.mark.parametrize("effect", ["ALLOW", "WITHHOLD"])
def test_a_condition_that_can_never_be_true_is_told(condition: str, effect: str) -> None:
    """E1, F12: contradictions, what the rule's own keys rule out, and what a gate has stopped before."""
    found = [one for one in of_condition(condition, effect) if one[0] != "absent"]
    assert found == [("never", condition)]


ALWAYS = [
    "true",
    "1 == 1",
    "1 == 1.0",
    '"a" in ["a", "b"]',
    'document.basis == "a" || document.basis != "a"',
    f"has({A}.x) || !has({A}.x)",
    'request.moment == "PUBLISH"',
    'request.moment in ["PUBLISH", "REPLAY"]',
    'request.moment == "PUBLISH" && source.label == "notes"',
    'source.label == "notes" || principal.id == "ana"',
    "document.current && !document.suspended",
    "principal.id == principal.id",
    'document.collector == "clerk"',
    'request.locale in ["en", "zh-Hans"]',
    'request.locale == "en" || request.locale == "zh-Hans"',
    "[].all(x, x > 1)",
    "document.suspended ? false : true",
]


@pytest.mark.parametrize("condition", ALWAYS)
def test_a_condition_that_is_always_true_is_told(condition: str) -> None:
    """E1: it would allow all that its rule is asked about."""
    assert of_condition(condition) == [("always", condition)]


FINE = [
    'document.basis == "a" || document.basis == "b"',
    'document.basis != "a" && document.basis != "b"',
    'document.basis == "a" && principal.id == "a"',
    'document.basis in ["a", "b"] && document.basis != "a"',
    f"{A}.level > 3 && {A}.level < 4",
    f"{A}.level >= 3 && {A}.level <= 3",
    f"!({A}.level < 3) && !({A}.level >= 3)",
    f"{A}.low < 3 && {A}.high > 3",
    f"{A}.level == 1 && {A}.level == 1.0",
    'now < timestamp("2026-01-02T00:00:00Z") && now >= timestamp("2026-01-01T00:00:00Z")',
    'document.kind == "EVIDENCE"',
    'document.origin != "INFERRED"',
    'request.locale == "en"',
    'principal.id != ""',
    'principal.claimed_scopes == ["a"]',
    "has(document.as_of)",
    'document.version == "1" && segment.kind == "quote"',
]


@pytest.mark.parametrize("condition", FINE)
def test_a_condition_that_may_be_true_or_false_is_not_told(condition: str) -> None:
    """E1: a warning that is wrong once is not read the next time."""
    assert of_condition(condition) == []


UNHELD = [
    ('document.basis == "x" || request.moment == "publish"', '"publish"'),
    ('principal.id == "x" || request.moment in ["PUBLISH", "RENDER"]', '"RENDER"]'),
    ('request.locale == "zh" || principal.id == "x"', '"zh" || principal.id == "x"'),
    ('document.kind == "document" || principal.id == "x"', '"document" || principal.id == "x"'),
    ('document.origin == "Derived" || principal.id == "x"', '"Derived" || principal.id == "x"'),
    ('source.label == "Notes" || principal.id == "x"', '"Notes" || principal.id == "x"'),
    ('source.label == "gone" || principal.id == "x"', '"gone" || principal.id == "x"'),
    ('source.duty == "STORE" || principal.id == "x"', '"STORE" || principal.id == "x"'),
    ('document.collector == "nobody" || principal.id == "x"', '"nobody" || principal.id == "x"'),
    ('segment.kind == "Quote" || principal.id == "x"', '"Quote" || principal.id == "x"'),
    ('request.tenant == "Acme" || principal.id == "x"', '"Acme" || principal.id == "x"'),
    ('principal.id == "x" || "Quote" == segment.kind', '"Quote" == segment.kind'),
    ('principal.id == "x" && segment.kind != "Quote"', '"Quote"'),
]


@pytest.mark.parametrize("condition, rest", UNHELD)
def test_a_text_that_can_never_be_equal_is_told_where_it_stands(condition: str, rest: str) -> None:
    """E1, F2: labels are lower-case, and words of closed sets are what they are."""
    assert ("never", rest) in of_condition(condition)


OF_NOTHING = [
    (f'{A}.tags.all(t, t != "secret")', True),
    (f'source.label == "notes" && {A}.tags.all(t, t != "secret") && principal.id != ""', True),
    (f'principal.id == "x" || {A}.tags.all(t, t != "secret")', True),
    (f'has({A}.tags) && {A}.tags.all(t, t != "secret")', True),
    (f'principal.id == "x" ? {A}.tags.all(t, t != "s") : false', True),
    ('principal.claimed_scopes.all(s, s != "x")', True),
    (f'size({A}.tags) >= 0 && {A}.tags.all(t, t != "secret")', True),
    (f'size({A}.other) > 0 && {A}.tags.all(t, t != "secret")', True),
    (f'size({A}.tags) > 0 && {A}.tags.all(t, t != "secret")', False),
    (f'{A}.tags.all(t, t != "secret") && {A}.tags.size() != 0', False),
    (f'{A}.tags != [] && {A}.tags.all(t, t != "secret")', False),
    (f'!({A}.tags == []) && {A}.tags.all(t, t != "secret")', False),
    (f'0 < size({A}.tags) && {A}.tags.all(t, t != "secret")', False),
    (f'size({A}.tags) >= 1 && (principal.id == "x" || {A}.tags.all(t, t != "s"))', False),
    (f'"open" in {A}.tags && {A}.tags.all(t, t != "secret")', False),
    (f'{A}.tags.exists(t, t == "open") && {A}.tags.all(t, t != "secret")', False),
    (f'!{A}.tags.exists(t, t == "secret")', False),
    (f'!{A}.tags.all(t, t != "secret")', False),
    ('document.scopes.all(s, s != "secret")', False),
    ('principal.scopes.all(s, s != "guest")', False),
    ('["a", "b"].all(s, s in document.scopes)', False),
]


@pytest.mark.parametrize("condition, told", OF_NOTHING)
def test_an_allow_that_rests_on_all_of_a_possibly_empty_list_is_told(condition: str, told: bool) -> None:
    """POL-07: all() over [] is true, so a record without tags would be allowed."""
    assert [code for code, _ in of_condition(condition) if code == "empty-list"] == ["empty-list"] * told
    assert "empty-list" not in [code for code, _ in of_condition(condition, "WITHHOLD")]


ITEMS = [
    (f"{A}.items.exists(x, x.b == 1)", "x.b == 1)"),
    (f"!{A}.items.exists(x, x.b == 3)", "x.b == 3)"),
    (f'{A}.items.exists(x, x["b"] == 1)', 'x["b"] == 1)'),
    (f"{A}.items.exists(x, x.c == 1 && has(x.b))", "x.c == 1 && has(x.b))"),
    (f"{A}.items.exists_one(x, x.b.c == 1)", "x.b.c == 1)"),
    (f"{A}.items.filter(x, x.b == 1).size() > 0", "x.b == 1).size() > 0"),
    (f"size({A}.items.map(x, x.b)) > 1", "x.b)) > 1"),
    (f"{A}.items.exists(x, has(x.b) || x.b == 1)", "x.b == 1)"),
    (f"{A}.items.exists(x, has(x.b) && x.b.c == 1)", "x.b.c == 1)"),
    (f"{A}.items.exists(x, has(x.b) && x.b == 1)", ""),
    (f"{A}.items.exists(x, x.b == 1 && has(x.b))", ""),
    (f'{A}.items.exists(x, "b" in x && x.b == 1)', ""),
    (f"{A}.items.exists(x, !has(x.b) || x.b == 1)", ""),
    (f"{A}.items.exists(x, has(x.b) ? x.b == 1 : false)", ""),
    (f"size({A}.items.map(x, has(x.b), x.b)) > 1", ""),
    (f'{A}.items.exists(x, x == "b")', ""),
    ('document.scopes.exists(s, s.startsWith("desk-"))', ""),
    ("document.scopes.exists(s, s in principal.scopes)", ""),
]


@pytest.mark.parametrize("condition, rest", ITEMS)
def test_items_that_may_lack_a_field_are_told_in_every_rule(condition: str, rest: str) -> None:
    """POL-05: exists() is fine on a hit and an error on a miss, so x.b needs has()."""
    expected = [("absent", rest)] if rest else []
    assert [one for one in of_condition(condition) if one[0] == "absent"] == expected
    guarded = f"has({A}.items) && ({condition})"
    assert [one for one in of_condition(guarded, "WITHHOLD") if one[0] == "absent"] == [
        (code, text + ")") for code, text in expected
    ]


READS = [
    (f"{A}.secret", f"{A}.secret"),
    (f'{A}.level == "x" || principal.id == "x"', f'{A}.level == "x" || principal.id == "x"'),
    ('principal.attributes.role != "analyst"', 'principal.attributes.role != "analyst"'),
    ("document.as_of < now", "document.as_of < now"),
    ('segment.claim.basis == "x"', 'segment.claim.basis == "x"'),
    ("document.fields.value > 3", "document.fields.value > 3"),
    (f"has({A}.a) && {A}.b == 1", f"{A}.b == 1"),
    (f"has({A}.a) || {A}.a == 1", f"{A}.a == 1"),
    (f'{A}["a b"] == 1', f'{A}["a b"] == 1'),
    (f"has({A}.a) && {A}.a == 1", ""),
    (f"{A}.a == 1 && has({A}.a)", ""),
    (f"!has({A}.a) || {A}.a == 1", ""),
    (f"has({A}.a) ? {A}.a == 1 : true", ""),
    (f"!has({A}.a) ? true : {A}.a == 1", ""),
    (f"has({A}.a) && (has({A}.b) && {A}.a == {A}.b)", ""),
    (f'"a" in {A} && {A}.a == 1', ""),
    (f"has({A}.a) && has({A}.a.b) && {A}.a.b == 1", ""),
    ("has(document.as_of) && document.as_of < now", ""),
    ('has(segment.claim) && segment.claim.basis == "x"', ""),
    ('document.basis == "x"', ""),
]


@pytest.mark.parametrize("condition, rest", READS)
def test_a_withhold_that_errs_where_something_is_absent_is_told(condition: str, rest: str) -> None:
    """POL-01: an error withholds; an ALLOW that errs only fails to allow, so it is left alone."""
    found = [one for one in of_condition(condition, "WITHHOLD") if one[0] == "absent"]
    assert found == ([("absent", rest)] if rest else [])
    assert [one for one in of_condition(condition) if one[0] == "absent"] == []


SHADOWED = [
    ('document.scopes.exists(document, document == "x")', 'document.scopes.exists(document, document == "x")'),
    ('principal.scopes.all(now, now != "x")', 'principal.scopes.all(now, now != "x")'),
    (f'{A}.basis == "audited"', f'{A}.basis == "audited"'),
    (f'principal.id == "x" || {A}.collector == "y"', f'{A}.collector == "y"'),
    (f"has({A}.version)", ""),
    ('document.scopes.exists(scope, scope == "x")', ""),
    (f'{A}.desk == "audited"', ""),
]


@pytest.mark.parametrize("condition, rest", SHADOWED)
def test_a_name_behind_which_another_hides_is_told(condition: str, rest: str) -> None:
    """E1: a loop variable called like what a condition reads, an attribute called like a field of the index."""
    assert of_condition(condition) == ([("shadowed", rest)] if rest else [])
