"""Recorded decisions, decided again under another policy revision. Pure: rows and facts are given to it.

Who reads the rows, and the facts as of then, is the server's business.
"""

from discreet.policy.replay.causes import MEANINGS, Cause
from discreet.policy.replay.changes import Change, Key, Told, change_of
from discreet.policy.replay.counting import Outcome, count_call, count_fate, count_unreadable
from discreet.policy.replay.fates import committed, fate, fate_want
from discreet.policy.replay.play import Replayed, Want, replay, wants
from discreet.policy.replay.tally import Group, Names, Tally
from discreet.policy.replay.under import Under

__all__ = [
    "MEANINGS",
    "Cause",
    "Change",
    "Group",
    "Key",
    "Names",
    "Outcome",
    "Replayed",
    "Tally",
    "Told",
    "Under",
    "Want",
    "change_of",
    "committed",
    "count_call",
    "count_fate",
    "count_unreadable",
    "fate",
    "fate_want",
    "replay",
    "wants",
]
