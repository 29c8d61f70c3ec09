"""The text of a policy file: bytes become code points, or a problem with its place.

One spelling for each text: a leading byte-order mark is dropped and CRLF becomes LF, so that both equal the plain file.
Everything that an author cannot see is refused (tabs, no-break spaces, marks in the middle, control and format
characters): two keys that look alike must be alike.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from discreet.policy.problems import Code, Place, PolicyProblem, problem

FILE_BYTES_MAX: Final = 1024 * 1024

BOM: Final = "\ufeff"
#: Anything but visible ASCII, space, line feed and what a look at its category has to settle.
_SUSPECT: Final = re.compile(r"[^\n -~]")
_REFUSED_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_HINTS: Final = {
    "\t": "use spaces",
    "\r": "end lines with LF or CRLF",
    "\xa0": "use a plain space",
    "\u3000": 'use a plain space, or write it as "\\u3000" in double quotes',
    BOM: "it may stand at the very beginning of a file only; were two files joined?",
}


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file as code points, with LF line ends and no mark."""

    file: str
    text: str

    def place(self, line: int, column: int) -> Place:
        """Returns a place of this file from a line and column that count from 0."""
        return Place(self.file, line + 1, column + 1)

    def place_at(self, offset: int) -> Place:
        """Returns the place of a code point offset."""
        before = self.text[:offset]
        return self.place(before.count("\n"), offset - (before.rfind("\n") + 1))


def decode(file: str, data: bytes) -> tuple[SourceText | None, list[PolicyProblem]]:
    """Returns the text of a file, or None where its bytes are no text, with its problems (at most 20)."""
    if len(data) > FILE_BYTES_MAX:
        found = f"the file has {len(data)} bytes, more than {FILE_BYTES_MAX}"
        return None, [problem(Place(file), found, "split it", Code.LIMIT)]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return None, [_not_utf8(file, data, error.start)]
    source = SourceText(file, text.removeprefix(BOM).replace("\r\n", "\n"))
    return source, _refused_characters(source)


def normal(data: bytes) -> bytes:
    """Returns a file in the one spelling that is hashed and stored; bytes that are no text stay as they are."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    return text.removeprefix(BOM).replace("\r\n", "\n").encode("utf-8")


def _not_utf8(file: str, data: bytes, start: int) -> PolicyProblem:
    before = data[:start].decode("utf-8").removeprefix(BOM)
    place = SourceText(file, before).place_at(len(before))
    surrogate = data[start] == 0xED and len(data) > start + 1 and 0xA0 <= data[start + 1] <= 0xBF
    what = "a lone surrogate" if surrogate else f"the byte 0x{data[start]:02x}"
    return problem(place, f"{what} is no UTF-8", "save the file as UTF-8", Code.ENCODING)


def _refused_characters(source: SourceText) -> list[PolicyProblem]:
    problems: list[PolicyProblem] = []
    for match in _SUSPECT.finditer(source.text):
        char = match.group()
        if unicodedata.category(char) in _REFUSED_CATEGORIES:
            problems.append(_refused(source.place_at(match.start()), char))
            if len(problems) == 20:
                break
    return problems


def _refused(place: Place, char: str) -> PolicyProblem:
    names = {"\t": "a tab", "\r": "a carriage return without a line feed", BOM: "a byte-order mark (U+FEFF)"}
    name = names.get(char) or f"U+{ord(char):04X} {unicodedata.name(char, 'a character without a name')}"
    hint = _HINTS.get(char, "it cannot be seen; leave it out, or write it as an escape in double quotes")
    return problem(place, f"{name} is not allowed in a policy file", hint, Code.CHARACTER)
