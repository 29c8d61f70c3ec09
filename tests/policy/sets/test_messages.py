"""What an author of policies is told: for each common mistake the place, what is wrong, and what would be right."""

from __future__ import annotations

import pytest

from discreet.policy.compile import compile_set
from discreet.policy.problems import PROBLEMS_MAX, PolicyProblems
from tests.policy.sets.sets import POLICY_HEAD, RULES, SET, SOURCES, TEXTS_HEAD, a_set, problems, rules, warnings

RULE = "{id: r, effect: ALLOW, moments: [PUBLISH], sources: [notes]"

RULE_MISTAKES = {
    "misspelt key": (
        "{id: r, efect: ALLOW, effect: ALLOW, moments: [PUBLISH]}",
        '13: no key "efect" here; did you mean "effect"?',
    ),
    "misspelt nested key": (RULE + ", when_not: x}", '66: no key "when_not" here; did you mean "when"?'),
    "misspelt source": (RULE.replace("notes", "note") + "}", '58: no source "note"; did you mean "notes"?'),
    "unknown source": (
        RULE.replace("notes", "kb-9") + "}",
        '58: no source "kb-9"; one of drafts, equity-desk, notes',
    ),
    "source twice": (RULE.replace("notes", "notes, notes") + "}", '57: "notes" is listed twice; keep one'),
    "no source in the list": (
        RULE.replace("notes", "") + "}",
        "57: the list is empty; name at least one, or leave the key out",
    ),
    "text for a list": ("{id: r, effect: ALLOW, moments: PUBLISH}", "37: moments must be a list, not text"),
    "list commented out": (
        "{id: r, effect: ALLOW, moments: [PUBLISH], sources: }",
        "57: sources has no value; give it one, or leave the key out",
    ),
    "empty item": (RULE.replace("notes", "notes, ~") + "}", "65: an item is empty; give it a value, or take the - out"),
    "moments left out": ("{id: r, effect: ALLOW}", '5: the key "moments" is missing'),
    "a later moment": (
        "{id: r, effect: ALLOW, moments: [RENDER]}",
        '38: no moment "RENDER"; one of EXPORT, PUBLISH, REPLAY, RETRIEVE',
    ),
    "lower-case word": ("{id: r, effect: allow, moments: [PUBLISH]}", '21: no effect "allow"; did you mean "ALLOW"?'),
    "another engine's word": (
        "{id: r, effect: DENY, moments: [PUBLISH]}",
        '21: no effect "DENY"; one of ALLOW, WITHHOLD',
    ),
    "upper-case id": (
        "{id: R, effect: ALLOW, moments: [PUBLISH]}",
        '10: "R" is no rule id; write [a-z0-9][a-z0-9._-]{0,127}, for example public-notes',
    ),
    "number for an id": (
        "{id: 7, effect: ALLOW, moments: [PUBLISH]}",
        '10: id must be text, not a number; quote it: "7"',
    ),
    "boolean for a condition": (RULE + ", when: true}", '72: when must be text, not a boolean; quote it: "true"'),
    "empty condition": (RULE + ', when: ""}', "72: when is empty; give it a value, or leave the key out"),
    "text for a boolean": (RULE + ', advice: "no"}', "74: advice must be true or false, not text; write true or false"),
    "disclosure text of an allow": (
        RULE + ", text: t}",
        "72: an ALLOW rule has no text; leave it out; it is what a withheld segment says",
    ),
    "advice of a withhold": (
        RULE.replace("ALLOW", "WITHHOLD") + ", advice: true}",
        "77: a WITHHOLD rule cannot lean towards advice; leave it out",
    ),
    "unbound with sources": (
        RULE + ", grounding: UNBOUND, kinds: [x]}",
        "57: an UNBOUND segment rests on no source; leave sources out, or say grounding: BOUND",
    ),
    "unbound without kinds": (
        "{id: r, effect: ALLOW, moments: [PUBLISH], grounding: UNBOUND}",
        "5: a rule that allows UNBOUND segments must name their kinds; for example kinds: [small-talk]",
    ),
    "unknown text": (
        RULE.replace("ALLOW", "WITHHOLD") + ", text: embargo}",
        '75: no text "embargo"; define it in Texts of both locales',
    ),
    "lower-case custom reason": (
        RULE.replace("ALLOW", "WITHHOLD") + ", custom-reason: embargo}",
        '84: "embargo" is no custom reason; write [A-Z][A-Z0-9_]{0,63}, for example UNDER_EMBARGO',
    ),
    "misspelt attribute": (
        RULE + ", when: document.atributes.x == 1}",
        '81: condition: no field "atributes"; did you mean "attributes"?',
    ),
    "condition that is no condition": (
        RULE + ", when: document.version}",
        "72: condition: a condition is true or false, this is string; compare it",
    ),
    "an observed allow": (
        RULE + ", mode: observe}",
        "72: an ALLOW rule cannot be observed; "
        "leave mode out; only a new WITHHOLD rule can be watched before it counts",
    ),
    "no such mode": (
        RULE.replace("ALLOW", "WITHHOLD") + ", mode: observed}",
        '75: mode cannot be "observed"; did you mean "observe"?',
    ),
    "a time without an offset": (
        RULE + ", from: 2026-01-05T09:00:00}",
        '72: "2026-01-05T09:00:00" is no time; write date, time and offset, for example 2026-01-05T09:00:00Z',
    ),
    "a day for a time": (
        RULE + ", until: 2026-01-05}",
        '73: "2026-01-05" is no time; write date, time and offset, for example 2026-01-05T09:00:00Z',
    ),
    "a time that is too fine": (
        RULE + ", until: 2026-01-05T09:00:00.0000001Z}",
        "73: the time is finer than a microsecond; give it at most six decimals",
    ),
    "an end before its beginning": (
        RULE + ", from: 2026-01-05T09:00:00Z, until: 2026-01-05T10:00:00+01:00}",
        "101: until is not after from, so this never holds; swap or mend them",
    ),
    "a parameter where none may stand": (
        RULE + ", advice: {parameter: x}}",
        "74: advice must be true or false, not a mapping; write true or false",
    ),
    "a rule that is text": ("allow everything", "5: an item of rules must be a mapping, not text"),
}


@pytest.mark.parametrize("mistake", RULE_MISTAKES)
def test_a_mistake_in_a_rule_is_told(mistake: str) -> None:
    """YML-08, YML-02, E1: one problem, at its line and column, with a hint where there is a likely one."""
    line, told = RULE_MISTAKES[mistake]
    assert problems(a_set(rules=rules(line))) == [f"rules.yaml:5:{told}"]


SET_MISTAKES: dict[str, tuple[dict[str, str | None], str]] = {
    "no set": (
        {"discreet": None},
        "discreet.yaml:1:1: the folder has no PolicySet; add a file discreet.yaml with kind: PolicySet",
    ),
    "set elsewhere": (
        {"more": SET},
        "more.yaml:2:7: a PolicySet outside discreet.yaml; there is one a folder",
    ),
    "two sets": (
        {"discreet": SET + "---\n" + SET},
        "discreet.yaml:6:7: a second PolicySet; the first stands at discreet.yaml:2:7",
    ),
    "misspelt kind": (
        {"more": RULES.replace("DisclosurePolicy", "DisclosurePolcy")},
        'more.yaml:2:7: no kind "DisclosurePolcy"; did you mean "DisclosurePolicy"?',
    ),
    "another version": (
        {"more": RULES.replace("/v1", "/v2")},
        "more.yaml:1:13: this apiVersion is not known; write discreet/v1",
    ),
    "no kind": (
        {"more": "apiVersion: discreet/v1\nname: x\n"},
        'more.yaml:1:1: the key "kind" is missing; one of PolicySet, SourceList, DisclosurePolicy, Embargo, Texts, '
        "Definitions, Environment, Owners, RetentionPolicy, PolicyTest",
    ),
    "a list": (
        {"more": "- a\n"},
        "more.yaml:1:1: the document is not a mapping; it begins with apiVersion: discreet/v1, kind, name",
    ),
    "the same name twice": (
        {"more": rules("{id: r, effect: ALLOW, moments: [PUBLISH], sources: [notes]}")},
        'rules.yaml:3:7: the name of a document "DisclosurePolicy/main" is given twice; '
        "it stands at more.yaml:3:7 already; rename or remove one",
    ),
    "a test in a policy file": (
        {"more": "apiVersion: discreet/v1\nkind: PolicyTest\nname: x\n"},
        "more.yaml:2:7: a PolicyTest in a policy file; tests stand in files whose names end in _test.yaml",
    ),
    "a policy in a test file": (
        {"more_test": RULES},
        "more_test.yaml:2:7: a DisclosurePolicy in a file of tests would be ignored; "
        "policies stand in files whose names do not end in _test.yaml",
    ),
    "a duration without a unit": (
        {"discreet": SET + "use-within: 30\n"},
        "discreet.yaml:4:13: use-within must be a duration, not a number; write for example 30s, 15m, 36h or 7d",
    ),
    "an ISO duration": (
        {"discreet": SET + "use-within: PT5S\n"},
        'discreet.yaml:4:13: "PT5S" is no duration; write for example 30s, 15m, 36h, 7d or 1d12h',
    ),
    "a duration out of range": (
        {"discreet": SET + "use-within: 1h\n"},
        "discreet.yaml:4:13: the duration is out of range; from 50ms to 1m",
    ),
    "an audit word in capitals": (
        {"discreet": SET + "audit: {checks: NONE}\n"},
        'discreet.yaml:4:17: no audit mode "NONE"; did you mean "none"?',
    ),
    "data that does not age": (
        {"sources": SOURCES.replace("max-age: 36h", "max-age: none")},
        "sources.yaml:5:93: what comes over a DATA_CHANNEL ages; give a duration, for example 36h",
    ),
    "data without an age": (
        {"sources": SOURCES.replace(", max-age: 36h", "")},
        "sources.yaml:5:5: a DATA_CHANNEL needs max-age; for example max-age: 36h",
    ),
    "a source declared twice": (
        {"more": SOURCES.replace("name: sources", "name: more").replace("drafts", "kb-1").replace("notes", "kb-2")},
        'sources.yaml:5:13: the source "equity-desk" is given twice; it stands at more.yaml:5:13 already; '
        "rename or remove one",
    ),
    "an unknown record-ids": (
        {"sources": SOURCES.replace("36h}", "36h, record-ids: lowercase}")},
        'sources.yaml:5:110: record-ids cannot be "lowercase"; did you mean "lower-case"?',
    ),
    "text for a mapping": (
        {"rules": RULES + "requires: all\n"},
        "rules.yaml:7:11: requires must be a mapping, not text",
    ),
    "a misspelt demand": (
        {"rules": RULES + "requires: {retrieved-in-sesion: true}\n"},
        'rules.yaml:7:12: no key "retrieved-in-sesion" here; did you mean "retrieved-in-session"?',
    ),
    "another locale": (
        {"words": TEXTS_HEAD + "locale: zh\ntexts: {STALE: x}\n"},
        'words.yaml:4:9: locale cannot be "zh"; one of en, zh-Hans',
    ),
}


