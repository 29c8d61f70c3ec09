"""What stood above the records of a recorded decision, as a test says it: legal holds, freezes, revoked sources.

The audit says of each record in which states it was; on which hold or until when a freeze stood makes no difference.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.cli.shapes import micros
from discreet.cli.times import format_micros
from discreet.policy.words import Reason

if TYPE_CHECKING:
    from discreet.v1.audit_pb2 import AuditFact, DecisionRecord
    from discreet.v1.index_pb2 import Record

HOUR_US = 3_600_000_000


@dataclass(slots=True)
class Stood:
    """What stood, gathered record by record."""

    decided: "DecisionRecord"
    holds: list[object] = field(default_factory=list)
    frozen: set[str] = field(default_factory=set)
    revoked: dict[str, object] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def as_it_stood(self, tree: dict[str, object], fact: "AuditFact", latest: "Record") -> dict[str, object]:
        """The record of a test as it was decided on: without what came later, with what stood above it noted."""
        states, label = set(fact.states), str(tree["source-label"])
        if "suspended" not in states:
            tree = {name: value for name, value in tree.items() if name not in {"suspended", "suspended-until"}}
        if "revoked" not in states:
            tree.pop("revoked", None)
            if latest.HasField("retention_revoke"):
                self.notes.append(
                    f"{fact.id} version {fact.version} is revoked since: what its purge takes is left out"
                )
        elif "revoked" not in tree:
            self.revoked[label] = {"source": label, **revoked_tree(latest)}
        if "held" in states:
            self.holds.append({"record": {"record-id": fact.id, "version": fact.version}})
        if "frozen" in states:
            self.frozen.add(label)
        return tree

    def tree(self) -> dict[str, object]:
        """What stood, as a test says it; nothing where nothing did."""
        until = format_micros(micros(self.decided.at) + HOUR_US)
        decision = self.decided.decision
        if decision.reason == Reason.FROZEN.value and not decision.HasField("deciding_record"):
            freezes: list[object] = [{"until": until}]
        else:
            freezes = [{"source": label, "until": until} for label in sorted(self.frozen)]
        found = {"holds": self.holds, "freezes": freezes, "revoked-sources": list(self.revoked.values())}
        return {name: items for name, items in found.items() if items}


def revoked_tree(record: "Record") -> dict[str, object]:
    """The revoke that a record is under, as a test writes it."""
    revoke = record.retention_revoke
    at, due = format_micros(micros(revoke.revoked_at)), format_micros(micros(revoke.purge_not_before))
    return {"at": at, "purge-not-before": due}
