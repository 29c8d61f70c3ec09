"""What a caller says: segments, their bindings and claims, and the principal it asks for.

Values are frozen and refuse programming errors (wrong types, missing ids, naive times, digests that are none) when they
are made. Limits of length and count are the server's to judge. This module knows no message and no channel.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from types import MappingProxyType
from typing import TypeVar

from discreet.client.words import Grounding

Member = TypeVar("Member")

_DIGEST = re.compile(r"[0-9a-f]{64}\Z")

# What an attribute of a principal may be; lists and mappings nest.
Attribute = None | bool | int | float | str | Sequence["Attribute"] | Mapping[str, "Attribute"]


def digest(content: str | bytes) -> str:
    """SHA-256 of the content as 64 lower-case hex digits; text counts as its UTF-8 bytes.

    Two digests must not be mixed up. A **binding** carries the digest of the whole RECORD as it was read, as the index
    holds it, also where only a chunk of it is used. A **segment** carries the digest of the text that is shown.

    >>> digest("Rates rose.")[:12]
    '36218e1cad03'
    """
    if isinstance(content, str):
        content = content.encode()
    if not isinstance(content, bytes):
        raise TypeError(f"digest: content is {type(content).__name__}; give str or bytes")
    return sha256(content).hexdigest()


def text_field(owner: str, name: str, value: object, *, required: bool = False) -> None:
    """Refuses a value that is no text, or is empty where it is required."""
    if not isinstance(value, str):
        raise TypeError(f"{owner}.{name} is {type(value).__name__}; give str")
    if required and not value:
        raise ValueError(f"{owner}.{name} is empty; it is required")


def digest_field(owner: str, value: str, *, required: bool) -> None:
    """Refuses what is not SHA-256 in lower-case hex."""
    text_field(owner, "digest", value, required=required)
    if value and not _DIGEST.match(value):
        raise ValueError(
            f"{owner}.digest is not 64 lower-case hex digits of SHA-256; discreet.client.digest() gives them"
        )


def aware_field(owner: str, name: str, value: object) -> None:
    """Refuses a time without a zone: whose midnight it means cannot be known."""
    if not isinstance(value, datetime):
        raise TypeError(f"{owner}.{name} is {type(value).__name__}; give datetime")
    if value.utcoffset() is None:
        raise ValueError(f"{owner}.{name} has no time zone; give one, for example datetime.UTC")


@dataclass(frozen=True, slots=True)
class Binding:
    """A tie to one version of one record.

    `digest` is that of the RECORD, also where only a chunk is used; `locator` says which chunk. `granted_under` and
    `receipt` come from the answer at RETRIEVE (`Client.filter` fills them in). What is claimed of the record is
    compared, never believed.
    """

    record_id: str
    version: str
    digest: str
    locator: str = ""
    granted_under: str = ""
    receipt: str = ""
    claimed_label: str = ""
    claimed_as_of: datetime | None = None
    claimed_basis: str = ""

    def __post_init__(self) -> None:
        for name in ("record_id", "version"):
            text_field("Binding", name, getattr(self, name), required=True)
        digest_field("Binding", self.digest, required=True)
        for name in ("locator", "granted_under", "receipt", "claimed_label", "claimed_basis"):
            text_field("Binding", name, getattr(self, name))
        if self.claimed_as_of is not None:
            aware_field("Binding", "claimed_as_of", self.claimed_as_of)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a segment asserts: the basis asked for, the period it is about (None: now), and the fields that it needs.

    Setting a claim makes the evidence gates compulsory for the segment.
    """

    basis: str = ""
    about: tuple[datetime, datetime] | None = None
    required_fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        text_field("Claim", "basis", self.basis)
        object.__setattr__(self, "required_fields", texts("Claim.required_fields", self.required_fields))
        if self.about is not None:
            start, end = self.about
            aware_field("Claim", "about[0]", start)
            aware_field("Claim", "about[1]", end)
            if end < start:
                raise ValueError("Claim.about ends before it starts; give (start, end)")


@dataclass(frozen=True, slots=True)
class Segment:
    """The unit of an answer that can be shown or withheld on its own.

    `digest` is that of the text that is shown; Commit requires it. BOUND segments rest on their bindings and are
    withheld without one; UNBOUND ones (small talk, a question back) have none and are withheld unless a rule allows
    their kind so. `parents` are ledger ids of segments that this one was made from (a summary, an attachment): it rests
    on everything that they rest on.
    """

    id: str
    kind: str = "answer"
    digest: str = ""
    grounding: Grounding = Grounding.BOUND
    bindings: tuple[Binding, ...] = ()
    claim: Claim | None = None
    parents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        text_field("Segment", "id", self.id, required=True)
        text_field("Segment", "kind", self.kind, required=True)
        digest_field("Segment", self.digest, required=False)
        if not isinstance(self.grounding, Grounding):
            raise TypeError(f"Segment.grounding is {type(self.grounding).__name__}; give Grounding")
        object.__setattr__(self, "bindings", members("Segment.bindings", self.bindings, Binding))
        if self.claim is not None and not isinstance(self.claim, Claim):
            raise TypeError(f"Segment.claim is {type(self.claim).__name__}; give Claim")
        object.__setattr__(self, "parents", texts("Segment.parents", self.parents))
        for name in ("bindings", "parents"):
            if self.grounding is Grounding.UNBOUND and getattr(self, name):
                raise ValueError(f"Segment.{name} of an UNBOUND segment must be empty; a segment with {name} is BOUND")


@dataclass(frozen=True, slots=True)
class Principal:
    """The end user that the caller asks for; scopes and attributes are claims, and are recorded as such."""

    id: str
    claimed_scopes: tuple[str, ...] = ()
    attributes: Mapping[str, Attribute] = field(default_factory=dict)

    def __post_init__(self) -> None:
        text_field("Principal", "id", self.id, required=True)
        object.__setattr__(self, "claimed_scopes", texts("Principal.claimed_scopes", self.claimed_scopes))
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))


def members(owner: str, values: Iterable[Member], kind: type[Member]) -> tuple[Member, ...]:
    """The values as a tuple; refuses a member of another type."""
    found = tuple(values)
    for at, value in enumerate(found):
        if not isinstance(value, kind):
            raise TypeError(f"{owner}[{at}] is {type(value).__name__}; give {kind.__name__}")
    return found


def texts(owner: str, values: Iterable[str]) -> tuple[str, ...]:
    """The values as a tuple of texts; refuses one text where a list of texts is meant."""
    if isinstance(values, str):
        raise TypeError(f"{owner} is one str; give a list of them")
    return members(owner, values, str)