@pytest.mark.parametrize("mistake", SET_MISTAKES)
def test_a_mistake_in_a_set_is_told(mistake: str) -> None:
    """YML-08, YML-01, A19: one problem, at its file, line and column, with a hint."""
    changed, told = SET_MISTAKES[mistake]
    assert problems(a_set(**changed)) == [told]


def test_all_problems_of_all_files_are_told_at_once_in_order_of_place() -> None:
    """E1: nobody mends one error to be shown the next; what follows from an error is left out."""
    found = problems(
        a_set(
            discreet=SET + "audit: {cheks: none}\n",
            sources=SOURCES.replace("Notes", "12") + "  - {label: A, title: x, duty: DERIVATION, collectors: [c]}\n",
            rules=rules(
                "{id: a, effect: ALLOW, moments: [PUBLISH], sources: [A, b]}", "{id: b, effect: X, moments: []}"
            ),
        )
    )
    assert found == [
        'discreet.yaml:4:9: no key "cheks" here; did you mean "checks"?',
        'rules.yaml:5:58: "A" is no label; '
        "write lower-case ASCII letters, digits, . _ : -, first a letter or digit, at most 128",
        'rules.yaml:6:21: no effect "X"; one of ALLOW, WITHHOLD',
        "rules.yaml:6:33: the list is empty; name at least one, or leave the key out",
        'sources.yaml:6:27: title must be text, not a number; quote it: "12"',
        'sources.yaml:8:13: "A" is no label; '
        "write lower-case ASCII letters, digits, . _ : -, first a letter or digit, at most 128",
    ]


