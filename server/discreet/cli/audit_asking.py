"""What the audit commands ask: filters as people type them into requests, and pages. Prints nothing."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from discreet.cli.errors import InputError
from discreet.cli.messages import build
from discreet.cli.times import format_micros, parse_past

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from discreet.cli.connection import Line
    from discreet.cli.reading import Tree
    from discreet.v1.audit_pb2 import ActRecord, DecisionRecord, QueryActsRequest, QueryDecisionsRequest

M = TypeVar("M", bound="Message")

NAMES = {"principal": "principal_id", "session": "session_id", "record": "record_id", "source": "source_label",
         "revision": "policy_revision", "subject": "subject_id"}  # fmt: skip
WORDS = ("verdict", "reason", "moment", "act")


def request_of(kind: type[M], tenant: str, filters: Mapping[str, str | int]) -> M:
    """The request with what was typed. Raises InputError that names the option."""
    import time

    now = time.time_ns() // 1_000
    tree: dict[str, Tree] = {NAMES.get(name, name): value for name, value in filters.items() if value}
    for name in WORDS:
        if name in tree:
            tree[name] = str(tree[name]).upper()
    for name in ("since", "until"):
        if name in tree:
            try:
                tree[name] = format_micros(parse_past(str(tree[name]), now))
            except InputError as error:
                raise InputError(f"--{name}: {error.message}", error.hint) from None
    return build(kind, {"tenant": tenant, **tree} if tenant else tree)


def decisions_page(
    line: "Line", request: "QueryDecisionsRequest", size: int, token: str
) -> "tuple[list[DecisionRecord], str]":
    """One page of decisions, and the token of the next."""
    from discreet.v1.audit_pb2_grpc import AuditServiceStub

    request.page_size = size
    request.page_token = token
    answer = line.call(AuditServiceStub(line.channel).QueryDecisions, request)
    return list(answer.decisions), answer.next_page_token


def acts_page(line: "Line", request: "QueryActsRequest", size: int, token: str) -> "tuple[list[ActRecord], str]":
    """One page of acts, and the token of the next."""
    from discreet.v1.audit_pb2_grpc import AuditServiceStub

    request.page_size = size
    request.page_token = token
    answer = line.call(AuditServiceStub(line.channel).QueryActs, request)
    return list(answer.acts), answer.next_page_token
