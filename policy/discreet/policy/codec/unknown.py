"""Unknown fields: refused, so that a misspelt or smuggled fact is never silently ignored."""

from collections.abc import Sequence
from typing import Protocol, cast

from google.protobuf.descriptor_pb2 import DescriptorProto
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from discreet.policy.codec.malformed import Malformed


class _UnknownField(Protocol):
    field_number: int


_HINT = "leave it out, or see GetServerInfo.api_level for what this server knows"


def refuse_unknown(message: Message, data: bytes) -> None:
    """Raises Malformed naming the first unknown field of `message`, which was parsed from `data`.

    Cheap where there is none: unknown fields are discarded and the sizes compared; only then is the message walked.
    """
    size = message.ByteSize()
    message.DiscardUnknownFields()
    if message.ByteSize() == size:
        return
    whole = type(message)()
    whole.ParseFromString(data)
    raise Malformed(_first(whole, "") or "message", "is an unknown field", _HINT)


def _first(message: Message, path: str) -> str | None:
    unknowns = cast(Sequence[_UnknownField], UnknownFieldSet(message))  # the stubs leave out that it is a sequence
    for unknown in unknowns:
        number = unknown.field_number
        name = _reserved_name(message, number)
        return f"{path}field number {number}{name}"
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            if field.message_type.fields_by_name["value"].message_type is None:
                continue
            parts = [(f"{path}{field.name}[…].", value[key]) for key in value]
        elif field.is_repeated:
            parts = [(f"{path}{field.name}[{i}].", item) for i, item in enumerate(value)]
        else:
            parts = [(f"{path}{field.name}.", value)]
        for inner, part in parts:
            found = _first(part, inner)
            if found is not None:
                return found
    return None


def _reserved_name(message: Message, number: int) -> str:
    """What to add where the number was set aside: a field of another level of the API."""
    proto = DescriptorProto()
    message.DESCRIPTOR.CopyToProto(proto)
    return " (reserved)" if any(r.start <= number < r.end for r in proto.reserved_range) else ""
