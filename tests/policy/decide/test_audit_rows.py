"""The audit row: the same fields for every answer, the cause and every fact with its revision, and no content."""

from __future__ import annotations

import pytest

from discreet.policy.codec import CallRecord, CommitOutcome, audit_row
from discreet.policy.decide import withhold_all, withhold_one
from discreet.policy.facts import Micros, PrincipalGrants
from discreet.policy.words import AuditAct, Gate, OrderKind, Reason, Verdict
from discreet.v1 import audit_pb2
from tests.policy.decide.faults import FAULTS, Fault, bindings, passing, records
from tests.policy.decide.random_worlds import random_world
from tests.policy.decide.replies import reply_bytes, row, row_bytes
from tests.policy.decide.world import (
    NOW,
    OTHER_EPOCH,
    World,
    edit,
    evidence,
    figure_world,
    grant,
    record,
    token,
    world,
)


@pytest.mark.parametrize("fault", [None, *FAULTS], ids=str)
def test_every_row_has_the_same_fields(fault: Fault | None) -> None:
    """A14: verdict, reason, gate, template, next, tendency, fault, evidence and trace stand in each decision."""
    given = fault.change(passing()) if fault is not None else passing()
    written = row(given)
    (decision,) = written.decisions
    assert (written.version, written.act, written.request_id) == (1, audit_pb2.AUDIT_ACT_CHECK, "request-1")
    assert written.at.ToMicroseconds() == NOW
    assert (written.tenant, written.principal_id, written.session_id) == ("marlowe", "ana", "session-1")
    assert (written.policy.number, written.policy.commit, written.token) == (3, "d" * 40, token())
    for name in ("verdict", "reason", "reader_reason", "gate", "next", "action_tendency", "fault", "decision_id"):
        assert getattr(decision, name), name
    assert bool(decision.template_id) == (fault is not None)
    assert (decision.execution_allowed, decision.fabrication_guard_triggered) == (False, False)
    assert (len(decision.evidence), len(decision.bindings)) == (1, 1)
    assert [step.gate for step in decision.trace if not step.passed] == ([decision.gate] if fault is not None else [])


def test_a_row_names_every_fact_with_its_revision() -> None:
    """A16, B3: records as they were found, absent ones as revision 0, the grants, each once."""
    document = record("kb-7", revision=21)
    quote = evidence(revision=20, own_source=False, of=(document.ref,), roots=(document.ref,))
    given = edit(world(quote, record("kb-404")), records=(quote, document))
    facts = {(f.kind, f.id, f.version): f.revision for f in row(given).facts}
    assert facts == {
        ("record", "quote-1", "1"): 20,
        ("record", "kb-7", "1"): 21,
        ("record", "kb-404", "1"): 0,
        ("grants", "ana", ""): 5,
        ("standing", "", ""): 0,
    }
    seen = next(f for f in row(given).facts if f.id == "quote-1")
    assert (seen.source_label, seen.collector, list(seen.states)) == ("ledger-feed", "feed-importer", ["current"])


def test_a_record_that_stood_in_for_an_unknown_version_is_named() -> None:
    """B3: where the version is unknown, the record's present version was read, too, and stands in the row."""
    facts = [
        (f.id, f.version, f.revision) for f in row(bindings(version="9")(figure_world())).facts if f.kind == "record"
    ]
    assert facts == [("quote-1", "9", 0), ("quote-1", "1", 10)]
    old, new = evidence(current=False), evidence(version="2")
    written = row(edit(figure_world(), records=(old, new)))
    assert [(f.id, f.version) for f in written.facts if f.kind == "record"] == [("quote-1", "1")]


def test_equal_inputs_give_equal_bytes() -> None:
    """A14, F7: replies and rows are functions of what was decided; the order of maps makes no difference."""
    for seed in range(60):
        given = random_world(seed)
        assert row_bytes(given) == row_bytes(random_world(seed))
        assert reply_bytes(given) == reply_bytes(random_world(seed))
    names = ["b", "a", "c"]
    rows = set()
    for order in (names, names[::-1]):
        attributes: dict[str, object] = {name: dict.fromkeys(order, 1) for name in order}
        given = figure_world()
        rows.add(row_bytes(edit(given, principal=edit(given.principal, attributes=attributes))))
    assert len(rows) == 1


