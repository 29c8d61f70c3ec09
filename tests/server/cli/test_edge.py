"""The edge of the command line: help, versions, usage errors, exit codes; nothing drives a terminal."""

from __future__ import annotations

import doctest
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TypeVar

import click
import grpc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.cli import errors, escaping, times
from discreet.cli.app import COMMANDS, root
from discreet.cli.commands.serve import as_cli_error
from discreet.cli.escaping import safe, safe_block, safe_json
from discreet.cli.exit_codes import MEANINGS, ExitCode
from discreet.cli.settings import default_socket_dir
from discreet.server import config
from discreet.server.errors import CallRefused, StartRefused
from tests.server.cli.command import discreet

_E = TypeVar("_E", bound=Exception)


def _every_command() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []

    def walk(command: click.Command, path: tuple[str, ...]) -> None:
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                walk(inner, (*path, name))
        else:
            found.append(path)

    walk(root, ())
    return found


@pytest.mark.parametrize("path", _every_command(), ids=" ".join)
def test_every_command_has_help_with_an_example(path: tuple[str, ...]) -> None:
    """Help says what a command does and shows it being typed."""
    shown = discreet(*path, "--help")
    assert shown.code == 0
    assert f"Usage: discreet {' '.join(path)}" in shown.out
    assert "Example" in shown.out
    assert f"  discreet {path[0]}" in shown.out or "  discreet --tenant" in shown.out


def test_the_root_lists_its_commands_and_every_exit_code() -> None:
    """The one table of exit codes is what help shows; each code has a meaning."""
    shown = discreet("--help").out
    assert all(f"  {name}" in shown for name in COMMANDS)
    assert all(f"{code.value:>3}  {meaning}" in shown for code, meaning in MEANINGS.items())
    assert set(MEANINGS) == set(ExitCode)


def test_exit_codes_are_stable() -> None:
    """Scripts depend on them."""
    assert {code.name: code.value for code in ExitCode} == {
        "OK": 0, "DEFECT": 1, "USAGE": 2, "POLICY": 3, "TESTS": 4, "UNREACHABLE": 5, "REFUSED": 6,
        "FAULTS": 7, "BEHIND": 8, "NOT_EVERYWHERE": 9, "WITHHELD": 10, "PURGE": 11, "DIFFERS": 12,
    }  # fmt: skip


def test_every_error_has_an_exit_code_of_the_table() -> None:
    """One tree of errors, each class with its code; none says that all went well."""
    kinds = errors.CliError.__subclasses__()
    assert kinds
    assert all(kind.exit_code in MEANINGS and kind.exit_code != ExitCode.OK for kind in kinds)


def _beneath(kind: type[_E]) -> set[type[_E]]:
    return {kind}.union(*(_beneath(one) for one in kind.__subclasses__()))


def test_every_refused_start_ends_with_its_exit_code() -> None:
    """One table says it, by who must act: whoever wrote the configuration, the policy's author, the operator."""
    ends = {kind.__name__: as_cli_error(kind("why")).exit_code.value for kind in _beneath(StartRefused)}
    assert ends == {
        "StartRefused": 5, "ConfigRefused": 2, "PolicyRefused": 3, "StoreRefused": 5, "ListenRefused": 5,
        "InstanceTaken": 2, "SpoolRefused": 5,
    }  # fmt: skip


def test_every_refused_call_has_a_status_of_its_own() -> None:
    """Each class of refusal answers with one status, none with OK or INTERNAL, and no two with the same."""
    statuses = [kind.status for kind in _beneath(CallRefused) - {CallRefused}]
    assert not {grpc.StatusCode.OK, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN} & set(statuses)
    assert len(statuses) == len(set(statuses)) > 5
    assert all(errors.from_status(status.value[0], status.name, "why", "x").exit_code > 1 for status in statuses)


