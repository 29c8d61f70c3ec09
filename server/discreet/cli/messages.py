"""Plain values to messages, led by the message's own description: field names as in the .proto files, enum words short.

What a message derives (`trusted_hit`, `allowlisted`, `collector`) is refused by name; an unknown field is refused with
the nearest known one. Must know nothing of files, calls or terminals. Errors name field and type, never a value.
"""

import difflib
import math
from collections.abc import MutableMapping
from functools import lru_cache
from typing import TypeVar, cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from discreet.cli.errors import InputError
from discreet.cli.reading import Tree
from discreet.cli.times import parse_rfc3339
from discreet.v1.common_pb2 import Value

M = TypeVar("M", bound=Message)

DERIVED = frozenset({"trusted_hit", "allowlisted"})
_TEXT, _BOOL, _FLOATS = FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BOOL, (FieldDescriptor.TYPE_DOUBLE,)
_UNSIGNED = {FieldDescriptor.TYPE_UINT32: 2**32, FieldDescriptor.TYPE_UINT64: 2**64}


def build(kind: type[M], tree: Tree, path: str = "") -> M:
    """A message of `kind` with what `tree` says. Raises InputError with the path of the field that is wrong."""
    message = kind()
    _fill(message, tree, path)
    return message


def to_value(tree: Tree, path: str) -> Value:
    """A typed attribute value. Raises InputError."""
    value = Value()
    _fill_value(value, tree, path, 0)
    return value


def described(message: Message) -> Descriptor:
    """What a message is made of; the stubs leave open which implementation's."""
    return cast("Descriptor", message.DESCRIPTOR)


@lru_cache(maxsize=256)
def _fields(descriptor: Descriptor) -> dict[str, FieldDescriptor]:
    return {field.name: field for field in descriptor.fields}


@lru_cache(maxsize=256)
def _derived(descriptor: Descriptor) -> frozenset[str]:
    described = DescriptorProto()
    descriptor.CopyToProto(described)
    return DERIVED | frozenset(described.reserved_name)


def _fill(message: Message, tree: Tree, path: str) -> None:
    if not isinstance(tree, dict):
        raise InputError(f"{path or 'the request'} is {_type(tree)}", "write a mapping of field names to values")
    fields = _fields(described(message))
    for name, value in tree.items():
        field = fields.get(name)
        where = f"{path}.{name}" if path else name
        if field is None:
            raise _unknown(described(message), name, where)
        if value is None:
            raise InputError(f"{where} has no value", "give one, or leave the field out")
        _set(message, field, value, where)


def _unknown(descriptor: Descriptor, name: str, where: str) -> InputError:
    if name in _derived(descriptor):
        return InputError(f"{where} is derived from the index and cannot be supplied", "leave it out")
    near = difflib.get_close_matches(name, list(_fields(descriptor)), n=1)
    hint = f'did you mean "{near[0]}"?' if near else f"known here: {', '.join(_fields(descriptor))}"
    return InputError(f"unknown field {where!r}", hint)


def _set(message: Message, field: FieldDescriptor, value: Tree, path: str) -> None:
    if field.is_repeated:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            _set_map(getattr(message, field.name), value, path)
            return
        if not isinstance(value, list):
            raise InputError(f"{path} is {_type(value)}", "write a list")
        target = getattr(message, field.name)
        for index, item in enumerate(value):
            if field.message_type is not None:
                _fill(target.add(), item, f"{path}[{index}]")
            else:
                target.append(_plain(field, item, f"{path}[{index}]"))
    elif field.message_type is not None:
        _set_message(getattr(message, field.name), value, path)
    else:
        setattr(message, field.name, _plain(field, value, path))


