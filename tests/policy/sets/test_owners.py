"""Owners of folders and embargoes: small kinds that stand for other things."""

from __future__ import annotations

import pytest

from discreet.policy.check import check_set
from discreet.policy.owners import owners_of, steps_fitting
from discreet.policy.snapshot import Rule
from discreet.policy.words import Effect, Moment
from tests.policy.sets.sets import POLICY_HEAD, TEXTS_HEAD, a_set, compiled, problems, rules

OWNERS = "apiVersion: discreet/v1\nkind: Owners\nname: owners\nowners:\n"
EMBARGO = "apiVersion: discreet/v1\nkind: Embargo\nname: q3\n"
RULE = "rules:\n  - {id: %s, effect: WITHHOLD, moments: [PUBLISH], sources: [notes]}\n"


def rules_of(files: dict[str, bytes]) -> dict[str, Rule]:
    """Returns the bound rules that name a source, by id."""
    snapshot = compiled(files)
    return {rule.id: rule for found in snapshot.rules.by_source.values() for rule in found.plain}


def nested(**owners: str) -> dict[str, bytes]:
    """Returns a set with rules in folders, and owners given as `file=text`."""
    found = a_set(**{name: OWNERS + text for name, text in owners.items()})
    for folder in ("desks/equity", "desks/bonds/old", "legal"):
        head = POLICY_HEAD.replace("main", folder.replace("/", "-"))
        found[f"{folder}/r.yaml"] = (head + RULE % folder.replace("/", "-")).encode()
    return found


def test_a_rule_is_owned_by_the_closest_folder_that_has_owners() -> None:
    """E1: deeper folders come before those around them; equally deep patterns add up."""
    files = nested(
        owners="  .: [platform]\n  desks/*: [desks]\n  desks/equity: ['@acme/equity', desks]\n  desks: [lead]\n"
    )
    found = {rule_id: rule.owners for rule_id, rule in rules_of(files).items()}
    assert found == {
        "desks-equity": ("@acme/equity", "desks"),
        "desks-bonds-old": ("desks",),
        "legal": ("platform",),
        "figures": ("platform",),
        "notes": ("platform",),
    }


def test_the_order_of_owners_has_no_meaning() -> None:
    """E1: the same entries in other orders, or in several documents, own the same."""
    one = nested(a="  desks: [u, v]\n  legal: [z]\n")
    other = nested(a="  legal: [z]\n", b="  desks: [v, u]\n")
    other["b.yaml"] = other["b.yaml"].replace(b"name: owners", b"name: more")
    assert {k: r.owners for k, r in rules_of(one).items()} == {k: r.owners for k, r in rules_of(other).items()}


@pytest.mark.parametrize(
    "pattern, file, steps",
    [
        (".", "a.yaml", 0),
        ("desks", "desks/a.yaml", 1),
        ("desks", "desks/x/y/a.yaml", 1),
        ("desks", "desks2/a.yaml", None),
        ("desks", "desks.yaml", None),
        ("d*", "desks/a.yaml", 1),
        ("*", "desks/x/a.yaml", 1),
        ("*", "a.yaml", None),
        ("*x", "desks/x/a.yaml", None),
        ("desks/*", "desks/a.yaml", None),
        ("desks/*/old", "desks/bonds/old/a.yaml", 3),
        ("desks/*/old", "desks/a/b/old/a.yaml", None),
        ("a*b*c", "axxbyyc/f.yaml", 1),
        ("a*b*c", "axxcyyb/f.yaml", None),
        ("ab*bc", "abc/f.yaml", None),
        ("*a*a*a*a*a*a*b", "a" * 200 + "/f.yaml", None),
    ],
)
def test_a_star_stays_within_its_step(pattern: str, file: str, steps: int | None) -> None:
    """POL-12: `*` stands for characters of one folder's name and never crosses a slash."""
    assert steps_fitting(pattern, file) == steps
    assert owners_of({pattern: ["team"]}, file) == (() if steps is None else ("team",))


def test_a_report_says_who_answers_for_a_file_with_a_problem() -> None:
    """E1: owners stand beside problems, for the files that have any, and no others."""
    files = nested(owners="  desks: [lead]\n")
    files["desks/bonds/old/r.yaml"] += b"  - {id: x}\n"
    files["legal/r.yaml"] += b"  - {id: y}\n"
    report = check_set(files)
    assert {found.file for found in report.problems} == {"desks/bonds/old/r.yaml", "legal/r.yaml"}
    assert report.owners == {"desks/bonds/old/r.yaml": ("lead",)}


