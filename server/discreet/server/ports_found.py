"""What the store's queries ask for and find: decisions, acts, ends of the chain, grants; part of `ports`."""

from typing import NamedTuple

from discreet.policy.facts import GrantFacts, Micros


class AuditFilter(NamedTuple):
    """What a query asks for; None or empty: anything. Tenants None: all."""

    tenants: tuple[str, ...] | None = None
    principal_id: str = ""
    session_id: str = ""
    record_id: str = ""
    source_label: str = ""
    verdict: int = 0
    reasons: tuple[int, ...] = ()
    rule: str = ""
    moment: int = 0
    since: Micros | None = None
    until: Micros | None = None
    policy_revision: int = 0
    decision_id: str = ""


class AuditHit(NamedTuple):
    """One decision found: its row's bytes and its place in it. `position` is the stable cursor."""

    position: tuple[int, int, int]
    decision_id: str
    body: bytes


class ActKey(NamedTuple):
    """The columns by which a change, a refusal or a report is found, beside those of its row. Empty: it has none."""

    method: str
    actor: str
    record_id: str = ""
    version: str = ""
    ticket: str = ""
    subject_id: str = ""


class ActFilter(NamedTuple):
    """What a query of acts asks for; None or empty: anything. Tenants None: all."""

    tenants: tuple[str, ...] | None = None
    acts: tuple[int, ...] = ()
    method: str = ""
    actor: str = ""
    principal_id: str = ""
    record_id: str = ""
    version: str = ""
    ticket: str = ""
    subject_id: str = ""
    since: Micros | None = None
    until: Micros | None = None


class ActHit(NamedTuple):
    """One act found: its row's bytes. `position` is the stable cursor."""

    position: tuple[int, int, int]
    body: bytes


class ChainHead(NamedTuple):
    """The last link of a writer of the audit chain. `hash` in hex."""

    writer: str
    link: int
    hash: str


class ChainHeads(NamedTuple):
    """The ends of the audit chain that no link names, at one time of a database of one epoch."""

    epoch: str
    at: Micros
    heads: tuple[ChainHead, ...]


class GrantRow(NamedTuple):
    """A grant as the index holds it, withdrawn or not."""

    principal_id: str
    grant: GrantFacts
    withdrawn: bool
