"""Values of a policy set as a report writes them: as a file of the set would say them. Empty text: nothing."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.policy.cel import Timestamp
from discreet.policy.model.fields import duration_text
from discreet.policy.words import Moment


def listed(names: Iterable[str] | None, nothing: str = "none", everything: str = "any") -> str:
    """Names, sorted; None: everything."""
    return everything if names is None else ", ".join(sorted(names)) or nothing


def moments(found: Iterable[Moment]) -> str:
    """Moments in the order of their closed set."""
    return ", ".join(moment.short for moment in sorted(found))


def duration(us: int | None, never: str = "none") -> str:
    """A duration; None: the word for there being no limit."""
    return never if us is None else duration_text(us)


def truth(value: bool) -> str:
    """As YAML writes it."""
    return "true" if value else "false"


def validity(begin: int | None, end: int | None) -> str:
    """From when until when something holds."""
    parts = [f"{word} {Timestamp(us * 1_000)}" for word, us in (("from", begin), ("until", end)) if us is not None]
    return " ".join(parts) or "always"
