"""Text from data in Markdown, where it cannot become markup: it stands in code."""

import re

from discreet.cli.escaping import safe

_TICKS = re.compile("`+")


def code(given: str) -> str:
    """A text as code that no text can end, on one line; not for cells of tables, where a bar would end the cell.

    >>> code("a`b || c")
    '`` a`b || c ``'
    """
    shown = safe(given.replace("\n", " "))
    if not shown:
        return ""
    longest = max((len(run) for run in _TICKS.findall(shown)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {shown} {fence}" if longest else f"`{shown}`"
