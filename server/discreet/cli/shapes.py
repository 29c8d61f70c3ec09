"""Messages to plain values, in the one shape that JSON output has: proto names, short enum words, times as RFC 3339.

`output` and `evidence` have exactly the names and shapes of A5. Must know nothing of terminals or calls.
"""

from collections.abc import Iterable
from functools import lru_cache

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from discreet.cli.messages import described, enum_prefix
from discreet.cli.reading import Tree
from discreet.cli.times import format_micros
from discreet.v1.common_pb2 import Value
from discreet.v1.disclosure_pb2 import NumberList, Output

LOWER_CASE = frozenset({"Freshness", "OutputStatus", "ActionTendency"})
"""The closed sets whose words keep the lower case of the requirement that they come from."""


def to_tree(message: Message) -> dict[str, Tree]:
    """The message as plain values. Every field is present; a message that is not set is null."""
    return {field.name: _field(message, field) for field in described(message).fields if _shown(message, field)}


def output_tree(output: Output) -> dict[str, Tree]:
    """`output` with `numbers` always a list and `disclosure` a text or null: the form shows in `status`."""
    tree = to_tree(output)
    numbers = output.WhichOneof("form") == "numbers"
    ordered: dict[str, Tree] = {"status": tree.pop("status"), "numbers": []}
    ordered["disclosure"] = None if numbers or not output.disclosure else output.disclosure
    return {**ordered, **{name: value for name, value in tree.items() if name not in ("numbers", "disclosure")}}


def _shown(message: Message, field: FieldDescriptor) -> bool:
    oneof = field.containing_oneof
    return oneof is None or isinstance(message, Output) or message.WhichOneof(oneof.name) == field.name


def _field(message: Message, field: FieldDescriptor) -> Tree:
    value = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return {key: from_value(value[key]) for key in sorted(value)}
    if field.is_repeated:
        return [_one(field, item) for item in value]
    if field.message_type is not None and not message.HasField(field.name):
        return None
    return _one(field, value)


def _one(field: FieldDescriptor, value: object) -> Tree:
    if isinstance(value, Timestamp):
        return format_micros(micros(value))
    if isinstance(value, Value):
        return from_value(value)
    if isinstance(value, Output):
        return output_tree(value)
    if isinstance(value, NumberList):
        return []
    if isinstance(value, Message):
        return to_tree(value)
    if field.enum_type is not None and isinstance(value, int):
        return word(field.enum_type, value)
    assert isinstance(value, str | int | float | bool)
    return value


def micros(time: Timestamp) -> int:
    """Microseconds since 1970 of a timestamp."""
    return time.seconds * 1_000_000 + time.nanos // 1_000


@lru_cache(maxsize=1_024)
def word(kind: EnumDescriptor, number: int) -> str | None:
    """The short word of an enum value; None where it is not set, its number where this version does not know it."""
    known = kind.values_by_number.get(number)
    if known is None:
        return str(number)
    if number == 0:
        return None
    short = known.name.removeprefix(enum_prefix(kind))
    return short.lower() if kind.name in LOWER_CASE else short


def from_value(value: Value) -> Tree:
    """The plain value of a typed attribute."""
    kind = value.WhichOneof("kind")
    if kind is None or kind == "null_value":
        return None
    if kind == "list_value":
        return [from_value(item) for item in value.list_value.values]
    if kind == "map_value":
        fields = value.map_value.fields
        return {key: from_value(fields[key]) for key in sorted(fields)}
    plain: str | int | float | bool = getattr(value, kind)
    return plain


def flat(values: Iterable[str]) -> str:
    """Several words in one cell of a table."""
    return ", ".join(values)