MISTAKES = {
    "a folder that is not there": (
        "  desk: [x]\n",
        '5:3: no policy file lies in "desk"; mend the path, or take the entry out',
    ),
    "a path that leaves the set": (
        "  ../other: [x]\n",
        '5:3: "../other" names no folder; write a folder of the set like desks/equity or desks/*, or . for all of it',
    ),
    "a star that crosses": (
        "  desks/**: [x]\n",
        '5:3: "desks/**" names no folder; write a folder of the set like desks/equity or desks/*, or . for all of it',
    ),
    "no list": ("  legal: x\n", "5:10: owners must be a list of teams; for example [equity-desk]"),
    "an empty list": ("  legal: []\n", "5:10: the list is empty; name at least one, or leave the key out"),
    "no team": (
        "  legal: [a b]\n",
        '5:11: "a b" is no name of a team; write [A-Za-z0-9@][A-Za-z0-9@._/+-]{0,127}, for example @acme/equity-desk',
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_owners_is_told(mistake: str) -> None:
    """E1, YML-08: an entry that owns nothing is an error, so that a folder that moves does not lose its owners."""
    text, line = MISTAKES[mistake]
    assert problems(nested(owners=text)) == [f"owners.yaml:{line}"]


def test_an_embargo_is_a_withholding_rule_with_an_end() -> None:
    """E1, TIM-01: its name, times, moments and words are those of the rule it stands for."""
    texts = TEXTS_HEAD + "locale: en\ntexts: {wait: Not before its date.}\n---\n" + TEXTS_HEAD
    texts += "locale: zh-Hans\ntexts: {wait: 到期之前不予展示。}\n"
    text = EMBARGO + "until: 2026-11-05T07:00:00+01:00\nsources: [notes]\ntext: wait\n"
    found = rules_of(a_set(q3=text, words=texts))["embargo.q3"]
    assert (found.effect, found.until_us, found.from_us) == (Effect.WITHHOLD, 1_793_858_400_000_000, None)
    assert found.moments == {Moment.RETRIEVE, Moment.PUBLISH, Moment.REPLAY, Moment.EXPORT}
    assert (found.custom_reason, found.text, found.place, found.observe) == (
        "UNDER_EMBARGO",
        "wait",
        "q3.yaml:1",
        False,
    )


EMBARGO_MISTAKES = {
    "no end": ("sources: [notes]\n", '1:1: the key "until" is missing'),
    "on nothing": (
        "until: 2026-11-05T07:00:00Z\n",
        "1:1: an embargo must say on what; name sources, or records by a condition: when: document.record_id in [...]",
    ),
    "on no source there is": (
        "until: 2026-11-05T07:00:00Z\nsources: [note]\n",
        '5:11: no source "note"; did you mean "notes"?',
    ),
    "a wrong condition": (
        "until: 2026-11-05T07:00:00Z\nwhen: document.record in []\n",
        '5:16: condition: no field "record"; did you mean "record_id"?',
    ),
    "observed": (
        "until: 2026-11-05T07:00:00Z\nsources: [notes]\nmode: observe\n",
        '6:1: no key "mode" here; one of apiVersion, custom-reason, description, from, kind, kinds, moments, name, '
        "sources, text, until, when",
    ),
    "an end before its beginning": (
        "until: 2026-11-05T07:00:00Z\nfrom: 2026-11-06T07:00:00Z\nsources: [notes]\n",
        "4:8: until is not after from, so this never holds; swap or mend them",
    ),
}


@pytest.mark.parametrize("mistake", EMBARGO_MISTAKES)
def test_a_mistake_in_an_embargo_is_told(mistake: str) -> None:
    """E1, YML-08: at the line of the embargo's own file."""
    text, line = EMBARGO_MISTAKES[mistake]
    assert problems(a_set(q3=EMBARGO + text)) == [f"q3.yaml:{line}"]


def test_an_embargo_shares_the_names_of_rules() -> None:
    """YML-01: two things of one id in an audit row would be one too many."""
    text = EMBARGO + "until: 2026-11-05T07:00:00Z\nsources: [notes]\n"
    line = "{id: embargo.q3, effect: ALLOW, moments: [PUBLISH], sources: [notes]}"
    (found,) = problems(a_set(q3=text, rules=rules(line)))
    assert 'the rule id "embargo.q3" is given twice' in found
