"""What can go wrong at the command line: one error class a party that must act, and the exit code of each.

Messages say what is wrong and what would be right. Status codes are known here by number, without gRPC, so that short
commands start without it.
"""

from discreet.cli.exit_codes import ExitCode


class CliError(Exception):
    """A command cannot go on. `hint`: what would be right; `exit_code`: how the process ends."""

    exit_code = ExitCode.USAGE
    status: int | None = None
    """The gRPC status code that it comes from; None: from no call."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class InputError(CliError):
    """What was typed or read is wrong; whoever wrote it must act."""


class PolicySetError(CliError):
    """The policy set has problems; its author must act."""

    exit_code = ExitCode.POLICY


class PolicyTestsFailed(CliError):
    """Tests of the policy set failed; its author must act."""

    exit_code = ExitCode.TESTS


class Unreachable(CliError):
    """The server, or something it depends on, did not answer; the operator must act."""

    exit_code = ExitCode.UNREACHABLE


class Refused(CliError):
    """The identity may not do this; the operator must act, or another identity must be used."""

    exit_code = ExitCode.REFUSED


class DatabaseFaults(CliError):
    """Something is wrong with a database; the operator must act."""

    exit_code = ExitCode.FAULTS


class DemoDiffers(CliError):
    """The demo saw another outcome than it tells of: a defect."""

    exit_code = ExitCode.DEFECT


class NotEverywhere(CliError):
    """A change stands, and not every server is known to have it; who made it waits again or looks at the servers."""

    exit_code = ExitCode.NOT_EVERYWHERE


class PurgeBehind(CliError):
    """A purge is overdue or failed at a holder; the operator must act."""

    exit_code = ExitCode.BEHIND


class ReplayDiffers(CliError):
    """A candidate policy changes what it must not; its author must act."""

    exit_code = ExitCode.DIFFERS


class PolicyDiffers(CliError):
    """A policy set differs from another in what it must not; its author must act."""

    exit_code = ExitCode.DIFFERS


INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED = 3, 4, 5, 6, 7
RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE, UNAVAILABLE, UNAUTHENTICATED = 8, 9, 10, 11, 14, 16

BY_STATUS: dict[int, type[CliError]] = {
    INVALID_ARGUMENT: InputError,
    NOT_FOUND: InputError,
    ALREADY_EXISTS: InputError,
    FAILED_PRECONDITION: InputError,
    OUT_OF_RANGE: InputError,
    PERMISSION_DENIED: Refused,
    UNAUTHENTICATED: Refused,
}
"""gRPC status code to error class; every other code is Unreachable."""


def from_status(code: int, name: str, details: str, target: str) -> CliError:
    """The error for a call that ended with a gRPC status other than OK."""
    error = _of_status(code, name, details, target)
    error.status = code
    return error


def _of_status(code: int, name: str, details: str, target: str) -> CliError:
    kind = BY_STATUS.get(code, Unreachable)
    if code == UNAVAILABLE:
        return kind(f"no answer from {target}: {details}", "is the server running? `discreet status` says more")
    if code == DEADLINE_EXCEEDED:
        return kind(f"{target} did not answer in time", "give it longer with --deadline, or see `discreet status`")
    return kind(details or f"the server answered {name}")
