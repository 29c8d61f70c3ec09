"""GetServerInfo and GetStatus: what a client must know, and what an operator wants to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version

from discreet.policy.codec.encode import policy_message
from discreet.policy.codec.values import stamp_of
from discreet.policy.facts import Micros
from discreet.server.calls import Call
from discreet.server.fleet.environments import disagreement
from discreet.server.policies.follower import Policies
from discreet.server.ports import Head, Store, StoreError
from discreet.server.ports_cache import BundleCache
from discreet.server.ports_policy import ServerRow
from discreet.server.ports_spool import Spooling
from discreet.server.reading.heads import SharedHeads
from discreet.server.servicers.index.messages import token_of
from discreet.server.servicers.servers import state_message
from discreet.v1 import server_pb2 as pb

API_LEVEL = 3
"""Counts additions to the API; raised with every new field or method."""

SERVERS_WITHIN_US = 24 * 60 * 60 * 1_000_000
"""Servers that ended or fell silent within that time are shown."""


def server_version() -> str:
    """The version of the distribution."""
    try:
        return version("discreet")
    except PackageNotFoundError:
        return "0+uninstalled"


class ServerInfo:
    """Answers ServerService."""

    def __init__(
        self,
        instance: str,
        store: Store,
        heads: SharedHeads,
        policies: Policies,
        problems: Callable[[], list[str]],
        started_at: Micros,
        timeout_s: float,
        cache: BundleCache,
        spool: Spooling,
    ) -> None:
        self._instance = instance
        self._store = store
        self._heads = heads
        self._policies = policies
        self._problems = problems
        self._started_at = started_at
        self._timeout_s = timeout_s
        self._cache = cache
        self._spool = spool

    async def get_server_info(self, call: Call, _request: pb.GetServerInfoRequest) -> pb.GetServerInfoResponse:
        """Version, level, and the caller as the server knows it."""
        tenants = ["*"] if call.caller.tenants is None else sorted(call.caller.tenants)
        return pb.GetServerInfoResponse(
            version=server_version(),
            api_level=API_LEVEL,
            instance=self._instance,
            caller_name=call.caller.name,
            caller_role=call.caller.role.short,
            tenants=tenants,
        )

    async def get_status(self, call: Call, _request: pb.GetStatusRequest) -> pb.GetStatusResponse:
        """Readiness, and all that is degraded."""
        head, (now, servers) = await self._head(call), await self._servers(call)
        problems = self._problems()
        if head is None:
            problems = sorted({*problems, "store: does not answer"})
        if told := disagreement(now, servers):
            problems = sorted([*problems, told])
        snapshot, following, spool = self._policies.snapshot, self._policies.following, self._spool.state
        status = pb.GetStatusResponse(
            instance=self._instance,
            ready=head is not None and self._policies.usable(),
            problems=problems,
            policy=policy_message(snapshot),
            policy_lag_ms=self._policies.age_us() // 1_000,
            policy_error=following.error or following.unreachable,
            policy_error_commit=following.error_commit,
            policy_pinned=following.pinned,
            cache=self._cache.state.value,
            cache_silent_ms=self._cache.silent_ms,
            token=token_of(head) if head is not None else "",
            store=self._store.kind,
            audit_mode=snapshot.audit_checks.short if snapshot is not None else "",
            audit_spool_rows=spool.rows,
            audit_spool_bytes=spool.bytes,
            audit_spool_oldest_ms=spool.oldest_ms,
            audit_spool_lost_rows=spool.lost,
            started_at=stamp_of(self._started_at),
            servers=[state_message(head.epoch, now, row) for row in servers] if head is not None else (),
        )
        if following.read_at is not None:
            status.policy_checked_at.CopyFrom(stamp_of(following.read_at))
        return status

    async def _servers(self, call: Call) -> tuple[Micros, Sequence[ServerRow]]:
        """The database's clock and its servers; none where the store does not answer."""
        try:
            async with asyncio.timeout(call.time_left_s(self._timeout_s)):
                return await self._store.servers(SERVERS_WITHIN_US)
        except (StoreError, TimeoutError):
            return Micros(0), ()

    async def _head(self, call: Call) -> Head | None:
        try:
            async with asyncio.timeout(call.time_left_s(self._timeout_s)):
                return await self._heads.read()
        except (StoreError, TimeoutError):
            return None
