"""Segments as the ledger keeps them, and the fingerprint by which a repeated commit is the same commit."""

import hashlib

from discreet.policy.codec.shapes import segment_of
from discreet.policy.codec.values import number, stamp_of
from discreet.policy.receipts import message as framed
from discreet.policy.request import Binding, Claim, Segment
from discreet.v1 import common_pb2
from discreet.v1 import disclosure_pb2 as pb


def segment_bytes(segment: Segment) -> bytes:
    """Deterministic bytes of the segment, ids and digests only."""
    return segment_message(segment).SerializeToString(deterministic=True)


def segment_from(data: bytes) -> Segment:
    """The segment that `segment_bytes` wrote."""
    message = pb.Segment()
    message.ParseFromString(data)
    return segment_of(message)


def segment_message(segment: Segment) -> pb.Segment:
    """The segment as a message."""
    return pb.Segment(
        id=segment.id,
        kind=segment.kind,
        digest=segment.digest,
        grounding=number(segment.grounding),
        bindings=[binding_message(binding) for binding in segment.bindings],
        claim=claim_message(segment.claim) if segment.claim is not None else None,
        parents=segment.parents,
    )


def binding_message(binding: Binding) -> pb.Binding:
    """The binding as a message."""
    return pb.Binding(
        record_id=binding.record_id,
        version=binding.version,
        digest=binding.digest,
        locator=binding.locator,
        granted_under=binding.granted_under,
        receipt=binding.receipt,
        claimed_label=binding.claimed_label,
        claimed_as_of=stamp_of(binding.claimed_as_of) if binding.claimed_as_of is not None else None,
        claimed_basis=binding.claimed_basis,
    )


def claim_message(claim: Claim) -> pb.Claim:
    """The claim as a message."""
    about = None
    if claim.about is not None:
        about = common_pb2.Period(start=stamp_of(claim.about[0]), end=stamp_of(claim.about[1]))
    return pb.Claim(basis=claim.basis, about=about, required_fields=claim.required_fields)


def fingerprint(principal_id: str, segment: Segment, needs: tuple[bool, bool] = (False, False)) -> bytes:
    """SHA-256 over principal, digest, kind, grounding, claim, what each binding names, parents, and the needs.

    The needs are numbers, advice. Parents count in their order, and only where there are any, as the needs do.
    Tokens and receipts are left out: they may differ when a commit is repeated, and change nothing of what is shown.
    """
    parts = ["segment-v1", principal_id, segment.digest, segment.kind, segment.grounding.short]
    parts += _claim_parts(segment.claim)
    for bound in segment.bindings:
        parts += [bound.record_id, bound.version, bound.digest, bound.locator]
    # One part each, and unlike: bindings are four each.
    if segment.parents:
        parts.append("parents " + framed(segment.parents).hex())
    if any(needs):
        parts.append(f"needs {needs[0]:d} {needs[1]:d}")
    return hashlib.sha256(framed(parts)).digest()


def _claim_parts(claim: Claim | None) -> list[str]:
    """The claim as parts that begin with their number, so that those of the bindings cannot be taken for them."""
    if claim is None:
        return ["0"]
    about = [str(end) for end in claim.about] if claim.about is not None else ["", ""]
    parts = [claim.basis, *about, *claim.required_fields]
    return [str(len(parts)), *parts]
