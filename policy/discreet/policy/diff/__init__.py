"""What differs in meaning between two policy sets. Pure: takes files or compiled sets, and gives typed changes.

Layout, comments, the order of files and of rules, the file that a rule stands in, names of constants and conditions,
and whether a condition is written out or named are no change. Whatever can change a decision, how long it may be used,
what is told of it or what is asked of holders is one.
"""

from discreet.policy.diff.changes import Aside, Change, Difference, Direction, Kind, Note
from discreet.policy.diff.sets import Edition, Editions, compare_sets, compare_snapshots, editions

__all__ = [
    "Aside",
    "Change",
    "Difference",
    "Direction",
    "Edition",
    "Editions",
    "Kind",
    "Note",
    "compare_sets",
    "compare_snapshots",
    "editions",
]