@pytest.mark.parametrize(
    "words, wanted", [("discreet index su", {"supersede", "suspend"}), ("discreet aud", {"audit"})]
)
def test_the_shell_completes_commands(words: str, wanted: set[str]) -> None:
    """What is documented for bash answers with the commands that begin so."""
    env = os.environ | {"_DISCREET_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    command = [sys.executable, "-c", "import sys; sys.argv[0] = 'discreet'; from discreet.cli import main; main()"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert {line.partition(",")[2] for line in done.stdout.splitlines()} == wanted


@pytest.mark.parametrize(
    "code,wanted", [(3, 2), (5, 2), (6, 2), (9, 2), (7, 6), (16, 6), (14, 5), (4, 5), (8, 5), (13, 5), (2, 5)]
)
def test_each_grpc_status_ends_with_its_exit_code(code: int, wanted: int) -> None:
    """Who must act is told by the code: whoever wrote the input, whoever grants rights, whoever runs the server."""
    assert errors.from_status(code, "NAME", "details", "unix:x").exit_code == wanted


def test_the_version_is_the_distribution_s() -> None:
    """One place says which version this is."""
    assert discreet("--version").out == f"discreet {version('discreet')}\n"


@pytest.mark.parametrize(
    "args,told",
    [
        (("chekc",), 'did you mean "check"?'),
        (("check",), "FILE"),
        (("check", "-o", "xml", "x"), "xml"),
        (("--deadline", "0", "status"), "--deadline"),
        (("index", "supersede", "a", "1", "--reason", "r"), "--by"),
        (("index", "scopes", "a", "1", "--reason", "r"), "--none"),
        (("index", "assess", "a", "1", "--reason", "r"), "--until"),
        (("index", "suspend", "a", "1"), "--reason"),
        (("audit", "query", "--since", "yesterdy"), "--since"),
        (("audit", "acts", "--until", "2026-02-30"), "--until"),
        (("audit", "query", "--follow", "-o", "json"), "jsonl"),
        (("audit", "query", "--verdict", "maybe"), "verdict"),
        (("policy", "check", "no/such/folder"), "no/such/folder"),
        (("check", "no-such-file.yaml"), "no-such-file.yaml: no such file or directory"),
    ],
)
def test_a_slip_is_one_line_that_names_it_and_exit_code_2(args: tuple[str, ...], told: str) -> None:
    """No traceback, no page of usage: `discreet: what is wrong; what would be right`."""
    ended = discreet(*args)
    assert ended.code == ExitCode.USAGE
    assert ended.err.startswith("discreet: ")
    assert told in ended.err
    assert "Traceback" not in ended.err
    assert ended.out == ""


def test_an_empty_request_is_refused_before_the_server_is_asked() -> None:
    """Nothing to ask is an error, and not an answer."""
    ended = discreet("check", "-", stdin=b" \n")
    assert (ended.code, ended.err) == (2, "discreet: standard input is empty; give a request as JSON or YAML\n")


def test_a_tenant_that_is_given_twice_and_differs_is_refused() -> None:
    """Which of two tenants was meant is never guessed."""
    ended = discreet("check", "-", "--tenant", "b", stdin="tenant: a\n")
    assert ended.code == 2
    assert "tenant differs from --tenant" in ended.err


def test_without_a_server_the_exit_code_says_so() -> None:
    """A missing socket and a port where nobody listens are 5, with what to do."""
    with TemporaryDirectory(prefix="dc-") as directory:
        ended = discreet("--socket-dir", directory, "status")
        assert ended.code == ExitCode.UNREACHABLE
        assert "discreet serve" in ended.err
        dead = discreet("status", "--target", f"unix:{directory}", "--deadline", "1")
        assert dead.code == ExitCode.UNREACHABLE


def test_an_option_stands_before_or_behind_the_command() -> None:
    """Both places mean the same; the one behind wins."""
    with TemporaryDirectory(prefix="dc-") as directory:
        assert directory in discreet("--socket-dir", directory, "status").err
        assert directory in discreet("status", "--socket-dir", directory).err
        assert directory in discreet("--socket-dir", "elsewhere", "status", "--socket-dir", directory).err
        assert f"{directory}/desk.sock" in discreet("--socket-dir", directory, "status", "--identity", "desk").err


def test_the_default_socket_directory_is_the_server_s() -> None:
    """Without a word of configuration the command line finds the server."""
    assert default_socket_dir() == config.default_socket_dir()


def test_text_from_data_cannot_drive_a_terminal() -> None:
    """Control, format and bidirectional characters are written as escapes; line ends stay where a block is meant."""
    assert safe("a\x1b[2Jb\x07\u202e\u200b\x9b\r\n") == "a\\x1b[2Jb\\x07\\u202e\\u200b\\x9b\\r\\n"
    assert safe_block("a\nb\x1b") == "a\nb\\x1b"
    assert safe("naïve 中文 ✓") == "naïve 中文 ✓"


@given(st.text())
@example("\x7f\x9b\u202e\U000e0001")
def test_json_stays_json_and_means_the_same(text: str) -> None:
    """What is escaped for the terminal is read back as it was; nothing that drives a terminal is left."""
    shown = safe_json(json.dumps({"a": text}, ensure_ascii=False))
    assert json.loads(shown) == {"a": text}
    assert safe(shown) == shown


@pytest.mark.parametrize("module", [escaping, times], ids=lambda module: str(module.__name__))
def test_examples_in_docstrings_hold(module: ModuleType) -> None:
    """What a docstring shows is so."""
    ran = doctest.testmod(module)
    assert ran.attempted
    assert not ran.failed


def test_a_file_name_cannot_drive_a_terminal() -> None:
    """Errors are escaped, too: a file's name is data."""
    assert "\x1b" not in discreet("check", "no\x1b[2Jfile").err


def test_short_commands_import_nothing_heavy(tmp_path: Path) -> None:
    """The version, help and a policy check need no transport, no database and no server."""
    heavy = ("grpc", "sqlalchemy", "dulwich", "pydantic", "celpy", "rich")
    probe = (
        "import sys\nfrom discreet.cli.app import run\n"
        "try:\n    run(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        f"print(sorted(name for name in {heavy!r} if name in sys.modules))"
    )
    for args in (("--version",), ("check", "--help"), ("index", "import", "--help")):
        done = subprocess.run(
            [sys.executable, "-c", probe, *args], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == "[]", args
