"""Recorded acts as a person reads them: who did what to what, and why."""

from typing import TYPE_CHECKING

from discreet.cli.printing import lines
from discreet.cli.shapes import word
from discreet.cli.times import format_micros
from discreet.v1.audit_pb2 import ActRecord, AuditAct

if TYPE_CHECKING:
    from rich.text import Text

COLUMNS = ("at", "who", "what", "to what, and why")
SHEET = ("at", "act", "method", "caller", "role", "record_id", "version", "principal_id", "scope", "subject_id",
         "ticket", "reason", "detail", "seq", "session_id", "ledger_ids", "tenant", "request_id")  # fmt: skip


def act_row(item: ActRecord) -> "list[Text | str]":
    """The cells of one act."""
    kind = word(AuditAct.DESCRIPTOR, item.act) or ""
    method = item.change.method if kind == "CHANGE" else f"{item.change.method}, {kind.lower()}"
    caller = f"{item.caller.name} ({item.caller.role})" if item.caller.name != item.caller.role else item.caller.name
    return [format_micros(item.at.ToMicroseconds()), caller, method, lines(*filter(None, (_about(item), _why(item))))]


def _about(item: ActRecord) -> str:
    change = item.change
    record = f"{change.record.record_id} {change.record.version}".strip()
    grant = f"{change.principal_id} {change.scope}".strip()
    return ", ".join(filter(None, (record, grant, change.subject_id, *item.shown_ledger_ids)))


def _why(item: ActRecord) -> str:
    change = item.change
    ticket = f"ticket {change.ticket}" if change.ticket else ""
    return "; ".join(filter(None, (change.reason, ticket, change.detail)))


def act_cells(item: ActRecord) -> list[str]:
    """The cells of one act under `SHEET`."""
    change = item.change
    return [
        format_micros(item.at.ToMicroseconds()),
        word(AuditAct.DESCRIPTOR, item.act) or "",
        change.method,
        item.caller.name,
        item.caller.role,
        change.record.record_id,
        change.record.version,
        change.principal_id,
        change.scope,
        change.subject_id,
        change.ticket,
        change.reason,
        change.detail,
        str(change.seq or ""),
        item.session_id,
        "; ".join(item.shown_ledger_ids),
        item.tenant,
        item.request_id,
    ]
