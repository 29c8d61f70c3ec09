"""What goes through the bell's channel: rings, and signs that a server sends to itself. Anything else is ignored."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_FORM: Final = re.compile(rb"discreet/1 (?:ring|sign) ([0-9a-f]{32})(?: ([1-9][0-9]{0,17}))?")


class Message(NamedTuple):
    """A message of some server. `sign`: the number of its sign; 0: it rings. Carries nothing else."""

    run: str
    sign: int = 0


def written(message: Message) -> bytes:
    """The message as it is sent.

    >>> written(Message("0" * 32, 7))
    b'discreet/1 sign 00000000000000000000000000000000 7'
    """
    if message.sign:
        return b"discreet/1 sign %s %d" % (message.run.encode(), message.sign)
    return b"discreet/1 ring " + message.run.encode()


def understood(data: object) -> Message | None:
    """The message; None for what no server of this version sends."""
    found = _FORM.fullmatch(data) if isinstance(data, bytes) else None
    if found is None:
        return None
    message = Message(found[1].decode(), int(found[2] or 0))
    return message if written(message) == data else None
