"""Frames of a check stream, cut and joined as bytes: the check inside is parsed once, by the core."""

from __future__ import annotations

from typing import NamedTuple

from discreet.policy.codec import Malformed
from discreet.v1 import disclosure_pb2 as pb

_HINT = "send CheckStreamRequest frames"


class Frame(NamedTuple):
    """One frame. `frame_id` 0: it named none."""

    frame_id: int
    check: bytes | None
    problem: Malformed | None = None


def split(data: bytes) -> Frame:
    """The frame that the bytes are; what is wrong with it stands in `problem`, so that the frame fails alone."""
    frame_id, parts, problem, at = 0, list[bytes](), None, 0
    while at < len(data) and problem is None:
        tag, at = _varint(data, at)
        if tag == 0x08:
            frame_id, at = _varint(data, at)
        elif tag == 0x12:
            size, at = _varint(data, at)
            parts.append(data[at : at + size])
            at += size
        else:
            problem = Malformed(f"field number {tag >> 3}", "is an unknown field", _HINT)
    if problem is None and at > len(data):
        problem = Malformed("", "is not a CheckStreamRequest", _HINT)
    elif problem is None and not 0 < frame_id < 1 << 64:
        problem = Malformed("frame_id", "is missing", "number the frames, from 1 on")
    elif problem is None and not parts:
        problem = Malformed("check", "is missing", "give the CheckRequest of this frame")
    # Two occurrences of a message field mean the two merged, and merging is joining their bytes.
    return Frame(frame_id if frame_id < 1 << 64 else 0, b"".join(parts) if parts else None, problem)


def joined(frame_id: int, response: bytes) -> bytes:
    """The bytes of a CheckStreamResponse with the bytes of a CheckResponse in it."""
    return b"\x08" + _encoded(frame_id) + b"\x12" + _encoded(len(response)) + response


def refused(frame_id: int, code: int, message: str) -> bytes:
    """The bytes of a CheckStreamResponse with an error in it."""
    return pb.CheckStreamResponse(
        frame_id=frame_id, error=pb.FrameError(code=code, message=message)
    ).SerializeToString()


def _encoded(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number and the place after it; a place beyond the end where the bytes break off."""
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    return 0, len(data) + 1