SECRETS = ("tok3n-AB", "123-45-6789", "S3CRET")


def test_content_stays_out_of_reply_and_row() -> None:
    """OBS-03, F4: fields and attributes of records are read by rules and written nowhere."""
    hidden = {"note": SECRETS[0], "deep": {"list": [SECRETS[1]]}}
    for fault in (None, *FAULTS):
        given = fault.change(passing()) if fault is not None else passing()
        loaded = tuple(
            edit(one, attributes={**one.attributes, **hidden}, fields={**one.fields, "text": SECRETS[2]})
            for one in given.records
        )
        held = edit(given, records=loaded)
        both = reply_bytes(held) + row_bytes(held)
        assert not [secret for secret in SECRETS if secret.encode() in both]


def test_what_the_caller_vouches_for_stands_in_the_row_and_not_in_the_reply() -> None:
    """B9, A16: claimed attributes are recorded as canonical JSON; claimed scopes only where they counted."""
    plain = figure_world()
    principal = edit(plain.principal, claimed_scopes=("board",), attributes={"desk": {"b": [1, None], "a": "\u6587"}})
    claiming = edit(plain, principal=principal)
    written = row(claiming)
    assert [(a.name, a.value) for a in written.principal_attributes] == [("desk", '{"a":"\u6587","b":[1,null]}')]
    assert list(written.claimed_scopes) == []
    trusting = edit(claiming, snapshot=edit(plain.snapshot, claimed_scopes_from=frozenset({"agent-1"})))
    assert list(row(trusting).claimed_scopes) == ["board"]
    assert b"desk" not in reply_bytes(trusting)


def _claiming(attributes: dict[str, object], **policy: object) -> World:
    plain = figure_world()
    principal = edit(plain.principal, attributes=attributes)
    return edit(plain, principal=principal, snapshot=edit(plain.snapshot, **policy))


def test_a_masked_attribute_leaves_its_name_and_no_value() -> None:
    """F4, OBS-03: whatever the value is made of, and whatever the outcome; the others stand as they were given."""
    masked = {"masked_attributes": frozenset({"staff_number", "notes", "absent"})}
    given = _claiming({"staff_number": SECRETS[0], "desk": "north", "notes": {SECRETS[1]: [SECRETS[2]]}}, **masked)
    assert [(a.name, a.value, a.masked) for a in row(given).principal_attributes] == [
        ("desk", '"north"', False),
        ("notes", "", True),
        ("staff_number", "", True),
    ]
    for fault in (None, *FAULTS):
        faulty = fault.change(passing()) if fault is not None else passing()
        snapshot = edit(faulty.snapshot, **masked)
        held = edit(faulty, snapshot=snapshot, principal=edit(faulty.principal, attributes=given.principal.attributes))
        assert not [secret for secret in SECRETS if secret.encode() in reply_bytes(held) + row_bytes(held)]


def test_rows_that_differ_in_a_masked_value_alone_are_the_same() -> None:
    """A14, F7: nothing of the value, not its type nor its length, is in the bytes."""
    values: list[object] = ["a", SECRETS[0], 7, None, "", {"deep": [1]}]
    rows = {row_bytes(_claiming({"desk": value}, masked_attributes=frozenset({"desk"}))) for value in values}
    assert len(rows) == 1
    assert len({row_bytes(_claiming({"desk": value})) for value in values}) == len(values)


def test_without_a_policy_in_force_no_attribute_keeps_its_value() -> None:
    """F4, OBS-03: what the policy would mask is not known, and nothing was decided by it."""
    given = _claiming({"desk": SECRETS[0]})
    call = CallRecord(AuditAct.CHECK, given.request, "r", NOW, "i", given.caller, None, None, "", ("d",))
    body = audit_row(withhold_all(given.request, None, Reason.DEPENDENCY_UNAVAILABLE), call)
    assert SECRETS[0].encode() not in body
    (attribute,) = audit_pb2.AuditRow.FromString(body).principal_attributes
    assert (attribute.name, attribute.value, attribute.masked) == ("desk", "", True)


