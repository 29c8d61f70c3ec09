"""The guide to hiding, holding and revoking, command by command against a real server; and what the commands refuse."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from discreet.cli.demo.repository import PolicyRepository
from discreet.cli.demo.server_process import ServerProcess
from tests.e2e.conftest import Running
from tests.tidy.tree import ROOT

GUIDE = (ROOT / "docs" / "guides" / "revoking.md").read_text("utf-8")
IDENTITIES = """identities:
  - {name: collector, role: collector, tenants: "*"}
  - {name: operator, role: operator, tenants: "*"}
  - {name: second, role: operator, tenants: [marlowe]}
"""
RECORDS = ("notes/leave", "notes/pay", "notes/trips", "old/a", "old/b", "list/a", "list/b", "own")
IDS = ("freeze_id", "hold_id", "tombstone_id", "approval_id")


def blocks(heading: str) -> list[str]:
    """The commands of a section of the guide, without the program's name."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", GUIDE, re.MULTILINE | re.DOTALL)
    lines = [line for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL) for line in block.splitlines()]
    return [line.removeprefix("discreet ") for line in lines]


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with two operators, records and a list of versions in the working directory."""
    yield from _started(tmp_path_factory.mktemp("g"))


@pytest.fixture(scope="module")
def by_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The same, where revokes and lifting need two."""
    yield from _started(tmp_path_factory.mktemp("t"), *shlex.split(blocks("Two persons")[0])[3:])


def _started(directory: Path, *arguments: str) -> Iterator[Running]:
    (directory / "server.yaml").write_text(IDENTITIES)
    repository = PolicyRepository(directory / "policies")
    repository.first_commit()
    process = ServerProcess(directory, repository.path, "--config", str(directory / "server.yaml"), *arguments)
    process.start()
    server = Running(process, repository)
    documents = [
        {
            "record_id": name,
            "version": "1",
            "digest": sha256(name.encode()).hexdigest(),
            "source_label": "internal-notes" if name == "own" else "peps",
            "scopes": ["public"],
            "assessment_expires_at": "2099-12-31T00:00:00Z",
        }
        for name in RECORDS
    ]
    assert server("index", "put", "-", stdin=json.dumps(documents)).code == 0
    yield server
    process.stop()
    repository.close()


