"""A holder: deletes what must go, and says so. `python -m docs.examples.holder.holder TARGET DIRECTORY`."""

import os
import sys
from pathlib import Path

from discreet.client.purge import Holder, HolderKind, Outcome, PurgeItem
from docs.examples.holder.copies import Copies


def main(target: str, directory: str) -> None:
    """Works until it is stopped."""
    copies = Copies(Path(directory))

    def purge(item: PurgeItem) -> Outcome:
        return Outcome.PURGED if copies.delete(item.ledger_id) else Outcome.NOT_FOUND

    with Holder(target, tenant=os.environ.get("DISCREET_TENANT", "")) as holder:
        holder.register(HolderKind.SEGMENT_STORE)
        holder.run(purge, copies.has)


if __name__ == "__main__":
    main(*sys.argv[1:])
