"""Text from data in Markdown, where it cannot become markup: it stands in code."""

import re

from discreet.cli.escaping import safe

_TICKS = re.compile("`+")


def code(given: str, *, cell: bool = True) -> str:
    r"""A text as code that no text can end, on one line; in a cell of a table a bar would end the cell.

    >>> code("a`b|c")
    '`` a`b\\|c ``'
    >>> code("a || b", cell=False)
    '`a || b`'
    """
    shown = safe(given.replace("\n", " "))
    shown = shown.replace("|", "\\|") if cell else shown
    if not shown:
        return ""
    longest = max((len(run) for run in _TICKS.findall(shown)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {shown} {fence}" if longest else f"`{shown}`"
