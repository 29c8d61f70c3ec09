"""Modules and functions stay small enough to be read whole. Aims are 150 and 15 lines; the ceilings are held here."""

from __future__ import annotations

import ast

from tests.tidy.tree import python_files, syntax, text

MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60


def test_no_module_exceeds_the_ceiling() -> None:
    """No written module, tests included, has more than 400 lines."""
    lines = {path: len(text(path).splitlines()) for path in python_files()}
    assert {str(path): n for path, n in lines.items() if n > MODULE_LINES_MAX} == {}


def test_no_function_exceeds_the_ceiling() -> None:
    """No function, from its `def` to its last line, has more than 60 lines."""
    found: dict[str, int] = {}
    for path in python_files():
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LINES_MAX:
                    found[f"{path}:{node.lineno} {node.name}"] = lines
    assert found == {}
