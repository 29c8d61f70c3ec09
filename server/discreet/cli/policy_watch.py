"""Runs something again whenever the files of a folder change. Knows nothing of what is run, and of no clock."""

from collections.abc import Callable, Mapping

from discreet.cli.errors import CliError
from discreet.cli.printing import note


def watch(read: Callable[[], Mapping[str, bytes]], show: Callable[[Mapping[str, bytes]], None],
          wait: Callable[[], bool]) -> None:  # fmt: skip
    """Shows the files as they are now and again after each change, until `wait` says that nobody waits any more.

    What goes wrong is told, once for each change, and watched on: the next change may mend it.
    """
    last: object = None
    while True:
        try:
            files: Mapping[str, bytes] | str = read()
        except CliError as error:
            files = str(error)
        if files != last:
            last = files
            _shown(files, show)
        if not wait():
            return


def _shown(files: Mapping[str, bytes] | str, show: Callable[[Mapping[str, bytes]], None]) -> None:
    if isinstance(files, str):
        note(f"discreet: {files}")
        return
    try:
        show(files)
    except CliError as error:
        note(f"discreet: {error}")
