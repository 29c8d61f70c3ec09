"""Rows for spreadsheets: CSV in which no cell is a formula, whatever the data holds. Knows not what it lists."""

import csv
import io
from collections.abc import Iterable, Sequence

import click

from discreet.cli.escaping import safe

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a spreadsheet takes for the beginning of a formula, full-width forms too."""


def print_sheet(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a line of names, then one line a row."""
    click.echo(sheet_line(columns))
    for row in rows:
        click.echo(sheet_line(row))


def sheet_line(cells: Sequence[str]) -> str:
    r"""One line, without its end: quoted where need be; control characters are escaped as everywhere.

    >>> sheet_line(["a, b", "=1+1", "plain"])
    '"a, b",\'=1+1,plain'
    """
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([_cell(cell) for cell in cells])
    return out.getvalue()


def _cell(text: str) -> str:
    """A text that could be a formula has an apostrophe before it, which says that it is text.

    What begins with blanks counts, too: some spreadsheets cut them off.
    """
    return f"'{safe(text)}" if text.lstrip(" ").startswith(FORMULAS) else safe(text)
