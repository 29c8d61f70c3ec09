"""The small world of a history: its records, readers and policies, all of which follow from names. Must do no I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass

from discreet.v1 import index_pb2
from tests.server.messages import digest

RECORDS_PER_BLOCK = 40
EVIDENCE_FROM = 34
"""From this place on, the records of a block are evidence taken from a document of it."""
TENANT = "acme"
VERSION = "1"
PRINCIPALS = 8
DESK = "desk"
KINDS = ("text", "table", "note")
HOLDERS = ("answers", "vectors")
"""A segment store and a document store."""
RETENTION = (
    "apiVersion: discreet/v1\nkind: RetentionPolicy\nname: retention\n"
    "dry-run-above: 100000\npurge-within: 1s\nrecheck-after: 1s\n"
)
FOREVER_S = 4_000_000_000
AS_OF_S = 1_700_000_000
SUCCESSOR = "successor/of-all"
SUCCESSOR_LABEL = "src-0"


@dataclass(frozen=True, slots=True)
class World:
    """So many blocks of records; clients move through them, so that what is revoked for good is never all there is."""

    blocks: int

    def labels(self) -> list[str]:
        """All source labels, one a block."""
        return [f"src-{block}" for block in range(self.blocks)]

    def block(self, number: int) -> list[str]:
        """The record ids of a block."""
        return records_of(number)


def records_of(block: int) -> list[str]:
    """The record ids of a block."""
    return [f"b{block:04}/r{place:02}" for place in range(RECORDS_PER_BLOCK)]


def block_of(ref: str) -> int:
    """The block of a record, or of a version of one."""
    return int(ref[1:5])


def place_of(record_id: str) -> int:
    """Where in its block a record stands."""
    return int(record_id[-2:])


def label_of(record_id: str) -> str:
    """The source label of a record."""
    return SUCCESSOR_LABEL if record_id == SUCCESSOR else f"src-{block_of(record_id)}"


def prefix_of(label: str) -> str:
    """What the record ids of a label begin with."""
    return f"b{int(label.removeprefix('src-')):04}/"


def needs_desk(record_id: str) -> bool:
    """True where only holders of the scope `desk` may read it; everybody may read the rest."""
    return record_id != SUCCESSOR and place_of(record_id) % 4 == 3


def scopes_of(record_id: str) -> list[str]:
    """The scopes that a record has unless they were set to others."""
    return [DESK] if needs_desk(record_id) else ["public"]


def source_of(record_id: str) -> str | None:
    """The document that a piece of evidence was taken from."""
    place = place_of(record_id) if record_id != SUCCESSOR else 0
    return f"{record_id[:-2]}{place - EVIDENCE_FROM:02}" if place >= EVIDENCE_FROM else None


def ref_of(record_id: str) -> str:
    """A record's version in one word."""
    return f"{record_id}@{VERSION}"


def record_of(ref: str) -> str:
    """The record of such a word."""
    return ref.rpartition("@")[0]


def roots_of(refs: tuple[str, ...]) -> tuple[str, ...]:
    """Everything that a segment with these bindings rests on."""
    found = dict.fromkeys(refs)
    for ref in refs:
        source = source_of(record_of(ref))
        if source is not None:
            found[ref_of(source)] = None
    return tuple(sorted(found))


def keys_of(refs: tuple[str, ...], principal: str) -> list[str]:
    """Every key under which a change can forbid this reader a segment with these bindings."""
    roots = roots_of(refs)
    keys = [f"ref:{ref}" for ref in roots] + ["tenant"]
    keys += dict.fromkeys(f"label:{label_of(record_of(ref))}" for ref in roots)
    if any(needs_desk(record_of(ref)) for ref in roots):
        keys.append(f"desk:{principal}")
    return keys


def document(record_id: str) -> index_pb2.DocumentInput:
    """A document as its collector registers it."""
    given = index_pb2.DocumentInput(
        record_id=record_id,
        version=VERSION,
        digest=digest(ref_of(record_id)),
        source_label=label_of(record_id),
        scopes=scopes_of(record_id),
    )
    given.assessment_expires_at.FromSeconds(FOREVER_S)
    return given


def evidence(record_id: str) -> index_pb2.EvidenceInput:
    """A piece of evidence as its collector registers it."""
    given = index_pb2.EvidenceInput(
        record_id=record_id,
        version=VERSION,
        digest=digest(ref_of(record_id)),
        source_label=label_of(record_id),
        scopes=scopes_of(record_id),
        origin=index_pb2.ORIGIN_COLLECTED,
        basis="unit",
    )
    given.as_of.FromSeconds(AS_OF_S)
    given.of.add(record_id=source_of(record_id) or "", version=VERSION)
    given.assessment_expires_at.FromSeconds(FOREVER_S)
    return given


def policy_files(world: World, withheld: tuple[str, ...]) -> dict[str, str]:
    """A policy set that withholds these kinds of segments and allows all others."""
    sources = "".join(
        f"  - {{label: {label}, title: {label}, duty: DOCUMENT_STORE, collectors: [collector]}}\n"
        for label in world.labels()
    )
    rules = (
        "apiVersion: discreet/v1\nkind: DisclosurePolicy\nname: rules\nrules:\n"
        "  - id: allow-all\n    effect: ALLOW\n    moments: [RETRIEVE, PUBLISH, REPLAY, EXPORT]\n"
        f"    sources: [{', '.join(world.labels())}]\n"
    )
    if withheld:
        rules += (
            "  - id: not-these\n    effect: WITHHOLD\n    moments: [RETRIEVE, PUBLISH, REPLAY, EXPORT]\n"
            f"    kinds: [{', '.join(withheld)}]\n"
        )
    return {
        "discreet.yaml": "apiVersion: discreet/v1\nkind: PolicySet\nname: history\nuse-within: 30s\nstore-within: 1s\n",
        "retention.yaml": RETENTION,
        "sources.yaml": f"apiVersion: discreet/v1\nkind: SourceList\nname: sources\nsources:\n{sources}",
        "rules.yaml": rules,
    }


def withheld_kinds(rules: str) -> frozenset[str]:
    """The kinds that such a set withholds, of its rules' text."""
    found = re.search(r"^ *kinds: \[(.*)\]$", rules, re.MULTILINE)
    return frozenset(found[1].split(", ")) if found else frozenset()
