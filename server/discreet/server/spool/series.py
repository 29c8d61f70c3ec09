"""What waits in the spool, as a source of metrics."""

from __future__ import annotations

from discreet.server.metrics.collecting import Gathered
from discreet.server.ports_spool import Spooling


class SpoolSeries:
    """A source of metrics over one spool."""

    def __init__(self, spool: Spooling) -> None:
        self._spool = spool

    def __call__(self) -> list[Gathered]:
        """What there is to tell now."""
        found = self._spool.state
        age_s = found.oldest_ms / 1_000
        return [
            Gathered("audit_spool_rows", "Audit rows on this disk that are not in the database yet.", {}, found.rows),
            Gathered("audit_spool_bytes", "Their size on the disk.", {}, found.bytes),
            Gathered("audit_spool_oldest_seconds", "For how long the oldest of them has waited.", {}, age_s),
            Gathered("audit_spool_lost_rows_total", "Rows that were durable and cannot be read back.", {}, found.lost),
            Gathered("audit_spool_failures_total", "Times that draining failed.", {}, found.failed_drains),
        ]
