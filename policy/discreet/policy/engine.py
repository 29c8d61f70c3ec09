"""Which program a policy set needs: a number that grows with what sets may say, so that no server is given one too new.

Today there is one engine, and every set needs that one. An addition to what a set may say that an older program would
refuse, or read differently, raises `ENGINE` and gives the bundles that use it a form of their own.
"""

from typing import Final

from discreet.policy.bundle import MAGIC, MAGIC_WITH_ENVIRONMENT, BadBundle

ENGINE: Final = 1
"""The newest sets that this program can decide under."""

_NEEDED: Final = {MAGIC: 1, MAGIC_WITH_ENVIRONMENT: 1}


def engine_needed(bundle: bytes) -> int:
    """Returns the least engine that can decide under a bundle, by its form. Raises BadBundle for a form not known here.

    >>> engine_needed(MAGIC)
    1
    """
    needed = _NEEDED.get(bundle[: len(MAGIC)])
    if needed is None:
        raise BadBundle("these bytes are no policy bundle of this version")
    return needed
