"""The audit spool: rows that are durable on this machine's disk before their answers leave, drained into SQL later."""

from discreet.server.spool.draining import Draining
from discreet.server.spool.series import SpoolSeries
from discreet.server.spool.spool import Spool

__all__ = ["Draining", "Spool", "SpoolSeries"]
