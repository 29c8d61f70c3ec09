"""What came before a reader, as a person reads it. Must make no call.

Of what was allowed, the audit knows how far it went: an agent was let read it, may have shown it, or did.
"""

from typing import TYPE_CHECKING

from discreet.cli.printing import lines
from discreet.cli.shapes import flat, word
from discreet.cli.times import format_micros
from discreet.v1.audit_pb2 import AUDIT_ACT_COMMIT, DecisionRecord
from discreet.v1.common_pb2 import MOMENT_EXPORT, MOMENT_REPLAY, MOMENT_RETRIEVE, Moment

if TYPE_CHECKING:
    from rich.text import Text

COLUMNS = ("at, decision id", "reader", "how far", "what")
SHEET = ("at", "principal_id", "session_id", "moment", "how_far", "records", "named_itself", "segment_id", "ledger_id",
         "decision_id", "caller", "tenant")  # fmt: skip
RETRIEVED, RELEASED, SHOWN, ASKED = "retrieved", "released", "shown", "asked only"


def how_far(item: DecisionRecord) -> str:
    """How far an allowed segment went, as far as the audit can know.

    "retrieved": an agent was let read it for this reader. "released": it may have been shown. "shown": the agent
    reported that it was. "asked only": a Check at PUBLISH, which permits nothing.
    """
    if item.moment == MOMENT_RETRIEVE:
        return RETRIEVED
    if item.act == AUDIT_ACT_COMMIT:
        return SHOWN if item.confirmed else RELEASED
    return RELEASED if item.moment in (MOMENT_REPLAY, MOMENT_EXPORT) else ASKED


def rests_on(item: DecisionRecord, record_id: str, version: str) -> bool:
    """False where the segment surely rests on another version of the record: it names that one, and nothing else.

    What stands behind another record or a parent is not told by version, and counts.
    """
    bindings = item.decision.bindings
    if not version or item.decision.parents:
        return True
    return any(one.record_id != record_id or one.version == version for one in bindings) or not bindings


def names(item: DecisionRecord, record_id: str, version: str) -> bool:
    """Whether the segment names the record itself; else it rests on something that was made from it."""
    return any(one.record_id == record_id and (not version or one.version == version) for one in item.decision.bindings)


def seen_row(item: DecisionRecord, itself: bool = True) -> "list[Text | str]":
    """The cells of one reading. `itself`: as `names` says."""
    moment = word(Moment.DESCRIPTOR, item.moment) or ""
    records = flat(f"{binding.record_id} {binding.version}" for binding in item.decision.bindings)
    said = f"on {records or 'its parents'}" + ("" if itself else ", behind which it stands")
    return [
        lines(format_micros(item.at.ToMicroseconds()), item.decision.decision_id),
        lines(item.principal_id, f"session {item.session_id}"),
        how_far(item),
        lines(f"segment {item.decision.segment_id} at {moment}", said),
    ]


def seen_cells(item: DecisionRecord, itself: bool = True) -> list[str]:
    """The cells of one reading under `SHEET`."""
    return [
        format_micros(item.at.ToMicroseconds()),
        item.principal_id,
        item.session_id,
        word(Moment.DESCRIPTOR, item.moment) or "",
        how_far(item),
        "; ".join(f"{binding.record_id} {binding.version}" for binding in item.decision.bindings),
        "yes" if itself else "no",
        item.decision.segment_id,
        item.decision.ledger_id,
        item.decision.decision_id,
        item.caller.name,
        item.tenant,
    ]
