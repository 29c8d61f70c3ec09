"""What the server expects of a cache. Part of `discreet.server.ports`.

A cache is a copy and a bell: it may be lost, slow or wrong at any time, and nothing may become wrong by that. So its
methods raise nothing, and whoever asks believes an answer by its digest alone.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from discreet.server.ports_policy import PolicyName


class CacheState(StrEnum):
    """How this process stands with its cache."""

    OFF = "off"
    """None is configured."""
    UP = "up"
    """What this process sends through it comes back."""
    DOWN = "down"


class Trouble(StrEnum):
    """Why the cache did not do what it was asked; a closed set, for metrics."""

    UNREACHABLE = "unreachable"
    """No connection, or it ended."""
    SLOW = "slow"
    """No answer within the bound."""
    DENIED = "denied"
    """It wants a password, or another one, or does not allow the command to this user."""
    FULL = "full"
    """Its memory is full."""
    ODD = "odd"
    """Any other error, and anything that is no answer to what it was asked."""


class Rung(StrEnum):
    """What came through the bell's channel; a closed set, for metrics."""

    RING = "ring"
    SIGN = "sign"
    IGNORED = "ignored"


@dataclass(slots=True)
class CacheCounts:
    """What happened since the start."""

    lies: int = 0
    """How often the cache held something else than what it was asked for."""
    troubles: dict[Trouble, int] = field(default_factory=lambda: dict.fromkeys(Trouble, 0))
    rung: dict[Rung, int] = field(default_factory=lambda: dict.fromkeys(Rung, 0))


class BundleCache(Protocol):
    """Copies of bundles. Its methods raise nothing."""

    @property
    def state(self) -> CacheState:
        """How this process stands with it."""
        ...

    @property
    def silent_ms(self) -> int:
        """Since when nothing came through the bell's channel that ought to have; 0 where all is well, or it is off."""
        ...

    @property
    def trouble(self) -> str:
        """Why it is down, as far as that is known; a word of `Trouble`, or empty."""
        ...

    @property
    def counts(self) -> CacheCounts:
        """What happened since the start."""
        ...

    async def get(self, digest: str) -> bytes | None:
        """What it holds under that digest, right or wrong; None where it holds nothing or does not answer soon."""
        ...

    def put(self, digest: str, bundle: bytes) -> None:
        """Keeps a bundle, if it can; returns at once."""
        ...

    def published(self, name: PolicyName, bundle: bytes) -> None:
        """Keeps the bundle of a revision that came into force, then rings; returns at once."""
        ...

    def start(self, epoch: str) -> None:
        """Begins to keep and to listen, for the database of that epoch; whether there is a cache is seen later."""
        ...

    async def stop(self) -> None:
        """Ends it."""
        ...
