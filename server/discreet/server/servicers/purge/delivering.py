"""What one line to a holder has still to carry: a stream, or posts to a webhook.

It remembers what it sent and was not answered, a bounded number, and what it recalled, so that nothing is sent twice on
one line. What is open, and what is held, is read anew: nothing depends on having seen an event, nor on what an earlier
line sent. So a recall cannot be lost with a line: each line says once of everything that is held that it must be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from discreet.policy.facts import Micros
from discreet.policy.words import PurgeState
from discreet.server.ports_purge import PartKey, PurgeMark, Shown
from discreet.server.servicers.purge.looking import Asked, Looks, Seen
from discreet.server.servicers.purge.messages import item_message
from discreet.v1 import purge_pb2 as pb

ITEMS_PER_MESSAGE: Final = 500
UNANSWERED_MAX: Final = 2_000
"""Items that one line has sent and that are not answered; beyond it nothing more is sent until some are."""
FULL_S: Final = 1.0
"""How often a line that is full looks whether something was answered: another server may have been told."""
HELD_US: Final = 20_000_000
"""The longest time between two looks at what is held: a root that gets another label comes under a hold unannounced."""

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


class Delivery:
    """One line to one holder."""

    def __init__(self, looks: Looks, tenant: str, holder: str) -> None:
        self._looks = looks
        self._tenant = tenant
        self._holder = holder
        self._sent: dict[PartKey, int] = {}
        """How many answers the item had when it was sent."""
        self._recalled: set[PartKey] = set()
        """What this line said of that it must be kept, and did not send again since."""
        self._mark: PurgeMark | None = None
        """What stood when held items were looked at last; None: there may be more of them than were seen."""
        self._until = Micros(0)

    async def round(self) -> Round:
        """What to send now, at most one message of it; it counts as sent. Raises StoreError, TimeoutError."""
        before = len(self._sent)
        room = min(ITEMS_PER_MESSAGE, UNANSWERED_MAX - before)
        held = len(self._recalled) + ITEMS_PER_MESSAGE
        asked = Asked(self._tenant, self._holder, frozenset(self._sent), room, held, self._mark, self._until)
        seen = await self._looks.seen(asked)
        recalls = self._settle(seen, held)
        fresh = [one for one in seen.found if _key(one) not in self._sent][:room]
        self._sent |= {_key(one): one.part.answers for one in fresh}
        self._recalled.difference_update(map(_key, fresh))
        return Round(
            [item_message(one) for one in fresh if not one.part.recheck],
            [_recheck(one) for one in fresh if one.part.recheck],
            [pb.PurgeRecall(order_id=key[0], item=key[1]) for key in recalls],
            self._next_s(seen, fresh, room, before),
        )

    def _next_s(self, seen: Seen, fresh: Sequence[Shown], room: int, before: int) -> float | None:
        more = len(fresh) == ITEMS_PER_MESSAGE or (not room and len(self._sent) < before)
        if more or self._mark is None:
            return 0.0
        next_s = None if seen.next_due is None else (seen.next_due - seen.now) / 1e6
        return min(FULL_S, next_s if next_s is not None else FULL_S) if not room else next_s

    def _settle(self, seen: Seen, limit: int) -> list[PartKey]:
        """Forgets what was answered since it was sent; what is under a hold and was not recalled on this line yet."""
        held = list(seen.held or ())
        for key, answers in list(self._sent.items()):
            shown = seen.sent.get(key)
            if shown is None or shown.part.answers != answers or shown.state in _DONE:
                del self._sent[key]
            elif shown.state is PurgeState.HELD:
                del self._sent[key]
                held.append(key)
        recalls = [key for key in dict.fromkeys(held) if key not in self._recalled]
        if seen.held is not None:
            whole = len(seen.held) < limit
            self._mark = seen.mark if whole else None
            due = (seen.now // HELD_US + 1) * HELD_US  # of the clock, so that lines that stand alike ask alike
            self._until = Micros(due if seen.next_due is None else min(due, seen.next_due))
            if whole:
                self._recalled.intersection_update(held)
        self._recalled.update(recalls)
        return recalls

    @property
    def keeps(self) -> bool:
        """True where the line knows, as of the last round, something that a new line would have to say again."""
        return bool(self._sent or self._recalled)

    def again(self) -> None:
        """Sends once more what was not answered."""
        self._sent.clear()

    def forget(self) -> None:
        """Begins as a new line: nothing is known to have arrived, no recall either."""
        self._sent.clear()
        self._recalled.clear()
        self._mark = None


def _key(shown: Shown) -> PartKey:
    return shown.part.item.order_id, shown.part.item.item


def _recheck(shown: Shown) -> pb.PurgeRecheck:
    item = shown.part.item
    return pb.PurgeRecheck(order_id=item.order_id, item=item.item, digest=item.digest)
