"""Reads from the source of the command line with which exit codes a command can end, and as whom it asks.

What a command's function names, it may use: functions, classes and constants of `discreet.cli`, wherever they stand.
Must run nothing of them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click

from discreet import cli
from discreet.cli import errors
from discreet.cli.exit_codes import ExitCode

PACKAGE = cli.__name__
#: Of every command: it is done, a defect, wrong usage.
ALWAYS = (ExitCode.OK, ExitCode.DEFECT, ExitCode.USAGE)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command can end: its codes, and the roles as which it asks a server."""

    codes: tuple[ExitCode, ...]
    roles: tuple[str, ...]


def ending_of(command: click.Command) -> Ending:
    """Returns what the source says of a command that is no group."""
    assert command.callback is not None
    function = inspect.unwrap(command.callback)
    codes, roles = set(ALWAYS), set()
    for node in _nodes(function.__module__, function.__name__):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ExitCode":
            codes.add(ExitCode[node.attr])
        if isinstance(node, ast.Name | ast.Attribute):
            error = getattr(errors, node.id if isinstance(node, ast.Name) else node.attr, None)
            if inspect.isclass(error) and issubclass(error, errors.CliError):
                codes.add(error.exit_code)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "connect":
            roles |= {
                word.value for word in node.args if isinstance(word, ast.Constant) and isinstance(word.value, str)
            }
    return Ending(tuple(sorted(codes)), tuple(sorted(roles)))


def _nodes(module: str, name: str) -> Iterator[ast.AST]:
    """Yields every node of what stands under the name, and of whatever that names in turn, each once."""
    waiting, seen = [(module, name)], set()
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        within, wanted = place
        defined, imported = _module(within)
        if wanted not in defined:
            continue
        inner, own = imported | _imports(defined[wanted]), _own(defined[wanted])
        for node in ast.walk(defined[wanted]):
            yield node
            if isinstance(node, ast.Name) and node.id not in own:
                waiting.append(inner.get(node.id, (within, node.id)))
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in inner:
                package, submodule = inner[node.value.id]
                waiting.append((f"{package}.{submodule}", node.attr))


@cache
def _module(name: str) -> tuple[dict[str, ast.AST], dict[str, tuple[str, str]]]:
    """Returns what a module of the command line defines, and what it imports, by name; of others: nothing."""
    head, _, below = name.partition(f"{PACKAGE}.")
    file = Path(cli.__path__[0], *below.split(".")).with_suffix(".py")
    if head or not below or not file.exists():
        return {}, {}
    tree = ast.parse(file.read_text("utf-8"))
    defined: dict[str, ast.AST] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign):
            defined |= {target.id: node.value for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            defined[node.target.id] = node.value
    return defined, _imports(ast.Module([node for node in tree.body if isinstance(node, ast.ImportFrom)], []))


def _own(tree: ast.AST) -> set[str]:
    """Returns the names of parameters and variables, which hide what stands in the module."""
    variables = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return variables | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def _imports(tree: ast.AST) -> dict[str, tuple[str, str]]:
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }
