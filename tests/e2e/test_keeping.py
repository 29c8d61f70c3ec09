"""The operator's and the auditor's commands against a real server: changes, grants, audit, status, serve."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from discreet.cli.demo.server_process import ServerProcess
from tests.e2e.conftest import Running
from tests.server.cli.command import Outcome, discreet


def _digest(name: str) -> str:
    """The content of each name is its own: what is revoked under one comes back under no other."""
    return sha256(name.encode()).hexdigest()


def _put(server: Running, *names: str, version: str = "1", **fields: Any) -> Outcome:
    documents = [
        {"record_id": name, "version": version, "digest": _digest(name), "source_label": "peps", "scopes": ["public"],
         "attributes": {"status": "Final"}, "assessment_expires_at": "2099-12-31T00:00:00Z", **fields}
        for name in names
    ]  # fmt: skip
    return server("index", "put", "-", stdin=json.dumps(documents))


def _asked(server: Running, name: str, principal: str = "ana", session: str = "s-1") -> tuple[str, str]:
    request = {
        "moment": "RETRIEVE", "principal": {"id": principal}, "session_id": session,
        "segments": [{"id": "s", "kind": "chunk", "grounding": "BOUND",
                      "bindings": [{"record_id": name, "version": "1", "digest": _digest(name)}]}],
    }  # fmt: skip
    result = server("check", "-", "-o", "json", stdin=json.dumps(request)).tree["results"][0]
    return result["verdict"], result["reason"]


def test_b8_each_state_hides_and_shows_again(shared_server: Running) -> None:
    """B8: suspended, superseded, unreachable, out of scope, not assessed: each hides, and each can end."""
    _put(shared_server, "hide", "other")
    why = ("--reason", "test")
    changes = [
        ("suspend hide 1", "SUSPENDED", "resume hide 1"),
        ("supersede hide 1 --by other 1", "SUPERSEDED", "supersede hide 1 --clear"),
        ("unreachable hide 1", "DOCUMENT_UNREACHABLE", "unreachable hide 1 --reachable"),
        ("scopes hide 1 board", "NOT_AVAILABLE", "scopes hide 1 public"),
        ("scopes hide 1 --none", "NOT_AVAILABLE", "scopes hide 1 public"),
        ("assess hide 1 --unknown", "ELIGIBILITY_UNKNOWN", "assess hide 1 --until +9d"),
    ]
    for hide, reason, undo in changes:
        assert _asked(shared_server, "hide") == ("ALLOW", "NONE")
        done = shared_server("index", *hide.split(), *why)
        assert (done.code, "token" in done.out) == (0, True), done.err
        assert _asked(shared_server, "hide") == ("WITHHOLD", reason)
        assert shared_server("index", *undo.split(), *why).code == 0
    assert _asked(shared_server, "hide") == ("ALLOW", "NONE")


def test_a_revoke_asks_first_and_a_dry_run_does_nothing(shared_server: Running) -> None:
    """The only act that purges: said before it is done, and not done on a no."""
    _put(shared_server, "rev")
    why = ("--reason", "erasure", "--ticket", "T-1")
    dry = shared_server("index", "revoke", "rev", "1", *why, "--dry-run")
    assert (dry.code, "nothing was done" in dry.out) == (0, True), dry.err
    refused = shared_server("index", "revoke", "rev", "1", *why, stdin="n\n")
    assert refused.code == 130
    assert _asked(shared_server, "rev") == ("ALLOW", "NONE")
    assert shared_server("index", "revoke", "rev", "1", *why, stdin="y\n").code == 0
    assert _asked(shared_server, "rev") == ("PURGE", "RETENTION_REVOKED")
    shown = shared_server("index", "show", "rev", "--history")
    assert "revoked" in shown.out
    assert "T-1" in shown.out


def test_a_revoke_may_name_the_digest_of_its_dry_run(shared_server: Running) -> None:
    """What was looked at is what is revoked: another digest is refused, and nothing is done."""
    _put(shared_server, "dig")
    why = ("--reason", "erasure", "--ticket", "T-2", "-o", "json")
    digest = shared_server("index", "revoke", "dig", "1", *why, "--dry-run").tree["dry_run_digest"]
    wrong = shared_server("index", "revoke", "dig", "1", *why, "--yes", "--dry-run-digest", digest[::-1])
    assert wrong.code == 2
    assert _asked(shared_server, "dig") == ("ALLOW", "NONE")
    assert shared_server("index", "revoke", "dig", "1", *why, "--yes", "--dry-run-digest", digest).code == 0
    assert _asked(shared_server, "dig") == ("PURGE", "RETENTION_REVOKED")


def test_put_says_what_became_of_each_document(shared_server: Running) -> None:
    """Created, unchanged, updated, refused; one refused is exit code 2, and hides no other."""
    assert "CREATED" in _put(shared_server, "put").out
    assert "UNCHANGED" in _put(shared_server, "put").out
    assert "UPDATED" in _put(shared_server, "put", scopes=["board"]).out
    other = _put(shared_server, "put-b", source_label="nobody")
    assert other.code == 2
    assert "REFUSED" in other.out
    derived = _put(shared_server, "put-c", collector="me")
    assert (derived.code, "collector is derived" in derived.err) == (2, True)


def test_evidence_is_registered_and_shown(shared_server: Running) -> None:
    """A piece of evidence with its fields, as the index holds it."""
    piece = {"record_id": "ev", "version": "1", "digest": _digest("ev"), "source_label": "peps", "scopes": ["public"],
             "as_of": "2026-01-01T00:00:00Z", "basis": "counted", "origin": "COLLECTED", "own_source": True,
             "fields": {"value": 12, "unit": "pages"}}  # fmt: skip
    done = shared_server("index", "evidence", "-", stdin=json.dumps(piece))
    assert (done.code, "CREATED" in done.out) == (0, True), done.err
    shown = shared_server("index", "show", "ev").out
    assert "basis" in shown
    assert '"unit": "pages"' in shown


def test_an_unknown_record_is_bad_input(shared_server: Running) -> None:
    """Naming what is not there is 2, with the server's words."""
    shown = shared_server("index", "show", "no-such")
    assert shown.code == 2
    assert shown.err.startswith("discreet: ")


