"""What answers need of a spool: a row that is durable on this machine, and how much of it is not in SQL yet."""

from typing import NamedTuple, Protocol

from discreet.server.ports import AuditRecord, StoreError


class SpoolError(StoreError):
    """The row could not be made durable on this machine. Nothing may be disclosed by its answer."""


class SpoolState(NamedTuple):
    """What is durable here and not in SQL yet.

    `oldest_ms`: for how long the oldest of it has been waiting. `lost`: rows that were durable and cannot be read back.
    """

    rows: int = 0
    bytes: int = 0
    oldest_ms: int = 0
    lost: int = 0
    failed_drains: int = 0


class Spooling(Protocol):
    """Where rows wait for SQL. Implemented by `discreet.server.spool`."""

    async def append(self, record: AuditRecord) -> None:
        """Returns once the row is durable on this machine; it comes into SQL later, once. Raises SpoolError."""
        ...

    @property
    def state(self) -> SpoolState:
        """How much waits."""
        ...
