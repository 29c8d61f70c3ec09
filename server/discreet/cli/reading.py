"""Text of a request, JSON or YAML, to plain values. Strict: keys that stand twice, aliases and odd numbers are refused.

YAML is read as policies are. Must know nothing of messages.
"""

import json
import sys
from pathlib import Path
from typing import NoReturn

from discreet.cli.errors import InputError

Tree = dict[str, "Tree"] | list["Tree"] | str | int | float | bool | None

BYTES_MAX = 16_000_000
DEPTH_MAX = 32


def read_source(source: str) -> bytes:
    """The bytes of a file, or of standard input for `-`. Raises InputError."""
    try:
        data = sys.stdin.buffer.read(BYTES_MAX + 1) if source == "-" else _file_bytes(Path(source))
    except OSError as error:
        raise InputError(f"{source}: {(error.strerror or 'cannot be read').lower()}") from None
    if len(data) > BYTES_MAX:
        raise InputError(f"{_named(source)} is larger than {BYTES_MAX:,} bytes", "split it into several requests")
    if not data.strip():
        raise InputError(f"{_named(source)} is empty", "give a request as JSON or YAML")
    return data


def _file_bytes(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(BYTES_MAX + 1)


def _named(source: str) -> str:
    return "standard input" if source == "-" else source


def parse_text(data: bytes, name: str) -> Tree:
    """The value of a JSON or YAML document. `{` or `[` at first: JSON, and if it is not, YAML. Raises InputError."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: byte {error.start} is not UTF-8", "save it as UTF-8") from None
    if text.lstrip()[:1] in ("{", "["):
        try:
            return parse_json(text)
        except json.JSONDecodeError as error:
            if name.endswith(".json"):
                raise InputError(f"{name}:{error.lineno}:{error.colno}: {error.msg}", "write valid JSON") from None
        except InputError as error:
            raise InputError(f"{name}: {error.message}", error.hint) from None
    return _parse_yaml(data, name)


def parse_json(text: str) -> Tree:
    """The value of a JSON text. Raises json.JSONDecodeError for syntax, InputError for what JSON leaves open."""
    try:
        value: Tree = json.loads(text, object_pairs_hook=_unique, parse_constant=_not_finite)
    except RecursionError:
        raise InputError("values are nested too deeply", f"use at most {DEPTH_MAX} levels") from None
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError):
            raise
        raise InputError("a number has too many digits", "write it as text") from None
    return value


def _unique(pairs: list[tuple[str, Tree]]) -> Tree:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"the key {twice!r} stands twice", "keep one of them")
    return found


def _not_finite(word: str) -> NoReturn:
    raise InputError(f"{word} is not a number that can be sent", "write a finite number")


def _parse_yaml(data: bytes, name: str) -> Tree:
    from discreet.policy.yaml import plain, read

    documents, problems = read(name, data)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        first = problems[0]
        raise InputError(f"{first.place}: {first.message}{more}", first.hint)
    if len(documents) != 1:
        raise InputError(f"{name}: {len(documents)} documents", "give one request a call")
    return _listed(plain(documents[0].root))


def _listed(value: object) -> Tree:
    """The value with lists for tuples."""
    if isinstance(value, dict):
        return {str(key): _listed(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_listed(item) for item in value]
    assert value is None or isinstance(value, str | int | float | bool)
    return value
