"""What a reader may not tell apart is the same bytes; what an auditor must tell apart is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from discreet.policy.facts import PrincipalGrants, Target
from discreet.policy.words import ActionTendency, Moment, Reason, Verdict
from discreet.v1 import disclosure_pb2
from tests.policy.decide.faults import AVAILABILITY, FAULTS, Fault, bindings, held, old_policy, passing, records, stand
from tests.policy.decide.replies import reply, reply_bytes, row
from tests.policy.decide.world import (
    DAY,
    OTHER_DIGEST,
    World,
    at,
    edit,
    evidence,
    figure_world,
    freeze,
    grant,
    record,
    revoke,
    world,
)

DOCUMENT = record("kb-7", scopes=("board",))


def _behind() -> World:
    """A quote that its reader may read, taken from a document that they may not."""
    quote = evidence(own_source=False, of=(DOCUMENT.ref,), roots=(DOCUMENT.ref,))
    return edit(figure_world(), records=(quote, DOCUMENT))


HIDDEN: dict[str, Callable[[World], World]] = {
    **{str(fault): fault.change for fault in AVAILABILITY},
    "another scope": records(scopes=("board",)),
    "no scope": records(scopes=()),
    "behind: denied": lambda w: edit(w, records=_behind().records),
    "behind: unknown": lambda w: edit(w, records=_behind().records[:1]),
    "another version": lambda w: edit(w, records=(evidence(version="2", scopes=("board",)),)),
    "denied and revoked": records(scopes=("board",), revoked=revoke()),
    "denied and suspended": records(scopes=("board",), suspended=True),
    "denied and stale": records(scopes=("board",), as_of=at(-9 * DAY)),
    "denied and unlisted": records(scopes=("board",), source_label="memo"),
    "denied and superseded": records(scopes=("board",), current=False),
    "denied and held": lambda w: records(scopes=("board",))(held(Target(record_id="quote-1"))(w)),
    "denied and its source held": lambda w: records(scopes=("board",))(held(Target("ledger-feed"))(w)),
    "denied and its source revoked": lambda w: records(scopes=("board",))(
        stand(revoked_sources={"ledger-feed": revoke()})(w)
    ),
    "denied and frozen": lambda w: records(scopes=("board",))(stand(freezes=(freeze("ledger-feed"),))(w)),
    "denied and all frozen": lambda w: records(scopes=("board",))(stand(freezes=(freeze(),))(w)),
    "unknown and all frozen": lambda w: edit(stand(freezes=(freeze(),))(w), records=()),
}


@pytest.mark.parametrize("moment", [Moment.RETRIEVE, Moment.PUBLISH])
@pytest.mark.parametrize("locale", ["en", "zh-Hans"])
def test_unknown_and_forbidden_are_the_same_bytes(moment: Moment, locale: str) -> None:
    """F11, DSC-09, B11: whether and why it exists, whatever else is true of it, is not in the reply."""
    asked = edit(passing(), moment=moment, locale=locale, need_advice=True)
    replies = {name: reply_bytes(change(asked)) for name, change in HIDDEN.items()}
    assert len(set(replies.values())) == 1, [name for name, each in replies.items() if each != replies["unknown"]]


def test_what_stops_before_scope_is_judged_tells_nothing() -> None:
    """F11, A12: under a policy that is too old, what is visible, forbidden and unknown gives the same bytes."""
    replies = {reply_bytes(old_policy(change(passing()))) for change in HIDDEN.values()}
    assert replies == {reply_bytes(old_policy(passing()))}


def test_the_audit_tells_them_apart() -> None:
    """F11, B3: the same replies stand in the audit with their causes, and with the record that decided."""
    reasons = {name: Reason(row(change(passing())).decisions[0].reason) for name, change in HIDDEN.items()}
    assert reasons["unknown"] == reasons["behind: unknown"] == Reason.DOCUMENT_UNKNOWN
    assert reasons["scope-expired"] == Reason.SCOPE_EXPIRED
    assert reasons["scope-not-yet"] == Reason.SCOPE_NOT_YET_VALID
    assert reasons["denied and revoked"] == reasons["behind: denied"] == Reason.SCOPE_DENIED
    (hidden,) = row(HIDDEN["behind: denied"](passing())).decisions
    assert hidden.deciding_record.record_id == "kb-7"
    assert Reason(hidden.reader_reason) is Reason.NOT_AVAILABLE
    (told,) = reply(HIDDEN["behind: denied"](passing())).results
    assert told.output.gap.record.record_id == "quote-1"


def test_which_of_several_bindings_is_hidden_is_not_told() -> None:
    """F11, A17: the gap names the request's first binding, and evidence is blank for all of them."""
    pair = world(record("kb-1"), record("kb-2"), record("kb-3"))
    seen = set()
    for hidden in range(3):
        held = tuple(edit(r, scopes=("board",)) if i == hidden else r for i, r in enumerate(pair.records))
        seen.add(reply_bytes(edit(pair, records=held)))
        seen.add(reply_bytes(edit(pair, records=tuple(r for i, r in enumerate(pair.records) if i != hidden))))
    assert len(seen) == 1
    (result,) = disclosure_pb2.CheckResponse.FromString(seen.pop()).results
    assert len(result.evidence) == 3
    assert len({each.SerializeToString() for each in result.evidence}) == 1


