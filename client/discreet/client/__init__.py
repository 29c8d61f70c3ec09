"""Discreet for agents: ask before each disclosure, and show only what is allowed now.

`Client` waits in threads, `AsyncClient` under asyncio; both have the same methods and need grpcio and protobuf alone.
Whatever fails, is late, is malformed or is not known counts as WITHHOLD and brings a fixed text to show instead.
"""

from discreet.client.aio import AsyncClient, AsyncPublishing
from discreet.client.blocking import Client, Publishing
from discreet.client.cutting import Delta, End, by_agent, by_paragraph, by_sentence
from discreet.client.draft import Piece
from discreet.client.filtering import Filtered, Kept
from discreet.client.guard import Cutting, Guard
from discreet.client.guard_aio import AsyncGuard
from discreet.client.holding import Limits
from discreet.client.info import ServerInfo, ServerUnreachable
from discreet.client.levels import API_LEVEL
from discreet.client.model import Binding, Claim, Principal, Segment, digest
from discreet.client.reporting import Reported
from discreet.client.result import Answer, Evidence, Failure, Gap, Result
from discreet.client.resuming import Stored
from discreet.client.words import (
    ActionTendency,
    Consistency,
    Freshness,
    Gate,
    Grounding,
    Moment,
    Next,
    OrderKind,
    Reason,
    Verdict,
)

__all__ = [
    "API_LEVEL",
    "ActionTendency",
    "Answer",
    "AsyncClient",
    "AsyncGuard",
    "AsyncPublishing",
    "Binding",
    "Claim",
    "Client",
    "Consistency",
    "Cutting",
    "Delta",
    "End",
    "Evidence",
    "Failure",
    "Filtered",
    "Freshness",
    "Gap",
    "Gate",
    "Grounding",
    "Guard",
    "Kept",
    "Limits",
    "Moment",
    "Next",
    "OrderKind",
    "Piece",
    "Principal",
    "Publishing",
    "Reason",
    "Reported",
    "Result",
    "Segment",
    "ServerInfo",
    "ServerUnreachable",
    "Stored",
    "Verdict",
    "by_agent",
    "by_paragraph",
    "by_sentence",
    "digest",
]
