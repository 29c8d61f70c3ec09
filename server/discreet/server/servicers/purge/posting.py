"""Posts items to the webhooks of holders: one server a holder at a time, by a claim in the database that runs out.

What an answer to a post leaves open may be answered with AckPurge later; it is posted again after a while. A server
that takes a claim over knows nothing of what the one before posted, and begins anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from discreet.policy.facts import Caller, Micros
from discreet.policy.words import Role
from discreet.server.calls import Call, new_id
from discreet.server.logs import Log
from discreet.server.ports import Store, StoreError, Work
from discreet.server.ports_authority import HolderRow
from discreet.server.ports_purge import Posting
from discreet.server.servicers.purge.delivering import Delivery, Round
from discreet.server.servicers.purge.looking import Looks
from discreet.server.servicers.purge.taking import Ack, take
from discreet.server.servicers.purge.tide import Tide
from discreet.server.servicers.purge.webhook import Poster, PostFailed
from discreet.v1 import purge_pb2 as pb

T = TypeVar("T")

CLAIM_S: Final = 60.0
"""How long a claim lasts that is not renewed: longer than any post."""
AGAIN_S: Final = 600.0
"""When items that were posted and not answered are posted again."""
LOOK_S: Final = 5.0
"""The longest time between two looks."""
BACKOFF_S: Final = 5.0
BACKOFF_MAX_S: Final = 900.0
POSTS_UNDER_WAY_MAX: Final = 4
"""Each has a thread of its own; who answers slowly keeps other holders waiting, and nobody else."""


@dataclass(slots=True)
class _Line:
    """One holder's webhook, at this server. `holder`: as it stood when the line began."""

    delivery: Delivery
    holder: HolderRow
    began: float
    post: asyncio.Task[None] | None = None


class Hooks:
    """Posts while it runs."""

    def __init__(
        self, store: Store, tide: Tide, log: Log, instance: str, timeout_s: float, again_s: float = AGAIN_S
    ) -> None:
        self._store = store
        self._looks = Looks(store, timeout_s)
        self._tide = tide
        self._log = log
        self._instance = instance
        self._timeout_s = timeout_s
        self._again_s = again_s
        self._poster = Poster()
        self._lines: dict[tuple[str, str], _Line] = {}
        self._room = asyncio.Semaphore(POSTS_UNDER_WAY_MAX)

    async def run(self) -> None:
        """Looks for what is to be posted until it is cancelled."""
        try:
            while True:
                number = self._tide.number
                try:
                    await self._begin()
                except (StoreError, TimeoutError) as error:
                    self._log.warning("webhooks could not be looked after", error=type(error).__name__)
                await asyncio.sleep(LOOK_S / 20)
                await self._tide.after(number, LOOK_S)
        finally:
            posts = [line.post for line in self._lines.values() if line.post is not None]
            for post in posts:
                post.cancel()
            await asyncio.gather(*posts, return_exceptions=True)

    async def _begin(self) -> None:
        """Starts a post for every holder that may be posted to and has none under way."""
        async with asyncio.timeout(self._timeout_s):
            now, postings = await self._store.look(lambda look: (look.now, look.purges.postings()))
        loop = asyncio.get_running_loop()
        for posting in postings:
            key = posting.tenant, posting.holder.holder
            others = posting.instance != self._instance
            if posting.claimed_until > now and (others or posting.failures):
                continue
            line = self._lines.get(key)
            if line is not None and line.post is not None and not line.post.done():
                continue
            if line is None or others or line.holder != posting.holder:
                delivery = Delivery(self._looks, posting.tenant, posting.holder.holder)
                line = self._lines[key] = _Line(delivery, posting.holder, loop.time())
            renew = posting.claimed_until - now < CLAIM_S * 5e5
            line.post = asyncio.create_task(self._post(line, posting, renew=renew))
            line.post.add_done_callback(self._ended)

    def _ended(self, post: asyncio.Task[None]) -> None:
        """Tells of an error that nobody expected; the next look posts again."""
        error = None if post.cancelled() else post.exception()
        if error is not None:
            self._log.error("a webhook could not be served", error=type(error).__name__)

    async def _post(self, line: _Line, posting: Posting, *, renew: bool) -> None:
        """Posts what there is.

        The claim is kept while something is not answered, or recalled: who takes the line over says all of it again.
        """
        loop = asyncio.get_running_loop()
        tenant, holder = posting.tenant, posting.holder
        try:
            async with self._room:
                if loop.time() - line.began > self._again_s:
                    line.delivery.again()
                    line.began = loop.time()
                found = await line.delivery.round()
                if found.empty and not (renew and line.delivery.keeps):
                    return
                claimed = await self._change(
                    lambda index: index.purges.claim_post(tenant, holder.holder, self._instance, _ahead(index, CLAIM_S))
                )
                if not claimed:
                    line.delivery.forget()
                    return
                if not found.empty:
                    await self._carry(line, posting, found)
        except (StoreError, TimeoutError) as error:
            line.delivery.forget()
            self._log.warning("a webhook could not be served", error=type(error).__name__)

    async def _carry(self, line: _Line, posting: Posting, found: Round) -> None:
        tenant, holder = posting.tenant, posting.holder
        post = pb.PurgePost(
            tenant=tenant, holder=holder.holder, items=found.items, recalls=found.recalls, rechecks=found.rechecks
        )
        try:
            acks = await self._poster.post(holder.webhook_url, holder.webhook_secret or b"", post)
        except PostFailed as error:
            line.delivery.forget()
            wait = min(BACKOFF_S * 2 ** min(posting.failures, 10), BACKOFF_MAX_S)
            failure = str(error)
            self._log.warning(
                "a post to a holder's webhook failed", holder=holder.holder, failures=posting.failures + 1
            )
            await self._change(
                lambda index: index.purges.note_post(tenant, holder.holder, _ahead(index, wait), failure)
            )
            return
        await self._change(lambda index: self._note(index, tenant, holder.holder, acks))
        self._tide.news((tenant, holder.holder))

    def _note(self, index: Work, tenant: str, holder: str, acks: list[Ack]) -> None:
        """Takes the answers down as the holder's own; the claim stays with this server until it runs out."""
        if acks:
            caller = Caller(holder, Role.HOLDER, frozenset({tenant}))
            take(index, Call(caller, "/discreet.v1.PurgeService/AckPurge", new_id()), tenant, self._instance, acks)
        index.purges.note_post(tenant, holder, _ahead(index, CLAIM_S), "")

    async def _change(self, work: Callable[[Work], T]) -> T:
        async with asyncio.timeout(self._timeout_s):
            return await self._store.change(work)


def _ahead(index: Work, seconds: float) -> Micros:
    return Micros(index.now + int(seconds * 1e6))
