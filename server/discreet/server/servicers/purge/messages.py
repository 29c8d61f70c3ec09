"""Holders, orders and items as messages, and answers from messages. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from discreet.policy.codec import Malformed
from discreet.policy.codec.values import stamp_of
from discreet.policy.facts import Micros
from discreet.policy.idents import SHORT_BYTES_MAX, text_problem
from discreet.policy.words import HolderKind, PurgeItemKind, PurgeOutcome, PurgeState
from discreet.server.ports_authority import HolderRow, ItemRow, OrderRow
from discreet.server.ports_purge import PartCounts, Shown
from discreet.server.servicers import fields
from discreet.server.servicers.index.messages import ref_message
from discreet.server.servicers.purge.taking import Ack, Taken
from discreet.v1 import purge_pb2 as pb

ACKS_MAX: Final = 500


def holder_message(row: HolderRow, open_items: int, post: tuple[int, str]) -> pb.Holder:
    """A registered holder; its secret is told nowhere."""
    return pb.Holder(
        holder=row.holder,
        kind=pb.HolderKind.ValueType(row.kind.value),
        source_labels=row.labels,
        webhook_url=row.webhook_url,
        registered_at=stamp_of(row.at),
        removed=row.removed,
        open_items=open_items,
        post_failures=post[0],
        post_failure=post[1],
    )


def item_message(shown: Shown) -> pb.PurgeItem:
    """An item as its holder is asked for it."""
    item: ItemRow = shown.part.item
    message = pb.PurgeItem(
        order_id=item.order_id,
        item=item.item,
        kind=pb.PurgeItemKind.ValueType(item.kind.value),
        ledger_id=item.ledger_id,
        session_id=shown.named[0],
        answer_id=shown.named[1],
        segment_id=shown.named[2],
        source_label=item.label,
        digest=item.digest,
        due_at=stamp_of(shown.part.due_at),
    )
    if item.kind is PurgeItemKind.RECORD:
        message.record.CopyFrom(ref_message(item.ref))
    if item.store_by is not None:
        message.store_by.CopyFrom(stamp_of(item.store_by))
    return message


def status_message(shown: Shown) -> pb.PurgeItemStatus:
    """An item and where it stands."""
    message = pb.PurgeItemStatus(
        item=item_message(shown),
        holder=shown.part.holder,
        state=_state(shown.state),
        answers=shown.part.answers,
        failure=shown.part.failure,
        answered_while_held=shown.answered_while_held,
    )
    if shown.part.answered_at is not None:
        message.answered_at.CopyFrom(stamp_of(shown.part.answered_at))
    return message


def part_message(counts: PartCounts) -> pb.PurgePart:
    """How far a holder's part is."""
    numbers = {state.short.lower(): counts.states.get(state, 0) for state in PurgeState}
    return pb.PurgePart(holder=counts.holder, overdue=counts.overdue, last_failure=counts.last_failure, **numbers)


def order_message(order: OrderRow, parts: Sequence[PartCounts], now: Micros) -> pb.PurgeOrder:
    """An order with its parts. Without any it is done once it is due: there is nobody to ask."""
    done = (PurgeState.PURGED, PurgeState.NOT_FOUND)
    still = any(count for part in parts for state, count in part.states.items() if state not in done)
    return pb.PurgeOrder(
        order_id=order.order_id,
        extent=order.extent,
        actor=order.actor,
        reason=order.reason,
        ticket=order.ticket,
        created_at=stamp_of(order.at),
        purge_not_before=stamp_of(order.purge_not_before),
        due_at=stamp_of(order.due_at),
        records=order.records,
        segments=order.segments,
        done=not still and (bool(parts) or order.purge_not_before <= now),
        parts=[part_message(part) for part in parts],
    )


def taken_message(taken: Taken) -> pb.AckOutcome:
    """What an answer led to."""
    state = pb.PURGE_STATE_UNSPECIFIED if taken.state is None else _state(taken.state)
    return pb.AckOutcome(order_id=taken.key[0], item=taken.key[1], state=state, refused=taken.refused)


def acks_of(given: Iterable[pb.PurgeAck]) -> list[Ack]:
    """The answers of a message. Raises Malformed."""
    listed = list(given)
    fields.count("acks", len(listed), 1, ACKS_MAX)
    found = [_ack(one, f"acks[{place}]") for place, one in enumerate(listed)]
    fields.distinct("acks", (ack.key for ack in found))
    return found


def _ack(given: pb.PurgeAck, path: str) -> Ack:
    fields.check(text_problem(given.order_id, SHORT_BYTES_MAX), f"{path}.order_id", "give that of the item")
    if not 0 < given.item < 1 << 31:
        raise Malformed(f"{path}.item", "is no item's number", "give that of the item")
    choices = ", ".join(word.short for word in PurgeOutcome)
    if given.outcome not in [int(word) for word in PurgeOutcome]:
        raise Malformed(f"{path}.outcome", "is missing or unknown", f"give one of {choices}")
    outcome = PurgeOutcome(given.outcome)
    if outcome is PurgeOutcome.FAILED:
        fields.check(text_problem(given.reason, fields.TEXT_BYTES_MAX), f"{path}.reason", "say why it failed")
    elif given.reason:
        raise Malformed(f"{path}.reason", "cannot be given here", "only FAILED has one")
    return Ack((given.order_id, given.item), outcome, given.reason)


def kind_of(number: int) -> HolderKind:
    """What a holder keeps. Raises Malformed."""
    if number not in [int(kind) for kind in HolderKind]:
        choices = ", ".join(kind.short for kind in HolderKind)
        raise Malformed("kind", "is missing or unknown", f"give one of {choices}")
    return HolderKind(number)


def _state(state: PurgeState) -> pb.PurgeState.ValueType:
    return pb.PurgeState.ValueType(state.value)
