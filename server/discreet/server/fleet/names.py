"""A server that is given a name keeps what it saw: without its state directory it is not the server of that name."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.server.errors import StoreRefused
from discreet.server.ports import Adoption, Head, Store, StoreError
from discreet.server.reading.high_water import HighWater


async def require_state(
    store: Store, instance: str, water: HighWater, head: Head, adoptions: Sequence[Adoption]
) -> None:
    """Raises StoreRefused where the database knows an earlier server of a name whose state directory is not here.

    What that server saw of the database is not known then: it may have been restored meanwhile. A random name has no
    earlier server. A server that was last seen before an operator adopted the database is answered for by that.
    """
    try:
        if not instance or water.knows(head, adoptions):
            return
    except OSError:
        return  # marks that cannot be read are refused when the head is admitted
    try:
        earlier = await store.server(instance)
    except StoreError as error:
        raise StoreRefused(str(error)) from None
    if earlier is None or any(earlier.seen_at < adoption.at for adoption in adoptions):
        return
    raise StoreRefused(
        f"state directory: holds no mark of this database, and a server called {instance} has served it, so that what"
        " it saw is not known and a revoke may be missing (a restored backup, or a copy that lags); restore the"
        " directory and name it with --state, or give this server another name with --instance; where the directory is"
        f" lost, stop the servers and run `discreet db adopt --instance {instance}`"
    )
