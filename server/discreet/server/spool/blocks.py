"""Blocks of a spool file: what one write and one fdatasync made durable together. Pure: bytes in, bytes out.

A block says where it begins, how long it is, how many rows it has and when it was written, with a digest over all of it
and the file's name, so that no byte of it can change unseen, and no block counts in another file or at another place.

A block is written only once the one before it is durable. So whatever does not check out is a torn tail, of rows that
nobody was told of, unless an intact block lies behind it: then it is damage.
"""

import struct
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

MAGIC: Final = b"DSP1"
_HEAD: Final = struct.Struct(">4sQIIQ")
_LENGTH: Final = struct.Struct(">I")
DIGEST_BYTES: Final = 16
HEAD_BYTES: Final = _HEAD.size + DIGEST_BYTES


class Block(NamedTuple):
    """Where a block is. `first` is the number of its first row in the file, from 0; `at` is in microseconds."""

    offset: int
    end: int
    first: int
    rows: int
    at: int

    @property
    def size(self) -> int:
        """In bytes, all of it."""
        return self.end - self.offset


class Scanned(NamedTuple):
    """What a file holds: its blocks, where the last one ends, and where damage begins; None: there is none."""

    blocks: tuple[Block, ...]
    end: int
    damaged_at: int | None


def pack_block(name: str, offset: int, at: int, rows: Sequence[bytes]) -> bytes:
    """The bytes of a block. Without rows it is a seal: what stands before it was durable."""
    payload = b"".join(_LENGTH.pack(len(row)) + row for row in rows)
    head = _HEAD.pack(MAGIC, offset, len(payload), len(rows), at)
    return head + _digest(name, head, payload) + payload


def look_at(name: str, data: bytes, place: int, first: int, base: int = 0) -> Block | None:
    """The block that begins there; None where none does, or not all of it is there, or anything in it was changed.

    `place` is counted in the bytes, which are those of the file from `base` on.
    """
    begin = place + HEAD_BYTES
    if len(data) < begin:
        return None
    magic, offset, size, rows, at = _HEAD.unpack_from(data, place)
    end = begin + size
    if magic != MAGIC or offset != base + place or len(data) < end:
        return None
    head = data[place : place + _HEAD.size]
    if _digest(name, head, data[begin:end]) != data[place + _HEAD.size : begin]:
        return None
    return Block(offset, base + end, first, rows, at)


def scan(name: str, data: bytes) -> Scanned:
    """What the bytes of a whole file hold."""
    blocks: list[Block] = []
    end = first = 0
    while (block := look_at(name, data, end, first)) is not None:
        if block.rows:
            blocks.append(block)
        end, first = block.end, first + block.rows
    return Scanned(tuple(blocks), end, end if _any_behind(name, data, end) else None)


def rows_of(data: bytes) -> Iterator[bytes]:
    """The rows of an intact block."""
    place = HEAD_BYTES
    while place < len(data):
        (size,) = _LENGTH.unpack_from(data, place)
        place += _LENGTH.size
        yield data[place : place + size]
        place += size


def _any_behind(name: str, data: bytes, end: int) -> bool:
    place = data.find(MAGIC, end + 1)
    while place >= 0:
        if look_at(name, data, place, 0) is not None:
            return True
        place = data.find(MAGIC, place + 1)
    return False


def _digest(name: str, head: bytes, payload: bytes) -> bytes:
    found = blake2b(head, digest_size=DIGEST_BYTES, key=name.encode()[:64])
    found.update(payload)
    return found.digest()
