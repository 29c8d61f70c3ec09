"""Record versions from a file: `record_id version` a line, CSV, or JSONL. Every bad line is named; none is skipped."""

import csv
import json
from collections.abc import Iterator

from discreet.cli.errors import InputError
from discreet.cli.reading import parse_json, read_source
from discreet.v1.common_pb2 import RecordRef

VERSIONS_MAX = 10_000
BAD_SHOWN_MAX = 20
_HEADER = ["record_id", "version"]


def read_versions(source: str) -> list[RecordRef]:
    """The versions that a file names, or standard input for `-`. Raises InputError with the numbers of bad lines."""
    name = "standard input" if source == "-" else source
    try:
        text = read_source(source).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: byte {error.start} is not UTF-8", "save it as UTF-8") from None
    found: dict[tuple[str, str], int] = {}
    bad: list[str] = []
    for number, line in _lines(text):
        try:
            pair = _one(line)
            first = found.setdefault(pair, number)
            if first != number:
                raise InputError(f"the same as line {first}")
        except InputError as error:
            bad.append(f"{name}:{number}: {error}")
    if bad:
        shown = "\n".join(bad[:BAD_SHOWN_MAX])
        more = f"\n... and {len(bad) - BAD_SHOWN_MAX} more bad lines" if len(bad) > BAD_SHOWN_MAX else ""
        raise InputError(f"{len(bad)} of {len(bad) + len(found)} lines are bad; nothing was asked\n{shown}{more}")
    if not found:
        raise InputError(f"{name} names no version", "write one `record_id version` a line, CSV or JSONL")
    if len(found) > VERSIONS_MAX:
        raise InputError(f"{name} names {len(found):,} versions", f"give at most {VERSIONS_MAX:,} a call")
    return [RecordRef(record_id=record_id, version=version) for record_id, version in found]


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without empty ones, comments, and the header of a CSV file."""
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.removesuffix("\r")
        if bare.strip() and not bare.startswith("#") and not (number == 1 and bare.split(",") == _HEADER):
            yield number, bare


def _one(line: str) -> tuple[str, str]:
    if line.lstrip().startswith("{"):
        return _of_json(line)
    if "," in line:
        try:
            cells = next(csv.reader([line], strict=True))
        except csv.Error:
            raise InputError("is not CSV", "write record_id,version") from None
    else:
        cells = line.split()
    if len(cells) != 2 or not all(cells):
        raise InputError(f"has {len(cells)} values", "write record_id and version; quote one that holds a comma")
    return cells[0], cells[1]


def _of_json(line: str) -> tuple[str, str]:
    try:
        tree = parse_json(line)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg.lower()} at column {error.colno}") from None
    if not isinstance(tree, dict) or set(tree) != set(_HEADER):
        raise InputError("is not a version", 'write {"record_id": ..., "version": ...}')
    record_id, version = tree["record_id"], tree["version"]
    if not isinstance(record_id, str) or not isinstance(version, str) or not record_id or not version:
        raise InputError("record_id and version must be text", 'write {"record_id": "...", "version": "..."}')
    return record_id, version
