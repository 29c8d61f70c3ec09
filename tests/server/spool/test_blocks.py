"""What a spool file's bytes say: torn tails are passed over, damage never is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from discreet.server.ports import AuditRecord
from discreet.server.spool.blocks import Block, pack_block, rows_of, scan
from discreet.server.spool.rows import pack_row, unpack_row
from tests.contract.making import audit, decision

NAME = "0" * 32
FILES = st.lists(st.lists(st.binary(max_size=40), min_size=1, max_size=3), min_size=1, max_size=5)


def file_of(blocks: list[list[bytes]], *, sealed: bool = False) -> bytes:
    """The bytes of a file with these blocks."""
    data = b""
    for number, rows in enumerate([*blocks, []] if sealed else blocks):
        data += pack_block(NAME, len(data), number, rows)
    return data


def whole(data: bytes) -> list[Block]:
    """The blocks of a file that nobody touched."""
    found = scan(NAME, data)
    assert (found.end, found.damaged_at) == (len(data), None)
    return list(found.blocks)


@given(FILES)
def test_what_was_written_is_read(blocks: list[list[bytes]]) -> None:
    """AUD-01: every row, in its order, with its number."""
    data = file_of(blocks)
    found = whole(data)
    assert [list(rows_of(data[block.offset : block.end])) for block in found] == blocks
    assert [block.first for block in found] == [sum(map(len, blocks[:number])) for number in range(len(blocks))]


@given(FILES, st.data())
def test_a_torn_tail_is_passed_over(blocks: list[list[bytes]], data: st.DataObject) -> None:
    """AUD-01: wherever a write broke off, and whatever stands behind it, the blocks before are all there."""
    written = file_of(blocks)
    cut = data.draw(st.integers(0, len(written)))
    junk = data.draw(st.one_of(st.just(b""), st.just(bytes(64)), st.binary(max_size=64)))
    found = scan(NAME, written[:cut] + junk)
    assert found.damaged_at is None
    assert set(found.blocks) >= {block for block in whole(written) if block.end <= cut}
    assert set(found.blocks) <= set(whole(written))


@given(FILES, st.data())
def test_damage_before_the_last_block_is_known(blocks: list[list[bytes]], data: st.DataObject) -> None:
    """AUD-01: any byte of it, changed in any way; a sealed file has no tail that could be torn."""
    written = bytearray(file_of(blocks, sealed=True))
    last = whole(bytes(written))[-1].end
    place = data.draw(st.integers(0, last - 1))
    written[place] ^= data.draw(st.integers(1, 255))
    hit = next(block for block in whole(file_of(blocks)) if block.offset <= place < block.end)
    found = scan(NAME, bytes(written))
    assert found.damaged_at == hit.offset
    assert [block.end for block in found.blocks if block.end > hit.offset] == []


@given(FILES)
def test_a_block_counts_in_its_own_file_alone(blocks: list[list[bytes]]) -> None:
    """AUD-01: the same bytes under another name are nothing that was written."""
    assert scan("1" * 32, file_of(blocks)).blocks == ()


@given(st.binary(max_size=200), st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_a_row_comes_back_as_it_was(body: bytes, text: str) -> None:
    """F7: its columns and its bytes."""
    row: AuditRecord = audit(body=body, principal_id=text, decisions=(decision(record_ids=(text, "b"), labels=("l",)),))
    assert unpack_row(pack_row(row)) == row
