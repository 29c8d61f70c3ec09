"""Answers to the terminal: JSON or JSON lines as they are, tables and notes with rich. Text from data is escaped."""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from discreet.cli.escaping import safe, safe_block, safe_json
from discreet.cli.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

PLAIN_WIDTH = 1_000
"""Without a terminal a line is as long as it must be: what reads it may be a program."""
WHOLE = frozenset({"at, decision id", "verdict"})
"""Columns that are not folded: what stands in them is copied."""
VERDICT_STYLES = {"ALLOW": "bold green", "WITHHOLD": "bold yellow", "PURGE": "bold red"}


def print_tree(settings: Settings, tree: object) -> None:
    """Prints one answer as JSON: indented for `json`, on one line for `jsonl`."""
    indent = 2 if settings.output == "json" else None
    click.echo(safe_json(json.dumps(tree, indent=indent, ensure_ascii=False)))


def print_trees(settings: Settings, key: str, trees: Iterable[object]) -> None:
    """Prints many answers: one object with a list under `key` for `json`, one answer a line for `jsonl`."""
    if settings.output == "json":
        print_tree(settings, {key: list(trees)})
        return
    for tree in trees:
        print_tree(settings, tree)


def console(err: bool = False) -> "Console":
    """The console of this process. Without a terminal or COLUMNS: no colours, and lines as long as they must be."""
    import os
    import sys

    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS", "").isdigit() else PLAIN_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def text(value: object, style: str = "") -> "Text":
    """Text for a table or a line, escaped."""
    from rich.text import Text

    return Text(safe(str(value)), style=style)


def lines(*parts: str) -> "Text":
    """A cell of several lines, each escaped: what is in a part cannot make a line of its own."""
    from rich.text import Text

    return Text("\n").join(text(part) for part in parts)


def verdict_text(verdict: str) -> "Text":
    """A verdict in its colour."""
    return text(verdict, VERDICT_STYLES.get(verdict, "bold red"))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence["Text | str"]]) -> None:
    """Prints a table; cells that are plain strings are escaped. Columns fold rather than lose what they hold."""
    from rich import box
    from rich.table import Table

    table = Table(title=safe(title) if title else None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in WHOLE)
    for row in rows:
        table.add_row(*(text(cell) if isinstance(cell, str) else cell for cell in row))
    console().print(table)


def print_pairs(pairs: Iterable[tuple[str, object]]) -> None:
    """Prints names with their values, leaving out what is empty."""
    shown = [(name, value) for name, value in pairs if value not in (None, "", [], {})]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        console().print(text(f"{name:<{width}}", "bold"), text(_plain(value)), soft_wrap=True)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def note(message: str) -> None:
    """Prints a line for people on standard error, so that it never mixes with output."""
    click.echo(safe_block(message), err=True)
