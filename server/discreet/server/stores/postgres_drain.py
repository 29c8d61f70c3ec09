"""Drains spool files into a PostgreSQL store. Must not know who waits for it."""

from collections.abc import Coroutine, Sequence
from typing import Any

import psycopg

from discreet.server.ports import AuditRecord, Job, OutcomeUnknown, StoreError
from discreet.server.stores.draining import STANDS, begin, chain_of, left_over
from discreet.server.stores.postgres_connect import Address
from discreet.server.stores.postgres_record import ANSWER_TIMEOUT_S, ask, parameters
from discreet.server.stores.postgres_setup import owning
from discreet.server.stores.postgres_waiting import UNREPLICATED, answer_within, unreplicated
from discreet.server.stores.queries import read_head

_STANDS = STANDS.format(name="%s")
_MARK = "SELECT pg_logical_emit_message(true, 'discreet', '')"
"""Writes nothing but its own commit into the log."""


async def drain(
    connection: psycopg.AsyncConnection, name: str, first: int, records: Sequence[AuditRecord]
) -> int | None:
    """How many rows of the file are recorded after it; None where the file is not enrolled, and nothing was written.

    A transaction that a broken line or a killed process left under way holds the number of the next link: this one
    waits for it, and fails where it lands.
    """
    row = await (await connection.execute(_STANDS, (name,))).fetchone()
    if row is None:
        return None
    chain, done = chain_of(name, row)
    rest = left_over(first, done, records)
    if rest:
        values = (chain.writer, chain.name, chain.n + 1, chain.prev, "", False, *parameters([Job(one) for one in rest]))
        await _lasting(connection, ask(connection, values))
    else:
        # They were there already, perhaps on the primary alone: a commit that waits for its standby waits for them too.
        await _lasting(connection, connection.execute(_MARK))
    return done + len(rest)


async def _lasting(connection: psycopg.AsyncConnection, statement: Coroutine[Any, Any, object]) -> None:
    """Returns once what the statement commits is durable wherever it has to be. Raises OutcomeUnknown."""
    try:
        await answer_within(ANSWER_TIMEOUT_S, connection, statement)
    except TimeoutError:
        await connection.close()
        raise OutcomeUnknown("the audit could not be drained in time") from None
    if unreplicated(connection):
        raise OutcomeUnknown(UNREPLICATED)


def enrol_file(address: Address, name: str) -> None:
    """Enrols a spool file as a writer, with the login's own rights. Raises StoreError."""
    with owning(address) as (connection, now):
        _, belongs_to = read_head(connection, now, hold=True)
        if belongs_to != address.bound_to:
            raise StoreError(f"{address.shown} is another database than before: nothing is drained into it")
        begin(connection, name, now)
