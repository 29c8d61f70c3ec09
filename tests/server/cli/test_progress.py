"""Progress bars, of an import and of a replay: on a terminal alone, and on standard error alone."""

from __future__ import annotations

import io

import pytest

from discreet.cli.progress import bar, decisions_bar


class _Terminal(io.StringIO):
    """A standard error that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal, quiet, shown", [(True, False, True), (True, True, False), (False, False, False)])
def test_a_bar_is_shown_on_a_terminal_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, *, terminal: bool, quiet: bool, shown: bool
) -> None:
    """How far an import got is for a person who watches: scripts, pipes and JSON get nothing of it."""
    err, out = _Terminal() if terminal else io.StringIO(), io.StringIO()
    monkeypatch.setattr("sys.stderr", err)
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setenv("TERM", "xterm")
    with bar(1_000, quiet) as moved:
        moved(500, 7_000)
        moved(1_000, 15_876)
    assert ("15,876 records" in err.getvalue()) == shown
    assert shown or not err.getvalue()
    assert not out.getvalue()


@pytest.mark.parametrize("terminal, total, shown", [(True, 100_000, True), (True, 0, False), (False, 100_000, False)])
def test_a_replay_shows_how_many_decisions_are_done(
    monkeypatch: pytest.MonkeyPatch, *, terminal: bool, total: int, shown: bool
) -> None:
    """F8: how many of how many; nothing where it is piped, or where there is nothing to replay."""
    err, out = _Terminal() if terminal else io.StringIO(), io.StringIO()
    monkeypatch.setattr("sys.stderr", err)
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setenv("TERM", "xterm")
    with decisions_bar(total) as done:
        done(60_000)
        done(40_000)
    assert ("100000/100000" in err.getvalue()) == shown
    assert shown or not err.getvalue()
    assert not out.getvalue()
