"""What conditions may read: declared, typed, and the same in the declaration as in the values."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.policy import schema
from discreet.policy.cel import Optional, Record, compile_condition
from discreet.policy.words import Grounding, Reason, Verdict
from tests.policy.sets.sets import a_set, compiled, problems, rules
from tests.policy.sets.test_policy_tests import ALLOW, CASE, HEAD, RECORDS, decision, results

VIEWS: dict[str, tuple[Record, Any]] = {
    "request": (schema.REQUEST, schema.RequestView),
    "principal": (schema.PRINCIPAL, schema.PrincipalView),
    "claim": (schema.CLAIM, schema.ClaimView),
    "segment": (schema.SEGMENT, schema.SegmentView),
    "document": (schema.DOCUMENT, schema.DocumentView),
    "source": (schema.SOURCE, schema.SourceView),
    "binding": (schema.BINDING, schema.BindingView),
}


@pytest.mark.parametrize("name", VIEWS)
def test_what_is_declared_is_what_is_there(name: str) -> None:
    """E1: every declared field is a field of the value that a decision gives, and none is there undeclared."""
    declared, view = VIEWS[name]
    assert set(declared.fields) == set(view._fields)


@pytest.mark.parametrize("name", ["document.version", "source.label", "binding.locator"])
def test_an_unbound_rule_sees_no_record(name: str) -> None:
    """B12, E1: naming what an UNBOUND segment does not have is an error at load, with what there is."""
    rule = f'{{id: r, effect: ALLOW, moments: [PUBLISH], grounding: UNBOUND, kinds: [x], when: {name} == "a"}}'
    variable = name.partition(".")[0]
    assert problems(a_set(rules=rules(rule))) == [
        f'rules.yaml:5:86: condition: no name "{variable}"; there is now, principal, request, segment'
    ]


@pytest.mark.parametrize("grounding", list(Grounding))
def test_every_declared_name_can_be_written_in_a_condition(grounding: Grounding) -> None:
    """E1: each field of each variable loads, guarded by has() where it may be absent."""
    for variable, declared in schema.schema_for(grounding).names.items():
        record = declared.inner if isinstance(declared, Optional) else declared
        if isinstance(record, Record):
            for field, kind in record.fields.items():
                path = f"{variable}.{field}"
                text = f"has({path})" if isinstance(kind, Optional) else f"{path} == {path}"
                assert path in compile_condition(text, schema.schema_for(grounding)).reads


@pytest.mark.parametrize(
    "written, place",
    [
        ('when: "x" == document.bases', None),
        ("when: document.bases == document.basis", "7:20"),
        ("when: 'document.basis == ''x'' || document.bases == ''y'''", "7:48"),
        ('when: "document.basis == \\"x\\" ||\\\n        \\x20document.bases == \\"y\\""', "8:22"),
        ("when: |\n      document.basis == 'x' ||\n        document.bases == 'y'", "9:18"),
        ("when: >-\n      document.basis == 'x' ||\n      document.bases == 'y'", "9:16"),
        ("when: document.basis == 'x' ||\n        document.bases == 'y'", "8:18"),
        ("when: |2-\n        true ||\n        document.bases == 'y'", "9:18"),
    ],
)
def test_an_error_in_a_condition_is_placed_in_the_file(written: str, place: str | None) -> None:
    """E1: line and column of the character, whatever style of YAML the condition is written in."""
    text = rules("{id: a, effect: ALLOW, moments: [PUBLISH]}")
    text += f"  - id: r\n    {written}\n    effect: ALLOW\n    moments: [PUBLISH]\n"
    found = problems(a_set(rules=text))
    if place is None:
        assert found[0].startswith("rules.yaml:7:15: not valid YAML")
    else:
        assert found == [f'rules.yaml:{place}: condition: no field "bases"; did you mean "basis"?']


CONDITIONS = [
    'request.moment == "PUBLISH" && request.tenant == "test" && request.locale == "en"',
    'principal.id == "ana" && "desk-a" in principal.scopes && "public" in principal.scopes',
    'principal.claimed_scopes == ["x"] && principal.attributes.role == "analyst"',
    'segment.kind == "answer" && segment.grounding == "BOUND" && !segment.need_numbers && !has(segment.claim)',
    'document.kind == "DOCUMENT" && document.current && !document.suspended && document.attributes.level == 2',
    "document.recorded_at < now && document.as_of < now && document.assessment_expires_at > now",
    'now == timestamp("2026-01-05T09:00:00Z") && now - document.as_of == duration("24h")',
    'source.label == "notes" && source.listed && source.duty == "DOCUMENT_STORE" && !has(source.max_age)',
    'binding.record_id == document.record_id && binding.locator == "p. 3"',
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_reads_what_the_decision_is_about(condition: str) -> None:
    """E1, A16: the values behind the names are those of the request, the record and the policy."""
    allowed = decision(condition)
    assert (allowed.verdict, allowed.rule) == (Verdict.ALLOW, "r")
    refused = decision(f"!({condition})")
    assert (refused.verdict, refused.reason) == (Verdict.WITHHOLD, Reason.POLICY_RULE)


@pytest.mark.parametrize("condition", ["document.attributes.absent == 1", "segment.claim.basis == 'x'", "1 / 0 == 1"])
def test_a_condition_that_errs_withholds(condition: str) -> None:
    """F12: for a rule that allows and for one that withholds alike."""
    for effect in ("ALLOW", "WITHHOLD"):
        found = decision(condition, effect)
        assert (found.verdict, found.reason, found.rule) == (Verdict.WITHHOLD, Reason.POLICY_ERROR, "r")


def test_a_rule_about_locators_can_be_told_of_records_behind_a_binding() -> None:
    """A19, F12: what a bound record rests on is judged by withholding rules, too; it has no locator, has() says so."""
    behind = (
        '  - {record-id: n/2, version: "1", source-label: notes, scopes: [public], kind: EVIDENCE, basis: b,'
        " as-of: 2026-01-04T09:00:00Z, assessment-expires-at: 2026-06-30T00:00:00Z,"
        ' of: [{record-id: n/1, version: "1"}]}\n'
    )
    case = CASE.replace("record-id: n/1", "record-id: n/2")
    for condition, reason in (
        ("has(binding.locator) && binding.locator == 'p. 9'", Reason.NONE),
        ("binding.locator == 'p. 9'", Reason.POLICY_ERROR),
        ("binding.record_id == 'n/1'", Reason.POLICY_RULE),
    ):
        policy = rules("{id: all, effect: ALLOW, moments: [PUBLISH], sources: [notes]}")
        policy += f"  - id: r\n    effect: WITHHOLD\n    moments: [PUBLISH]\n    when: {condition}\n"
        (result,) = results(HEAD + RECORDS + behind + "cases:\n" + case + ALLOW, rules=policy)
        assert result.decision.reason is reason


def test_a_compiled_set_is_what_its_files_say() -> None:
    """E1: the snapshot holds the rule with its sets, its place and its condition."""
    text = rules(
        "{id: r, effect: WITHHOLD, moments: [PUBLISH, REPLAY], sources: [notes], kinds: [quote],"
        " when: document.version == '1', custom-reason: OLD}"
    )
    snapshot = compiled(a_set(rules=text))
    found = {moment.name: rules for (moment, _), rules in snapshot.rules.by_source.items()}
    assert set(found) == {"PUBLISH", "REPLAY"}
    (rule,) = found["PUBLISH"].plain
    assert rule.place == "rules.yaml:5"
    assert rule.kinds == frozenset(["quote"])
    assert rule.custom_reason == "OLD"
    assert rule.when is not None
    assert rule.when.text == "document.version == '1'"
    assert (snapshot.number, snapshot.commit, snapshot.use_within_ms) == (7, "c" * 40, 2_000)
