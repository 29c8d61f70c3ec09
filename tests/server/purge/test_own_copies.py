"""Discreet's own copies obey too: what it holds of revoked evidence is given out by nothing, once its purge is due."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from discreet.policy.facts import FactIds, Ref
from discreet.server.ports import Change, ChangeKind
from discreet.server.reading.cache import FactCache
from discreet.v1 import common_pb2, index_pb2
from tests.server.purge.orders import HOUR, Scene
from tests.server.support import TENANT, audit_rows, binding, check, digest, ref, segment, verdicts

FIGURE, LABELLED, FORMULA = "4711.0815", "nobody-may-know", "secret-rate * 4711"


def figure(stage: Scene) -> index_pb2.EvidenceInput:
    """A price with a value and an attribute that must go."""
    given = index_pb2.EvidenceInput(
        record_id="prices/acme",
        version="1",
        digest=digest("prices/acme@1"),
        source_label="prices",
        scopes=["public"],
        as_of=Timestamp(seconds=stage.clock.now // 1_000_000 - 60),
        basis="closing price",
        origin=index_pb2.ORIGIN_COLLECTED,
        own_source=True,
        assessment_expires_at=Timestamp(seconds=4_000_000_000),
    )
    given.fields["value"].string_value = FIGURE
    given.attributes["note"].string_value = LABELLED
    return given


def derived() -> index_pb2.EvidenceInput:
    """A sum that was computed from the price."""
    given = index_pb2.EvidenceInput(
        record_id="sums/acme",
        version="1",
        digest=digest("sums/acme@1"),
        source_label="sums",
        scopes=["public"],
        basis="closing price",
        origin=index_pb2.ORIGIN_DERIVED,
        formula=FORMULA,
        inputs=[common_pb2.RecordRef(record_id="prices/acme", version="1")],
    )
    given.fields["value"].string_value = FIGURE
    return given


async def given_out(stage: Scene) -> bytes:
    """Everything that the index tells of its records, earlier revisions included."""
    answers: list[Message] = []
    for who in ("operator", "auditor", "collector"):
        for name in ("prices/acme", "sums/acme"):
            asked = index_pb2.GetRecordRequest(tenant=TENANT, record_id=name, version="1", history=True)
            answers.append(await stage.line(who).call(asked))
        answers.append(await stage.line(who).call(index_pb2.ListRecordsRequest(tenant=TENANT)))
    return b"".join(answer.SerializeToString() for answer in answers)


async def revoke(stage: Scene, *, in_s: float = 0) -> None:
    """Revokes the price."""
    asked = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref("prices/acme"), reason="asked to", ticket="T-1")
    if in_s:
        asked.purge_not_before.FromMicroseconds(stage.clock.now + int(in_s * 1e6))
    await stage.line("operator").call(asked)


async def test_the_index_tells_nothing_of_revoked_evidence_once_its_purge_is_due(stage: Scene) -> None:
    """RET-02, B7: no value, attribute or formula of the record, or of what was derived from it; digests stay."""
    await stage.line("collector").evidence(figure(stage))
    await stage.line("collector").evidence(derived())
    before = await given_out(stage)
    assert all(word.encode() in before for word in (FIGURE, LABELLED, FORMULA))
    await revoke(stage, in_s=HOUR)
    assert FIGURE.encode() in await given_out(stage)
    stage.later(HOUR)
    after = await given_out(stage)
    assert not any(word.encode() in after for word in (FIGURE, LABELLED, FORMULA))
    assert digest("prices/acme@1").encode() in after
    assert digest("sums/acme@1").encode() in after
    assert b"handbook/leave" in after


async def test_a_warm_cache_shows_nothing_that_was_revoked(stage: Scene) -> None:
    """RET-02: erase and hide share one invalidation: no answer, audit row or log line holds anything of it."""
    await stage.line("collector").evidence(figure(stage))
    asked = check(segment("s1", binding("prices/acme")))
    for _ in range(3):
        assert verdicts(await stage.line("agent").check(asked)) == [("ALLOW", "NONE")]
    await revoke(stage)
    answer = await stage.line("agent").check(asked)
    assert verdicts(answer) == [("PURGE", "RETENTION_REVOKED")]
    written = b"".join(row.SerializeToString() for row in audit_rows(stage.running.server.config.db))
    for word in (FIGURE, LABELLED):
        assert word.encode() not in answer.SerializeToString()
        assert word.encode() not in written
        assert word not in stage.running.log.getvalue()


async def test_the_cache_drops_what_a_revoke_names(stage: Scene) -> None:
    """RET-02: the entry is gone from memory with the change that names it, and is not put back by an older fetch."""
    await stage.line("collector").evidence(figure(stage))
    store = stage.running.server.store
    head, ids = await store.head(), FactIds((Ref("prices/acme", "1"),), "ana")
    cache = FactCache(head.epoch, head.seq)
    facts = await store.fetch(TENANT, ids)
    cache.put(TENANT, ids, facts)
    assert cache.facts(TENANT, ids, head.seq) is not None
    await revoke(stage)
    cache.apply([Change(facts.seq + 1, ChangeKind.RECORD, TENANT, "prices/acme")], facts.seq + 1)
    assert cache.facts(TENANT, ids, head.seq) is None
    cache.put(TENANT, ids, facts)
    assert cache.facts(TENANT, ids, head.seq) is None


async def test_the_cache_drops_what_a_revoke_of_its_source_covers(stage: Scene) -> None:
    """RET-02, B7: no change names the records of a source that is revoked as a whole; all leave memory."""
    await stage.line("collector").evidence(figure(stage))
    store = stage.running.server.store
    head, ids, others = await store.head(), FactIds((Ref("prices/acme", "1"),), "ana"), FactIds((), "ana")
    cache = FactCache(head.epoch, head.changed_seq)
    cache.put(TENANT, ids, await store.fetch(TENANT, ids))
    cache.put("elsewhere", ids, await store.fetch("elsewhere", ids))
    asked = index_pb2.RevokeRetentionRequest(tenant=TENANT, source_label="prices", reason="asked to", ticket="T-1")
    await stage.line("operator").call(asked)
    changes = await store.changes(head.changed_seq, 100)
    assert {(one.kind, one.tenant) for one in changes} == {(ChangeKind.STANDING, TENANT)}
    cache.apply(changes, changes[-1].seq)
    seq = (await store.head()).seq
    # What stands is known again, so that what is missing for an answer is the record.
    cache.put(TENANT, others, await store.fetch(TENANT, others))
    assert cache.facts(TENANT, others, seq) is not None
    assert cache.facts(TENANT, ids, seq) is None
    assert cache.facts("elsewhere", ids, seq) is not None


async def test_what_sql_keeps_of_it_is_what_the_documents_say(stage: Scene) -> None:
    """docs/data.md says plainly that the revisions' rows keep fields and attributes: they are immutable."""
    await stage.line("collector").evidence(figure(stage))
    await revoke(stage)
    with closing(sqlite3.connect(stage.running.server.config.db)) as raw:
        wanted = "SELECT fields, attributes FROM record_revision WHERE record_id = 'prices/acme'"
        kept = raw.execute(wanted).fetchall()
    assert all(FIGURE in fields and LABELLED in attributes for fields, attributes in kept)
