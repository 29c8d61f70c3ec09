"""The words of the core are the enums of the messages, member by member, and the tables over them are whole."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor import EnumDescriptor

from discreet.policy import words
from discreet.policy.outcome import NEXT, fault_of, text_of
from discreet.policy.texts_builtin import BUILTIN
from discreet.policy.texts_lint import lint_text
from discreet.policy.words import LOCALES, LowerWord, Next, Reason, Verdict, Word
from discreet.v1 import audit_pb2, authority_pb2, common_pb2, disclosure_pb2, index_pb2, purge_pb2

ENUMS: dict[str, tuple[EnumDescriptor, str]] = {
    "Moment": (common_pb2.Moment.DESCRIPTOR, "MOMENT_"),
    "Verdict": (common_pb2.Verdict.DESCRIPTOR, "VERDICT_"),
    "Grounding": (common_pb2.Grounding.DESCRIPTOR, "GROUNDING_"),
    "Freshness": (common_pb2.Freshness.DESCRIPTOR, "FRESHNESS_"),
    "OutputStatus": (common_pb2.OutputStatus.DESCRIPTOR, "OUTPUT_STATUS_"),
    "Next": (common_pb2.Next.DESCRIPTOR, "NEXT_"),
    "ActionTendency": (common_pb2.ActionTendency.DESCRIPTOR, "ACTION_TENDENCY_"),
    "Gate": (common_pb2.Gate.DESCRIPTOR, "GATE_"),
    "RecordKind": (index_pb2.RecordKind.DESCRIPTOR, "RECORD_KIND_"),
    "Origin": (index_pb2.Origin.DESCRIPTOR, "ORIGIN_"),
    "AuditAct": (audit_pb2.AuditAct.DESCRIPTOR, "AUDIT_ACT_"),
    "OrderKind": (disclosure_pb2.CommitOrder.Kind.DESCRIPTOR, "KIND_"),
    "HolderKind": (purge_pb2.HolderKind.DESCRIPTOR, "HOLDER_KIND_"),
    "PurgeItemKind": (purge_pb2.PurgeItemKind.DESCRIPTOR, "PURGE_ITEM_KIND_"),
    "PurgeOutcome": (purge_pb2.PurgeOutcome.DESCRIPTOR, "PURGE_OUTCOME_"),
    "PurgeState": (purge_pb2.PurgeState.DESCRIPTOR, "PURGE_STATE_"),
    "TombstoneKind": (authority_pb2.TombstoneKind.DESCRIPTOR, "TOMBSTONE_KIND_"),
    "ShownKind": (disclosure_pb2.ShownOutcome.Kind.DESCRIPTOR, "KIND_"),
    "Reason": (common_pb2.Reason.DESCRIPTOR, "REASON_"),
}
POLICY_ONLY = {"Duty", "Effect", "AuditMode", "Role"}
"""Words of policies and of the server's configuration, which no message carries as a number."""


def _all_words() -> dict[str, type[Word]]:
    found = {name: each for name, each in vars(words).items() if isinstance(each, type) and issubclass(each, Word)}
    return {name: each for name, each in found.items() if each not in (Word, LowerWord)}


def test_every_closed_set_is_accounted_for() -> None:
    """B2, A17: a closed set that is added is compared with its message, or said to have none."""
    assert set(_all_words()) == set(ENUMS) | POLICY_ONLY


@pytest.mark.parametrize("name", ENUMS)
def test_words_and_messages_hold_the_same_members(name: str) -> None:
    """B2, A5: names without their prefix and numbers agree, in both directions; zero is no word and never allows."""
    descriptor, prefix = ENUMS[name]
    theirs = {value.name: value.number for value in descriptor.values}
    ours = {prefix + word.name: int(word) for word in _all_words()[name]}
    assert theirs.pop(f"{prefix}UNSPECIFIED") == 0
    assert theirs == ours


def test_no_verdict_of_zero_allows() -> None:
    """POL-03: a verdict that was never set is none of the words."""
    assert 0 not in {verdict.value for verdict in Verdict}


def test_short_forms_are_unique_and_those_of_the_requirement_lower_case() -> None:
    """A4, A5: `fresh`, `available`, `none` are written so; short forms name one member each."""
    for each in _all_words().values():
        shorts = [word.short for word in each]
        assert len(set(shorts)) == len(shorts)
    assert [word.short for word in words.Freshness] == ["fresh", "stale", "unknown", "missing"]
    assert [word.short for word in words.OutputStatus] == ["available", "unavailable"]
    assert [word.short for word in words.ActionTendency] == ["none", "inform", "advise"]


def test_every_reason_has_a_next_step_and_a_fault() -> None:
    """A14, A17: the tables over the closed set of reasons are whole."""
    assert set(NEXT) == set(Reason)
    faults = {"none", "evidence", "generation", "policy", "authority", "service"}
    assert {fault_of(reason) for reason in Reason} == faults
    assert {reason for reason in Reason if fault_of(reason) == "none"} == {Reason.NONE}


def test_what_looks_unavailable_has_no_next_step_of_its_own() -> None:
    """F11: causes that readers may not tell apart offer the same, nothing."""
    hidden = [reason for reason in Reason if reason.looks_unavailable]
    assert {NEXT[reason] for reason in hidden} == {Next.NONE} == {NEXT[Reason.NOT_AVAILABLE]}
    assert {reason.name for reason in hidden} == {
        *("DOCUMENT_UNKNOWN", "TENANT_MISMATCH", "SCOPE_DENIED", "SCOPE_EXPIRED", "SCOPE_NOT_YET_VALID"),
        *("PRINCIPAL_MISMATCH", "SESSION_MISMATCH"),
    }


@pytest.mark.parametrize("locale", LOCALES)
def test_every_reason_has_a_text_in_every_locale(locale: str) -> None:
    """A6: a fixed text for each reason, which passes the check that policies' texts must pass."""
    for reason in Reason:
        if reason is Reason.NONE:
            continue
        text = text_of(None, locale, reason.short)
        assert text == BUILTIN[locale][reason.short]
        assert lint_text(reason.short, locale, text) == []
    hidden = {BUILTIN[locale][reason.short] for reason in Reason if reason.looks_unavailable}
    assert hidden == {BUILTIN[locale]["NOT_AVAILABLE"]}


def test_texts_differ_between_locales_and_between_reasons_that_may_be_told() -> None:
    """A6: no text stands for two reasons, and none is left untranslated."""
    told = [reason.short for reason in Reason if reason is not Reason.NONE and not reason.looks_unavailable]
    for locale in LOCALES:
        assert len({BUILTIN[locale][name] for name in told}) == len(told)
    assert not {BUILTIN["en"][name] for name in told} & {BUILTIN["zh-Hans"][name] for name in told}
