"""Adoptions of a database, kept in its audit alone: how it came by its epoch. Must not open connections.

An adoption is an audit row whose request id names the epoch that it gave, so that it is found by key, is part of the
chain, and goes wherever the history goes. No caller can write one: request ids are the server's own.
"""

import json
import secrets
from collections.abc import Mapping

import sqlalchemy as sa

from discreet.policy.facts import Micros
from discreet.policy.words import AuditAct
from discreet.server.ports import Adoption, AuditRecord, StoreError
from discreet.server.ports_found import ActKey
from discreet.server.stores import tables
from discreet.server.stores.queries import read_head
from discreet.server.stores.rows import canonical
from discreet.server.stores.work import SqlWork
from discreet.server.stores.writers import enrol
from discreet.v1 import audit_pb2

METHOD = "AdoptDatabase"
ADOPTIONS_MAX = 1_000
"""So many are followed back; a database that was adopted more often is refused rather than half understood."""


def read_adoptions(connection: sa.Connection) -> list[Adoption]:
    """The adoptions that lead to the present epoch, the newest first."""
    row = tables.audit_row.c
    found: list[Adoption] = []
    epoch = connection.execute(sa.select(tables.authority.c.epoch)).scalar_one()
    while len(found) <= ADOPTIONS_MAX:
        wanted = sa.select(row.body).where(row.tenant == "", row.request_id == _request_id(epoch))
        body = connection.execute(wanted.limit(1)).scalar()
        if body is None:
            return found
        found.append(_read(epoch, bytes(body)))
        epoch = found[-1].previous
    raise StoreError(f"the database was adopted more than {ADOPTIONS_MAX} times: its history cannot be followed")


def adopt(
    connection: sa.Connection, *, bound_to: str, now: Micros, seen: Mapping[str, int], actor: str, reason: str
) -> Adoption:
    """Gives the database a new epoch, bound to where it is now, and says so in the audit.

    The caller holds the authority row and the transaction. `seen`: the marks that the adoption stands in for, by epoch;
    the present epoch is accepted up to its mark, and at least as it was found.
    """
    head, _ = read_head(connection, now)
    accepted = {**seen, head.epoch: max(head.seq, seen.get(head.epoch, 0))}
    given = Adoption(secrets.token_hex(16), head.epoch, head.seq, tuple(sorted(accepted.items())), now, actor, reason)
    (chain,) = enrol(connection, 1, now)
    work = SqlWork(connection, head, chain)
    work.audit(_record(given))
    work.finish()
    connection.execute(sa.update(tables.authority).values(epoch=given.epoch, bound_to=bound_to))
    return given


def _request_id(epoch: str) -> str:
    return f"adopt:{epoch}"


def _record(given: Adoption) -> AuditRecord:
    detail = {
        "accepted": dict(given.accepted),
        "epoch": given.epoch,
        "found_seq": given.found_seq,
        "previous": given.previous,
    }
    row = audit_pb2.AuditRow(
        version=1,
        act=audit_pb2.AUDIT_ACT_CHANGE,
        request_id=_request_id(given.epoch),
        instance="discreet db adopt",
        caller=audit_pb2.AuditCaller(name=given.actor, role="operator"),
        change=audit_pb2.AuditChange(
            method=METHOD,
            reason=given.reason,
            seq=given.found_seq,
            detail=canonical(detail),
        ),
    )
    row.at.FromMicroseconds(given.at)
    body = row.SerializeToString(deterministic=True)
    return AuditRecord(row.request_id, "", AuditAct.CHANGE, given.at, "", "", body, (), ActKey(METHOD, given.actor))


def _read(epoch: str, body: bytes) -> Adoption:
    row = audit_pb2.AuditRow.FromString(body)
    detail = json.loads(row.change.detail)
    if row.change.method != METHOD or detail["epoch"] != epoch:
        raise StoreError("an audit row that should be an adoption is none: its history cannot be followed")
    accepted = tuple(sorted((name, int(seq)) for name, seq in detail["accepted"].items()))
    at = Micros(row.at.ToMicroseconds())
    reason, actor = row.change.reason, row.caller.name
    return Adoption(epoch, detail["previous"], int(detail["found_seq"]), accepted, at, actor, reason)
