"""Which fields a server knows: it refuses unknown ones, so a client leaves out what is newer than its `api_level`.

There are no such fields yet. The table is by full name, for example `discreet.v1.Segment.parents`; this module does no
I/O.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from google.protobuf.message import Message

# The level that this client is written for; the first.
API_LEVEL = 1
# Fields that came after the first level, with the level that brought them.
LEVEL_OF: Mapping[str, int] = MappingProxyType({})


class ServerLevel:
    """The level that the server was found to be at; None until it was asked. One a client."""

    __slots__ = ("found", "level_of")

    def __init__(self, level_of: Mapping[str, int] = LEVEL_OF) -> None:
        self.level_of = level_of
        self.found: int | None = None

    @property
    def wanted(self) -> bool:
        """Whether the server must be asked before anything is sent: only if there is something to leave out."""
        return bool(self.level_of) and self.found is None

    def learn(self, api_level: int) -> None:
        """Keeps what the server says of itself; 0 is no level."""
        if api_level >= API_LEVEL:
            self.found = api_level

    def fit(self, message: Message) -> None:
        """Leaves out what the server does not know; while its level is unknown, all that came after the first."""
        if self.level_of:
            leave_out(message, self.found or 1, self.level_of)


def leave_out(message: Message, level: int, level_of: Mapping[str, int]) -> None:
    """Clears, at every depth, the fields that came after the level."""
    for descriptor, value in message.ListFields():
        if level_of.get(descriptor.full_name, API_LEVEL) > level:
            message.ClearField(descriptor.name)
        elif descriptor.message_type is not None:
            for inner in _messages(value):
                leave_out(inner, level, level_of)


def _messages(value: object) -> list[Message]:
    """The messages that a field of message type holds: one, a list, or a map's values."""
    if isinstance(value, Message):
        return [value]
    inner = value.values() if isinstance(value, Mapping) else value
    return [item for item in inner if isinstance(item, Message)] if isinstance(inner, Iterable) else []
