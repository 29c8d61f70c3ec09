"""What a holder of copies is asked, and what it answers: values, and the desk on which they lie. No I/O, no channel."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

from google.protobuf.timestamp_pb2 import Timestamp

from discreet.v1 import purge_pb2

ACKS_MAX = 500
REASON_CHARS_MAX = 200

Key = tuple[str, int]


class HolderKind(Enum):
    """What a holder keeps."""

    SEGMENT_STORE = 1
    DOCUMENT_STORE = 2


class PurgeKind(Enum):
    """What an item is: a committed segment, or a version of a record."""

    SEGMENT = 1
    RECORD = 2


class Outcome(Enum):
    """What became of an item: every copy is deleted, or there was none."""

    PURGED = 1
    NOT_FOUND = 2


@dataclass(frozen=True, slots=True)
class PurgeItem:
    """Something of which every copy, every part, and all that was made from it must go.

    A SEGMENT is named by its ledger id and by what it was committed under, a RECORD by its id and version. `digest` is
    the SHA-256 of what the holder must no longer have.
    """

    order_id: str
    item: int
    kind: PurgeKind
    digest: str
    due_at: datetime
    ledger_id: str = ""
    session_id: str = ""
    answer_id: str = ""
    segment_id: str = ""
    record_id: str = ""
    version: str = ""
    source_label: str = ""
    store_by: datetime | None = None


def item_of(sent: purge_pb2.PurgeItem) -> PurgeItem | None:
    """The item of a message; None for a kind that this client does not know: it stays open, and is not guessed at."""
    if sent.kind not in {kind.value for kind in PurgeKind}:
        return None
    return PurgeItem(
        order_id=sent.order_id,
        item=sent.item,
        kind=PurgeKind(sent.kind),
        digest=sent.digest,
        due_at=_time(sent.due_at),
        ledger_id=sent.ledger_id,
        session_id=sent.session_id,
        answer_id=sent.answer_id,
        segment_id=sent.segment_id,
        record_id=sent.record.record_id,
        version=sent.record.version,
        source_label=sent.source_label,
        store_by=_time(sent.store_by) if sent.HasField("store_by") else None,
    )


def _time(stamp: Timestamp) -> datetime:
    return stamp.ToDatetime(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Recheck:
    """A question whether content with a digest is still there."""

    order_id: str
    item: int
    digest: str


Task = PurgeItem | Recheck


def ack_purged(key: Key, outcome: object) -> purge_pb2.PurgeAck:
    """The answer to an item, of what a holder's handler returned; FAILED where that is no Outcome."""
    if not isinstance(outcome, Outcome):
        return ack_failed(key, TypeError())
    number = purge_pb2.PURGE_OUTCOME_PURGED if outcome is Outcome.PURGED else purge_pb2.PURGE_OUTCOME_NOT_FOUND
    return purge_pb2.PurgeAck(order_id=key[0], item=key[1], outcome=number)


def ack_rechecked(key: Key, has: object) -> purge_pb2.PurgeAck:
    """The answer to a recheck, of what a holder's handler returned; FAILED where that is no bool."""
    if not isinstance(has, bool):
        return ack_failed(key, TypeError())
    number = purge_pb2.PURGE_OUTCOME_PRESENT if has else purge_pb2.PURGE_OUTCOME_ABSENT
    return purge_pb2.PurgeAck(order_id=key[0], item=key[1], outcome=number)


def ack_failed(key: Key, error: BaseException) -> purge_pb2.PurgeAck:
    """The answer where a handler raised: the kind of the error alone, since its text may hold content."""
    failed = purge_pb2.PURGE_OUTCOME_FAILED
    reason = type(error).__name__[:REASON_CHARS_MAX]
    return purge_pb2.PurgeAck(order_id=key[0], item=key[1], outcome=failed, reason=reason)


class Desk:
    """What is to be done, in its order, and what is answered and not yet told. Bounded by what the server sends."""

    def __init__(self, resume_token: str = "") -> None:
        self._tasks: OrderedDict[Key, Task] = OrderedDict()
        self._acks: OrderedDict[Key, purge_pb2.PurgeAck] = OrderedDict()
        self._seen = ""
        self.resume_token = resume_token
        """Of the last message whose items were all answered, and the answers told."""
        self.recalled: list[Key] = []
        """Recalls that nobody looked at yet."""

    def take(self, message: purge_pb2.WatchPurgeOrdersResponse) -> None:
        """Puts down what came. What was recalled and not begun is gone from the desk."""
        for recall in message.recalls:
            key = recall.order_id, recall.item
            self._tasks.pop(key, None)
            self.recalled.append(key)
        for sent in message.items:
            self._put(item_of(sent))
        for asked in message.rechecks:
            self._put(Recheck(asked.order_id, asked.item, asked.digest))
        self._seen = message.resume_token
        self._settle()

    def _put(self, task: Task | None) -> None:
        if task is not None and (task.order_id, task.item) not in self._acks:
            self._tasks[task.order_id, task.item] = task

    def next(self) -> Task | None:
        """What is to be done next; it stays on the desk until it is answered."""
        return next(iter(self._tasks.values()), None)

    def answer(self, ack: purge_pb2.PurgeAck) -> None:
        """Keeps an answer until it is told."""
        self._tasks.pop((ack.order_id, ack.item), None)
        self._acks[ack.order_id, ack.item] = ack

    def acks(self) -> list[purge_pb2.PurgeAck]:
        """Answers to be told, as many as one call may hold."""
        return list(self._acks.values())[:ACKS_MAX]

    def told(self, acks: Iterable[purge_pb2.PurgeAck]) -> None:
        """The server has these answers."""
        for ack in acks:
            self._acks.pop((ack.order_id, ack.item), None)
        self._settle()

    def line_lost(self) -> None:
        """What is open comes again on the next stream, and a recall may have been missed: begin nothing of the old."""
        self._tasks.clear()
        self._seen = ""

    def _settle(self) -> None:
        if self._seen and not self._tasks and not self._acks:
            self.resume_token = self._seen
