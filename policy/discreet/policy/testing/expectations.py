"""What a test may demand of a decision, and what of it was found otherwise. Makes no decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Self

from pydantic import BeforeValidator, Field, model_validator

from discreet.policy.cel import ErrorCode
from discreet.policy.decision import SegmentDecision
from discreet.policy.model.fields import word_of, wrong
from discreet.policy.model.kinds import Strict
from discreet.policy.problems import Code, did_you_mean, quoted
from discreet.policy.testing.scalars import one_or_more
from discreet.policy.words import ActionTendency, Gate, Next, Reason, Verdict, Word

VerdictWord = Annotated[Verdict, BeforeValidator(word_of(Verdict, "verdict"))]
ReasonWord = Annotated[Reason, BeforeValidator(word_of(Reason, "reason"))]
GateWord = Annotated[Gate, BeforeValidator(word_of(Gate, "gate"))]
NextWord = Annotated[Next, BeforeValidator(word_of(Next, "next"))]

UNREGISTERED: Final = frozenset({Reason.DOCUMENT_UNKNOWN, Reason.VERSION_MISMATCH})
"""The causes that an author expects of a record that the test does not hold."""


def _error(text: object) -> object:
    """Refuses an error that no condition can have: its kind is of a closed set."""
    if isinstance(text, str):
        kind = text.partition(":")[0]
        if kind not in [code.value for code in ErrorCode]:
            raise wrong(f"no error {quoted(kind)}", did_you_mean(kind, [code.value for code in ErrorCode]))
    return text


ErrorText = Annotated[str, BeforeValidator(_error)]


class Told(Strict):
    """What of a decision a test can name.

    `error`: what a condition lacked, `missing_attribute: document.as_of`; `advice`: whether the answer may lean towards
    advice; `observed`: all rules in observe mode that would have withheld.
    """

    verdict: VerdictWord | None = None
    reason: ReasonWord | None = None
    rule: str | None = None
    custom_reason: str | None = Field(None, alias="custom-reason")
    gate: GateWord | None = None
    text: str | None = None
    next: NextWord | None = None
    error: ErrorText | None = None
    advice: bool | None = None
    observed: tuple[str, ...] | None = None


class ExpectItem(Told):
    """What the decision must be. WITHHOLD and PURGE need a reason, or any mistake would do."""

    verdict: VerdictWord

    @model_validator(mode="after")
    def _reasoned(self) -> Self:
        if self.verdict is Verdict.ALLOW:
            for key, value in (("reason", self.reason), ("error", self.error)):
                if value not in {None, Reason.NONE}:
                    raise wrong(f"an expected ALLOW has no {key}", "leave it out", path=(key,))
        elif self.reason is None and self.error is None:
            hint = "say why, for example reason: POLICY_RULE"
            raise wrong(f"an expected {self.verdict.name} needs a reason", hint, Code.MISSING_KEY)
        if self.advice and self.verdict is not Verdict.ALLOW:
            raise wrong("what is withheld never leans towards advice", "leave it out", path=("advice",))
        if self.error is not None and self.reason not in {None, Reason.POLICY_ERROR}:
            raise wrong("the reason of an error is POLICY_ERROR", "leave it out", path=("reason",))
        return self


class NeverItem(Told):
    """What the decision must not be: an outcome that has all of what is named here."""

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self.model_fields_set:
            raise wrong("this names no outcome", "for example never: { verdict: ALLOW }", Code.MISSING_KEY)
        return self


Nevers = Annotated[tuple[NeverItem, ...], BeforeValidator(one_or_more)]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that was decided otherwise than expected."""

    what: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected or 'none'}, found {self.found or 'none'}"


def differences(
    expected: ExpectItem | None, found: SegmentDecision, never: tuple[NeverItem, ...] = ()
) -> tuple[Difference, ...]:
    """Returns everything that a decision has otherwise than expected; what is not mentioned may be anything.

    The reason is the cause that the audit holds; NOT_AVAILABLE stands for whatever the reader is told so.
    """
    told = _pairs(expected, found) if expected is not None else ()
    wrong_ones = [Difference(what, wanted, got) for what, wanted, got in told if wanted != got]
    for item in never:
        pairs = _pairs(item, found)
        if all(wanted == got for _, wanted, got in pairs):
            outcome = ", ".join(f"{what} {wanted}" for what, wanted, _ in pairs)
            wrong_ones.append(Difference("never", f"not {outcome}", outcome))
    return tuple(wrong_ones)


def _pairs(told: Told, found: SegmentDecision) -> tuple[tuple[str, str, str], ...]:
    """Returns what is named, as it was named and as it was found."""
    as_told = told.reason is Reason.NOT_AVAILABLE
    reason = told.reason if told.error is None else Reason.POLICY_ERROR
    advises = _word(found.action_tendency is ActionTendency.ADVISE)
    pairs = (
        ("verdict", _short(told.verdict), found.verdict.short),
        ("reason", _short(reason), (found.reader_reason if as_told else found.reason).short),
        ("rule", told.rule, found.rule),
        ("custom-reason", told.custom_reason, found.custom_reason),
        ("gate", _short(told.gate), found.gate.short),
        ("text", told.text, found.template_id),
        ("next", _short(told.next), found.next.short),
        ("error", told.error, error_of(found)),
        ("advice", None if told.advice is None else _word(told.advice), advises),
        ("observed", None if told.observed is None else _listed(told.observed), _listed(found.observed)),
    )
    return tuple((what, wanted, got) for what, wanted, got in pairs if wanted is not None)


def error_of(found: SegmentDecision) -> str:
    """Returns what the condition lacked that erred, as the audit says it; empty where none did."""
    return found.stop.detail if found.stop is not None and found.reason is Reason.POLICY_ERROR else ""


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(sorted(names)) or "none"


def _word(value: bool) -> str:
    return "true" if value else "false"


def _short(word: Word | None) -> str | None:
    return None if word is None else word.short
