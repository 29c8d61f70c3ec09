"""Whatever a sidecar answers and however time passes, a guard shows what a plain model of it shows, and no more."""

from dataclasses import dataclass, field
from enum import Enum, auto

import grpc
from hypothesis import given
from hypothesis import strategies as st

from discreet.v1 import common_pb2, disclosure_pb2
from tests.client.answers import Reply, Request, commit_response, purge, refuse_entry
from tests.client.asking import binding
from tests.client.guard.guarding import Guarded
from tests.client.scripted import Refused, ScriptedServer
from tests.client.test_publishing import Hand

ASKED_MAX = 4


class Said(Enum):
    """What the sidecar says of a segment, when asked."""

    ALLOW = auto()
    REFUSE = auto()
    PURGE = auto()
    ODD = auto()
    # The call fails, for every segment in it.
    FAIL = auto()


@dataclass
class Plan:
    """What is said of each segment, one saying an asking; and where time runs out before a piece is taken."""

    sayings: list[list[Said]]
    jumps: list[bool]
    asked: dict[str, int] = field(default_factory=dict)

    def said(self, number: int, asking: int) -> Said:
        """What is said of a segment when it is asked about for the time `asking`, from 0."""
        return self.sayings[number][min(asking, ASKED_MAX - 1)]

    def script(self, request: Request, _: grpc.ServicerContext) -> Reply:
        """Plays the plan; the n-th segment is the one that is asked about as the n-th."""
        assert isinstance(request, disclosure_pb2.CommitRequest)
        reply = commit_response(request)
        sayings = []
        for segment in request.segments:
            number = int(segment.id.split("-")[0].removeprefix("s")) - 1
            sayings.append(self.said(number, self.asked.get(segment.id, 0)))
            self.asked[segment.id] = self.asked.get(segment.id, 0) + 1
        if Said.FAIL in sayings:
            raise Refused(grpc.StatusCode.INTERNAL, "lost")
        for said, entry in zip(sayings, reply.results, strict=True):
            _say(said, entry)
        return reply

    def shown(self) -> list[bool]:
        """Which segments a guard shows that holds them all at once, worked out by hand."""
        count = len(self.sayings)
        askings = [0] * count
        at = [0] * count
        verdicts: list[Said] = [Said.FAIL] * count
        now, shown = 0, []

        def ask(numbers: list[int]) -> None:
            sayings = [self.said(number, askings[number]) for number in numbers]
            for number, said in zip(numbers, sayings, strict=True):
                verdicts[number] = Said.FAIL if Said.FAIL in sayings else said
                askings[number] += 1
                at[number] = now

        ask(list(range(count)))
        for number in range(count):
            # They are asked about when the first is wanted; time that passed before does not count.
            now += self.jumps[number] and number > 0
            if verdicts[number] is Said.ALLOW and at[number] != now:
                ask([one for one in range(number, count) if verdicts[one] is Said.ALLOW and at[one] != now])
            shown.append(verdicts[number] is Said.ALLOW)
        return shown


def _say(said: Said, entry: disclosure_pb2.CommitResult) -> None:
    if said is Said.REFUSE:
        refuse_entry(entry, common_pb2.REASON_STALE)
    elif said is Said.PURGE:
        purge(entry.result)
    elif said is Said.ODD:
        entry.result.verdict = common_pb2.VERDICT_UNSPECIFIED


def plans() -> st.SearchStrategy[Plan]:
    """Plans for one to six segments."""
    sayings = st.lists(st.sampled_from(list(Said)), min_size=ASKED_MAX, max_size=ASKED_MAX)
    return st.lists(st.tuples(sayings, st.booleans()), min_size=1, max_size=6).map(
        lambda rows: Plan([said for said, _ in rows], [jump for _, jump in rows])
    )


@given(plans())
def test_a_guard_shows_what_the_model_shows(running_server: ScriptedServer, plan: Plan) -> None:
    """F13, B4, B6, DSC-01: in order, whole, on the last verdict alone, and never on one whose time was over."""
    running_server.reset()
    running_server.script = plan.script
    hand = Hand()
    guarded = Guarded("threads", running_server.target, clock=hand, deadline_s=20.0)
    count = len(plan.sayings)
    text = "".join(f"Zq{number}a Zq{number}b. " for number in range(count))
    # The last word is talk that the plan says nothing of: with it the segments before it are all held at once.
    pieces = guarded.stream([f"{text}End"], bindings=[binding()])
    for number, shown in enumerate(plan.shown()):
        hand.seconds += 61 * plan.jumps[number]
        piece = next(pieces)
        assert piece.allowed is shown
        assert piece.text == f"Zq{number}a Zq{number}b. " if shown else "Zq" not in piece.text
        assert piece.purge is False or piece.verdict.name == "PURGE"
    pieces.close()  # type: ignore[attr-defined] # a generator
    guarded.close()