def test_one_broken_file_keeps_the_whole_set_from_loading() -> None:
    """YML-12, F2: all or nothing; and no error is made up about names that the unread file may declare."""
    files = a_set(sources=SOURCES + "\t")
    assert problems(files) == ["sources.yaml:8:1: a tab is not allowed in a policy file; use spaces"]
    with pytest.raises(PolicyProblems) as raised:
        compile_set(files, commit="", number=1, dirty=True)
    assert str(raised.value) == "sources.yaml:8:1: a tab is not allowed in a policy file; use spaces"


def test_a_file_that_would_be_ignored_for_its_name_is_told() -> None:
    """YML-08: a policy in `rules.YAML` is not silently left out; hidden folders and other files are no policies."""
    files = a_set() | {"more.YAML": RULES.encode(), ".github/ci.yaml": b"on: push", "README.md": b"\xff"}
    assert problems(files) == [
        "more.YAML:1:1: the file would be ignored for its name; write its suffix in lower case: .yaml or .yml"
    ]


def test_a_report_is_bounded_and_quotes_little() -> None:
    """A file of garbage gives a bounded report whose lines are short, visible and free of its content at length."""
    secret = "s" * 1_000
    many = rules(*(f"{{id: {secret}{n}, effect: ALLOW, moments: [PUBLISH]}}" for n in range(PROBLEMS_MAX + 7)))
    with pytest.raises(PolicyProblems) as raised:
        compile_set(a_set(rules=many), commit="", number=1, dirty=True)
    lines = str(raised.value).splitlines()
    assert len(lines) == PROBLEMS_MAX + 1
    assert lines[-1] == "and 7 more"
    assert max(map(len, lines)) < 250


def test_what_is_legal_and_probably_not_meant_is_warned_of() -> None:
    """E1: a source that no rule allows, a rule on a source that is not listed, a rule that allows everything."""
    assert warnings(a_set()) == []
    assert warnings(a_set(rules=rules("{id: r, effect: ALLOW, moments: [PUBLISH], sources: [drafts, notes]}"))) == [
        'rules.yaml:5:58: the source "drafts" is not listed, so this rule never allows it; list it, '
        "or leave it out here",
        'sources.yaml:5:13: no rule allows the source "equity-desk": all that rests on it is withheld; '
        "allow it in a rule, or say listed: false",
    ]
    assert warnings(a_set(rules=rules("{id: r, effect: ALLOW, moments: [PUBLISH]}"))) == [
        'rules.yaml:5:5: the rule "r" allows every record of every listed source; name sources, kinds or a condition'
    ]


def test_merged_policies_add_up() -> None:
    """Several DisclosurePolicies are one: rules, demands and trusted callers of all of them hold."""
    head = POLICY_HEAD.replace("main", "more")
    more = head + "empty: true\nrequires: {same-grant-revision: true}\nprincipal-scopes: {claimed-from: [portal]}\n"
    snapshot = compile_set(a_set(more=more), commit="c" * 40, number=3, dirty=False)
    assert snapshot.requires.same_grant_revision
    assert not snapshot.requires.same_policy_revision
    assert snapshot.claimed_scopes_from == {"portal"}
    assert len(snapshot.rules.by_source) == 3
