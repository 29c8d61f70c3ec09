"""Messages of a question as values, nothing checked: what was checked when it came in is not judged again."""

from discreet.policy.codec.values import micros_of
from discreet.policy.facts import Micros
from discreet.policy.request import Binding, Claim, Segment
from discreet.policy.words import Grounding
from discreet.v1 import disclosure_pb2 as pb


def segment_of(given: pb.Segment) -> Segment:
    """The segment that a message describes."""
    return Segment(
        given.id,
        given.kind,
        Grounding(given.grounding),
        tuple(binding_of(item) for item in given.bindings),
        given.digest,
        claim_of(given.claim) if given.HasField("claim") else None,
        tuple(given.parents),
    )


def binding_of(given: pb.Binding) -> Binding:
    """The binding that a message describes."""
    return Binding(
        given.record_id,
        given.version,
        given.digest,
        given.locator,
        given.granted_under,
        given.receipt,
        given.claimed_label,
        micros_of(given.claimed_as_of, "claimed_as_of") if given.HasField("claimed_as_of") else None,
        given.claimed_basis,
    )


def claim_of(given: pb.Claim) -> Claim:
    """The claim that a message describes."""
    about = period_of(given) if given.HasField("about") else None
    return Claim(given.basis, about, tuple(given.required_fields))


def period_of(given: pb.Claim, path: str = "claim") -> tuple[Micros, Micros]:
    """The period that a claim is about. Raises Malformed where an end is no time."""
    start = micros_of(given.about.start, f"{path}.about.start")
    return start, micros_of(given.about.end, f"{path}.about.end")
