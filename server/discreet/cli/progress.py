"""A progress bar on standard error, where that is a terminal; else nothing. Must know nothing of what progresses."""

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def decisions_bar(total: int) -> Iterator[Callable[[int], None]]:
    """Yields a function of how many more decisions are done, that moves the bar."""
    if not total or not sys.stderr.isatty():
        yield lambda _done: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from discreet.cli.printing import console

    columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(err=True), transient=True) as progress:
        task = progress.add_task("replay", total=total)
        yield lambda done: progress.advance(task, done)


@contextlib.contextmanager
def bar(total_bytes: int | None, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Yields a function of (bytes read, records done) that moves the bar."""
    if quiet or not sys.stderr.isatty():
        yield lambda _read, _records: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    from discreet.cli.printing import console

    columns = (
        TextColumn("importing"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[records]:,} records"),
    )
    with Progress(*columns, TimeElapsedColumn(), console=console(err=True), transient=True) as progress:
        task = progress.add_task("import", total=total_bytes, records=0)
        yield lambda read, records: progress.update(task, completed=read, records=records)
