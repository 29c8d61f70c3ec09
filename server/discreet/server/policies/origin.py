"""Where a policy set comes from, as it is recorded: whatever a commit or an address holds, in bounded visible text.

Nothing here is believed: author, subject and time are what the commit says of itself. Credentials are no part of it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from dulwich.objects import Commit

from discreet.policy.facts import Micros
from discreet.server.ports_policy import Origin

TEXT_BYTES_MAX: Final = 1_024
SECONDS_MAX: Final = 253_402_300_799
"""The end of the year 9999."""

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)?([^/?#]*)([^?#]*)(.*)", re.DOTALL)
_HOST = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^:@\[\]]*)(:[0-9]*)?")


def without_credentials(address: str) -> str:
    """An address without user and password, query and fragment; little is left of one that cannot be taken apart.

    >>> without_credentials("https://tok:x@git.example/p.git?k=v")
    'https://git.example/p.git'
    >>> without_credentials("tok@git.example:team/p.git")
    'git.example:team/p.git'
    >>> without_credentials("https://user:pass?word@git.example/p.git")
    'https://...'
    """
    found = _ADDRESS.match(address)
    scheme, place, path, rest = found.groups("") if found else ("", "", "", "")
    host = place.rpartition("@")[2]
    if scheme and ("@" in rest or not _HOST.fullmatch(host)):
        return f"{scheme}..."
    return f"{scheme}{host}{path}"


def visible_text(text: str) -> str:
    r"""The text without control and format characters, on one line, cut at so many bytes between two characters.

    >>> visible_text("a\x1b[31m\u202eb\n")
    'a[31mb'
    """
    cut = text[: 8 * TEXT_BYTES_MAX]
    shown = "".join(char for char in cut if char == " " or unicodedata.category(char) not in _HIDDEN).strip()
    return shown.encode()[:TEXT_BYTES_MAX].decode("utf-8", "ignore").rstrip()


_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def origin_of_commit(commit: Commit, source: str, ref: str) -> Origin:
    """Where the set of a commit comes from; whoever publishes it puts its own name to it."""
    message = _decoded(commit.message, commit).strip()
    return origin_of_place(source, ref)._replace(
        author=visible_text(_decoded(commit.author, commit)),
        subject=visible_text(re.split(r"[\r\n]", message, maxsplit=1)[0]),
        committed_at=_micros(commit.commit_time),
    )


def origin_of_place(source: str, ref: str) -> Origin:
    """Where files come from that are those of no commit."""
    return Origin("", visible_text(without_credentials(source)), visible_text(ref))


def _decoded(raw: bytes, commit: Commit) -> str:
    try:
        return raw.decode((commit.encoding or b"utf-8").decode("ascii", "replace"), "replace")
    except (LookupError, ValueError):
        return raw.decode("utf-8", "replace")


def _micros(seconds: float) -> Micros | None:
    return Micros(int(seconds) * 1_000_000) if 0 <= seconds <= SECONDS_MAX else None