def test_wrong_details_of_a_hidden_record_are_not_told() -> None:
    """F11: whether version, digest or claims were guessed right makes no difference to who may not read it."""
    denied = records(scopes=("board",))(passing())
    truth = reply_bytes(denied)
    for wrong in (
        bindings(digest=OTHER_DIGEST),
        bindings(claimed_label="wiki"),
        bindings(claimed_as_of=at(-1)),
        bindings(claimed_basis="reported"),
    ):
        assert reply_bytes(wrong(denied)) == truth
    version = reply(bindings(version="9")(denied)).results[0]
    version.output.gap.record.version = "1"
    assert version == reply(denied).results[0]


def test_another_readers_grants_are_not_in_the_reply() -> None:
    """F11: readers without rights get one reply, however many rights they have to other things."""
    replies = {
        reply_bytes(records(scopes=("board",))(edit(passing(), grants=PrincipalGrants(held, 5))))
        for held in ((), (grant(),), (grant("sales"), grant("hr", expires_at=at(0))))
    }
    assert len(replies) == 1


@pytest.mark.parametrize("fault", [f for f in FAULTS if f not in AVAILABILITY], ids=str)
def test_a_visible_fault_says_what_is_missing_and_keeps_the_question(fault: Fault) -> None:
    """A17, A5: the reader gets the fixed text, what was asked, and which record fell short in what."""
    given = fault.change(edit(passing(), need_advice=True))
    (result,) = reply(given).results
    output = result.output
    assert output.WhichOneof("form") == "disclosure"
    assert output.disclosure
    assert (output.goal.segment_id, output.goal.need_numbers, output.goal.need_advice) == ("s1", True, True)
    assert (output.goal.claim.basis, list(output.goal.claim.required_fields)) == ("adjusted", ["value"])
    assert output.gap.kind in {"source", "time", "basis", "field", "version", "rule", "service", ""}
    assert ActionTendency(output.audit.action_tendency) is ActionTendency.NONE
    assert output.audit.execution_allowed is False
    assert result.use_within_ms == 0


def test_what_is_available_has_no_disclosure_text() -> None:
    """A5, A17: an answer is either numbers (empty for now) or a disclosure; the encoding holds no mixture."""
    (result,) = reply(passing()).results
    assert Verdict(result.verdict) is Verdict.ALLOW
    assert result.output.WhichOneof("form") == "numbers"
    assert not result.output.HasField("goal")
    assert not result.output.HasField("gap")
    assert (result.output.disclosure, result.output.template_id) == ("", "")


def test_incomplete_evidence_names_its_fields() -> None:
    """A4, A17: exactly the missing ones, in the order asked."""
    given = records(fields={"value": None, "unit": "EUR"})(passing())
    (result,) = reply(given).results
    assert (result.output.gap.kind, list(result.output.gap.missing_fields)) == ("field", ["value"])
