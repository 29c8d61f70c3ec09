"""`discreet index import` against a real server: bad lines, resuming, cut-off and empty files; nothing is removed."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

from tests.e2e.conftest import Running

FOREVER = "2099-12-31T00:00:00Z"


def _line(record_id: str, version: int = 1, **fields: object) -> str:
    line: dict[str, object] = {
        "record_id": record_id,
        "version": str(version),
        "digest": sha256(f"{record_id} {version}".encode()).hexdigest(),
        "source_label": "peps",
        "scopes": ["public"],
        "assessment_expires_at": FOREVER,
        **fields,
    }
    if version > 1:
        line["supersedes_version"] = str(version - 1)
    return json.dumps(line) + "\n"


def _write(tmp_path: Path, *lines: str) -> str:
    file = tmp_path / "records.jsonl"
    file.write_text("".join(lines))
    return str(file)


def _held(server: Running, record_id: str) -> list[str]:
    return [record["version"] for record in server("index", "list", "--record", record_id, "-o", "jsonl").lines]


def test_bad_lines_are_named_and_the_good_ones_arrive(shared_server: Running, tmp_path: Path) -> None:
    """One bad line hides no other; the exit code says that something is left to do."""
    file = _write(
        tmp_path, _line("bad-a"), "{oops\n", "\n", _line("bad-b", trusted_hit=True),
        _line("bad-c", source_label="nobody"),
        _line("bad-d", as_of="2026-01-01T00:00:00"), _line("bad-e"),
    )  # fmt: skip
    done = shared_server("index", "import", file)
    assert done.code == 2
    told = done.err.splitlines()
    assert [line.split(":")[0] for line in told[:5]] == ["line 2", "line 3", "line 4", "line 5", "line 6"]
    assert "not JSON" in told[0]
    assert "empty" in told[1]
    assert "trusted_hit is derived" in told[2]
    assert "refused by the server" in told[3]
    assert "offset" in told[4]
    assert "7 lines read: 2 created, 1 refused; 5 bad lines" in done.err
    assert (_held(shared_server, "bad-a"), _held(shared_server, "bad-e")) == (["1"], ["1"])
    assert _held(shared_server, "bad-b") == []


def test_evidence_and_documents_stand_in_one_file(shared_server: Running, tmp_path: Path) -> None:
    """`kind` chooses line by line; the order is kept, so evidence may name a document above it."""
    evidence = _line("mix-e", kind="evidence", origin="COLLECTED", of=[{"record_id": "mix-d", "version": "1"}],
                     as_of="2026-01-01T00:00:00Z", basis="as printed", fields={"value": 4})  # fmt: skip
    file = _write(tmp_path, _line("mix-d"), evidence, _line("mix-d", 2))
    done = shared_server("index", "import", file, "-o", "json")
    assert (done.code, done.tree["created"]) == (0, 3), done.out
    shown = shared_server("index", "show", "mix-e", "-o", "json").tree["record"]
    assert (shown["kind"], shown["fields"], shown["origin"]) == ("EVIDENCE", {"value": 4}, "COLLECTED")


def test_strict_stops_at_the_first_bad_line_and_resume_goes_on(shared_server: Running, tmp_path: Path) -> None:
    """What was acknowledged is not sent again; what was bad is told again, since it is still not registered."""
    file = _write(tmp_path, *(_line(f"res-{n}") for n in range(5)), "oops\n", *(_line(f"res-{n}") for n in range(5, 9)))
    stopped = shared_server("index", "import", file, "--strict", "--batch", "2", "-o", "json")
    assert (stopped.code, stopped.tree["created"], stopped.tree["bad"][0]["line"]) == (2, 5, 6)
    assert _held(shared_server, "res-5") == []
    resumed = shared_server("index", "import", file, "--resume", "-o", "json")
    assert (resumed.code, resumed.tree["created"], resumed.tree["unchanged"]) == (2, 4, 0)
    assert [item["line"] for item in resumed.tree["bad"]] == [6]
    assert _held(shared_server, "res-8") == ["1"]


def test_resume_refuses_a_file_that_has_changed(shared_server: Running, tmp_path: Path) -> None:
    """Line numbers of one file mean nothing in another; importing it whole is harmless."""
    file = _write(tmp_path, _line("chg-a"), "oops\n")
    assert shared_server("index", "import", file).code == 2
    mended = _write(tmp_path, _line("chg-a"), _line("chg-b"))
    refused = shared_server("index", "import", mended, "--resume")
    assert refused.code == 2
    assert "without --resume" in refused.err
    done = shared_server("index", "import", file, "-o", "json")
    assert (done.code, done.tree["created"], done.tree["unchanged"]) == (0, 1, 1)


def test_resume_refuses_where_the_index_no_longer_holds_what_was_acknowledged(server: Running, tmp_path: Path) -> None:
    """A checkpoint outlives a database that was restored or replaced; skipping its lines would lose them."""
    file = _write(tmp_path, _line("gone-a"), "oops\n")
    assert server("index", "import", file).code == 2
    place = Path(f"{file}.discreet-import")
    place.write_text(place.read_text().replace("gone-a", "gone-b"))
    refused = server("index", "import", file, "--resume")
    assert refused.code == 2
    assert "does not hold what the checkpoint says" in refused.err


def test_an_import_that_was_killed_goes_on_where_it_was(server: Running, tmp_path: Path) -> None:
    """Killed between two batches, resumed: every line once, in the order of the file."""
    count = 3_000
    file = _write(tmp_path, *(_line(f"kill-{n % 50}", n // 50 + 1) for n in range(count)))
    place = Path(f"{file}.discreet-import")
    command = [sys.executable, "-m", "discreet.cli", "--socket-dir", str(server.process.sockets), "--tenant", "marlowe"]
    running = subprocess.Popen([*command, "index", "import", file, "--batch", "50"], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not place.exists() and time.monotonic() < deadline:
        assert running.poll() is None, "it was to be killed on its way"
    running.send_signal(signal.SIGKILL)
    running.wait(30)
    acknowledged = json.loads(place.read_text())["lines"]
    assert 0 < acknowledged < count
    resumed = server("index", "import", file, "--resume", "-o", "json")
    assert (resumed.code, resumed.tree["lines"], resumed.tree["bad_lines"]) == (0, count, 0)
    assert f"resuming behind line {acknowledged:,}" in resumed.err
    assert resumed.tree["created"] + resumed.tree["unchanged"] == count - acknowledged
    listed = server("index", "list", "--limit", "5000", "-o", "jsonl").lines
    assert len(listed) == count
    assert {record["version"] for record in listed if record["current"]} == {"60"}
    assert not place.exists()


def test_a_server_that_goes_away_ends_the_import_with_5_and_how_to_go_on(server: Running, tmp_path: Path) -> None:
    """Nothing is guessed about what was under way; once the server is back, --resume goes on."""
    count = 4_000
    file = _write(tmp_path, *(_line(f"lost-{n}") for n in range(count)))
    place = Path(f"{file}.discreet-import")
    command = [sys.executable, "-m", "discreet.cli", "--socket-dir", str(server.process.sockets), "--tenant", "marlowe"]
    running = subprocess.Popen([*command, "index", "import", file, "--batch", "50"], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not place.exists() and time.monotonic() < deadline:
        assert running.poll() is None
    assert server.process.stop() == 0
    _, told = running.communicate(timeout=60)
    assert running.returncode == 5, told
    assert told.splitlines()[-1].endswith("; go on with --resume")
    server.process.start()
    resumed = server("index", "import", file, "--resume", "-o", "json")
    assert (resumed.code, resumed.tree["lines"]) == (0, count)
    assert len(server("index", "list", "--limit", "5000", "-o", "jsonl").lines) == count


@pytest.mark.parametrize("cut", ["plain", "gzip"])
def test_a_file_that_is_cut_off_is_an_error_and_removes_nothing(
    shared_server: Running, tmp_path: Path, cut: str
) -> None:
    """The whole lines before the cut arrive; nothing that was there before goes."""
    whole = [_line(f"cut-{cut}-{n}", note) for n, note in enumerate([1] * 400)]
    assert shared_server("index", "import", _write(tmp_path, *whole)).code == 0
    data = "".join(whole).encode()
    file = tmp_path / "cut.jsonl"
    file.write_bytes(data[: len(data) // 2] if cut == "plain" else gzip.compress(data)[:-2_000])
    done = shared_server("index", "import", str(file))
    assert done.code == 2
    assert "cut off" in done.err
    assert _held(shared_server, f"cut-{cut}-399") == ["1"]


def test_an_empty_file_is_an_error_and_removes_nothing(shared_server: Running, tmp_path: Path) -> None:
    """An empty export never reads as "everything is gone"."""
    assert shared_server("index", "import", _write(tmp_path, _line("empty-a"))).code == 0
    for data in (b"", gzip.compress(b"")):
        (tmp_path / "empty.jsonl").write_bytes(data)
        done = shared_server("index", "import", str(tmp_path / "empty.jsonl"))
        assert done.code == 2
        assert "nothing" in done.err
        assert "removed" in done.err
    from_stdin = shared_server("index", "import", "-", stdin=b"")
    assert (from_stdin.code, "nothing was imported" in from_stdin.err) == (2, True)
    assert _held(shared_server, "empty-a") == ["1"]


def test_standard_input_is_imported_plain_and_packed(shared_server: Running) -> None:
    """A pipe is as good as a file, but it cannot be resumed."""
    plain = shared_server("index", "import", "-", "-o", "json", stdin=_line("pipe-a"))
    packed = shared_server("index", "import", "-", "-o", "json", stdin=gzip.compress(_line("pipe-b").encode()))
    assert (plain.code, packed.code) == (0, 0)
    assert (plain.tree["created"], packed.tree["created"]) == (1, 1)
    assert shared_server("index", "import", "-", "--resume", stdin=b"{}").code == 2


def test_control_characters_of_a_file_never_reach_the_terminal(shared_server: Running, tmp_path: Path) -> None:
    """What the server says of a record id with an escape sequence is printed as an escape."""
    done = shared_server("index", "import", _write(tmp_path, _line("esc-\x1b[2J")))
    assert done.code == 2
    assert "\x1b" not in done.err + done.out
