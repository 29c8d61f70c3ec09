"""Records groups of jobs on PostgreSQL: one statement a group. Must know nothing of who waits for them.

A group is recorded on one connection, with one chain, in one transaction. An outcome that got lost is looked up by the
link's number before anything else is built; see docs/decisions/0020.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from discreet.policy.facts import Micros, Ref
from discreet.server.ports import (
    Exists,
    Head,
    Job,
    JobOutcome,
    NaturalKey,
    OutcomeUnknown,
    Overtaken,
    Recorded,
    StoreError,
)
from discreet.server.stores.chain import Chain
from discreet.server.stores.postgres_connect import Address, Kind, connect, plain
from discreet.server.stores.postgres_waiting import UNREPLICATED, answer_within, unreplicated
from discreet.server.stores.rows import canonical

ATTEMPTS_MAX = 4
BACKOFF_S = 0.05
ANSWER_TIMEOUT_S = 8.0
"""Longer than the server's own limits: past it the line is held to be dead."""
RETRIED = frozenset({"40001", "40P01", "55P03"})
"""Serialization failure, deadlock, lock timeout: nothing was written, and the same may hold a moment later."""

_RECORD = "SELECT discreet_record(%s, %s, %s, %s, %s, %s, %s, %s, %s)"
_LINK = "SELECT hash, at FROM audit_link WHERE writer = %s AND n = %s"
_ROWS = "SELECT request_id FROM audit_row WHERE writer = %s AND n = %s"
_SEQS = "SELECT tenant, ledger_id, seq, committed_at FROM ledger WHERE tenant = ANY(%s) AND ledger_id = ANY(%s)"


class Lost(Exception):
    """The line broke while a statement was under way: whether it was written is not known."""


class Group:
    """Records groups on one connection, with one chain."""

    def __init__(self, address: Address, chain: Chain) -> None:
        self._address = address
        self._chain = chain
        self._connection: psycopg.AsyncConnection | None = None
        self._doubt = False

    async def close(self) -> None:
        """Lets go of the connection."""
        if self._connection is not None:
            await self._connection.close()

    async def record(self, jobs: Sequence[Job]) -> list[JobOutcome | StoreError]:
        """One outcome a job. A group that fails on data is repeated job by job, so that a bad one fails alone."""
        try:
            if self._doubt:
                await self._settle([])
            return list(await self._record(jobs))
        except OutcomeUnknown as error:
            return [error] * len(jobs)
        except StoreError as error:
            return [error] * len(jobs)
        except psycopg.OperationalError as error:
            return [StoreError(f"the record could not be written: {plain(error)}")] * len(jobs)
        except psycopg.Error as error:
            if len(jobs) == 1:
                return [StoreError(f"the record could not be written: {plain(error)}")]
            return [(await self.record([job]))[0] for job in jobs]

    async def _record(self, jobs: Sequence[Job]) -> list[JobOutcome]:
        lost = ""
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                answer = await self._send(jobs)
            except Lost:
                done = await self._settle(jobs)
                if done is not None:
                    return await self._complete(jobs, done)
                # Not there yet, which is no proof: the server may be at it still, paused or waiting for a standby.
                lost = f"the line broke {attempt} times"
                continue
            except StoreError as error:
                if lost:
                    raise OutcomeUnknown(f"the outcome of a commit is not known: {lost}, then {error}") from None
                raise
            except psycopg.Error as error:
                if _link_taken(error):
                    answer = None
                elif error.sqlstate in RETRIED and attempt < ATTEMPTS_MAX:
                    await asyncio.sleep(BACKOFF_S * 2**attempt)
                    continue
                elif lost and isinstance(error, psycopg.OperationalError):
                    raise OutcomeUnknown(f"the outcome of a commit is not known: {lost}, then {plain(error)}") from None
                else:
                    raise
            if answer is not None:
                return self._outcomes(jobs, answer)
            done = await self._settle(jobs)
            if done is not None:
                return await self._complete(jobs, done)
        raise OutcomeUnknown(f"the outcome of a commit is not known: {self._address.shown}: {lost or 'no answer'}")

    async def _complete(self, jobs: Sequence[Job], done: Mapping[int, JobOutcome]) -> list[JobOutcome]:
        """The outcomes of a group that was found written: what was not in it is recorded now."""
        rest = [number for number in range(len(jobs)) if number not in done]
        later = await self._record([jobs[number] for number in rest]) if rest else []
        outcomes = {**done, **dict(zip(rest, later, strict=True))}
        return [outcomes[number] for number in range(len(jobs))]

    async def _send(self, jobs: Sequence[Job]) -> dict[str, Any] | None:
        connection = await self._connected()
        chain = self._chain
        link = (chain.writer, chain.name, chain.n + 1, chain.prev, chain.heads_of_next())
        ordered = any(job.entries for job in jobs)
        values = (*link, ordered, *parameters(jobs))
        self._doubt = True
        try:
            row = await answer_within(ANSWER_TIMEOUT_S, connection, ask(connection, values))
        except (psycopg.Error, TimeoutError) as error:
            if isinstance(error, TimeoutError) or connection.closed:
                await connection.close()
                raise Lost from None
            self._doubt = False
            raise
        self._doubt = False
        if unreplicated(connection):
            raise OutcomeUnknown(UNREPLICATED)
        return row[0] if row else None

    async def _connected(self) -> psycopg.AsyncConnection:
        if self._connection is None or self._connection.closed:
            self._connection = await connect(self._address, Kind.RECORDER)
        return self._connection

    async def _settle(self, jobs: Sequence[Job]) -> dict[int, JobOutcome] | None:
        """Learns whether the link under way was written: its jobs' outcomes, or None. Raises OutcomeUnknown."""
        failure = ""
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                done = await self._look_up(jobs)
            except (StoreError, psycopg.Error, TimeoutError) as error:
                failure = plain(error) if isinstance(error, psycopg.Error) else str(error)
                await asyncio.sleep(BACKOFF_S * 2**attempt)
            else:
                self._doubt = False
                return done
        raise OutcomeUnknown(f"the outcome of a commit is not known, since {failure}")

    async def _look_up(self, jobs: Sequence[Job]) -> dict[int, JobOutcome] | None:
        connection = await self._connected()
        place = (self._chain.writer, self._chain.n + 1)
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            link = await (await connection.execute(_LINK, place)).fetchone()
            if link is None:
                return None
            requests = {row[0] for row in await (await connection.execute(_ROWS, place)).fetchall()}
            entries = [entry for job in jobs for entry in job.entries]
            ids = ([entry.key.tenant for entry in entries], [entry.ledger_id for entry in entries])
            rows = await (await connection.execute(_SEQS, ids)).fetchall()
        self._chain.moved(link[0])
        seqs = {(tenant, ledger_id): Recorded(seq, Micros(at)) for tenant, ledger_id, seq, at in rows}
        done: dict[int, JobOutcome] = {}
        for number, job in enumerate(jobs):
            if job.audit.request_id in requests:
                first = job.entries[0] if job.entries else None
                alone = Recorded(0, Micros(link[1]))
                done[number] = alone if first is None else seqs.get((first.key.tenant, first.ledger_id), alone)
        return done

    def _outcomes(self, jobs: Sequence[Job], answer: Mapping[str, Any]) -> list[JobOutcome]:
        if answer["hash"] is not None:
            self._chain.moved(bytes.fromhex(answer["hash"]))
        return [_outcome(answer, told) for _, told in zip(jobs, answer["jobs"], strict=True)]


