"""Lines of a JSONL file, plain or gzip, as registrations with their line numbers: good as messages, bad as reasons.

Nothing is skipped silently: an empty line, a cut-off file and a broken gzip stream each are said.
"""

import gzip
import hashlib
import json
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from discreet.cli.errors import InputError
from discreet.cli.messages import build
from discreet.cli.reading import Tree, parse_json
from discreet.v1.index_pb2 import DocumentInput, EvidenceInput

LINE_BYTES_MAX = 1_000_000
_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 20
KINDS = {"document": DocumentInput, "evidence": EvidenceInput}


@dataclass(frozen=True, slots=True)
class Good:
    """A line that can be sent. `read`: bytes of the file read so far; `size`: bytes of this line."""

    number: int
    message: DocumentInput | EvidenceInput
    size: int
    read: int


@dataclass(frozen=True, slots=True)
class Bad:
    """A line that cannot. `fatal`: nothing can be read after it, since the file is cut off or broken."""

    number: int
    why: str
    fatal: bool = False


@dataclass(frozen=True, slots=True)
class Skipped:
    """A line that an earlier run of the same file has had acknowledged."""

    number: int
    read: int


def digest_of(path: Path) -> str:
    """SHA-256 of the file as it lies there. Raises InputError where it cannot be read or holds nothing."""
    found, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                found.update(chunk)
                size += len(chunk)
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    if size == 0:
        raise InputError(f"{path} is empty; nothing was imported and nothing removed", "give a JSONL file")
    return found.hexdigest()


def read_lines(source: str, skip: int = 0) -> Iterator[Good | Bad | Skipped]:
    """Each line of a file, or of standard input for `-`. The first `skip` lines are read but not parsed."""
    if source == "-":
        yield from _lines(sys.stdin.buffer, None, skip)
        return
    with Path(source).open("rb") as raw:
        yield from _lines(raw, raw, skip)


def _lines(raw: IO[bytes], seekable: IO[bytes] | None, skip: int) -> Iterator[Good | Bad | Skipped]:
    first = raw.peek(2)[:2] if hasattr(raw, "peek") else b""
    stream = cast("IO[bytes]", gzip.GzipFile(fileobj=raw, mode="rb")) if first == _GZIP else raw
    number = 0
    while True:
        try:
            line = stream.readline(LINE_BYTES_MAX + 1)
        except (EOFError, OSError, zlib.error) as error:
            yield Bad(number + 1, _broken(error), fatal=True)
            return
        if not line:
            break
        number += 1
        read = seekable.tell() if seekable is not None else 0
        if len(line) > LINE_BYTES_MAX:
            _rest(stream)
            yield Bad(number, f"longer than {LINE_BYTES_MAX:,} bytes; split it")
        elif number <= skip:
            yield Skipped(number, read)
        else:
            yield _one(number, line, read)
    if number == 0:
        yield Bad(1, "the input is empty; nothing was imported and nothing removed", fatal=True)


def _broken(error: Exception) -> str:
    if isinstance(error, EOFError):
        return "the gzip file is cut off here; fetch it again"
    return "the gzip file is damaged here; fetch it again"


def _rest(stream: IO[bytes]) -> None:
    while chunk := stream.readline(LINE_BYTES_MAX):
        if chunk.endswith(b"\n"):
            return


def _one(number: int, line: bytes, read: int) -> Good | Bad:
    if not line.strip():
        return Bad(number, "empty; each line must hold one record")
    try:
        tree = parse_json(line.decode())
        return Good(number, to_input(tree), len(line), read)
    except UnicodeDecodeError as error:
        return Bad(number, f"byte {error.start} is not UTF-8")
    except json.JSONDecodeError as error:
        if not line.endswith(b"\n"):
            return Bad(number, "cut off: the last line is not whole; fetch the file again", fatal=True)
        return Bad(number, f"not JSON: {error.msg.lower()} at column {error.colno}")
    except InputError as error:
        return Bad(number, str(error))


def to_input(tree: Tree) -> DocumentInput | EvidenceInput:
    """The registration that a line asks for: `kind` (default `document`) and the fields of that. Raises InputError."""
    if not isinstance(tree, dict):
        raise InputError("not a mapping", "write one record as {...}")
    kind = tree.pop("kind", "document")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError("kind is not a known one", 'write "document" or "evidence"')
    message: DocumentInput | EvidenceInput = build(KINDS[kind], tree)
    for name in ("record_id", "version", "digest", "source_label"):
        if not getattr(message, name):
            raise InputError(f"{name} is missing", "each record names record_id, version, digest and source_label")
    return message
