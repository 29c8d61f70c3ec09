"""What is wrong with a storm: its answers against one another, and against what was committed and published. No I/O."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from discreet.policy.bundle import bundle_digest
from tests.storm.answers import Answer
from tests.storm.repo import Made
from tests.storm.sets import Kind, files_of


class Published(NamedTuple):
    """A revision as SQL holds it."""

    number: int
    commit: str
    digest: str
    dirty: bool
    bundle: bytes
    rolled_back_to: int


def violations(answers: Sequence[Answer], published: Sequence[Published], made: Iterable[Made]) -> list[str]:
    """Everything that is wrong, each in one line."""
    by_commit = {one.commit: one for one in made}
    by_number = {one.number: one for one in published}
    return [
        *_published(published, by_number, by_commit),
        *(f"{where(one)}: {why}" for one in answers for why in _answer(one, by_number, by_commit)),
        *_lines(answers),
        *_real_time(answers),
    ]


def where(answer: Answer) -> str:
    """Names an answer."""
    return f"{answer.client} at {answer.began}, revision {answer.number}"


def _published(
    published: Sequence[Published], by_number: Mapping[int, Published], by_commit: Mapping[str, Made]
) -> Iterator[str]:
    """Numbers without gaps; good commits alone, as they are in Git; none that was read earlier over a later one."""
    if [one.number for one in published] != list(range(1, len(published) + 1)):
        yield "published: numbers have gaps"
    newest = 0
    for one in published:
        made = by_commit.get(one.commit)
        if made is None or made.kind is not Kind.GOOD or one.dirty:
            yield f"published: revision {one.number} is {made.kind.value if made else 'of no commit of the storm'}"
            continue
        files = {name: text.encode() for name, text in files_of(made.index).items()}
        if not one.digest == bundle_digest(files) == hashlib.sha256(one.bundle).hexdigest():
            yield f"published: revision {one.number} is not what commit {one.commit} holds"
        if one.rolled_back_to:
            back = by_number.get(one.rolled_back_to)
            if back is None or (back.commit, back.digest) != (one.commit, one.digest):
                yield f"published: revision {one.number} is not that of {one.rolled_back_to}"
        elif made.index <= newest:
            yield f"published: revision {one.number} brings commit {made.index} over {newest}"
        else:
            newest = made.index


def _answer(answer: Answer, by_number: Mapping[int, Published], by_commit: Mapping[str, Made]) -> Iterator[str]:
    """An answer by itself: its content is of one set, and that of the revision and commit that it names."""
    yield from answer.wrong
    if answer.status:
        return
    if not answer.number:
        if answer.decided:
            yield "decided under no revision"
        return
    revision = by_number.get(answer.number)
    if revision is None or (revision.commit, revision.digest) != (answer.commit, answer.digest):
        yield f"SQL published no such revision of commit {answer.commit}"
    made = by_commit.get(answer.commit)
    if made is None or made.kind is not Kind.GOOD:
        yield f"under a commit that is {made.kind.value if made else 'none of the storm'}"
    elif answer.decided and answer.shown != made.index:
        yield f"names commit {made.index} and answers as {answer.shown or 'none'}"


def _lines(answers: Iterable[Answer]) -> Iterator[str]:
    """What one connection is answered, one question after the other, never goes back."""
    last: dict[str, Answer] = {}
    for one in answers:
        if one.ordered and one.number:
            before = last.get(one.client)
            if before is not None and one.number < before.number:
                yield f"{where(one)}: after {before.number} on the same connection"
            last[one.client] = one


def _real_time(answers: Iterable[Answer]) -> Iterator[str]:
    """What was asked after an answer had arrived, anywhere, is decided under no older revision."""
    numbered = [one for one in answers if one.number]
    ended = sorted(numbered, key=lambda one: one.ended)
    place, newest = 0, 0
    for one in sorted(numbered, key=lambda one: one.began):
        while place < len(ended) and ended[place].ended < one.began:
            newest = max(newest, ended[place].number)
            place += 1
        if one.decided and one.number < newest:
            yield f"{where(one)}: asked after revision {newest} had answered"
