"""What one line to a holder has still to carry: a stream, or posts to a webhook.

It remembers what it sent and was not answered, a bounded number, so that nothing is sent twice on one line and what
came under a hold can be recalled. What is open is read anew in every round: nothing depends on having seen an event.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

from discreet.policy.facts import Micros
from discreet.policy.words import PurgeState
from discreet.server.ports import Store
from discreet.server.ports_authority import Look
from discreet.server.ports_purge import PartKey, Shown
from discreet.server.servicers.purge.messages import item_message
from discreet.v1 import purge_pb2 as pb

ITEMS_PER_MESSAGE: Final = 500
UNANSWERED_MAX: Final = 2_000
"""Items that one line has sent and that are not answered; beyond it nothing more is sent until some are."""

_DONE: Final = (PurgeState.PURGED, PurgeState.NOT_FOUND)


class Round(NamedTuple):
    """What there is to send now, and in how many seconds there will be more, as far as is known."""

    items: Sequence[pb.PurgeItem]
    rechecks: Sequence[pb.PurgeRecheck]
    recalls: Sequence[pb.PurgeRecall]
    next_s: float | None

    @property
    def empty(self) -> bool:
        """True where there is nothing to send."""
        return not (self.items or self.rechecks or self.recalls)


class _Seen(NamedTuple):
    now: Micros
    sent: dict[PartKey, Shown]
    found: Sequence[Shown]
    next_due: Micros | None


class Delivery:
    """One line to one holder."""

    def __init__(self, store: Store, tenant: str, holder: str, timeout_s: float) -> None:
        self._store = store
        self._tenant = tenant
        self._holder = holder
        self._timeout_s = timeout_s
        self._sent: dict[PartKey, int] = {}
        """How many answers the item had when it was sent."""

    async def round(self) -> Round:
        """What to send now, at most one message of it; it counts as sent. Raises StoreError, TimeoutError."""
        keys = list(self._sent)
        room = min(ITEMS_PER_MESSAGE, UNANSWERED_MAX - len(keys))

        def read(look: Look) -> _Seen:
            purges = look.purges
            sent = dict(purges.parts(self._tenant, self._holder, keys)) if keys else {}
            found = purges.deliverable(self._tenant, self._holder, len(keys) + room) if room else ()
            return _Seen(look.now, sent, found, purges.next_due(self._tenant, self._holder))

        async with asyncio.timeout(self._timeout_s):
            seen = await self._store.look(read)
        recalls = self._settle(seen.sent)
        fresh = [one for one in seen.found if _key(one) not in self._sent][:room]
        self._sent |= {_key(one): one.part.answers for one in fresh}
        next_s = None if seen.next_due is None else (seen.next_due - seen.now) / 1e6
        more = len(fresh) == ITEMS_PER_MESSAGE or (not room and len(self._sent) < len(keys))
        return Round(
            [item_message(one) for one in fresh if not one.part.recheck],
            [_recheck(one) for one in fresh if one.part.recheck],
            recalls,
            0.0 if more else next_s,
        )

    def _settle(self, sent: dict[PartKey, Shown]) -> list[pb.PurgeRecall]:
        """Forgets what was answered since it was sent, and recalls what came under a hold."""
        recalls = []
        for key, answers in list(self._sent.items()):
            shown = sent.get(key)
            if shown is None or shown.part.answers != answers or shown.state in _DONE:
                del self._sent[key]
            elif shown.state is PurgeState.HELD:
                del self._sent[key]
                recalls.append(pb.PurgeRecall(order_id=key[0], item=key[1]))
        return recalls

    @property
    def unanswered(self) -> int:
        """How many items were sent and not answered, as of the last round."""
        return len(self._sent)

    def forget(self) -> None:
        """Sends what is open once more: nothing is known to have arrived."""
        self._sent.clear()


def _key(shown: Shown) -> PartKey:
    return shown.part.item.order_id, shown.part.item.item


def _recheck(shown: Shown) -> pb.PurgeRecheck:
    item = shown.part.item
    return pb.PurgeRecheck(order_id=item.order_id, item=item.item, digest=item.digest)
