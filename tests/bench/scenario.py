"""One job for every engine: may these segments be retrieved? The questions are the same, so answers can be compared.

A segment has two bindings. It is good where both records are of a listed source, in the reader's scope, at the version
and digest that the index holds, assessed and not revoked; a bad one rests on a record of an unlisted source.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass

from google.protobuf.timestamp_pb2 import Timestamp

from discreet.v1 import common_pb2, disclosure_pb2, index_pb2

TENANT = "t1"
LABELS = [f"label-{i}" for i in range(12)]
LISTED = LABELS[:8]
SCOPES = [f"scope:{i}" for i in range(24)]
READER_SCOPES = SCOPES[:6]
RECORD_SCOPES = SCOPES[3:9]
READERS = [f"reader-{i}" for i in range(100)]
RECORDS = 1_000
VERSION = "v17"
RULES = 100


@dataclass(frozen=True, slots=True)
class Doc:
    """One record of the scenario."""

    record_id: str
    label: str
    digest: str


@dataclass(frozen=True, slots=True)
class Question:
    """One request: a reader, and for each segment the two records that it rests on, with the right answer."""

    reader: str
    pairs: tuple[tuple[Doc, Doc], ...]

    @property
    def right(self) -> tuple[bool, ...]:
        """For each segment, whether it may be shown."""
        return tuple(all(doc.label in LISTED for doc in pair) for pair in self.pairs)


def docs() -> list[Doc]:
    """All records: spread over the labels, digests made of their ids."""
    ids = [f"doc-{i:05d}" for i in range(RECORDS)]
    return [Doc(r, LABELS[i % len(LABELS)], text_digest(r)) for i, r in enumerate(ids)]


def questions(segments: int, count: int, seed: int = 7, good: float = 0.8) -> list[Question]:
    """Requests with a fixed seed; about `good` of the segments may be shown."""
    rng = random.Random(seed)
    known = docs()
    fine = [doc for doc in known if doc.label in LISTED]
    poor = [doc for doc in known if doc.label not in LISTED]
    return [
        Question(
            rng.choice(READERS),
            tuple((rng.choice(fine), rng.choice(fine if rng.random() < good else poor)) for _ in range(segments)),
        )
        for _ in range(count)
    ]


def text_digest(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def check_request(question: Question) -> disclosure_pb2.CheckRequest:
    """The question as Discreet is asked."""
    segments = [
        disclosure_pb2.Segment(
            id=f"seg-{i}",
            kind="quote",
            grounding=common_pb2.GROUNDING_BOUND,
            bindings=[
                disclosure_pb2.Binding(record_id=doc.record_id, version=VERSION, digest=doc.digest, locator=f"p{n}")
                for n, doc in enumerate(pair)
            ],
        )
        for i, pair in enumerate(question.pairs)
    ]
    return disclosure_pb2.CheckRequest(
        tenant=TENANT,
        moment=common_pb2.MOMENT_RETRIEVE,
        principal=disclosure_pb2.Principal(id=question.reader),
        session_id="bench",
        segments=segments,
    )


def document_inputs(label: str) -> list[index_pb2.DocumentInput]:
    """The records of one label as its collector registers them."""
    return [
        index_pb2.DocumentInput(
            record_id=doc.record_id,
            version=VERSION,
            digest=doc.digest,
            source_label=doc.label,
            scopes=RECORD_SCOPES,
            attributes={
                "review_state": common_pb2.Value(string_value="approved"),
                "export_ok": common_pb2.Value(bool_value=True),
            },
            assessment_expires_at=_far_away(),
        )
        for doc in docs()
        if doc.label == label
    ]


def _far_away() -> Timestamp:
    return Timestamp(seconds=1_893_456_000)


def policy_files(rules: int = RULES) -> dict[str, str]:
    """The policy set: the rules that decide, and others on the same moment and labels that never match."""
    sources = "".join(
        f"  - label: {label}\n    title: {label}\n    duty: DOCUMENT_STORE\n    collectors: [collector]\n"
        f"    max-age: none\n    listed: {str(label in LISTED).lower()}\n"
        for label in LABELS
    )
    deciding = (
        "  - id: retrieve\n    effect: ALLOW\n    moments: [RETRIEVE, PUBLISH, REPLAY]\n"
        '    when: document.attributes.review_state == "approved" && document.version == binding.version\n'
        "  - id: hold\n    effect: WITHHOLD\n    moments: [RETRIEVE, PUBLISH]\n"
        '    when: document.attributes.export_ok != true && request.locale == "xx"\n'
    )
    others = "".join(
        f"  - id: other-{i}\n    effect: ALLOW\n    moments: [RETRIEVE]\n"
        f'    when: document.attributes.review_state == "never-{i}" && principal.id != ""\n'
        for i in range(rules - 2)
    )
    head = "apiVersion: discreet/v1\nkind: {kind}\nname: {name}\n"
    return {
        "discreet.yaml": head.format(kind="PolicySet", name="bench") + "audit:\n  checks: none\n",
        "sources.yaml": head.format(kind="SourceList", name="sources") + f"sources:\n{sources}",
        "rules.yaml": head.format(kind="DisclosurePolicy", name="rules") + f"rules:\n{deciding}{others}",
    }