def test_grants_are_given_withdrawn_and_listed(shared_server: Running) -> None:
    """A grant opens, its end closes; the list with history shows both."""
    _put(shared_server, "board", scopes=["board"])
    assert _asked(shared_server, "board", "gina") == ("WITHHOLD", "NOT_AVAILABLE")
    assert shared_server("grant", "add", "gina", "board", "--expires", "+1d", "--reason", "test").code == 0
    assert _asked(shared_server, "board", "gina") == ("ALLOW", "NONE")
    standing = shared_server("grant", "list", "gina", "-o", "json").tree["grants"]
    assert [(grant["scope"], grant["withdrawn"]) for grant in standing] == [("board", False)]
    assert shared_server("grant", "withdraw", "gina", "board", "--reason", "test").code == 0
    assert _asked(shared_server, "board", "gina") == ("WITHHOLD", "NOT_AVAILABLE")
    assert "withdrawn" in shared_server("grant", "list", "gina", "--history").out


def test_b3_the_audit_is_queried_and_explained(shared_server: Running) -> None:
    """B3: what the reader was not told stands in the audit, found by filter, explained by id."""
    _put(shared_server, "secret", scopes=["board"])
    _put(shared_server, "plain")
    _asked(shared_server, "secret", "hal", "hal-1")
    _asked(shared_server, "plain", "hal", "hal-1")
    found = shared_server("audit", "query", "--principal", "hal", "--since", "1h", "-o", "jsonl").lines
    assert [item["decision"]["reason"] for item in found] == ["NONE", "SCOPE_DENIED"]
    denied = found[1]["decision"]
    assert denied["reader_reason"] == "NOT_AVAILABLE"
    for filters in (("--record", "secret"), ("--reason", "scope_denied"), ("--verdict", "WITHHOLD")):
        one = shared_server("audit", "query", "--session", "hal-1", *filters, "-o", "json").tree["decisions"]
        assert [item["decision"]["decision_id"] for item in one] == [denied["decision_id"]]
    assert shared_server("audit", "query", "--session", "hal-1", "--until", "1h", "-o", "jsonl").lines == []
    assert "SCOPE_DENIED (told: NOT_AVAILABLE)" in shared_server("audit", "query", "--session", "hal-1").out
    explained = shared_server("audit", "explain", denied["decision_id"])
    assert explained.code == 0
    assert "AVAILABILITY stopped here" in explained.out
    assert shared_server("audit", "explain", "no-such").code == 2


