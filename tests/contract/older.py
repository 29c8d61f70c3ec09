"""Databases of earlier schemas, made by their own migrations and filled past the store. Must not open a store."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from discreet.policy.facts import Caller, Micros, Ref
from discreet.policy.words import AuditAct, Role
from discreet.server.auditing import Change, row_of
from discreet.server.calls import Call
from discreet.server.ports import Head, Recorded
from discreet.server.stores import schema
from discreet.server.stores.chain import Chain, build_link
from discreet.server.stores.metadata import metadata
from discreet.server.stores.postgres_connect import BOUND_TO
from discreet.server.stores.rows import record_row
from discreet.server.stores.sqlite_record import ledger_row
from tests.contract.making import ALICE, TENANT, entry, job, record

EPOCH = "5" * 32
AT = 1_750_000_000_000_000
DOC = record()
QUOTE = replace(record("q/a"), of=(DOC.ref,), roots=(DOC.ref, Ref('doc/"b"', "2")))
COMMITTED = entry((DOC.ref, 1))
REVOKED = json.dumps(
    {"actor": "olga", "reason": "asked to", "ticket": "T-1", "revoked_at": AT, "purge_not_before": AT, "seq": 5}
)
Put = Callable[..., None]
REVOKES = 1_001
"""One more than an upgrade reads at once."""
KEY = {"key_id": "k1", "secret": b"s" * 32, "created_at": AT}


@contextmanager
def engine_of(url: str) -> Iterator[sa.Engine]:
    """SQLAlchemy's way to a database, past the store."""
    engine = sa.create_engine(url.replace("://", "+psycopg://") if "://" in url else f"sqlite:///{url}")
    yield engine
    engine.dispose()


def make_first_schema(url: str) -> None:
    """A database of schema 0001 with rows in every table that a day's work fills: a record, revoked later, a commit."""
    with engine_of(url) as engine, engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(schema.MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        _fill(connection)


def _fill(connection: sa.Connection) -> None:
    there = sa.MetaData()
    there.reflect(connection)

    def put(table: str, *rows: Mapping[str, object]) -> None:
        names = set(there.tables[table].columns.keys())
        for row in rows:
            connection.execute(sa.insert(there.tables[table]).values({k: v for k, v in row.items() if k in names}))

    bound_to = connection.execute(sa.text(BOUND_TO)).scalar_one() if connection.dialect.name != "sqlite" else ""
    put("authority", {"one": 1, "epoch": EPOCH, "bound_to": bound_to, "seq": 5, "changed_seq": 5, "policy_revision": 1})
    for seq, kind, tenant, name in ((1, "record", TENANT, "doc/a"), (2, "grants", TENANT, ALICE), (3, "policy", "", ""),
                                    (5, "record", TENANT, "doc/a")):  # fmt: skip
        put("change", {"seq": seq, "kind": kind, "tenant": tenant, "id": name})
    for revision, revoked in ((1, None), (5, REVOKED)):
        put("record_revision", record_row(TENANT, DOC, revision) | {"revoked": revoked})
    put("record_latest", {**record_row(TENANT, DOC, 5), "skeleton": "doc/a"})
    for revision in (1, 5):
        put("record_revision", record_row(TENANT, QUOTE, revision))
    put("record_latest", {**record_row(TENANT, QUOTE, 5), "skeleton": "q/a"})
    grant = {"tenant": TENANT, "principal_id": ALICE, "scope": "desk", "generation": 1, "withdrawn": False, "seq": 2}
    put("grant_event", {**grant, "at": AT, "not_before": 0, "expires_at": None})
    policy = {"number": 1, "commit_id": "c" * 40, "digest": "d" * 64, "dirty": False, "bundle": b"b", "seq": 3}
    put("policy_revision", {**policy, "published_at": AT})
    put("tombstone", {"tenant": TENANT, "digest": DOC.digest, "record_id": "doc/a", "version": "1", "seq": 5})
    put("receipt_key", KEY)
    put("audit_writer", {"writer": 1, "name": "w" * 32, "opened_at": AT})
    _fill_acts(put, _fill_commit(put))


def _fill_commit(put: Put) -> bytes:
    """The commit of event 4, with its link; the link's hash."""
    head = Head(EPOCH, 3, 3, 1, Micros(AT))
    done = job(head, COMMITTED, grants_revision=2, body=b"four")
    link = build_link(Chain(1, "w" * 32, ""), [done.audit], Micros(AT), 4)
    for name, rows in (
        ("ledger", [ledger_row(done, COMMITTED, Recorded(4, Micros(AT)), 1, 1)]),
        ("ledger_root", [(COMMITTED.ledger_id, TENANT, "doc/a", "1", 1)]),
        ("audit_link", [link.link]),
        ("audit_row", link.rows),
        ("audit_decision", link.decisions),
        ("audit_decision_record", link.records),
        ("audit_decision_label", link.labels),
    ):
        columns = [column.name for column in metadata.tables[name].columns]
        for row in rows:
            put(name, dict(zip(columns, row, strict=True)))
    return link.hash


def _fill_acts(put: Put, last: bytes) -> None:
    """Revokes, then one refusal, and one whose bytes cannot be read."""
    call = Call(Caller("olga", Role.OPERATOR, None), "/IndexService/RevokeRetention", "r" * 32)
    said = Change(call.name, DOC.ref, ticket="T-1", subject_id="order-1", reason="asked to")
    revoked = [row_of(call, AuditAct.CHANGE, TENANT, Micros(AT + 1), "i", said)] * REVOKES
    refused = row_of(call, AuditAct.REFUSED, "", Micros(AT + 2), "i", Change("Suspend", detail="not yours"))
    unread = replace(refused, at=Micros(AT + 3), body=b"\xff")
    link = build_link(Chain(1, "w" * 32, "", 1, last), [*revoked, refused, unread], Micros(AT), 0)
    for name, rows in (("audit_link", [link.link]), ("audit_row", link.rows)):
        columns = [column.name for column in metadata.tables[name].columns]
        put(name, *(dict(zip(columns, row, strict=True)) for row in rows))
