"""Ledger entries that a request file gives for `policy explain`: what was shown before, to be judged again.

A server tells no stored segment, so a question at REPLAY or EXPORT, or one about what was made from others, brings its
own. Reads no file and makes no decision.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.cli.errors import InputError
from discreet.cli.messages import build
from discreet.cli.reading import Tree

if TYPE_CHECKING:
    from discreet.policy.request import Segment
    from discreet.v1.disclosure_pb2 import CheckRequest
    from discreet.v1.disclosure_pb2 import Segment as SegmentMessage

KEY = "ledger"
"""The key of a request file that no message has."""
_ENTRY = ("ledger_id", "principal_id", "session_id", "need_numbers", "need_advice", "segment")


@dataclass(frozen=True, slots=True)
class Given:
    """One entry as the file has it."""

    ledger_id: str
    principal_id: str
    session_id: str
    needs: tuple[bool, bool]
    segment: "SegmentMessage"


def without_ledger(tree: Tree) -> tuple[Tree, Tree]:
    """The request alone, and what stands under `ledger`; None where nothing does."""
    if not isinstance(tree, dict):
        return tree, None
    return {key: value for key, value in tree.items() if key != KEY}, tree.get(KEY)


def entries(tree: Tree, message: "CheckRequest") -> tuple[Given, ...]:
    """The entries, where the request names none with all of them named in it. Raises InputError.

    At RETRIEVE and PUBLISH they are what parents of its segments may name, and need not be there.
    """
    from discreet.v1.common_pb2 import MOMENT_PUBLISH, MOMENT_RETRIEVE

    as_parents = message.moment in {MOMENT_RETRIEVE, MOMENT_PUBLISH}
    if as_parents and tree in (None, []):
        return ()
    if as_parents and not isinstance(tree, list):
        raise InputError("`ledger` is no list", "give `ledger`: [{ledger_id, segment}], or leave it out")
    if not isinstance(tree, list) or not tree:
        raise InputError(
            "a question by ledger id needs the entries that it is about", "give `ledger`: [{ledger_id, segment}]"
        )
    found = tuple(_entry(item, f"{KEY}[{at}]", message) for at, item in enumerate(tree))
    names = [entry.ledger_id for entry in found]
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise InputError(f"{KEY}: a ledger_id stands twice", "name each entry apart")
    if not message.ledger_ids and not as_parents:
        message.ledger_ids.extend(names)
    return found


def _entry(item: Tree, where: str, message: "CheckRequest") -> Given:
    from discreet.v1.disclosure_pb2 import Segment as SegmentMessage

    if not isinstance(item, dict):
        raise InputError(f"{where} is no mapping", f"write {', '.join(_ENTRY)}")
    unknown = next((key for key in item if key not in _ENTRY), None)
    if unknown is not None:
        raise InputError(f"unknown field {f'{where}.{unknown}'!r}", f"known here: {', '.join(_ENTRY)}")
    segment = build(SegmentMessage, item.get("segment"), f"{where}.segment")
    ledger_id = _text(item, "ledger_id", where, "")
    segment.id = segment.id or ledger_id
    return Given(
        ledger_id,
        _text(item, "principal_id", where, message.principal.id),
        _text(item, "session_id", where, message.session_id),
        (_flag(item, "need_numbers", where), _flag(item, "need_advice", where)),
        segment,
    )


def _text(item: dict[str, Tree], name: str, where: str, default: str) -> str:
    value = item.get(name, default)
    if not isinstance(value, str) or not value:
        raise InputError(f"{where}.{name} is missing or no text", "give a text")
    return value


def _flag(item: dict[str, Tree], name: str, where: str) -> bool:
    value = item.get(name, False)
    if not isinstance(value, bool):
        raise InputError(f"{where}.{name} is no flag", "give true or false")
    return value


def parsed(given: Given, message: "CheckRequest") -> "Segment":
    """The segment of an entry, checked as one of a request is. Raises Malformed."""
    from discreet.policy.codec import parse_check
    from discreet.v1.common_pb2 import MOMENT_PUBLISH
    from discreet.v1.disclosure_pb2 import CheckRequest

    asked = CheckRequest(
        tenant=message.tenant, moment=MOMENT_PUBLISH, principal=message.principal, session_id=message.session_id,
        segments=[given.segment],
    )  # fmt: skip
    return parse_check(asked.SerializeToString()).request.segments[0]
