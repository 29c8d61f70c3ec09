"""The client for code that waits in threads. Everything but the line itself is shared with the asyncio client."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from types import TracebackType
from typing import Self, TypeVar, Unpack

import grpc

from discreet.client.draft import Draft, Piece
from discreet.client.encode import (
    Asking,
    Options,
    asking,
    check_batches,
    commit_batches,
    known_locale,
    positive_seconds,
    replay_batches,
)
from discreet.client.filtering import Filtered, sieve
from discreet.client.guard import BY_SENTENCE, Cutting, Guard
from discreet.client.info import ServerInfo, server_info
from discreet.client.levels import ServerLevel
from discreet.client.line import ThreadsLine
from discreet.client.model import Binding, Principal, Segment, text_field
from discreet.client.reporting import Reported, report
from discreet.client.result import Answer, Clock, steady_clock
from discreet.client.resuming import Owner
from discreet.client.talk import Ask, Method, Pause, Reply, question
from discreet.client.words import Moment
from discreet.v1 import server_pb2

DEADLINE_S = 2.0

Candidate = TypeVar("Candidate")
Outcome = TypeVar("Outcome")


class Client:
    """Asks the sidecar before each disclosure, and withholds whatever it does not allow.

    No failing sidecar raises: each segment gets a Result, WITHHOLD with a fixed text where nothing better is known.
    Wrong arguments raise ValueError or TypeError. Safe to use from many threads, and after a fork: a child opens a line
    of its own. `deadline_s` is for a whole question.
    """

    def __init__(
        self,
        target: str,
        *,
        tenant: str = "",
        deadline_s: float = DEADLINE_S,
        locale: str = "en",
        credentials: grpc.ChannelCredentials | None = None,
        clock: Clock = steady_clock,
    ) -> None:
        self._line = ThreadsLine(target, credentials)
        self._defaults: Options = {
            "tenant": tenant,
            "deadline_s": positive_seconds("deadline_s", deadline_s),
            "locale": known_locale(locale),
        }
        self._clock = clock
        self._level = ServerLevel()
        self._closed = False

    def check(
        self,
        moment: Moment,
        segments: Iterable[Segment],
        principal: Principal | str,
        session_id: str,
        **options: Unpack[Options],
    ) -> Answer:
        """What may happen to the segments at RETRIEVE or PUBLISH; at PUBLISH it is advice, and never a permission."""
        asked = self._asking(principal, session_id, options)
        return self._drive(
            question(Method.CHECK, asked, check_batches(asked, moment, segments), self._clock, self._level)
        )

    def retrieve(
        self, segments: Iterable[Segment], principal: Principal | str, session_id: str, **options: Unpack[Options]
    ) -> Answer:
        """Which records may be taken into a model's context now; an ALLOW brings one receipt a binding."""
        return self.check(Moment.RETRIEVE, segments, principal, session_id, **options)

    def check_publish(
        self, segments: Iterable[Segment], principal: Principal | str, session_id: str, **options: Unpack[Options]
    ) -> Answer:
        """What a commit would allow now. Advice: read `verdict`; `allowed` is false throughout."""
        return self.check(Moment.PUBLISH, segments, principal, session_id, **options)

    def replay(
        self, ledger_ids: Iterable[str], principal: Principal | str, session_id: str, **options: Unpack[Options]
    ) -> Answer:
        """Which stored segments may be shown again. PURGE: delete the copies; WITHHOLD: hide them, delete nothing."""
        asked = self._asking(principal, session_id, options)
        return self._drive(question(Method.CHECK, asked, replay_batches(asked, ledger_ids), self._clock, self._level))

    def export(
        self, ledger_ids: Iterable[str], principal: Principal | str, session_id: str, **options: Unpack[Options]
    ) -> Answer:
        """Which stored segments may be taken away, in a file or a mail; else as `replay`."""
        asked = self._asking(principal, session_id, options)
        batches = replay_batches(asked, ledger_ids, Moment.EXPORT)
        return self._drive(question(Method.CHECK, asked, batches, self._clock, self._level))

    def report_shown(
        self, ledger_ids: Iterable[str], principal: Principal | str, session_id: str, **options: Unpack[Options]
    ) -> Reported:
        """Says that these segments were put before their reader. It permits nothing, and may be said again."""
        asked = self._asking(principal, session_id, options)
        return self._drive(report(asked, ledger_ids, self._clock))

    def commit(
        self,
        segments: Iterable[Segment],
        principal: Principal | str,
        session_id: str,
        answer_id: str,
        **options: Unpack[Options],
    ) -> Answer:
        """The permission to publish, segment by segment: show what is `allowed`, and for the rest its `text`.

        Safe to repeat under the same ids; while the outcome is unknown it is repeated within the deadline.
        """
        asked = self._asking(principal, session_id, options)
        return self._drive(
            question(Method.COMMIT, asked, commit_batches(asked, answer_id, segments), self._clock, self._level)
        )

    def filter(
        self,
        candidates: Iterable[Candidate],
        *,
        key: Callable[[Candidate], Binding],
        principal: Principal | str,
        session_id: str,
        kind: str = "chunk",
        **options: Unpack[Options],
    ) -> Filtered[Candidate]:
        """The candidates that may be used now, in order, with receipts; `key` gives a candidate's Binding."""
        wanted = sieve(candidates, key, kind)
        asked = self._asking(principal, session_id, options)
        return wanted.sort(self.retrieve(wanted.segments, principal, session_id, **options), asked.locale)

    def publishing(
        self, *, principal: Principal | str, session_id: str, answer_id: str, **options: Unpack[Options]
    ) -> "Publishing":
        """A context that holds an answer's text until its commit."""
        self._asking(principal, session_id, options)
        return Publishing(lambda segments: self.commit(segments, principal, session_id, answer_id, **options))

    def guard(
        self,
        *,
        principal: Principal | str,
        session_id: str,
        answer_id: str,
        cutting: Cutting = BY_SENTENCE,
        **options: Unpack[Options],
    ) -> Guard:
        """A guard for an answer that is streamed: its text leaves in segments, each after its commit."""
        asked = self._asking(principal, session_id, options)
        text_field("question", "answer_id", answer_id, required=True)
        return Guard(
            Owner(asked.principal.id, session_id, answer_id, asked.locale),
            cutting,
            lambda segments: self.commit(segments, principal, session_id, answer_id, **options),
            lambda ledger_ids: self.replay(ledger_ids, principal, session_id, **options),
            lambda ledger_ids: self.report_shown(ledger_ids, principal, session_id, **options),
        )

    def server_info(self) -> ServerInfo:
        """What the server says of itself; ServerUnreachable where it says nothing."""
        return server_info(
            self._line.send(Ask(Method.SERVER_INFO, server_pb2.GetServerInfoRequest(), self._defaults["deadline_s"]))
        )

    def close(self) -> None:
        """Ends the line; calls under way are withheld."""
        self._closed = True
        self._line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _asking(self, principal: Principal | str, session_id: str, options: Options) -> Asking:
        if self._closed:
            raise ValueError("the client is closed; open another")
        return asking(principal, session_id, self._defaults, options)

    def _drive(self, talk: Generator[Ask | Pause, Reply, Outcome]) -> Outcome:
        reply: Reply = None
        while True:
            try:
                step = talk.send(reply)
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                reply = None
            else:
                reply = self._line.send(step)


class Publishing:
    """Holds an answer's text back: `add` segments, and take from `committed()` what their commit lets out.

    Leaving the context commits; leaving it with an error publishes nothing more. Taking from `committed()` inside the
    context commits what was added so far, for streaming in windows: a window leaves when its sources are committed, and
    not before.
    """

    def __init__(self, commit: Callable[[tuple[Segment, ...]], Answer]) -> None:
        self._ask = commit
        self._draft = Draft()
        self.add = self._draft.add

    def committed(self) -> Iterator[Piece]:
        """The pieces that have not left yet, each after its commit; a refused one has its fixed text."""
        self._commit(self._draft.uncommitted())
        while self._draft.waiting:
            self._commit(self._draft.expired())
            yield self._draft.take()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._draft.close(failed=kind is not None)
        if kind is None:
            self._commit(self._draft.uncommitted())

    def _commit(self, segments: tuple[Segment, ...]) -> None:
        if segments:
            self._draft.accept(self._ask(segments))
