"""The import of many records: one batch under way while the next is read, in the order of the lines.

Only one call is under way at a time, since a record's versions must arrive in their order. Repeating is harmless: what
is there stays UNCHANGED. Nothing is ever removed. Must know nothing of the terminal.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from discreet.cli.connection import Line
from discreet.cli.errors import Unreachable
from discreet.cli.lines import Bad, Good, Skipped
from discreet.cli.shapes import word
from discreet.v1.common_pb2 import Reason
from discreet.v1.index_pb2 import (
    DocumentInput,
    EvidenceInput,
    PutDocumentsRequest,
    PutDocumentsResponse,
    PutOutcome,
    RegisterEvidenceRequest,
    RegisterEvidenceResponse,
)
from discreet.v1.index_pb2_grpc import IndexServiceStub

if TYPE_CHECKING:
    import grpc

    Call = grpc.Future[PutDocumentsResponse | RegisterEvidenceResponse]

BATCH_MAX = 500
BATCH_BYTES_MAX = 2_000_000
ATTEMPTS_MAX = 4
_RETRIED = frozenset({8, 14})  # RESOURCE_EXHAUSTED and UNAVAILABLE; a repeated put is harmless


@dataclass(slots=True)
class Batch:
    """Neighbouring lines of one kind, up to a number and a size, with the bad lines found among them."""

    good: list[Good] = field(default_factory=list)
    bad: list[Bad] = field(default_factory=list)
    size: int = 0
    last_line: int = 0
    read: int = 0


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A batch that the server has answered. `bad`: its lines that were not registered, refused ones included."""

    last_line: int
    read: int
    kinds: Counter[str]
    bad: list[Bad]
    last: tuple[str, str]


def batches(items: Iterable[Good | Bad | Skipped], size_max: int) -> Iterator[Batch]:
    """The lines in batches of one kind each, at most `size_max` good ones."""
    batch = Batch()
    for item in items:
        if isinstance(item, Good) and batch.good:
            other = type(item.message) is not type(batch.good[0].message)
            if other or len(batch.good) >= size_max or batch.size + item.size > BATCH_BYTES_MAX:
                yield batch
                batch = Batch()
        if isinstance(item, Good):
            batch.good.append(item)
            batch.size += item.size
        elif isinstance(item, Bad):
            batch.bad.append(item)
        if not isinstance(item, Bad):
            batch.read = item.read
        batch.last_line = item.number
    yield batch


def send(line: Line, tenant: str, found: Iterator[Batch]) -> Iterator[Acknowledged]:
    """Sends the batches one by one, reading the next while one is under way; yields each as the server answers it.

    Raises CliError where a call fails for good: what was yielded stays registered.
    """
    stub = IndexServiceStub(line.channel)
    batch = next(found, None)
    while batch is not None:
        call = _start(stub, line, tenant, batch) if batch.good else None
        following = next(found, None)
        outcomes = _finish(stub, line, tenant, batch, call) if call is not None else []
        yield _acknowledged(batch, outcomes)
        batch = following


def _start(stub: IndexServiceStub, line: Line, tenant: str, batch: Batch) -> "Call":
    messages = [item.message for item in batch.good]
    if isinstance(messages[0], DocumentInput):
        documents = cast("list[DocumentInput]", messages)
        put = PutDocumentsRequest(tenant=tenant, documents=documents)
        return cast("Call", stub.PutDocuments.future(put, timeout=line.deadline_s))
    register = RegisterEvidenceRequest(tenant=tenant, evidence=cast("list[EvidenceInput]", messages))
    return cast("Call", stub.RegisterEvidence.future(register, timeout=line.deadline_s))


def _finish(stub: IndexServiceStub, line: Line, tenant: str, batch: Batch, call: "Call") -> list[PutOutcome]:
    import time

    import grpc

    for attempt in range(1, ATTEMPTS_MAX + 1):
        try:
            response: PutDocumentsResponse | RegisterEvidenceResponse = call.result()
        except grpc.RpcError as error:
            code = cast("grpc.Call", error).code().value[0]
            if code not in _RETRIED or attempt == ATTEMPTS_MAX:
                raise line.failure(error) from None
            time.sleep(0.1 * 4**attempt)  # a bounded retry of the product
            call = _start(stub, line, tenant, batch)
            continue
        if len(response.outcomes) != len(batch.good):
            raise Unreachable("the server answered for another number of records than were sent", "import again")
        return list(response.outcomes)
    raise AssertionError("unreachable: the last attempt returns or raises")


def _acknowledged(batch: Batch, outcomes: list[PutOutcome]) -> Acknowledged:
    kinds: Counter[str] = Counter()
    bad = list(batch.bad)
    last = ("", "")
    for item, outcome in zip(batch.good, outcomes, strict=True):
        kind = word(PutOutcome.Kind.DESCRIPTOR, outcome.kind) or "REFUSED"
        kinds[kind] += 1
        if outcome.kind in (PutOutcome.KIND_CREATED, PutOutcome.KIND_UPDATED, PutOutcome.KIND_UNCHANGED):
            last = (item.message.record_id, item.message.version)
        else:
            reason = word(Reason.DESCRIPTOR, outcome.reason)
            why = ": ".join(part for part in (reason, outcome.message) if part)
            bad.append(Bad(item.number, f"refused by the server: {why or 'it gave no reason'}"))
    bad.sort(key=lambda item: item.number)
    return Acknowledged(batch.last_line, batch.read, kinds, bad, last)
