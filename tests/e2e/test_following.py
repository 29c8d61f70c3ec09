"""`discreet audit query --follow` as a process of its own, beside a server that decides."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys

from tests.e2e.conftest import Running
from tests.e2e.test_keeping import _asked, _put

COMMAND = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from discreet.cli import main; main()"
)
"""The command as a terminal starts it: where the suite runs in the background, it and its children ignore SIGINT."""


def test_decisions_are_followed_as_they_come_until_ctrl_c(server: Running) -> None:
    """F7: from the time given on, the oldest first, one a line; Ctrl-C ends it with exit code 0."""
    _put(server, "plain")
    _asked(server, "plain", "ana", "before")
    words = ("audit", "query", "--follow", "--every", "0.05", "--since", "1h", "-o", "jsonl")
    where = ("--socket-dir", str(server.process.sockets), "--tenant", "marlowe")
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, *where, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["session_id"] == "before"
        for session in ("first", "second"):
            _asked(server, "plain", "ana", session)
            assert json.loads(process.stdout.readline())["session_id"] == session
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


def test_what_is_listed_reads_back_from_csv(shared_server: Running) -> None:
    """E3, F7: one line a row under the names; a session that looks like a formula is text."""
    _put(shared_server, "plain")
    _asked(shared_server, "plain", "eve", "=1+1")
    for words in (("query", "--principal", "eve"), ("what-saw", "eve"), ("who-saw", "plain")):
        (row,) = csv.DictReader(shared_server("audit", *words, "-o", "csv").out.splitlines())
        assert (row["session_id"], row["principal_id"], row["records"]) == ("'=1+1", "eve", "plain 1")
    (act,) = csv.DictReader(shared_server("audit", "acts", "--record", "plain", "-o", "csv").out.splitlines())
    assert (act["method"], act["caller"]) == ("PutDocuments", "collector")
    (tree,) = shared_server("audit", "acts", "--record", "plain", "-o", "json").tree["acts"]
    assert (tree["act"], tree["change"]["record"]) == ("CHANGE", {"record_id": "plain", "version": "1"})
    (seen,) = shared_server("audit", "who-saw", "plain", "--version", "1", "-o", "jsonl").lines
    assert (seen["how_far"], seen["named_itself"], seen["confirmed"]) == ("retrieved", True, False)
    assert shared_server("audit", "who-saw", "plain", "--version", "2", "-o", "jsonl").lines == []
