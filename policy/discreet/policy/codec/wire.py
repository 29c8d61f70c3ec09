"""From bytes to a message, with a field path where the bytes are no such message."""

from typing import TypeVar, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message

from discreet.policy.codec.malformed import Malformed
from discreet.policy.codec.unknown import refuse_unknown

M = TypeVar("M", bound=Message)

_DEPTH_MAX = 32
_LENGTH_DELIMITED = 2
_HINT = "send the message as its .proto describes it"


def parse_message(kind: type[M], data: bytes) -> M:
    """The message, free of unknown fields. Raises Malformed with the path of the first field that is not right."""
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise _diagnose(cast(Descriptor, kind.DESCRIPTOR), data) from None
    except RecursionError:
        raise Malformed("", "is nested too deeply", _HINT) from None
    refuse_unknown(message, data)
    return message


def _diagnose(descriptor: Descriptor, data: bytes) -> Malformed:
    found = _walk(descriptor, data, "", 0)
    return found if found is not None else Malformed("", f"is not a {descriptor.name}", _HINT)


def _walk(descriptor: Descriptor, data: bytes, path: str, depth: int) -> Malformed | None:
    """The first text that is not UTF-8, or the first field that the bytes break off in."""
    position, counts = 0, dict[str, int]()
    while position < len(data) and depth < _DEPTH_MAX:
        tag, position = _varint(data, position)
        field = descriptor.fields_by_number.get(tag >> 3)
        name = _name(field, counts, path, tag)
        value, position = _value(data, position, tag & 7)
        if value is None or position > len(data):
            return Malformed(name, "breaks off or is not encoded as a field", _HINT)
        if field is not None and tag & 7 == _LENGTH_DELIMITED:
            problem = _inside(field, value, name, depth)
            if problem is not None:
                return problem
    return None


def _inside(field: FieldDescriptor, value: bytes, name: str, depth: int) -> Malformed | None:
    if field.message_type is not None:
        return _walk(field.message_type, value, f"{name}.", depth + 1)
    if field.type == FieldDescriptor.TYPE_STRING:
        try:
            value.decode("utf-8")
        except UnicodeDecodeError:
            return Malformed(name, "is not UTF-8 (a lone surrogate, or bytes of another encoding)", "send UTF-8 text")
    return None


def _name(field: FieldDescriptor | None, counts: dict[str, int], path: str, tag: int) -> str:
    if field is None:
        return f"{path}field number {tag >> 3}"
    if not field.is_repeated:
        return f"{path}{field.name}"
    index = counts.get(field.name, 0)
    counts[field.name] = index + 1
    return f"{path}{field.name}[{index}]"


def _varint(data: bytes, position: int) -> tuple[int, int]:
    result = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        result |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return result, position
    return 0, len(data) + 1


def _value(data: bytes, position: int, wire: int) -> tuple[bytes | None, int]:
    """The bytes of a field's value and the place after it; None where the wire type is none that this reads."""
    if wire == 0:
        _, end = _varint(data, position)
        return data[position:end], end
    if wire in (1, 5):
        end = position + (8 if wire == 1 else 4)
        return data[position:end], end
    if wire == _LENGTH_DELIMITED:
        length, start = _varint(data, position)
        return data[start : start + length], start + length
    return None, position