def _set_message(target: Message, value: Tree, path: str) -> None:
    target.SetInParent()
    if isinstance(target, Timestamp):
        if not isinstance(value, str):
            raise InputError(f"{path} is {_type(value)}", 'write a time as text: "2026-01-31T12:00:00Z"')
        try:
            target.seconds, micros = divmod(parse_rfc3339(value), 1_000_000)
        except InputError as error:
            raise InputError(f"{path} is {error.message}", error.hint) from None
        target.nanos = micros * 1_000
    elif isinstance(target, Value):
        _fill_value(target, value, path, 0)
    else:
        _fill(target, value, path)


def _set_map(target: MutableMapping[str, Value], value: Tree, path: str) -> None:
    if not isinstance(value, dict):
        raise InputError(f"{path} is {_type(value)}", "write a mapping of names to values")
    for key, item in value.items():
        _text(key, path)
        _fill_value(target[key], item, f"{path}.{key}", 0)


def _fill_value(value: Value, tree: Tree, path: str, depth: int) -> None:
    if depth > 8:
        raise InputError(f"{path} is nested too deeply", "use at most 8 levels")
    if tree is None:
        value.null_value = True
    elif isinstance(tree, bool):
        value.bool_value = tree
    elif isinstance(tree, int):
        if not -(2**63) <= tree < 2**63:
            raise InputError(f"{path} is a whole number of more than 64 bits", "write it as text")
        value.int_value = tree
    elif isinstance(tree, float):
        value.double_value = _finite(tree, path)
    elif isinstance(tree, str):
        value.string_value = _text(tree, path)
    elif isinstance(tree, list):
        value.list_value.SetInParent()
        for index, item in enumerate(tree):
            _fill_value(value.list_value.values.add(), item, f"{path}[{index}]", depth + 1)
    else:
        value.map_value.SetInParent()
        for key, item in tree.items():
            _fill_value(value.map_value.fields[_text(key, path)], item, f"{path}.{key}", depth + 1)


def _plain(field: FieldDescriptor, value: Tree, path: str) -> str | int | float | bool:
    if field.enum_type is not None:
        return _enum(field.enum_type, value, path)
    if field.type == _TEXT:
        if not isinstance(value, str):
            raise InputError(f"{path} is {_type(value)}", "write text, in quotes")
        return _text(value, path)
    if field.type == _BOOL:
        if not isinstance(value, bool):
            raise InputError(f"{path} is {_type(value)}", "write true or false")
        return value
    if field.type in _FLOATS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{path} is {_type(value)}", "write a number")
        return _finite(float(value), path)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{path} is {_type(value)}", "write a whole number")
    limit = _UNSIGNED.get(field.type, 2**63)
    if not (0 if field.type in _UNSIGNED else -limit) <= value < limit:
        raise InputError(f"{path} is out of range", f"write a whole number below {limit}")
    return value


def _enum(kind: EnumDescriptor, value: Tree, path: str) -> int:
    prefix = enum_prefix(kind)
    words = [name.removeprefix(prefix) for name in kind.values_by_name if not name.endswith("_UNSPECIFIED")]
    if not isinstance(value, str):
        raise InputError(f"{path} is {_type(value)}", f"write one of {', '.join(words)}")
    word = value.removeprefix(prefix)
    if word not in words:
        near = difflib.get_close_matches(word.upper(), words, n=1, cutoff=0.5)
        hint = f'did you mean "{near[0]}"?' if near else f"write one of {', '.join(words)}"
        raise InputError(f"{path} is not a word of {kind.name}", hint)
    return kind.values_by_name[prefix + word].number


@lru_cache(maxsize=64)
def enum_prefix(kind: EnumDescriptor) -> str:
    """What the values of an enum begin with, for example `OUTPUT_STATUS_`."""
    zero = kind.values_by_number[0].name
    return zero.removesuffix("UNSPECIFIED")


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{path} holds half of a surrogate pair", "write whole characters") from None
    return value


def _finite(value: float, path: str) -> float:
    if not math.isfinite(value):
        raise InputError(f"{path} is not a finite number", "write a finite number")
    return value


def _type(value: Tree) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "a mapping"
