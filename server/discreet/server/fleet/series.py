"""What the fleet tells a monitoring system: counts alone, no names."""

from __future__ import annotations

from discreet.server.fleet.presence import Presence
from discreet.server.fleet.waiting import Waiting
from discreet.server.metrics.collecting import Gathered

_WAITS = "Waits for the servers that ended, by whether every server had the state in time."


class FleetSeries:
    """A source of metrics over a server's part in the fleet."""

    def __init__(self, presence: Presence, waiting: Waiting) -> None:
        self._presence = presence
        self._waiting = waiting

    def __call__(self) -> list[Gathered]:
        """What there is to tell now."""
        presence, waiting = self._presence, self._waiting
        ended = [
            Gathered("server_waits_total", _WAITS, {"outcome": "reached" if reached else "not-reached"}, count)
            for reached, count in sorted(waiting.ended.items())
        ]
        return [
            Gathered("servers_live", "Servers of the database that lived when last looked at.", {}, presence.live),
            Gathered("lease_held", "1 while answers of this server may leave it.", {}, presence.lease.held),
            Gathered("beats_failed_total", "Times that this server could not tell of itself.", {}, presence.failures),
            Gathered("answers_late_total", "Answers held back since they came too late.", {}, presence.lease.late),
            Gathered("server_waits", "Calls that wait for the servers now.", {}, waiting.waiting),
            *ended,
        ]
