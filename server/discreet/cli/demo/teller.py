"""What the demo prints, and the comparison of what was answered with what the story says. Asks nobody anything."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from discreet.cli.printing import console, text, verdict_text
from discreet.client import Result

WIDTH_MAX = 118


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was asked, with the answer and what the story expects of it: a verdict and a reason."""

    asked: str
    result: Result
    verdict: str
    reason: str
    because: str = ""


@dataclass(slots=True)
class Teller:
    """Prints the story to standard output, and keeps every difference."""

    out: Console = field(default_factory=console)
    differences: list[str] = field(default_factory=list)
    answers: int = 0

    def __post_init__(self) -> None:
        self.out.width = min(self.out.width, WIDTH_MAX)

    def act(self, title: str, *lines: str) -> None:
        """A heading, and what happens in a few lines."""
        self.out.print()
        self.out.print(Rule(Text(title, style="bold"), align="left", style="dim"))
        for line in lines:
            self.say(line)

    def say(self, line: str) -> None:
        """A line of the story."""
        self.out.print(text(line))

    def did(self, who: str, what: str) -> None:
        """Something that somebody changed."""
        self.out.print(Text.assemble(("  » ", "bold cyan"), (who, "bold"), f" {what}"))

    def table(self, rows: Sequence[Row]) -> None:
        """What was asked, what was answered, and why."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for column, ratio in (("asked", 5), ("answer", 2), ("reason", 4), ("why, and what the reader is told", 8)):
            table.add_column(column, overflow="fold", ratio=ratio)
        for row in rows:
            table.add_row(text(row.asked), verdict_text(row.result.verdict.name), text(_reason(row.result)), _why(row))
            self.expect(row.asked, f"{row.verdict} {row.reason}", f"{row.result.verdict.name} {row.result.reason.name}")
        self.out.print(table)

    def expect(self, what: str, wanted: str, found: str) -> None:
        """Compares an outcome with the story's; a difference is printed at once and fails the demo."""
        self.answers += 1
        if wanted != found:
            self.differences.append(f"{what}: the story says {wanted}, the server said {found}")
            self.out.print(text(f"  DIFFERS: {self.differences[-1]}", "bold red"))


def _reason(result: Result) -> str:
    if result.reason.name == "NONE":
        return ""
    return f"{result.reason.name} ({result.custom_reason})" if result.custom_reason else result.reason.name


def _why(row: Row) -> Text:
    told = row.result.disclosure
    if not told and not row.because:
        return Text("shown")
    said = Text.assemble((f"“{told}”", "italic")) if told else Text()
    if row.because and told:
        return Text.assemble(f"{row.because} ", said)
    return Text(row.because) if row.because else said