def test_f2_status_names_a_bad_commit_and_the_old_revision_stays(server: Running) -> None:
    """F2: a commit that does not compile is refused whole, and status says file, line and column."""
    before = server("status", "-o", "json").tree["policy"]
    server.repository.commit(
        "a slip", {"sources.yaml": "apiVersion: discreet/v1\nkind: SourceList\nnam: x\nsources: []\n"}
    )
    deadline = time.monotonic() + 20
    while not (status := server("status", "-o", "json").tree)["policy_error"]:
        assert time.monotonic() < deadline
    assert status["policy"] == before
    assert "sources.yaml:3:1" in status["policy_error"]
    shown = server("status")
    assert shown.code == 0
    assert "refused because" in shown.out


def _serve(*args: str) -> tuple[int, str]:
    """How a server that does not start ends, and what it says; it runs as a process of its own."""
    with TemporaryDirectory(prefix="ds-") as sockets:
        command = [sys.executable, "-m", "discreet.cli", "--socket-dir", sockets, "serve", *args]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr.splitlines()[-1]


def test_serve_ends_with_the_code_of_what_is_wrong(tmp_path: Path) -> None:
    """Bad configuration 2, bad policy 3, a database that cannot be used 5; the last line says what is wrong."""
    common = ("--db", str(tmp_path / "x.db"), "--state", str(tmp_path / "state"))
    assert _serve(*common) == (2, "discreet: policy: not given; name a directory or the URL of a Git repository")
    assert _serve(*common, "--policy", str(tmp_path / "no-such"))[0] == 3
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "discreet.yaml").write_text("kind: [\n")
    code, told = _serve(*common, "--policy", str(tmp_path / "bad"))
    assert (code, told.startswith("discreet: discreet.yaml:2:1: ")) == (3, True)
    assert discreet("policy", "init", str(tmp_path / "good")).code == 0
    code, told = _serve("--db", str(tmp_path), "--state", str(tmp_path / "state"), "--policy", str(tmp_path / "good"))
    assert (code, told.startswith("discreet: ")) == (5, True)


def test_a_second_server_on_the_same_sockets_is_refused(shared_server: Running, tmp_path: Path) -> None:
    """It names the first, and the first goes on."""
    command = [sys.executable, "-m", "discreet.cli", "--socket-dir", str(shared_server.process.sockets), "serve"]
    second = subprocess.run(
        [*command, "--policy", str(shared_server.repository.path), "--db", str(tmp_path / "x.db")],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (second.returncode, "process id" in second.stderr) == (5, True), second.stderr
    assert shared_server("status").code == 0


def test_loopback_speaks_for_the_identity_that_it_names(tmp_path: Path) -> None:
    """TCP has no identity of its own, so the listener names one; --target reaches it."""
    assert discreet("policy", "init", str(tmp_path / "policies")).code == 0
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with TemporaryDirectory(prefix="ds-") as name:
        process = ServerProcess(Path(name), tmp_path / "policies", "--listen", f"auditor=127.0.0.1:{port}")
        process.start()
        try:
            found = discreet("--target", f"127.0.0.1:{port}", "status", "-o", "json").tree["server"]
            assert (found["caller_name"], found["caller_role"]) == ("auditor", "auditor")
        finally:
            process.stop()


def test_serve_drains_at_sigterm_and_ends_with_0(tmp_path: Path) -> None:
    """A folder outside Git is served, marked dirty; told to stop, the server stops."""
    assert discreet("policy", "init", str(tmp_path / "policies")).code == 0
    with TemporaryDirectory(prefix="ds-") as name:
        process = ServerProcess(Path(name), tmp_path / "policies")
        process.start()
        assert process.status().policy.dirty
        assert process.stop() == 0


def test_the_console_script_and_the_module_are_the_same() -> None:
    """`discreet` and `python -m discreet.cli` end alike; an interrupt ends without a traceback."""
    done = subprocess.run([sys.executable, "-m", "discreet.cli", "chekc"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, discreet("chekc").err)
    waiting = subprocess.Popen(
        [sys.executable, "-m", "discreet.cli", "check", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert waiting.stdin is not None
    waiting.stdin.write(b"moment: ")
    waiting.stdin.flush()
    waiting.send_signal(signal.SIGTERM)
    _, told = waiting.communicate(timeout=20)
    assert b"Traceback" not in told
