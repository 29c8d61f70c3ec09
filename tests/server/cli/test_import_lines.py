"""What an import reads: every line is a record or a reason, and a file that is cut off is noticed."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cli.checkpoint import BAD_KEPT_MAX, Checkpoint, load, place_of, save
from discreet.cli.errors import InputError
from discreet.cli.importing import Batch, batches
from discreet.cli.lines import LINE_BYTES_MAX, Bad, Good, Skipped, digest_of, read_lines
from discreet.v1.index_pb2 import DocumentInput, EvidenceInput

LINE = {"record_id": "a", "version": "1", "digest": "ab" * 32, "source_label": "peps"}


def _line(**fields: object) -> bytes:
    return json.dumps({**LINE, **fields}).encode() + b"\n"


def _read(tmp_path: Path, data: bytes, skip: int = 0) -> list[Good | Bad | Skipped]:
    file = tmp_path / "records.jsonl"
    file.write_bytes(data)
    return list(read_lines(str(file), skip))


def _whys(found: list[Good | Bad | Skipped]) -> dict[int, str]:
    return {item.number: item.why for item in found if isinstance(item, Bad)}


def test_a_line_is_a_document_unless_it_says_evidence(tmp_path: Path) -> None:
    """`kind` chooses; all other fields are those of the input that it names."""
    found = _read(tmp_path, _line() + _line(kind="evidence", own_source=True) + _line(kind="document"))
    kinds = [type(item.message) for item in found if isinstance(item, Good)]
    assert kinds == [DocumentInput, EvidenceInput, DocumentInput]


@pytest.mark.parametrize(
    "line,why",
    [
        (b"\n", "empty"),
        (b"  \n", "empty"),
        (b"{\n", "not JSON"),
        (b"[]\n", "not a mapping"),
        (b"\xff\n", "not UTF-8"),
        (_line(kind="row"), "kind is not a known one"),
        (_line(recordid="a"), "unknown field"),
        (_line(trusted_hit=True), "trusted_hit is derived"),
        (_line(allowlisted=True), "allowlisted is derived"),
        (_line(as_of="2026-01-01T00:00:00"), "offset"),
        (_line(version=1), "version is a number"),
        (_line(digest=""), "digest is missing"),
        (b'{"record_id": "a", "record_id": "b"}\n', "twice"),
        (_line(attributes={"a": "x" * LINE_BYTES_MAX}), "longer than"),
        (b'{"attributes": {"a": "\\ud800"}}\n', "surrogate"),
    ],
)
def test_a1_tim_01_a_bad_line_is_named_and_hides_no_other(tmp_path: Path, line: bytes, why: str) -> None:
    """A1, TIM-01: the number, the reason, and every good line around it."""
    found = _read(tmp_path, _line() + line + _line())
    assert [item.number for item in found if isinstance(item, Good)] == [1, 3]
    assert why in _whys(found)[2]
    assert not any(isinstance(item, Bad) and item.fatal for item in found)


@pytest.mark.parametrize("data", [b"", gzip.compress(b"")], ids=["nothing", "packed nothing"])
def test_an_empty_file_is_an_error(tmp_path: Path, data: bytes) -> None:
    """Nothing in a file is not the same as nothing to do, and removes nothing."""
    found = _read(tmp_path, data)
    assert [(item.fatal, "nothing removed" in item.why) for item in found if isinstance(item, Bad)] == [(True, True)]
    if not data:
        with pytest.raises(InputError, match="empty"):
            digest_of(tmp_path / "records.jsonl")


@given(st.data())
def test_a_file_that_is_cut_off_anywhere_is_noticed(data: st.DataObject) -> None:
    """Wherever the last line is cut, it is either whole or said to be cut off; no line before it is lost."""
    whole = _line() * 3
    cut = data.draw(st.integers(1, len(whole) - 1))
    found = list(_from_stdin(whole[:cut]))
    complete = whole[:cut].count(b"\n")
    assert [item.number for item in found if isinstance(item, Good)][:complete] == list(range(1, complete + 1))
    last = whole[:cut].rpartition(b"\n")[2]
    if last and last + b"\n" != _line():
        assert isinstance(found[-1], Bad)
        assert found[-1].fatal


@given(st.data())
def test_a_gzip_file_that_is_cut_off_anywhere_is_noticed(data: st.DataObject) -> None:
    """A download that broke off never reads as a shorter file."""
    packed = gzip.compress(b"".join(_line(version=str(n)) for n in range(200)))
    found = list(_from_stdin(packed[: data.draw(st.integers(2, len(packed) - 1))]))
    assert isinstance(found[-1], Bad)
    assert found[-1].fatal


def test_a_damaged_gzip_file_is_noticed(tmp_path: Path) -> None:
    """The checksum at the end is compared."""
    packed = bytearray(gzip.compress(_line() * 50))
    packed[-6] ^= 0xFF
    found = _read(tmp_path, bytes(packed))
    assert isinstance(found[-1], Bad)
    assert "damaged" in found[-1].why


def _from_stdin(data: bytes) -> list[Good | Bad | Skipped]:
    import sys

    kept = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))
    try:
        return list(read_lines("-"))
    finally:
        sys.stdin = kept


def test_lines_that_are_skipped_are_read_all_the_same(tmp_path: Path) -> None:
    """Resuming keeps line numbers, and notices a file that is cut off among what it skips."""
    found = _read(tmp_path, _line() * 4, skip=2)
    assert [type(item).__name__ for item in found] == ["Skipped", "Skipped", "Good", "Good"]
    assert [item.number for item in found] == [1, 2, 3, 4]


def test_batches_keep_the_order_the_kind_and_the_limit(tmp_path: Path) -> None:
    """A record's versions arrive in their order, so a batch never reaches past a line of another kind."""
    lines = _line() * 3 + _line(kind="evidence", own_source=True) + b"\n" + _line() * 2
    found = list(batches(_read(tmp_path, lines), 2))
    assert [[item.number for item in batch.good] for batch in found] == [[1, 2], [3], [4], [6, 7]]
    assert [item.number for batch in found for item in batch.bad] == [5]
    assert [batch.last_line for batch in found] == [2, 3, 5, 7]
    assert list(batches([], 2)) == [Batch()]


def test_a_checkpoint_is_read_back_and_only_for_the_same_input(tmp_path: Path) -> None:
    """Going on with another file, server or tenant would leave lines out in silence."""
    place = place_of(tmp_path / "records.jsonl")
    kept = Checkpoint("ab", "unix:x", "marlowe", 7, ("a", "1"), [(3, "why")])
    save(place, kept)
    fresh = Checkpoint("ab", "unix:x", "marlowe")
    assert load(place, fresh) == kept
    for other in (
        Checkpoint("cd", "unix:x", "marlowe"),
        Checkpoint("ab", "unix:y", "marlowe"),
        Checkpoint("ab", "unix:x", "b"),
    ):
        with pytest.raises(InputError, match="without --resume"):
            load(place, other)
    place.write_text("{}")
    with pytest.raises(InputError, match="cannot be read"):
        load(place, fresh)
    place.unlink()
    assert load(place, fresh) is None


def test_a_checkpoint_s_list_of_bad_lines_is_bounded() -> None:
    """Every bad line is counted, once; past the limit the reasons are no longer kept."""
    found = Checkpoint("ab", "x", "t")
    for number in range(BAD_KEPT_MAX + 1):
        found.add_bad(number, "why")
    found.add_bad(0, "again")
    assert (len(found.bad), found.bad_count) == (BAD_KEPT_MAX, BAD_KEPT_MAX + 1)
