"""Writes docs/cli-reference.md from the commands: `python -m tests.server.cli.reference`.

A test compares, so that no command, argument, option, default or exit code is missing or told otherwise than it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from discreet.cli import exit_codes
from discreet.cli.app import root
from tests.server.cli.endings import ALWAYS, ending_of

DOCUMENT: Final = Path(__file__).parents[3] / "docs" / "cli-reference.md"

HEAD: Final = """\
# Command-line reference

Every command with its arguments, options, defaults and exit codes. It is written from the commands themselves
(`python -m tests.server.cli.reference`); `discreet COMMAND --help` says the same. The guide, with requests, answers and
completion, is [cli.md](cli.md).
"""
SHARED_NOTE: Final = """\
They stand before the command or behind it; those with a variable may come from the environment.
"""
ARGUMENTS: Final[dict[str, str]] = {
    "RECORD_ID": "The record's id, exactly.",
    "VERSION": "The record's version, exactly.",
    "SCOPE": "The scope, exactly.",
    "PRINCIPAL_ID": "The principal, exactly.",
    "SOURCE": "The label of a source.",
    "FREEZE_ID": "The freeze, as `freeze` and `freezes` print it.",
    "HOLD_ID": "The hold, as `hold place` and `hold list` print it.",
    "ORDER_ID": "The purge order, as a revoke and `purge orders` print it.",
    "TOMBSTONE_ID": "The tombstone, as `tombstone list` and refusals name it.",
    "APPROVAL_ID": "The change that waits, as `approvals` prints it.",
    "DECISION_ID": "The decision, as an answer and `audit query` name it.",
    "NAME": "The name of the holder.",
    "NUMBER": "The revision, as `policy revisions` lists it.",
    "COMMIT": "The beginning of what `policy revisions` lists as pinned out.",
    "OLD..NEW": "Which sides, see below; left out: HEAD against the files as they lie there.",
    "DIRECTORY": "The directory of a policy set.",
    "PATH": "A policy file, or the directory of a policy set.",
    "FILE": "The file to be written.",
    "FILE|-": "The file, or `-` for standard input.",
    "REQUEST|-": "The file of the question, or `-` for standard input.",
}
SAID_DEFAULT: Final = re.compile(r" ?\(default: ([^)]*)\)")


def reference() -> str:
    """Returns the whole document."""
    top = top_context()
    parts = [HEAD, *_shared(top), *_codes(), *_group(root, top)]
    return "\n".join(parts) + "\n"


def top_context() -> click.Context:
    """Returns a context as `discreet` itself has it: commands keep the help option that the first context asks for."""
    return click.Context(root, info_name="discreet", **root.context_settings)


def commands(group: click.Group, above: click.Context) -> Iterator[click.Context]:
    """Yields what stands in a group, groups before what stands in them, in the order of `--help`."""
    for name in group.list_commands(above):
        command = group.get_command(above, name)
        assert command is not None
        within = click.Context(command, info_name=name, parent=above)
        yield within
        if isinstance(command, click.Group):
            yield from commands(command, within)


def _table(*columns: str) -> list[str]:
    return [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]


def _shared(top: click.Context) -> Iterator[str]:
    yield "## Options of every command\n"
    yield SHARED_NOTE
    yield from _table("option", "value", "variable", "default", "meaning")
    for option in _shared_options():
        value, default, meaning = _told(option, top)
        variable = f"`{option.envvar}`" if option.envvar else ""
        yield f"| {_names(option)} | {value} | {variable} | {default} | {meaning} |"
    yield "| `-h`, `--help` |  |  |  | Show the help of the command, and exit. |"
    yield "| `--version` |  |  |  | Of `discreet` alone: show the version, and exit. |"


def _shared_options() -> list[click.Option]:
    return [one for one in root.params if isinstance(one, click.Option) and one.name != "version"]


def _codes() -> Iterator[str]:
    yield "\n## Exit codes\n"
    yield from _table("code", "means")
    yield from (f"| {code.value} | {meaning} |" for code, meaning in exit_codes.MEANINGS.items())
    yield "| 130 | somebody said no, or pressed Ctrl-C |"
    yield f"\nAny command may end with {_listed(ALWAYS)}; what else it may end with stands beside it.\n"
    yield "## Commands"


def _group(group: click.Group, above: click.Context) -> Iterator[str]:
    for within in commands(group, above):
        command = within.command
        yield f"\n### {within.command_path.removeprefix('discreet ')}\n"
        if not isinstance(command, click.Group):
            yield f"`{' '.join([within.command_path, *command.collect_usage_pieces(within)])}`\n"
        yield " ".join((command.help or "").split())
        if not isinstance(command, click.Group):
            yield from _parameters(command, within)
            yield from _ending(command)
            yield from _epilog(command)


def _parameters(command: click.Command, within: click.Context) -> Iterator[str]:
    shared = {option.name for option in _shared_options()}
    rows = []
    for one in command.params:
        if isinstance(one, click.Argument):
            name = one.make_metavar(within).strip("[].")
            rows.append(f"| {_code(name)} |  | {_required(one)} | {ARGUMENTS[name]} |")
        elif isinstance(one, click.Option) and one.name not in shared:
            value, default, meaning = _told(one, within)
            rows.append(f"| {_names(one)} | {value} | {_required(one) or default} | {meaning} |")
    if rows:
        yield ""
        yield from _table("argument or option", "value", "default", "meaning")
        yield from rows


def _required(parameter: click.Parameter) -> str:
    return "required" if parameter.required else ""


def _names(option: click.Option) -> str:
    several = "" if not option.multiple else ", any number of times"
    return ", ".join(f"`{name}`" for name in option.opts) + several


def _told(option: click.Option, within: click.Context) -> tuple[str, str, str]:
    """Returns an option's value, its default and its meaning, as cells."""
    help_text = " ".join((option.help or "").split())
    said = SAID_DEFAULT.search(help_text)
    given = option.get_default(within)
    if said is not None:
        default, help_text = said.group(1), SAID_DEFAULT.sub("", help_text)
    else:
        default = str(given) if isinstance(given, str | int | float) and given not in {"", False} else ""
    return _value(option, within), default, help_text.replace("|", "\\|")