async def ask(connection: psycopg.AsyncConnection, values: Sequence[object]) -> tuple[Any, ...] | None:
    """The answer of `discreet_record` to values in the order of its parameters."""
    return await (await connection.execute(_RECORD, values, binary=True)).fetchone()


def _outcome(answer: Mapping[str, Any], told: Mapping[str, Any]) -> JobOutcome:
    now = Micros(answer["now"])
    if "taken" in told:
        taken = {NaturalKey(*row[:4]): row[4] for row in told["taken"]}
        return Exists(taken, all(row[5] for row in told["taken"]))
    if "seq" in told:
        return Recorded(told["seq"], now)
    head = Head(answer["epoch"], told["at"], answer["changed_seq"], answer["policy_revision"], now)
    records = tuple(sorted(Ref(record_id, version) for record_id, version in told["records"]))
    return Overtaken(head, told["policy"], told["grants"], told["expired"], records, told["standing"])


def parameters(jobs: Sequence[Job]) -> tuple[Jsonb, list[bytes], list[bytes]]:
    """The jobs as `discreet_record` takes them: JSON, the bodies by job, the segments by entry."""
    segments: list[bytes] = []
    shapes = []
    for job in jobs:
        audit = job.audit
        ends = [entry.valid_until for entry in job.entries if entry.valid_until is not None]
        entries = []
        for entry in job.entries:
            segments.append(entry.segment)
            entries.append(
                {
                    **entry.key._asdict(),
                    "ledger_id": entry.ledger_id,
                    "fingerprint": entry.fingerprint.hex(),
                    "principal_id": entry.principal_id,
                    "segment_digest": entry.segment_digest,
                    "grounding": entry.grounding,
                    "number": len(segments),
                    "need_numbers": entry.need_numbers,
                    "need_advice": entry.need_advice,
                    "valid_until": entry.valid_until,
                }
            )
        row = ("tenant", "request_id", "act", "at", "principal_id", "session_id")
        shapes.append(
            {
                "audit": {name: getattr(audit, name) for name in row},
                "decisions": [
                    [*key[:6], list(dict.fromkeys(key.record_ids)), list(dict.fromkeys(key.labels))]
                    for key in audit.decisions
                ],
                "found_by": audit.found_by,
                "policy_revision": job.policy_revision,
                "grants": job.grants,
                "standing": job.standing,
                "shown": job.shown,
                "valid_until": min(ends, default=None),
                "store_within": job.store_within_us,
                "entries": entries,
                "bases": [
                    {
                        "tenant": entry.key.tenant,
                        "ledger_id": entry.ledger_id,
                        "record_id": ref.record_id,
                        "version": ref.version,
                        "revision": revision,
                    }
                    for entry in job.entries
                    for ref, revision in entry.bases
                ],
            }
        )
    return Jsonb(shapes, dumps=canonical), [job.audit.body for job in jobs], segments


def _link_taken(error: psycopg.Error) -> bool:
    return error.sqlstate == "23505" and error.diag.constraint_name == "audit_link_pkey"
