"""The demo of the fleet: `make demo-fleet`, or `python -m docs.examples.fleet` from the top of the repository."""

import signal
import subprocess
import sys
import time

from discreet.cli.demo.teller import Teller
from discreet.cli.errors import CliError
from discreet.cli.exit_codes import ExitCode
from docs.examples.fleet.acts_fleet import let_redis_down, revoke_at_one, show_the_fleet, start_two
from docs.examples.fleet.acts_policy import say_what_it_changed, take_it_back, withhold_everywhere
from docs.examples.fleet.program import NotStarted
from docs.examples.fleet.stage import stage

ACTS = (
    start_two,
    withhold_everywhere,
    say_what_it_changed,
    take_it_back,
    revoke_at_one,
    let_redis_down,
    show_the_fleet,
)


def main() -> int:
    """Plays all acts; the exit code: 0 where every outcome was the story's. Ends what it started in any case."""
    _clean_up_when_told_to_stop()
    teller, started = Teller(), time.monotonic()
    teller.say(
        "A policy and a revocation reach two sidecars. All that follows is real: two server processes, PostgreSQL,"
    )
    teller.say("a Redis (Valkey), a Git repository. Nothing of it was there before, and nothing stays.")
    try:
        with stage(teller) as played:
            for act in ACTS:
                act(played)
    except (CliError, NotStarted, subprocess.SubprocessError) as error:
        print(f"demo-fleet: {error}", file=sys.stderr)  # noqa: T201  (a program of its own)
        return int(getattr(error, "exit_code", ExitCode.UNREACHABLE))
    except KeyboardInterrupt:
        return 130
    return ended(teller, time.monotonic() - started)


def _clean_up_when_told_to_stop() -> None:
    """Has each signal that ends a program end this one as Ctrl-C does, unless its parent has it ignore that."""
    for told in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(told) is not signal.SIG_IGN:
            signal.signal(told, signal.default_int_handler)


def ended(teller: Teller, seconds: float) -> int:
    """Says how it went; the exit code."""
    wrong = len(teller.differences)
    teller.act("How to go on", f"{teller.answers} outcomes compared with the story in {seconds:.0f} s; {wrong} differ.")
    teller.say("  docs/guides/policy-delivery.md    from a pull request to every sidecar, and back")
    teller.say("  docs/guides/fleet.md              what a wait proves, and what it does not")
    teller.say("  docs/guides/redis.md              a copy and a bell")
    return int(ExitCode.DEFECT) if wrong else int(ExitCode.OK)


if __name__ == "__main__":
    sys.exit(main())
