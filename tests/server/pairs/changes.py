"""Every kind of change that forbids, with what ends it and what readers are told under it. Knows no order.

`make` asks for the change on a document of its own source and returns what ends it: a request, or None for good.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from discreet.policy.token import decode
from discreet.v1 import authority_pb2, common_pb2, index_pb2, purge_pb2
from tests.server.authority.acts import FAR, SAID, TICKETED, ahead
from tests.server.support import POLICY, TENANT, PolicyRepo, Running, document, eventually, ref

READER = "ana"
DESK = "desk"
PURGED = ("PURGE", "RETENTION_REVOKED")
PAST = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Stage:
    """A server through which changes are made, the repository that it follows, and the source under test."""

    server: Running
    repo: PolicyRepo
    label: str

    @property
    def record_id(self) -> str:
        """The document that everything is about."""
        return f"{self.label}/doc"

    async def ask(self, request: Message) -> int:
        """The number that an operator's change was given."""
        answer: Any = await self.server.lines.operator.call(request)
        return decode(answer.token).seq


Undo = Callable[[Stage], Awaitable[int]]
Make = Callable[[Stage], Coroutine[None, None, tuple[int, Undo | None]]]


@dataclass(frozen=True, slots=True)
class Forbidding:
    """A change. `told`: what the reader is told under it, at PUBLISH and at REPLAY."""

    make: Make
    told: tuple[str, str]
    stays: bool = False
    """True where nothing ends it."""


def asked(request: Callable[[Stage], Message], undo: Callable[[Stage], Message] | None = None) -> Make:
    """A change that is one request, ended by another one."""

    async def make(stage: Stage) -> tuple[int, Undo | None]:
        seq = await stage.ask(request(stage))
        return seq, None if undo is None else lambda on: on.ask(undo(on))

    return make


def on_record(kind: type[Message], **fields: Any) -> Callable[[Stage], Message]:
    """A request about the document."""
    return lambda stage: kind(**SAID, record=ref(stage.record_id), **fields)


def revoke(extent: Callable[[Stage], dict[str, Any]], **fields: Any) -> Make:
    """A retention revoke."""
    return asked(lambda stage: index_pb2.RevokeRetentionRequest(**TICKETED, **extent(stage), **fields))


def assessed(seconds: int) -> Callable[[Stage], Message]:
    """The document's assessment ends then."""
    return on_record(index_pb2.RecordAssessmentRequest, expires_at={"seconds": seconds})


def granted(kind: type[Message]) -> Callable[[Stage], Message]:
    """The reader's only scope is given or withdrawn."""
    return lambda _: kind(**SAID, principal_id=READER, scope=DESK)


def superseding(stage: Stage) -> Message:
    """The other document of the source takes its place."""
    other = common_pb2.RecordRef(record_id=f"{stage.label}/other", version="1")
    return index_pb2.SupersedeRequest(**SAID, record=ref(stage.record_id), successor=other)


async def replaced(stage: Stage) -> tuple[int, Undo | None]:
    """The collector registers a later version."""
    later = document(stage.record_id, "2", source_label=stage.label, scopes=[DESK])
    answer = await stage.server.lines.collector.put(later)
    assert answer.outcomes[0].kind == index_pb2.PutOutcome.KIND_CREATED, answer
    return decode(answer.token).seq, None


def frozen(extent: Callable[[Stage], dict[str, Any]]) -> Make:
    """A freeze, which is ended by its id."""

    async def make(stage: Stage) -> tuple[int, Undo | None]:
        request = authority_pb2.FreezeRequest(reason="why", until=ahead(3_600), **extent(stage))
        answer = await stage.server.lines.operator.call(request)
        assert isinstance(answer, authority_pb2.FreezeResponse)
        ended = authority_pb2.UnfreezeRequest(tenant=request.tenant, freeze_id=answer.freeze_id, reason="over")
        return decode(answer.token).seq, lambda on: on.ask(ended)

    return make


def held(extent: Callable[[Stage], dict[str, Any]]) -> Make:
    """A legal hold, which is lifted by its id."""

    async def make(stage: Stage) -> tuple[int, Undo | None]:
        answer = await stage.server.lines.operator.call(purge_pb2.PlaceHoldRequest(**TICKETED, **extent(stage)))
        assert isinstance(answer, purge_pb2.PlaceHoldResponse)
        ended = purge_pb2.LiftHoldRequest(**TICKETED, hold_id=answer.hold_id)
        return decode(answer.token).seq, lambda on: on.ask(ended)

    return make


def published(files: Callable[[Stage], dict[str, str]]) -> Make:
    """A policy revision; ended by one that is as it was before."""

    async def make(stage: Stage) -> tuple[int, Undo | None]:
        return await _publish(stage, files(stage)), lambda on: _publish(on, {"rules.yaml": rules()})

    return make


