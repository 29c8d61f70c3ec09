"""Which candidates of a retriever may enter a model's context. The planning and the sorting; asking is the client's."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from discreet.client.model import Binding, Segment
from discreet.client.result import Answer, Result
from discreet.client.texts import fixed_text
from discreet.client.words import Reason

Candidate = TypeVar("Candidate")


@dataclass(frozen=True, slots=True)
class Kept(Generic[Candidate]):
    """A candidate that may be used now.

    `binding` carries receipt and token: give it to the segments that rest on the candidate.
    """

    candidate: Candidate
    binding: Binding
    result: Result

    @property
    def receipt(self) -> str:
        """The proof of this retrieval, for policies that demand one."""
        return self.binding.receipt


@dataclass(frozen=True, slots=True)
class Filtered(Generic[Candidate]):
    """What a filter lets through, in the order of the candidates; and what it holds back."""

    kept: tuple[Kept[Candidate], ...]
    withheld: tuple[tuple[Candidate, Result], ...]
    answer: Answer
    locale: str

    def __iter__(self) -> Iterator[Kept[Candidate]]:
        return iter(self.kept)

    def __len__(self) -> int:
        return len(self.kept)

    @property
    def text(self) -> str:
        """What to tell the reader where nothing came through: the first refusal's text; empty where something did."""
        if self.kept:
            return ""
        return self.withheld[0][1].text if self.withheld else fixed_text(Reason.NOT_AVAILABLE, self.locale)


@dataclass(frozen=True, slots=True)
class Sieve(Generic[Candidate]):
    """The candidates with their bindings, and the segments to ask about, one each."""

    candidates: tuple[Candidate, ...]
    bindings: tuple[Binding, ...]
    segments: tuple[Segment, ...]

    def sort(self, answer: Answer, locale: str) -> Filtered[Candidate]:
        """The candidates by their results; one whose verdict has meanwhile expired is held back."""
        kept: list[Kept[Candidate]] = []
        held: list[tuple[Candidate, Result]] = []
        for candidate, binding, found in zip(self.candidates, self.bindings, answer.results, strict=True):
            result = found.now()
            if result.allowed:
                read = replace(binding, receipt=result.receipts[0], granted_under=result.token)
                kept.append(Kept(candidate, read, result))
            else:
                held.append((candidate, result))
        return Filtered(tuple(kept), tuple(held), answer, locale)


def sieve(candidates: Iterable[Candidate], key: Callable[[Candidate], Binding], kind: str) -> Sieve[Candidate]:
    """What to ask for the candidates; refuses a key that gives no Binding."""
    found = tuple(candidates)
    bindings = tuple(key(candidate) for candidate in found)
    return Sieve(found, bindings, _segments(bindings, kind))


def _segments(bindings: Sequence[Binding], kind: str) -> tuple[Segment, ...]:
    segments = []
    for at, binding in enumerate(bindings):
        if not isinstance(binding, Binding):
            raise TypeError(f"key gave {type(binding).__name__} for candidate {at}; it gives a Binding")
        segments.append(Segment(id=f"candidate-{at}", kind=kind, bindings=(binding,)))
    return tuple(segments)
