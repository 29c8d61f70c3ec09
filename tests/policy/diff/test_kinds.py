"""Every kind of change is found, with what either side says and the direction it leads in; backwards likewise."""

from __future__ import annotations

import re
from typing import Final

import pytest

from discreet.policy.diff import Direction, Kind
from tests.policy.diff.pairs import Sides, backwards, document, rule, sides, source, the_set
from tests.policy.sets.sets import SET

L, E, T, N = Direction.LOOSENS, Direction.EITHER, Direction.TIGHTENS, Direction.NEITHER
ALLOW: Final = "effect: ALLOW, moments: [PUBLISH]"
SHUT: Final = "effect: WITHHOLD, moments: [PUBLISH]"
UNBOUND: Final = f"{ALLOW}, kinds: [chat], grounding: UNBOUND"
PARAMETER: Final = "parameters:\n  desk: {type: text, default: north}\n"
OTHER: Final = "parameters:\n  desk: {type: text, default: south}\n"
TEXTS: Final = document("Texts", "locale: en\ntexts:\n  POLICY_RULE: Not for you.\n  moved: It moved.\n", "en")
CHINESE: Final = document("Texts", "locale: zh-Hans\ntexts:\n  moved: 已移走。\n", "zh")
ENVIRONMENTS: Final = document("Environment", "", "live") + "---\n" + document("Environment", "", "rehearsal")

Row = tuple[dict[str, str], dict[str, str], Kind, Direction, str, str, str]


def _retention(body: str) -> dict[str, str]:
    return {"retention": document("RetentionPolicy", body)}


def _policy(body: str) -> dict[str, str]:
    return {"policy": document("DisclosurePolicy", f"{body}\nempty: true\n", "demands")}


