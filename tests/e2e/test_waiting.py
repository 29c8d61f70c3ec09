"""`--wait` at the command line: what it says, how it ends, and that the change stands whatever it says."""

from __future__ import annotations

import json
import re
import shlex

import click
import pytest

from discreet.cli.app import root
from tests.e2e.conftest import Running
from tests.server.cli.reference import commands, top_context
from tests.tidy.tree import ROOT

SAID = "no server answers under the state before: 1 seen"
SUSPEND = ("index", "suspend", "pep-0020", "33", "--reason", "review")
WAITS = (
    "index supersede", "index suspend", "index resume", "index scopes", "index assess", "index unreachable",
    "index revoke", "freeze", "unfreeze", "hold place", "hold lift", "tombstone lift", "approve", "grant add",
    "grant withdraw",
)  # fmt: skip


@pytest.fixture(scope="module")
def stocked(shared_server: Running) -> Running:
    """A server with one document."""
    document = {"record_id": "pep-0020", "version": "33", "digest": "a" * 64, "source_label": "peps"}
    put = json.dumps([document | {"scopes": ["public"], "assessment_expires_at": "2099-12-31T00:00:00Z"}])
    assert shared_server("index", "put", "-", stdin=put).code == 0
    return shared_server


@pytest.mark.parametrize("path", WAITS)
def test_every_command_that_changes_what_may_be_shown_can_wait(path: str) -> None:
    """F1: one option, the same everywhere, told in the help; and it is one function behind it."""
    found = {within.command_path.removeprefix("discreet "): within.command for within in commands(root, top_context())}
    option = next(one for one in found[path].params if one.name == "wait")
    assert isinstance(option, click.Option)
    assert (option.opts, option.flag_value) == (["--wait"], "10")


def test_what_the_guide_shows_works(stocked: Running) -> None:
    """E3: each command of the guide ends as it says."""
    guide = (ROOT / "docs" / "guides" / "fleet.md").read_text("utf-8")
    shown = [line for block in re.findall(r"```sh\n(.*?)```", guide, re.DOTALL) for line in block.splitlines()]
    assert shown
    for line in shown:
        done = stocked(*shlex.split(line.removeprefix("discreet ")))
        assert (done.code, SAID in done.err) == (0, True), done.err


@pytest.mark.parametrize("wait", [("--wait",), ("--wait=30",), ("--wait", "30")])
def test_a_change_that_was_waited_for_says_so(stocked: Running, wait: tuple[str, ...]) -> None:
    """F1: done and waited for; what is said of the servers stands on standard error, apart from the answer."""
    done = stocked(*SUSPEND, *wait)
    assert (done.code, SAID in done.err) == (0, True)
    assert "suspended" in done.out
    done = stocked("index", "resume", "pep-0020", "33", "--reason", "done", *wait, "-o", "json")
    assert (done.code, list(done.tree), SAID in done.err) == (0, ["token"], True)


@pytest.mark.parametrize("change", [
    ("grant", "add", "ana", "peps-drafts", "--reason", "joined"),
    ("grant", "withdraw", "ana", "peps-drafts", "--reason", "left"),
    ("freeze", "peps", "--for", "1m", "--reason", "leak"),
    ("hold", "place", "pep-0020", "--reason", "case", "--ticket", "T-1"),
    ("index", "scopes", "pep-0020", "33", "peps-drafts", "--reason", "why"),
    ("index", "revoke", "pep-0020", "33", "--reason", "asked", "--ticket", "T-2", "--yes"),
])  # fmt: skip
def test_changes_of_every_kind_are_waited_for(stocked: Running, change: tuple[str, ...]) -> None:
    """F1: grants, freezes, holds and revokes alike."""
    done = stocked(*change, "--wait")
    assert (done.code, SAID in done.err) == (0, True), done.err


@pytest.mark.parametrize(
    "wrong, why", [("--wait=0", "out of range"), ("--wait=61", "out of range"), ("--wait=soon", "no number")]
)
def test_a_time_that_is_none_is_refused_before_anything_is_changed(stocked: Running, wrong: str, why: str) -> None:
    """A wrong option changes nothing."""
    before = stocked("status", "-o", "json").tree["token"]
    done = stocked(*SUSPEND, wrong)
    assert (done.code, why in done.err) == (2, True)
    assert stocked("status", "-o", "json").tree["token"] == before


def test_the_status_shows_every_server_of_the_database(stocked: Running) -> None:
    """F1: as a table for people, as JSON for programs."""
    status = stocked("status", "-o", "json").tree
    (server,) = status["servers"]
    assert (server["instance"], server["live"], server["ended"]) == (status["instance"], True, False)
    assert (server["policy"], server["lease_ms"], server["problem"]) == (status["policy"], 5_000, "")
    assert (status["cache"], status["cache_silent_ms"]) == ("off", 0)
    table = stocked("status").out
    (row,) = [line for line in table.splitlines() if status["instance"] in line and " live " in line]
    assert "5 s" in row
    assert "heard of" in table
