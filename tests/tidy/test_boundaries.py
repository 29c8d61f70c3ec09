"""Boundaries that the import contracts in pyproject.toml cannot state: allowed imports, and what pure code may call."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from tests.tidy.tree import product_files, syntax

CLIENT_MAY_IMPORT = {"discreet", "grpc", "google"}
# Reads of clock, chance, files or the terminal: the core is given values and returns values.
IMPURE_CALLS = {
    "open",
    "input",
    "print",
    "breakpoint",
    "now",
    "utcnow",
    "today",
    "read_text",
    "read_bytes",
    "write_text",
}
# Read files that are installed with the code and as fixed as it is: the grammar of conditions, the starter set.
EXEMPT = {"policy/discreet/policy/cel/grammar.py", "policy/discreet/policy/starter/__init__.py"}


def _imported(path: Path) -> set[str]:
    """The full names of the modules that a file imports, wherever in the file."""
    names: set[str] = set()
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def test_the_client_needs_grpc_and_protobuf_alone() -> None:
    """E3: an agent that installs the client gets two dependencies; of Discreet it sees the messages and itself."""
    strays = {}
    for path in product_files():
        if path.parts[:3] != ("client", "discreet", "client"):
            continue
        names = {name for name in _imported(path) if name.split(".")[0] not in sys.stdlib_module_names}
        other = {name for name in names if name.split(".")[0] not in CLIENT_MAY_IMPORT}
        other |= {
            n for n in names if n.startswith("discreet.") and not n.startswith(("discreet.v1", "discreet.client"))
        }
        other |= {name for name in names if name.startswith("google.") and not name.startswith("google.protobuf")}
        if other:
            strays[str(path)] = other
    assert strays == {}


def test_the_core_calls_neither_clock_nor_chance_nor_files() -> None:
    """A decision depends on what it is given: replayed with the same facts it comes out the same, bit for bit."""
    found = [
        f"{path}:{node.lineno} {ast.unparse(node.func)}"
        for path in product_files()
        if path.parts[0] == "policy" and str(path) not in EXEMPT
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in IMPURE_CALLS
    ]
    assert found == []