_FULL = "DOCUMENT_STORE; collectors clerk; max-age none; record-ids lower-case; title Memos"
ROWS: Final[tuple[Row, ...]] = (
    ({}, source(), Kind.SOURCE_ADDED, L, "memos", "", _FULL),
    ({}, source(listed="false"), Kind.SOURCE_ADDED, N, "memos", "", f"{_FULL}; not listed"),
    (source(listed="false"), source(), Kind.SOURCE_LISTED, L, "memos", "false", "true"),
    (source(), source(collectors="[clerk, bot]"), Kind.SOURCE_COLLECTORS, L, "memos", "clerk", "bot, clerk"),
    (source(), source(collectors="[bot]"), Kind.SOURCE_COLLECTORS, E, "memos", "clerk", "bot"),
    (source(), source(duty="DERIVATION"), Kind.SOURCE_DUTY, E, "memos", "DOCUMENT_STORE", "DERIVATION"),
    (source(max_age="1h"), source(max_age="36h"), Kind.SOURCE_MAX_AGE, L, "memos", "1h", "36h"),
    (source(max_age="1h"), source(), Kind.SOURCE_MAX_AGE, L, "memos", "1h", "none"),
    (source(), source(record_ids="case-sensitive"), Kind.SOURCE_RECORD_IDS, E, "memos", "lower-case", "case-sensitive"),
    (source(), source(title="Notes"), Kind.SOURCE_TITLE, N, "memos", "Memos", "Notes"),
    ({}, rule(ALLOW), Kind.RULE_ADDED, L, "more", "", "ALLOW at PUBLISH"),
    ({}, rule(SHUT), Kind.RULE_ADDED, T, "more", "", "WITHHOLD at PUBLISH"),
    ({}, rule(f"{SHUT}, mode: observe"), Kind.RULE_ADDED, N, "more", "", "WITHHOLD at PUBLISH; mode observe"),
    (rule(ALLOW), rule(f"id: other, {ALLOW}"), Kind.RULE_RENAMED, N, "other", "more", "other"),
    (rule(SHUT), rule(ALLOW), Kind.RULE_EFFECT, L, "more", "WITHHOLD", "ALLOW"),
    (rule(SHUT), rule(f"{SHUT}, mode: observe"), Kind.RULE_MODE, L, "more", "enforce", "observe"),
    (
        rule(ALLOW), rule("effect: ALLOW, moments: [EXPORT, PUBLISH]"), Kind.RULE_MOMENTS, L, "more",
        "PUBLISH", "PUBLISH, EXPORT",
    ),
    (
        rule(SHUT), rule("effect: WITHHOLD, moments: [EXPORT, PUBLISH]"), Kind.RULE_MOMENTS, T, "more",
        "PUBLISH", "PUBLISH, EXPORT",
    ),
    (rule(f"{ALLOW}, sources: [notes]"), rule(ALLOW), Kind.RULE_SOURCES, L, "more", "notes", "any"),
    (rule(f"{SHUT}, sources: [notes]"), rule(SHUT), Kind.RULE_SOURCES, T, "more", "notes", "any"),
    (rule(ALLOW), rule(f"{ALLOW}, kinds: [quote]"), Kind.RULE_KINDS, T, "more", "any", "quote"),
    (
        rule(f"{ALLOW}, kinds: [chat]"), rule(UNBOUND), Kind.RULE_GROUNDING, E, "more", "BOUND", "UNBOUND",
    ),
    (
        rule(ALLOW), rule(f"{ALLOW}, when: 'request.need_advice'"), Kind.RULE_CONDITION, T, "more",
        "true", "request.need_advice",
    ),
    (
        rule(f"{ALLOW}, when: 'principal.id == \"a\"'"), rule(f"{ALLOW}, when: 'principal.id != \"a\"'"),
        Kind.RULE_CONDITION, E, "more", 'principal.id == "a"', 'principal.id != "a"',
    ),
    (
        rule(ALLOW), rule(f"{ALLOW}, until: '2027-01-01T00:00:00Z'"), Kind.RULE_VALIDITY, T, "more",
        "always", "until 2027-01-01T00:00:00Z",
    ),
    (
        rule(f"{SHUT}, from: '2026-01-01T00:00:00Z'"), rule(f"{SHUT}, from: '2026-02-01T00:00:00Z'"),
        Kind.RULE_VALIDITY, L, "more", "from 2026-01-01T00:00:00Z", "from 2026-02-01T00:00:00Z",
    ),
    (rule(ALLOW), rule(f"{ALLOW}, advice: true"), Kind.RULE_ADVICE, L, "more", "false", "true"),
    (rule(SHUT), rule(f"{SHUT}, custom-reason: LATE"), Kind.RULE_CUSTOM_REASON, N, "more", "none", "LATE"),
    (
        {**rule(SHUT), "texts": TEXTS, "zh": CHINESE},
        {**rule(f"{SHUT}, text: moved"), "texts": TEXTS, "zh": CHINESE},
        Kind.RULE_TEXT, N, "more", "that of the reason", "moved",
    ),
    (
        {}, _policy("requires: { same-grant-revision: true }"), Kind.REQUIRES, T, "same-grant-revision",
        "false", "true",
    ),
    ({}, _policy("principal-scopes: { claimed-from: [desk] }"), Kind.CLAIMED_FROM, L, "", "none", "desk"),
    ({}, the_set("audit: { checks: none }\n"), Kind.AUDIT_CHECKS, L, "", "required", "none"),
    ({}, the_set("audit: { checks: spooled }\n"), Kind.AUDIT_CHECKS, L, "", "required", "spooled"),
    ({}, the_set("audit: { mask: [mail] }\n"), Kind.AUDIT_MASK, N, "", "none", "mail"),
    (the_set("policy-max-age: 5m\n"), {}, Kind.POLICY_MAX_AGE, L, "", "5m", "none"),
    ({}, the_set("read-max-staleness: 5s\n"), Kind.READ_MAX_STALENESS, L, "", "none", "5s"),
    (the_set("read-max-staleness: 5s\n"), {}, Kind.READ_MAX_STALENESS, T, "", "5s", "none"),
    ({}, the_set("use-within: 1s\n"), Kind.USE_WITHIN, T, "", "2s", "1s"),
    ({}, the_set("store-within: 1h\n"), Kind.STORE_WITHIN, L, "", "10m", "1h"),
    ({}, _retention("dry-run-above: 5\n"), Kind.RETENTION_DRY_RUN_ABOVE, E, "", "100", "5"),
    ({}, _retention("purge-within: 7d\n"), Kind.RETENTION_PURGE_WITHIN, L, "", "24h", "7d"),
    ({}, _retention("recheck-after: 1h\n"), Kind.RETENTION_RECHECK_AFTER, T, "", "never", "1h"),
    ({}, the_set(PARAMETER), Kind.PARAMETER_ADDED, N, "desk", "", 'text "north"'),
    (the_set(PARAMETER), the_set(OTHER), Kind.PARAMETER_CHANGED, N, "desk", 'text "north"', 'text "south"'),
    ({"environments": ENVIRONMENTS}, {"environments": document("Environment", "", "live")},
     Kind.ENVIRONMENT_REMOVED, E, "rehearsal", "", ""),
    ({}, {"discreet": SET.replace("demo", "other")}, Kind.SET_NAME, N, "", "demo", "other"),
    (
        {"zh": CHINESE}, {"zh": CHINESE, "texts": TEXTS.replace("  POLICY_RULE: Not for you.\n", "")},
        Kind.TEXT_ADDED, N, "en moved", "", "It moved.",
    ),
    (
        {"texts": TEXTS, "zh": CHINESE}, {"texts": TEXTS.replace("you", "them"), "zh": CHINESE},
        Kind.TEXT_CHANGED, N, "en POLICY_RULE", "Not for you.", "Not for them.",
    ),
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[2].value} {row[3]}".replace(" ", "-") for row in ROWS])
def test_one_difference_is_one_change(row: Row) -> None:
    """F8: what one side says anew is found, alone, with both texts and its direction."""
    old, new, kind, direction, subject, before, after = row
    (change,) = sides(old, new).found.changes
    found = (change.kind, change.direction, change.subject, change.old, change.new)
    assert found == (kind, direction, subject, before, after)


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[2].value} {row[3]}".replace(" ", "-") for row in ROWS])
def test_a_difference_backwards_is_its_mirror(row: Row) -> None:
    """F8: added and removed, loosening and tightening, before and after change places, and nothing else."""
    pair = sides(row[0], row[1])
    assert backwards(pair.found) == Sides(pair.new, pair.old).found


def test_every_kind_is_met() -> None:
    """F8: the set of kinds is closed, and each is made by a pair above, one way or the other."""
    met = {change.kind for row in ROWS for pair in [sides(row[0], row[1])] for change in pair.found.changes}
    met |= {change.kind for row in ROWS for pair in [sides(row[1], row[0])] for change in pair.found.changes}
    assert met == set(Kind)


def test_a_source_that_is_not_listed_shows_nothing_whatever_else_it_says() -> None:
    """A1: what changes of it beside leads nowhere while it is not listed, and where it is listed anew, there."""
    hidden = source(listed="false", max_age="1h", duty="DERIVATION", collectors="[bot]")
    found = sides(source(listed="false"), hidden).found
    assert [change.direction for change in found.changes] == [N, N, N]
    shown = sides(hidden, source()).found
    assert {change.direction for change in shown.changes} == {L}
    assert len(shown.changes) == 4


@pytest.mark.parametrize(
    "reads, old, new, direction",
    [
        ("has(source.max_age)", source(max_age="1h"), source(max_age="2h"), E),
        ('source.title == "Memos"', source(), source(title="Notes"), E),
        ('source.label == "memos"', source(max_age="1h"), source(max_age="2h"), L),
        ('"board" in principal.scopes', {}, _policy("principal-scopes: { claimed-from: [desk] }"), E),
    ],
)
def test_what_rules_read_may_lead_either_way(
    reads: str, old: dict[str, str], new: dict[str, str], direction: Direction
) -> None:
    """F8: a value that a condition reads can open and close, so where it leads is not told for certain."""
    shut = {"reading": rule(f"{SHUT}, when: {reads!r}")["extra"].replace("extra", "reading")}
    (change,) = sides({**old, **shut}, {**new, **shut}).found.changes
    assert change.direction is direction


def test_what_a_rule_does_tells_where_all_its_changes_lead() -> None:
    """F8: a rule that withheld and now allows loosens, even where it fits less; one that is watched does nothing."""
    turned = sides(rule(SHUT), rule(f"{ALLOW}, kinds: [quote], when: 'request.need_advice'")).found
    assert [change.direction for change in turned.changes] == [L, L, L]
    watched = sides(rule(f"{SHUT}, mode: observe"), rule(f"{SHUT}, mode: observe, kinds: [quote]")).found
    assert [change.direction for change in watched.changes] == [N]


def test_a_rule_said_twice_is_no_change_of_what_may_be_shown() -> None:
    """F8: one more rule that means what another means, or one less, leads nowhere."""
    twice = {**rule(SHUT), "twin": rule(f"id: twin, {SHUT}")["extra"].replace("extra", "twin")}
    (change,) = sides(rule(SHUT), twice).found.changes
    assert (change.kind, change.direction) == (Kind.RULE_ADDED, N)


def test_what_loosens_stands_first() -> None:
    """F8: then what may loosen, what tightens, and what does neither."""
    old = {**rule(SHUT), **source(max_age="1h")}
    new = {**source(max_age="2h", title="Papers", collectors="[bot]"), **the_set("use-within: 1s\n")}
    directions = [change.direction for change in sides(old, new).found.changes]
    assert directions == [L, L, E, T, N]


def test_differences_of_single_environments_say_where() -> None:
    """F8: what is so in every environment is said once; what is so in some names them."""
    head = "parameters:\n  desk: {type: text, default: north}\n"
    reading = rule(f"{ALLOW}, when: 'principal.id == parameters.desk'")
    given = document("Environment", "parameters: { desk: DESK }\n", "live")
    both = {**the_set(head), **reading}
    old = {**both, "environments": given.replace("DESK", "east") + "---\n" + document("Environment", "", "rehearsal")}
    new = {**both, "environments": given.replace("DESK", "west") + "---\n" + document("Environment", "", "rehearsal")}
    found = sides(old, {**new, **source()}).found
    assert [(change.kind, change.environments) for change in found.changes] == [
        (Kind.SOURCE_ADDED, ()),
        (Kind.RULE_CONDITION, ("live",)),
        (Kind.PARAMETER_CHANGED, ("live",)),
    ]


def test_a_set_that_is_written_for_environments_now_is_compared_with_each() -> None:
    """F8: what differs from the set that named none is found in every environment that it is split into."""
    found = sides({}, {"environments": ENVIRONMENTS, **source()}).found
    assert [(change.kind, change.subject, change.environments) for change in found.changes] == [
        (Kind.SOURCE_ADDED, "memos", ()),
        (Kind.ENVIRONMENT_ADDED, "live", ()),
        (Kind.ENVIRONMENT_ADDED, "rehearsal", ()),
    ]


def test_the_words_for_kinds_can_be_read_aloud() -> None:
    """E1: each kind is said in the words of policy files."""
    assert [kind.value for kind in Kind if not re.fullmatch(r"[a-z][a-z -]+", kind.value)] == []
