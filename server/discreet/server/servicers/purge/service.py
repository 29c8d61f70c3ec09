"""The purge service put together: its methods, its stream, and what runs in the background."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping

from discreet.server.calls import StreamMethod, UnaryMethod
from discreet.server.config import ServerConfig
from discreet.server.logs import Log
from discreet.server.ports import Store
from discreet.server.reading.heads import SharedHeads
from discreet.server.servicers.index.transacting import Transacting
from discreet.server.servicers.purge.holders import Holders
from discreet.server.servicers.purge.lists import Orders
from discreet.server.servicers.purge.noticing import Noticing
from discreet.server.servicers.purge.posting import Hooks
from discreet.server.servicers.purge.sounding import Sounding
from discreet.server.servicers.purge.tide import Tide
from discreet.server.servicers.purge.watching import Watching
from discreet.server.servicers.typed import on_bytes
from discreet.v1 import purge_pb2 as pb

_SERVICE = "/discreet.v1.PurgeService/"


class Purging:
    """Holders and purge orders, of one server."""

    def __init__(
        self, config: ServerConfig, instance: str, store: Store, heads: SharedHeads, transacting: Transacting, log: Log
    ) -> None:
        timeout_s = config.store_timeout_s
        self.tide = Tide()
        """To be told of the order as it is seen to move."""
        self.noticing = Noticing(store, self.tide, log, instance, timeout_s)
        self._sounding = Sounding(store, self.tide, log, timeout_s)
        self.hooks = Hooks(store, self.tide, log, instance, timeout_s)
        holders, orders = Holders(transacting, config.identities, self.tide), Orders(transacting, self.tide, instance)
        self.watching = Watching(store, heads, self.tide, timeout_s)
        self.unary: Mapping[str, UnaryMethod] = {
            _SERVICE + "RegisterHolder": on_bytes(pb.RegisterHolderRequest, holders.register),
            _SERVICE + "RemoveHolder": on_bytes(pb.RemoveHolderRequest, holders.remove),
            _SERVICE + "ListHolders": on_bytes(pb.ListHoldersRequest, holders.list_holders),
            _SERVICE + "AckPurge": on_bytes(pb.AckPurgeRequest, orders.ack),
            _SERVICE + "ListPurgeOrders": on_bytes(pb.ListPurgeOrdersRequest, orders.list_orders),
            _SERVICE + "ListPurgeItems": on_bytes(pb.ListPurgeItemsRequest, orders.list_items),
            _SERVICE + "GetPurgeStatus": on_bytes(pb.GetPurgeStatusRequest, orders.status),
        }
        self.streams: Mapping[str, StreamMethod] = {_SERVICE + "WatchPurgeOrders": self.watching.watch}

    def background(self) -> tuple[Callable[[], Coroutine[None, None, None]], ...]:
        """What runs while the server serves."""
        return self._sounding.run, self.noticing.run, self.hooks.run
