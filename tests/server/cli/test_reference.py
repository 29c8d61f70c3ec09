"""docs/cli-reference.md says what the commands say."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from discreet.cli.app import root
from discreet.cli.exit_codes import MEANINGS
from discreet.server.config import default_state_dir, load_config
from tests.server.cli.command import discreet
from tests.server.cli.endings import ending_of
from tests.server.cli.reference import DOCUMENT, SAID_DEFAULT, commands, reference, top_context

LEAVES = [within for within in commands(root, top_context()) if not isinstance(within.command, click.Group)]


def test_the_reference_is_what_the_commands_give() -> None:
    """E3: commands, arguments, options, defaults, helps, exit codes and examples are as the code has them."""
    assert DOCUMENT.read_text("utf-8") == reference(), "run: python -m tests.server.cli.reference"


@pytest.mark.parametrize("within", LEAVES, ids=lambda within: within.command_path)
def test_every_command_and_option_has_a_help_of_whole_sentences(within: click.Context) -> None:
    """E3: nothing that can be typed is left without a meaning, and each command shows an example."""
    told = [within.command.help, *(one.help for one in within.command.params if isinstance(one, click.Option))]
    assert [text for text in told if not text or not text.rstrip().endswith((".", ")."))] == []
    assert "Example" in (within.command.epilog or "")


def test_the_guide_has_the_same_exit_codes() -> None:
    """E3: docs/cli.md lists each code once, with the meaning that `--help` gives."""
    guide = DOCUMENT.with_name("cli.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", guide, re.MULTILINE)
    assert rows == [(str(code.value), meaning) for code, meaning in MEANINGS.items()]


@pytest.mark.parametrize("path", ["check", "index list", "policy test run", "purge status", "serve"])
def test_both_names_of_the_help_are_taken(path: str) -> None:
    """E3: `-h` is what `--help` is, at every depth."""
    assert discreet(*path.split(), "-h").out == discreet(*path.split(), "--help").out != ""


def test_the_defaults_of_serve_are_those_of_the_configuration(tmp_path: Path) -> None:
    """E3: what `serve` has in place of an option that is not given is what its help says."""
    config = load_config(None, {"policy": str(tmp_path)})
    (serve,) = (within.command for within in LEAVES if within.command_path == "discreet serve")
    options = [one for one in serve.params if isinstance(one, click.Option)]
    found = {one.name: SAID_DEFAULT.findall(one.help or "") for one in options}
    has = {
        "db": config.db,
        "log_format": config.log_format,
        "log_level": config.log_level,
        "poll_s": f"{config.poll_s:g}",
    }
    assert {name: found[name] for name in has} == {name: [value] for name, value in has.items()}
    assert (config.ref, config.instance, config.approve_by_two, config.metrics) == ("", "", frozenset(), None)
    assert config.state_dir == default_state_dir()


def test_the_exit_codes_of_a_command_are_read_from_what_it_uses() -> None:
    """E3: what a command raises, itself or by what it calls, and the role that it connects as; nothing of others."""
    found = {within.command_path.removeprefix("discreet "): ending_of(within.command) for within in LEAVES}
    assert [path for path, ending in found.items() if 8 in ending.codes] == ["purge status"]
    assert [path for path, ending in found.items() if 7 in ending.codes] == ["audit verify", "db check"]
    assert [path for path, ending in found.items() if 10 in ending.codes] == ["check", "commit", "policy explain"]
    assert (found["check"].roles, found["audit query"].roles) == (("agent",), ("auditor",))
    assert found["policy schema"].codes == (0, 1, 2)
