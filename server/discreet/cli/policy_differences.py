"""What differs between two policy sets as people, programs and pull requests read it. Finds and judges nothing."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from discreet.cli.markdown import code
from discreet.cli.policy_sides import Side
from discreet.cli.printing import console, text
from discreet.cli.reading import Tree

if TYPE_CHECKING:
    from discreet.policy.diff import Change, Difference, Direction, Note

SHOWN_CHARS = 240
"""A text that both sides have is shown up to here; of a longer one what both sides begin and end with is left out."""
KEPT_CHARS = 40
LEFT_OUT = " ... "
NOTHING = "nothing changes in meaning"


def titles() -> "dict[Direction, tuple[str, str]]":
    """What each direction is called, with the style of its title."""
    from discreet.policy.diff import Direction

    return {
        Direction.LOOSENS: ("loosens", "bold red"),
        Direction.EITHER: ("may loosen or tighten", "bold yellow"),
        Direction.TIGHTENS: ("tightens", "bold green"),
        Direction.NEITHER: ("neither loosens nor tightens", "bold"),
    }


def counts(found: "Difference") -> str:
    """How many changes lead where, in a line."""
    if not found.changes:
        return NOTHING
    parts = [f"{len(found.of(direction))} {said}" for direction, (said, _) in titles().items() if found.of(direction)]
    total = len(found.changes)
    return f"{total} change{'' if total == 1 else 's'} of meaning: {', '.join(parts)}"


def difference_tree(sides: Sequence[Side], found: "Difference") -> dict[str, Tree]:
    """The difference as plain values."""
    old, new = ({"name": side.name, "commit": side.commit, "subject": side.subject} for side in sides)
    return {
        "old": dict(old),
        "new": dict(new),
        "counts": {direction.value: len(found.of(direction)) for direction in titles()},
        "changes": [_change_tree(change) for change in found.changes],
        "notes": [_note_tree(note) for note in found.notes],
    }


def _change_tree(change: "Change") -> dict[str, Tree]:
    return {
        "kind": change.kind.name, "direction": change.direction.value, "subject": change.subject,
        "old": change.old, "new": change.new, "old_place": change.old_place, "new_place": change.new_place,
        "environments": list(change.environments),
    }  # fmt: skip


def _note_tree(note: "Note") -> dict[str, Tree]:
    return {
        "kind": note.aside.name, "subject": note.subject, "old": note.old, "new": note.new,
        "environments": list(note.environments),
    }  # fmt: skip


def print_difference(sides: Sequence[Side], found: "Difference") -> None:
    """Prints the difference for people: what loosens first."""
    terminal = console()
    terminal.print(text(f"{sides[0].shown} .. {sides[1].shown}"), soft_wrap=True)
    for direction, (said, style) in titles().items():
        changes = found.of(direction)
        if changes:
            terminal.print()
            terminal.print(text(said, style))
        for change in changes:
            terminal.print(text(f"  {_headline(change)}"), soft_wrap=True)
            for word, value in _values(change):
                terminal.print(text(f"    {word} {value}"), soft_wrap=True)
    if found.notes:
        terminal.print()
        terminal.print(text("no change of meaning", "bold"))
    for note in found.notes:
        terminal.print(text(f"  {_note(note)}"), soft_wrap=True)
    terminal.print()
    terminal.print(text(counts(found), "bold"), soft_wrap=True)


def _headline(change: "Change") -> str:
    places = [place for place in (change.old_place, change.new_place) if place]
    shown = " -> ".join(dict.fromkeys(places))
    parts = (change.kind.value, change.subject, f"({shown})" if shown else "", _where(change.environments))
    return " ".join(filter(None, parts))


def _where(environments: Sequence[str]) -> str:
    return f"in {', '.join(environments)}" if environments else ""


def _values(change: "Change") -> Iterator[tuple[str, str]]:
    """What was and what is, each beside its word."""
    from discreet.policy.diff import Kind

    if change.kind is Kind.RULE_RENAMED:
        yield "was", change.old
        return
    was, becomes = shortened(change.old, change.new) if change.old and change.new else (change.old, change.new)
    yield from ((word, value) for word, value in (("was", was), ("is ", becomes)) if value)


def _note(note: "Note") -> str:
    told = f"{note.aside.value} {note.subject}: {note.old} -> {note.new}"
    return " ".join(filter(None, (told, _where(note.environments))))


def shortened(old: str, new: str) -> tuple[str, str]:
    """Two texts without most of what both begin and end with, where one of them is long.

    >>> shortened("a", "b")
    ('a', 'b')
    """
    if max(len(old), len(new)) <= SHOWN_CHARS:
        return old, new
    most = min(len(old), len(new))
    begin = next((at for at in range(most) if old[at] != new[at]), most)
    end = next((at for at in range(most - begin) if old[-1 - at] != new[-1 - at]), most - begin)
    return _cut(old, begin, end), _cut(new, begin, end)


def _cut(whole: str, begin: int, end: int) -> str:
    start, stop = max(0, begin - KEPT_CHARS), len(whole) - max(0, end - KEPT_CHARS)
    head = LEFT_OUT.lstrip() if start > len(LEFT_OUT) else whole[:start]
    tail = LEFT_OUT.rstrip() if len(whole) - stop > len(LEFT_OUT) else whole[stop:]
    return f"{head}{whole[start:stop]}{tail}"


def markdown(sides: Sequence[Side], found: "Difference") -> str:
    """The difference for a pull request; what loosens first."""
    return "\n".join(_lines(sides, found)) + "\n"


def _code(given: str) -> str:
    return code(given, cell=False)


def _lines(sides: Sequence[Side], found: "Difference") -> Iterator[str]:
    yield "## What changes in meaning"
    yield ""
    yield f"From {_code(sides[0].shown)} to {_code(sides[1].shown)}: {counts(found)}."
    for direction, (said, _) in titles().items():
        changes = found.of(direction)
        if changes:
            yield from ("", f"### {said.capitalize()}: {len(changes)}", "")
            for change in changes:
                yield from _items(change)
    if found.notes:
        yield from ("", "### No change of meaning", "")
        yield from (f"- {_code(_note(note))}" for note in found.notes)


def _items(change: "Change") -> Iterator[str]:
    places = list(dict.fromkeys(place for place in (change.old_place, change.new_place) if place))
    shown = f" ({' -> '.join(map(_code, places))})" if places else ""
    where = f" in {', '.join(map(_code, change.environments))}" if change.environments else ""
    subject = f" {_code(change.subject)}" if change.subject else ""
    yield f"- {change.kind.value}{subject}{shown}{where}"
    for word, value in _values(change):
        yield f"  - {word.strip()} {_code(value)}"
