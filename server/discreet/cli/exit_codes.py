"""How `discreet` ends: the one table of exit codes. Stable: scripts and CI depend on them. Must know nothing else."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process's exit status says."""

    OK = 0
    DEFECT = 1
    USAGE = 2
    POLICY = 3
    TESTS = 4
    UNREACHABLE = 5
    REFUSED = 6
    FAULTS = 7
    BEHIND = 8
    NOT_EVERYWHERE = 9
    WITHHELD = 10
    PURGE = 11
    DIFFERS = 12


MEANINGS = {
    ExitCode.OK: "done; of check and commit: everything may be shown",
    ExitCode.DEFECT: "a defect in discreet itself, or a demo whose outcome differs",
    ExitCode.USAGE: "wrong usage or bad input; the server was not asked, or refused the input",
    ExitCode.POLICY: "the policy set has problems",
    ExitCode.TESTS: "tests of the policy set failed",
    ExitCode.UNREACHABLE: "the server or something it depends on did not answer",
    ExitCode.REFUSED: "this identity may not do that",
    ExitCode.FAULTS: "something is wrong with the database or its audit (`discreet db check`, `audit verify`)",
    ExitCode.BEHIND: "of `discreet purge status --check`: an order is overdue, or an item failed",
    ExitCode.NOT_EVERYWHERE: "of --wait: the change stands, and not every server is known to have it",
    ExitCode.WITHHELD: "of check and commit: something is withheld",
    ExitCode.PURGE: "of check and commit: something must be purged",
    ExitCode.DIFFERS: "of --fail-on: the candidate policy changes what it must not",
}
"""Each code with its meaning, in the order in which `--help` and docs/cli.md list them."""


def table() -> str:
    """The codes as `--help` shows them, one a line."""
    lines = [f"  {code.value:>3}  {meaning}" for code, meaning in MEANINGS.items()]
    return "\n".join(["Exit codes:", *lines])