async def _publish(stage: Stage, files: dict[str, str]) -> int:
    follower = stage.server.server.policies
    before = follower.snapshot.number if follower.snapshot is not None else 0
    await asyncio.to_thread(stage.repo.commit, files)

    async def followed() -> bool:
        return follower.snapshot is not None and follower.snapshot.number > before

    await eventually(followed)
    return (await stage.server.server.store.head()).changed_seq


def _embargoed(stage: Stage) -> dict[str, str]:
    rule = f"\n  - {{id: not-now, effect: WITHHOLD, moments: [RETRIEVE, PUBLISH, REPLAY], sources: [{stage.label}]}}\n"
    return {"rules.yaml": rules().rstrip("\n") + rule}


LABELS = [f"pair-{number}" for number in range(90)]
"""A source for each test, so that what stands for one is nothing to the next."""


def rules() -> str:
    """Everything of these sources may be shown."""
    return (
        "apiVersion: discreet/v1\nkind: DisclosurePolicy\nname: rules\nrules:\n"
        f"  - {{id: all, effect: ALLOW, moments: [RETRIEVE, PUBLISH, REPLAY], sources: [{', '.join(LABELS)}]}}\n"
    )


def policy() -> dict[str, str]:
    """The policy set of these tests."""
    sources = "".join(
        f"  - {{label: {label}, title: {label}, duty: DOCUMENT_STORE, collectors: [collector]}}\n" for label in LABELS
    )
    listed = f"apiVersion: discreet/v1\nkind: SourceList\nname: sources\nsources:\n{sources}"
    return {**POLICY, "sources.yaml": listed, "rules.yaml": rules()}


CHANGES = {
    "revoke version": Forbidding(revoke(lambda s: {"record": ref(s.record_id)}), PURGED, stays=True),
    "revoke all versions": Forbidding(revoke(lambda s: {"all_versions_of": s.record_id}), PURGED, stays=True),
    "revoke list": Forbidding(revoke(lambda s: {"records": {"records": [ref(s.record_id)]}}), PURGED, stays=True),
    "revoke source": Forbidding(revoke(lambda s: {"source_label": s.label}), PURGED, stays=True),
    "revoke query": Forbidding(revoke(lambda s: {"query": {"record_id_prefix": s.record_id}}), PURGED, stays=True),
    "revoke later": Forbidding(
        revoke(lambda s: {"record": ref(s.record_id)}, purge_not_before=FAR),
        ("WITHHOLD", "RETENTION_REVOKED"),
        stays=True,
    ),
    "suspend": Forbidding(
        asked(on_record(index_pb2.SuspendRequest), on_record(index_pb2.ResumeRequest)), ("WITHHOLD", "SUSPENDED")
    ),
    "withdraw scope": Forbidding(
        asked(granted(index_pb2.WithdrawScopeRequest), granted(index_pb2.GrantScopeRequest)),
        ("WITHHOLD", "NOT_AVAILABLE"),
    ),
    "set scopes": Forbidding(
        asked(
            on_record(index_pb2.SetScopesRequest, scopes=["staff"]),
            on_record(index_pb2.SetScopesRequest, scopes=[DESK]),
        ),
        ("WITHHOLD", "NOT_AVAILABLE"),
    ),
    "end assessment": Forbidding(asked(assessed(PAST), assessed(FAR.seconds)), ("WITHHOLD", "ASSESSMENT_EXPIRED")),
    "lose document": Forbidding(
        asked(
            on_record(index_pb2.MarkUnreachableRequest, reachable=False),
            on_record(index_pb2.MarkUnreachableRequest, reachable=True),
        ),
        ("WITHHOLD", "DOCUMENT_UNREACHABLE"),
    ),
    "supersede": Forbidding(
        asked(superseding, on_record(index_pb2.SupersedeRequest, clear=True)), ("WITHHOLD", "SUPERSEDED")
    ),
    "later version": Forbidding(replaced, ("WITHHOLD", "VERSION_MISMATCH"), stays=True),
    "freeze source": Forbidding(frozen(lambda s: {"tenant": TENANT, "source_label": s.label}), ("WITHHOLD", "FROZEN")),
    "freeze tenant": Forbidding(frozen(lambda _: {"tenant": TENANT}), ("WITHHOLD", "FROZEN")),
    "freeze everything": Forbidding(frozen(lambda _: {"everything": True}), ("WITHHOLD", "FROZEN")),
    "hold version": Forbidding(held(lambda s: {"record": ref(s.record_id)}), ("WITHHOLD", "LEGAL_HOLD")),
    "hold source": Forbidding(held(lambda s: {"source_label": s.label}), ("WITHHOLD", "LEGAL_HOLD")),
    "publish policy": Forbidding(published(_embargoed), ("WITHHOLD", "POLICY_RULE")),
}
