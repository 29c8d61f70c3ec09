"""A parsed question: what the codec makes of the bytes of a call, validated, with every default filled in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from discreet.policy.facts import Micros
from discreet.policy.words import Grounding, Moment


class Claim(NamedTuple):
    """What an evidence-bearing segment asserts. `about` None: now."""

    basis: str = ""
    about: tuple[Micros, Micros] | None = None
    required_fields: tuple[str, ...] = ()


class Binding(NamedTuple):
    """A tie to one record version. The `claimed_` fields are compared with the record, never believed."""

    record_id: str
    version: str
    digest: str
    locator: str = ""
    granted_under: str = ""
    receipt: str = ""
    claimed_label: str = ""
    claimed_as_of: Micros | None = None
    claimed_basis: str = ""


class Segment(NamedTuple):
    """The unit that is shown or withheld on its own. `claim` None: the request made no claim."""

    id: str
    kind: str
    grounding: Grounding
    bindings: tuple[Binding, ...] = ()
    digest: str = ""
    claim: Claim | None = None
    parents: tuple[str, ...] = ()
    """Ledger ids of the committed segments that it was made from."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The end user that the caller asks for, with what the caller claims of it."""

    id: str
    claimed_scopes: tuple[str, ...] = ()
    attributes: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Request:
    """One call of Check or Commit.

    A commit has an `answer_id` and decides at PUBLISH; REPLAY and EXPORT have `ledger_ids` alone.
    """

    tenant: str
    moment: Moment
    principal: Principal
    session_id: str
    segments: tuple[Segment, ...] = ()
    ledger_ids: tuple[str, ...] = ()
    answer_id: str = ""
    locale: str = "en"
    need_numbers: bool = False
    need_advice: bool = False
    min_token: str = ""
    commit: bool = False


class ShownReport(NamedTuple):
    """What a caller says was put before a reader. `tenant` is empty where the caller left it out."""

    tenant: str
    principal: Principal
    session_id: str
    ledger_ids: tuple[str, ...]
