"""Pairs of small policy sets that differ in one thing, and their difference seen from the other side."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from discreet.policy.diff import Change, Difference, Kind, Note, compare_sets, editions
from discreet.policy.diff.changes import difference
from tests.policy.sets.sets import SET, a_set, rules

HEAD: Final = "apiVersion: discreet/v1\nkind: {kind}\nname: {name}\n"
_BACKWARDS: Final = {
    Kind.ENVIRONMENT_ADDED: Kind.ENVIRONMENT_REMOVED,
    Kind.SOURCE_ADDED: Kind.SOURCE_REMOVED,
    Kind.SOURCE_LISTED: Kind.SOURCE_UNLISTED,
    Kind.RULE_ADDED: Kind.RULE_REMOVED,
    Kind.PARAMETER_ADDED: Kind.PARAMETER_REMOVED,
    Kind.TEXT_ADDED: Kind.TEXT_REMOVED,
}
BACKWARDS: Final = {**_BACKWARDS, **{kind: other for other, kind in _BACKWARDS.items()}}


class Sides(NamedTuple):
    """The files of two sets."""

    old: dict[str, bytes]
    new: dict[str, bytes]

    @property
    def found(self) -> Difference:
        """What differs between them."""
        return compare_sets(editions(self.old), editions(self.new))


def sides(old: dict[str, str], new: dict[str, str]) -> Sides:
    """Two sets that are made of the same valid one, each with some of its files replaced."""
    return Sides(a_set(**old), a_set(**new))


def document(kind: str, body: str, name: str = "one") -> str:
    """A document of a kind."""
    return HEAD.format(kind=kind, name=name) + body


def the_set(body: str) -> dict[str, str]:
    """`discreet.yaml` with more in it."""
    return {"discreet": SET + body}


def source(label: str = "memos", **said: str) -> dict[str, str]:
    """A file that declares one more source."""
    plain = {"label": label, "title": "Memos", "duty": "DOCUMENT_STORE", "collectors": "[clerk]", **said}
    keys = ", ".join(f"{key.replace('_', '-')}: {value}" for key, value in plain.items())
    return {"more": document("SourceList", f"sources:\n  - {{ {keys} }}\n")}


def rule(text: str) -> dict[str, str]:
    """A file with one more rule, called `more` unless it says otherwise."""
    named = text if "id:" in text else f"id: more, {text}"
    return {"extra": rules(f"{{ {named} }}", name="extra")}


def backwards(found: Difference) -> Difference:
    """The same difference seen from the other side."""
    return difference(map(_back, found.changes), map(_note_back, found.notes))


def _note_back(note: Note) -> Note:
    return replace(note, subject=" -> ".join(note.subject.split(" -> ")[::-1]), old=note.new, new=note.old)


def _back(change: Change) -> Change:
    return replace(
        change,
        kind=BACKWARDS.get(change.kind, change.kind),
        direction=change.direction.opposite,
        subject=change.old if change.kind is Kind.RULE_RENAMED else change.subject,
        old=change.new,
        new=change.old,
        old_place=change.new_place,
        new_place=change.old_place,
    )