def test_every_command_of_the_guide_does_what_it_says(
    stocked: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """B7, B8, B9 at the command line: each line of the guide, in its order, ends with 0."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "versions.csv").write_text("record_id,version\nlist/a,1\nlist/b,1\n")
    ids: dict[str, str] = {}
    for line in (*blocks("Revoke"), *blocks("Freeze"), *blocks("Hold")):
        words = [ids.pop(word, word) for word in shlex.split(line)]
        told = stocked(*words, "-o", "json")
        assert told.code == 0, (line, told.err)
        stones: list[dict[str, str]] = told.tree.get("tombstones", [])
        given: dict[str, str] = stones[0] if stones else told.tree
        ids = {name.upper(): given[name] for name in IDS if given.get(name)} | ids
    listed = stocked("index", "list", "-o", "json").tree["records"]
    assert [one["record_id"] for one in listed if not one["retention_revoke"]] == ["notes/trips"]
    table = stocked("index", "list").out
    assert "held by 1" in table
    assert stocked("freezes").out.count("leak reported") == 2


def test_two_persons_approve_and_reject(by_two: Running) -> None:
    """What waits is told with its id; approving prints the order; rejecting drops it."""
    asked = by_two("index", "revoke", "notes/leave", "1", "--reason", "r", "--ticket", "T-1", "--yes")
    assert "nothing was done yet; another operator must approve" in asked.out
    for number, line in enumerate(blocks("Two persons")[1:]):
        if number == 2:
            assert by_two("index", "revoke", "notes/pay", "1", "--reason", "r", "--ticket", "T-2", "--yes").code == 0
        waiting = by_two("approvals", "-o", "json").tree["approvals"]
        told = by_two(*(waiting[0]["approval_id"] if word == "APPROVAL_ID" else word for word in shlex.split(line)))
        assert told.code == 0, (line, told.err)
    assert by_two("approvals", "-o", "json").tree["approvals"] == []
    settled = by_two("approvals", "--settled").out
    assert all(word in settled for word in ("APPROVED", "REJECTED", "second"))
    shown = by_two("index", "list", "--record", "notes/leave", "-o", "json").tree["records"]
    assert shown[0]["retention_revoke"]["actor"] == "operator"


def test_a_dry_run_shows_what_would_be_revoked_and_its_digest_binds(stocked: Running) -> None:
    """RET-09 at the command line: what the dry run names is what is revoked, and a wrong digest stops it."""
    words = ("index", "revoke", "--query-prefix", "dry/", "--reason", "r", "--ticket", "T-5")
    record = {"record_id": "dry/a", "version": "1", "digest": "a" * 64, "source_label": "peps", "scopes": ["public"]}
    quoted = {"kind": "evidence", "origin": "COLLECTED", "of": [{"record_id": "dry/a", "version": "1"}]}
    quote = record | quoted | {"record_id": "quote/a", "digest": "9" * 64}
    more = [record, record | {"record_id": "dry/b", "digest": "b" * 64}]
    lines = "".join(f"{json.dumps(line)}\n" for line in (*more, quote))
    assert stocked("index", "import", "-", stdin=lines).code == 0
    dry = stocked(*words, "--dry-run")
    assert (dry.code, "2 versions would be revoked" in dry.out, "dry/b" in dry.out) == (0, True, True)
    assert "1 more were built on them and fall with them" in dry.err
    (digest,) = re.findall(r"digest of this dry run: ([0-9a-f]{64})", dry.err)
    wrong = stocked(*words, "--dry-run-digest", "0" * 64, "--yes")
    assert (wrong.code, "dry_run_digest" in wrong.err) == (2, True)
    no = stocked(*words, stdin="n\n")
    assert (no.code, "2 versions are revoked for good" in no.err) == (130, True)
    done = stocked(*words, "--dry-run-digest", digest, "--yes", "-o", "json")
    assert (done.code, done.tree["affected_versions"], bool(done.tree["purge_order_id"])) == (0, 2, True)


def test_revoked_content_does_not_come_back_through_an_import(stocked: Running, tmp_path: Path) -> None:
    """B7, RET-01: lines with it are refused, naming the tombstone; the others go through; lifting lets it in."""
    first = {"record_id": "imp/a", "version": "1", "digest": "c" * 64, "source_label": "peps", "scopes": ["public"]}
    assert stocked("index", "put", "-", stdin=json.dumps([first])).code == 0
    assert stocked("index", "revoke", "imp/a", "--all-versions", "--reason", "r", "--ticket", "T-6", "--yes").code == 0
    lines = [
        first,
        first | {"version": "2", "digest": "d" * 64},
        first | {"record_id": "imp/b"},
        first | {"record_id": "imp/q", "kind": "evidence", "origin": "COLLECTED", "digest": "e" * 64,
                 "of": [{"record_id": "imp/a", "version": "1"}]},
        first | {"record_id": "imp/c", "digest": "f" * 64},
    ]  # fmt: skip
    file = tmp_path / "again.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    told = stocked("index", "import", str(file), "--no-checkpoint", "-o", "json")
    assert (told.code, told.tree["created"], [bad["line"] for bad in told.tree["bad"]]) == (2, 1, [1, 2, 3, 4])
    assert all("revoked" in bad["why"] for bad in told.tree["bad"])
    stones = stocked("tombstone", "list", "--digest", "c" * 64, "-o", "json").tree["tombstones"]
    assert stones[0]["tombstone_id"] in told.tree["bad"][2]["why"]
    lift = ("tombstone", "lift", stones[0]["tombstone_id"], "--reason", "approved anew", "--ticket", "T-7")
    assert "lifted; it refuses nothing any more" in stocked(*lift).out
    again = stocked("index", "import", str(file), "--no-checkpoint", "-o", "json")
    assert (again.tree["created"], [bad["line"] for bad in again.tree["bad"]]) == (1, [1, 2, 4])


@pytest.mark.parametrize(
    "content, wrong",
    [
        ("a 1\nb\nc 1 2\n", ("2: has 1 values", "3: has 3 values", "2 of 3 lines are bad")),
        ('a,1\n"b,1\n', ("2: is not CSV",)),
        ('{"record_id": "a", "version": 1}\n', ("1: record_id and version must be text",)),
        ('{"record_id": "a"}\n', ("1: is not a version",)),
        ("{\n", ("1: not JSON",)),
        ("a 1\na 1\n", ("2: the same as line 1",)),
        ("# nothing\n", ("names no version",)),
    ],
)
def test_bad_lines_of_a_list_are_named_and_nothing_is_asked(
    stocked: Running, tmp_path: Path, content: str, wrong: tuple[str, ...]
) -> None:
    """Every bad line with its number; nothing of the list is revoked."""
    file = tmp_path / "list.txt"
    file.write_text(content)
    told = stocked("index", "revoke", "--file", str(file), "--reason", "r", "--ticket", "T-1", "--yes")
    assert told.code == 2
    assert all(part in told.err for part in wrong), told.err


def test_lists_are_read_in_each_form(stocked: Running, tmp_path: Path) -> None:
    """Spaces, CSV with quotes and a header, JSONL, comments, empty lines and Windows line ends."""
    forms = [
        "# from the registry\nlist/a 1\n\nlist/b\t1\n",
        'record_id,version\r\nlist/a,1\r\n"list/b",1\r\n',
        '{"record_id": "list/a", "version": "1"}\n{"version": "1", "record_id": "list/b"}\n',
    ]
    for number, content in enumerate(forms):
        file = tmp_path / f"{number}.txt"
        file.write_bytes(content.encode())
        told = stocked(
            "index", "revoke", "--file", str(file), "--reason", "r", "--ticket", "T", "--dry-run", "-o", "json"
        )
        assert told.code == 0, told.err
        assert told.tree["affected_versions"] + told.tree["already_revoked"] == 2


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("a",),
        ("a", "1", "--all-versions"),
        ("a", "1", "--source", "peps"),
        ("--source", "peps", "--query-label", "peps"),
        ("--all-versions",),
        ("--query-attribute", "status"),
        ("--query-as-of-before", "-1"),
        ("--query-as-of-before", "90"),
        ("--query-as-of-before", ""),
    ],
)
def test_an_extent_that_is_not_one_is_refused_before_anything_is_asked(
    stocked: Running, words: tuple[str, ...]
) -> None:
    """RET-09: no extent, two of them, half of one, or a cut-off that is no time: nothing is revoked."""
    told = stocked("index", "revoke", *words, "--reason", "r", "--ticket", "T-1", "--yes")
    assert told.code == 2, told.out


@pytest.mark.parametrize(
    "words",
    [
        ("freeze", "--for", "2h", "--reason", "r"),
        ("freeze", "peps", "--all", "--for", "2h", "--reason", "r"),
        ("freeze", "peps", "--for", "-2h", "--reason", "r"),
        ("freeze", "peps", "--for", "32d", "--reason", "r"),
        ("hold", "place", "--reason", "r", "--ticket", "T-1"),
        ("hold", "place", "a", "--source", "peps", "--reason", "r", "--ticket", "T-1"),
        ("hold", "lift", "none", "--reason", "r", "--ticket", "T-1"),
        ("tombstone", "lift", "none", "--reason", "r", "--ticket", "T-1"),
        ("approve", "none", "--reason", "r"),
        ("unfreeze", "none", "--all", "--reason", "r"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(stocked: Running, words: tuple[str, ...]) -> None:
    """Exit code 2 and one line that says what would be right."""
    told = stocked(*words)
    assert (told.code, told.err.startswith("discreet: ")) == (2, True), told.err


def test_a_suspension_for_a_time_shows_its_end(stocked: Running) -> None:
    """B8: the table and the record say until when."""
    until = ("index", "suspend", "notes/trips", "1", "--until", "+2h", "--reason", "r")
    assert stocked(*until).code == 0
    assert "suspended until 20" in stocked("index", "list", "--record", "notes/trips").out
    assert stocked("index", "resume", "notes/trips", "1", "--reason", "r").code == 0
    assert "suspended" not in stocked("index", "list", "--record", "notes/trips").out