def _changed(given: World) -> set[tuple[str, str, int, int]]:
    (decision,) = row(given).decisions
    return {(c.kind, c.id, c.from_revision, c.to_revision) for c in decision.changed}


def test_the_row_says_which_fact_changed_since_the_binding_was_read() -> None:
    """B3: policy, grants and records, from the state that the binding was read under to the one found."""
    given = records(suspended=True, revision=60)(bindings(granted_under=token(50, 2))(figure_world()))
    assert _changed(given) == {("policy", "", 2, 3), ("record", "quote-1", 50, 60)}
    assert _changed(edit(given, grants=PrincipalGrants((grant(),), 70))) == {
        ("policy", "", 2, 3),
        ("record", "quote-1", 50, 60),
        ("grants", "ana", 50, 70),
    }
    same = records(revision=50)(bindings(granted_under=token(50, 3))(given))
    assert _changed(edit(same, grants=PrincipalGrants((grant(),), 50))) == set()
    for unknown in ("", token(50, 2, OTHER_EPOCH), token(901, 2)):
        assert _changed(bindings(granted_under=unknown)(given)) == set()


def test_a_made_up_token_cannot_meet_a_demand() -> None:
    """B2: a state that is yet to come was read by nobody, so that naming one proves nothing about grants."""
    demanding = edit(figure_world().snapshot, requires=edit(figure_world().snapshot.requires, same_grant_revision=True))
    given = edit(figure_world(), snapshot=demanding)
    assert bindings(granted_under=token(5))(given).one().verdict is Verdict.ALLOW
    assert bindings(granted_under=token(4))(given).one().reason is Reason.AUTH_REVISION_CHANGED
    assert bindings(granted_under=token(2**63))(given).one().reason is Reason.AUTH_REVISION_CHANGED


def test_a_lost_store_still_gives_a_row() -> None:
    """A12, A14: without facts the row has the same fields, names no fact, and blames the service."""
    for given in (figure_world(), figure_world().replayed()):
        decided = withhold_all(given.request, None, Reason.DEPENDENCY_UNAVAILABLE)
        call = CallRecord(
            AuditAct.CHECK, given.request, "request-1", NOW, "i", given.caller, None, None, "", ("decision-0",)
        )
        written = audit_pb2.AuditRow.FromString(audit_row(decided, call))
        (decision,) = written.decisions
        assert Reason(decision.reason) is Reason.DEPENDENCY_UNAVAILABLE
        assert (decision.fault, len(written.facts), written.policy.number) == ("service", 0, 0)
        assert bool(decision.ledger_id) == (given.moment.name == "REPLAY")


def test_an_overtaken_commit_says_so() -> None:
    """B2, B6: where the repeats ran out the row has the code of what kept changing, and the order of the outcome."""
    given = figure_world()
    allowed = given.one()
    for reason in (Reason.POLICY_REVISION_CHANGED, Reason.AUTH_REVISION_CHANGED):
        stopped = withhold_one(allowed, given.policy, "en", reason)
        assert (stopped.verdict, stopped.reason, stopped.gate) == (Verdict.WITHHOLD, reason, Gate.BINDING)
        assert (stopped.bases, stopped.receipts, stopped.use_within_ms, stopped.rule) == ((), (), 0, "")
        decided = edit(given.ask(), results=(stopped,))
        outcome = CommitOutcome(OrderKind.OVERTAKEN, token(), "", Micros(NOW))
        call = CallRecord(
            *(AuditAct.COMMIT, given.request, "request-1", NOW, "i", given.caller, given.policy, given.facts, token()),
            ("decision-0",),
            (outcome,),
        )
        (decision,) = audit_pb2.AuditRow.FromString(audit_row(decided, call)).decisions
        assert Reason(decision.reason) is reason
        assert OrderKind(decision.order.kind) is OrderKind.OVERTAKEN
        assert [step.passed for step in decision.trace] == [True] * (len(decision.trace) - 1) + [False]
