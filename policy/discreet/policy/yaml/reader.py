"""Reads policy files: libyaml's events become nodes with places; what a policy has no use for is refused.

Refused: anchors, aliases, merge keys, tags, directives, keys that are not text, duplicate keys. An alias is refused
when it is seen, so nothing is ever expanded. The depth is bounded here, since what walks a tree afterwards recurses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import yaml

from discreet.policy.problems import PROBLEMS_MAX, Code, Place, PolicyProblem, problem, quoted
from discreet.policy.yaml.nodes import Document, Entries, Entry, Items, Node, Scalar, Value
from discreet.policy.yaml.scalars import is_ambiguous, resolve
from discreet.policy.yaml.source import SourceText, decode

DEPTH_MAX: Final = 32
NODES_MAX: Final = 200_000

_SYNTAX_HINTS: Final = {
    "mapping values are not allowed in this context": 'quote a text that holds ": "',
    "found character that cannot start any token": "quote a text that begins with @ or `",
    "did not find expected key": "is the indentation that of its neighbours?",
    "could not find expected ':'": "is a colon or a space after it missing?",
    "found unexpected end of stream": "a quote is not closed",
    "exceeded maximum nesting depth": f"at most {DEPTH_MAX} levels",
}


class _LimitError(Exception):
    """Raised where a file cannot be read further; its problem is already noted."""


@dataclass(slots=True)
class _Level:
    """A list or mapping whose end has not come yet."""

    place: Place
    mapping: bool
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    key: Scalar | None = None


def read(file: str, data: bytes) -> tuple[tuple[Document, ...], list[PolicyProblem]]:
    """Returns the documents of one file and its problems. Those of a file with problems serve to find more."""
    source, problems = decode(file, data)
    if source is None or problems:
        return (), problems
    reading = _Reading(source)
    try:
        reading.run()
    except _LimitError:
        pass
    except yaml.YAMLError as error:
        reading.problems.append(_syntax(source, error))
    if not reading.documents and not reading.problems:
        what = "the file holds nothing" if not source.text.strip() else "the file holds nothing but comments"
        reading.refuse(Place(file), what, "delete it, or give it a document", Code.FILE)
    return tuple(reading.documents), reading.problems


class _Reading:
    """One pass over the events of one file."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.problems: list[PolicyProblem] = []
        self.documents: list[Document] = []
        self._levels: list[_Level] = []
        self._nodes = 0

    def run(self) -> None:
        """Takes every event. Raises _LimitError at a limit and yaml.YAMLError where the text is no YAML."""
        for event in yaml.parse(self.source.text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.DocumentStartEvent):
                self._refuse_directives(event)
            elif isinstance(event, yaml.NodeEvent):
                self._count(event)
                self._node(event)
            elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
                self._close()

    def refuse(self, place: Place, message: str, hint: str, code: Code = Code.REFUSED_YAML) -> None:
        """Notes a problem. Raises _LimitError after more than a report holds: the rest of the file says nothing new."""
        self.problems.append(problem(place, message, hint, code))
        if len(self.problems) > PROBLEMS_MAX:
            raise _LimitError

    def _place(self, event: yaml.Event) -> Place:
        mark = event.start_mark
        return Place(self.source.file) if mark is None else self.source.place(mark.line, mark.column)

    def _refuse_directives(self, event: yaml.DocumentStartEvent) -> None:
        if event.version or event.tags:
            self.refuse(self._place(event), "a % directive has no place in a policy file", "leave it out")

    def _count(self, event: yaml.NodeEvent) -> None:
        self._nodes += 1
        if self._nodes > NODES_MAX:
            self.refuse(self._place(event), f"the file has more than {NODES_MAX} values", "split it", Code.LIMIT)
            raise _LimitError

    def _node(self, event: yaml.NodeEvent) -> None:
        place = self._place(event)
        if isinstance(event, yaml.AliasEvent):
            self.refuse(place, f"the alias {quoted('*' + str(event.anchor))} is not allowed", "write the value out")
            self._add(Scalar(place, None, *_span(event), ""))
            return
        if event.anchor is not None:
            self.refuse(place, f"the anchor {quoted('&' + event.anchor)} is not allowed", "write the value out")
        tag = getattr(event, "tag", None)
        if tag is not None:
            self.refuse(place, f"the tag {quoted(tag)} is not allowed", "quote a value to make it text")
        if isinstance(event, yaml.ScalarEvent):
            self._add(self._scalar(event, place))
        else:
            self._open(place, mapping=isinstance(event, yaml.MappingStartEvent))

    def _open(self, place: Place, *, mapping: bool) -> None:
        if len(self._levels) == DEPTH_MAX:
            self.refuse(place, f"nested deeper than {DEPTH_MAX} levels", "flatten it", Code.LIMIT)
            raise _LimitError
        self._levels.append(_Level(place, mapping))

    def _close(self) -> None:
        level = self._levels.pop()
        self._add(Entries(level.place, level.entries) if level.mapping else Items(level.place, tuple(level.items)))

    def _scalar(self, event: yaml.ScalarEvent, place: Place) -> Scalar:
        text = str(event.value)
        value: Value = text
        if not event.style and event.tag is None:
            value = self._plain_value(text, place)
        return Scalar(place, value, *_span(event), event.style or "")

    def _plain_value(self, text: str, place: Place) -> Value:
        if is_ambiguous(text):
            what = f"{text} means different things to different readers of YAML"
            self.refuse(place, what, f'quote it: "{text}"; or write true, false or a plain number', Code.AMBIGUOUS)
            return text
        try:
            return resolve(text)
        except ValueError as error:
            self.refuse(place, str(error), "quote it if it is text", Code.LIMIT)
            return text

    def _add(self, node: Node) -> None:
        if not self._levels:
            self.documents.append(Document(self.source, node))
            return
        level = self._levels[-1]
        if not level.mapping:
            level.items.append(node)
        elif level.key is None:
            level.key = self._key(node)
        else:
            self._entry(level, level.key, node)
            level.key = None

    def _key(self, node: Node) -> Scalar:
        if isinstance(node, Scalar) and isinstance(node.value, str):
            if node.value == "<<" and not node.style:
                self.refuse(node.place, "merge keys (<<) are not allowed", "write the keys out")
            return node
        if isinstance(node, Scalar):
            shown = self.source.text[node.start : node.end]
            self.refuse(node.place, "a key must be text", f"quote it: {quoted(shown)}" if shown else "give it a name")
            return Scalar(node.place, shown, node.start, node.end, "")
        self.refuse(node.place, "a key must be text, not a list or a mapping", "give it a name")
        return Scalar(node.place, "", 0, 0, "")

    def _entry(self, level: _Level, key: Scalar, value: Node) -> None:
        name = str(key.value)
        first = level.entries.get(name)
        if first is None:
            level.entries[name] = Entry(key, value)
            return
        hint = f"it stands at {first.key.place} already; keep one of them"
        self.refuse(key.place, f"the key {quoted(name)} is given twice", hint, Code.DUPLICATE_KEY)


def _span(event: yaml.Event) -> tuple[int, int]:
    start, end = event.start_mark, event.end_mark
    return (start.index, end.index) if start is not None and end is not None else (0, 0)


def _syntax(source: SourceText, error: yaml.YAMLError) -> PolicyProblem:
    """Returns libyaml's complaint in our shape; its texts are fixed and hold nothing of the file."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = str(getattr(error, "problem", None) or "it cannot be read")
    context = getattr(error, "context", None)
    place = source.place(mark.line, mark.column) if mark is not None else Place(source.file)
    message = f"not valid YAML: {what}" + (f" {context}" if context else "")
    return problem(place, message, _SYNTAX_HINTS.get(what, ""), Code.SYNTAX)
