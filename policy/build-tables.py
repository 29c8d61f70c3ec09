"""A step of the build: the tables of the grammar of conditions, so that no process has to compute them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

GRAMMAR = "policy/discreet/policy/cel/grammar.py"


class Tables(BuildHookInterface[Any]):
    """Writes them into the tree, for the wheel and for an installation in place alike."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Reads the one module by its path: nothing of the package is installed yet."""
        if self.target_name != "wheel":
            return
        path = Path(self.root) / GRAMMAR
        spec = importlib.util.spec_from_file_location("discreet_grammar", path)
        assert spec is not None
        assert spec.loader is not None
        grammar = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(grammar)
        if grammar.kept(grammar.grammar()) is None:
            grammar.TABLES.write_bytes(grammar.computed())