def _value(option: click.Option, within: click.Context) -> str:
    if option.is_flag:
        return ""
    if isinstance(option.type, click.Choice):
        return ", ".join(f"`{choice}`" for choice in option.type.choices)
    if isinstance(option.type, click.IntRange | click.FloatRange):
        low, high = option.type.min, option.type.max
        return f"{low:,} to {high:,}" if high is not None else f"{low:,} or more"
    return _code(option.make_metavar(within))


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _ending(command: click.Command) -> Iterator[str]:
    ending = ending_of(command)
    more = [code for code in ending.codes if code not in ALWAYS]
    asked = f"Asks the server as {_listed(ending.roles)}." if ending.roles else "Asks no server."
    yield f"\n{asked}" + (f" Also ends with {_listed(more)}." if more else "")


def _listed(words: tuple[object, ...] | list[exit_codes.ExitCode]) -> str:
    said = [str(word.value) if isinstance(word, exit_codes.ExitCode) else str(word) for word in words]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} or {said[-1]}"


def _epilog(command: click.Command) -> Iterator[str]:
    """Yields the examples as a block and the rest as text."""
    for block in (command.epilog or "").removeprefix("\b\n").strip().split("\n\n"):
        head, _, rest = block.partition("\n")
        if head in {"Example:", "Examples:"}:
            yield "\n```sh\n" + "\n".join(line.removeprefix("  ") for line in rest.splitlines()) + "\n```"
        elif block:
            yield "\n" + block


def main() -> None:
    """Writes the document."""
    DOCUMENT.write_text(reference(), "utf-8")


if __name__ == "__main__":
    main()
