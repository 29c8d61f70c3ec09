"""Names of keys and channels: no two different tuples have the same one, whatever is in their parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

VERSION: Final = "v1"
"""Of what is kept under the keys: programs that keep it otherwise use other keys."""


def joined(*parts: str) -> str:
    """The parts as one name; a part is written so that it holds no separator.

    >>> joined("marlowe:eu", "7"), joined("marlowe", "eu:7")
    ('marlowe%3Aeu:7', 'marlowe:eu%3A7')
    """
    return ":".join(quote(part, safe="", errors="surrogatepass") for part in parts)


@dataclass(frozen=True, slots=True)
class Keys:
    """The names of one database of Discreet. `prefix`: of an operator who shares a Redis, or empty.

    The epoch is random and its database's own, so that two databases never meet, and an adopted one starts anew.
    """

    epoch: str
    prefix: str = ""

    def bundle(self, digest: str) -> str:
        """Where the bundle of that digest is kept."""
        return self._name("bundle", digest)

    @property
    def head(self) -> str:
        """Where the revision in force is named, for people who look in."""
        return self._name("head")

    @property
    def bell(self) -> str:
        """The channel that is rung."""
        return self._name("bell")

    def _name(self, *parts: str) -> str:
        before = (self.prefix,) if self.prefix else ()
        return joined(*before, "discreet", VERSION, self.epoch, *parts)
