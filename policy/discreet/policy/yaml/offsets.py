"""Where a piece of a scalar's text stands in its file, whatever its style: folded, quoted, escaped, indented."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.policy.yaml.nodes import Scalar

_DOUBLE = re.compile(r"\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|\\\n|\\.|.", re.DOTALL)
_SINGLE = re.compile(r"''|.", re.DOTALL)
_ANY = re.compile(r".", re.DOTALL)
_BLOCK_HEADER = re.compile(r"[|>][^\n]*\n?")
#: Escapes that stand for white space.
_SPACES = frozenset("\\" + char for char in "nrtvf_NLP\t \n")


def source_offset(text: str, scalar: Scalar, offset: int) -> int:
    """Returns the offset in the file's text of the code point `offset` of the scalar's value.

    Characters that are no white space stand in the file in the same order as in the value, whatever the style does to
    the white space between them; so the n-th of the one is the n-th of the other.
    """
    value = scalar.value if isinstance(scalar.value, str) else ""
    wanted = sum(not char.isspace() for char in value[:offset])
    last = scalar.start
    for seen, position in enumerate(_visible(text, scalar)):
        if seen == wanted:
            return position
        last = position
    return min(last + 1, scalar.end)


def _visible(text: str, scalar: Scalar) -> Iterator[int]:
    start, end, pattern = scalar.start, scalar.end, _ANY
    if scalar.style in "'\"" and scalar.style:
        start, end = start + 1, end - 1
        pattern = _SINGLE if scalar.style == "'" else _DOUBLE
    elif scalar.style:
        header = _BLOCK_HEADER.match(text, start, end)
        start = header.end() if header else start
    for match in pattern.finditer(text, start, end):
        if not _is_space(match.group()):
            yield match.start()


def _is_space(piece: str) -> bool:
    if piece[0] == "\\" and piece[1:2] in {"x", "u", "U"} and len(piece) > 2:
        return chr(int("0x" + piece[2:], base=0)).isspace()
    return piece.isspace() or piece in _SPACES
