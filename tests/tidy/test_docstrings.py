"""Every module says what it is for; every public class and function of the product says what it returns or does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.tree import product_files, python_files, syntax

# Methods that a parser calls by the names of its grammar's rules: the grammar documents them, the module says how.
NAMED_BY_A_GRAMMAR = {"policy/discreet/policy/cel/build.py"}
Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _public(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Documented]]:
    """The public classes and functions of a module and the public methods of its public classes."""
    for node in body:
        if not isinstance(node, Documented) or node.name.startswith("_"):
            continue
        yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from _public(node.body, f"{prefix}{node.name}.")


def _needs_none(node: Documented) -> bool:
    """True for overloads and for methods that say they override one that is documented."""
    names = {ast.unparse(decorator) for decorator in node.decorator_list}
    return bool(names & {"overload", "override", "typing.overload", "typing.override"}) or any(
        name.endswith(".setter") for name in names
    )


def test_every_module_has_a_docstring() -> None:
    """Tests included; generated modules have none to give."""
    assert [str(path) for path in python_files() if not ast.get_docstring(syntax(path))] == []


def test_every_public_name_of_the_product_has_a_docstring() -> None:
    """Protocol implementations are marked `@override`, or say their own piece."""
    missing = [
        f"{path}:{node.lineno} {name}"
        for path in product_files()
        if str(path) not in NAMED_BY_A_GRAMMAR
        for name, node in _public(syntax(path).body)
        if not ast.get_docstring(node) and not _needs_none(node)
    ]
    assert missing == []


def test_every_test_states_its_property() -> None:
    """A test's docstring states the property; its name alone says too little when it fails."""
    missing = [
        f"{path}:{node.lineno} {node.name}"
        for path in python_files()
        if path.parts[0] == "tests"
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]
    assert missing == []
