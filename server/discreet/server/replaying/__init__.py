"""Replays recorded decisions from a database, read-only: rows and the facts of then, by page. Serves no call."""

from discreet.server.replaying.running import Job, Started, replay_period, start, total

__all__ = ["Job", "Started", "replay_period", "start", "total"]
