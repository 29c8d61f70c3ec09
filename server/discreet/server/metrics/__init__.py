"""What a monitoring system may scrape: counts and states, never content, never an id.

`Metrics.add_source` is where other parts of the server bring series of their own.
"""

from discreet.server.metrics.collecting import Gathered, Metrics
from discreet.server.metrics.counts import CallCounts

__all__ = ["CallCounts", "Gathered", "Metrics"]
