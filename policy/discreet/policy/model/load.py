"""Files become documents of known kinds, with the problems of their form; knows no reference between files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from discreet.policy.model.kinds import (
    API_VERSION,
    Definitions,
    DisclosurePolicy,
    Embargo,
    Environment,
    Kind,
    Owners,
    PolicySet,
    RetentionPolicy,
    RuleItem,
    SourceItem,
    SourceList,
    Texts,
)
from discreet.policy.model.parameters import Given, parameters_of
from discreet.policy.model.placed import Placed, items_of, validated
from discreet.policy.model.values import Parameters
from discreet.policy.problems import PROBLEMS_MAX, Code, PolicyProblem, did_you_mean, problem, quoted, shortened
from discreet.policy.yaml import Document, Entries, Items, Node, Scalar, plain, read

__all__ = ["KINDS", "TEST_KIND", "Loaded", "Placed", "empty_values", "items_of", "kind_of", "load", "validated"]

KINDS: Final[Mapping[str, type[Kind]]] = {
    "PolicySet": PolicySet,
    "SourceList": SourceList,
    "DisclosurePolicy": DisclosurePolicy,
    "Embargo": Embargo,
    "Texts": Texts,
    "Definitions": Definitions,
    "Environment": Environment,
    "Owners": Owners,
    "RetentionPolicy": RetentionPolicy,
}
TEST_KIND: Final = "PolicyTest"

#: Keys of tests under which null is a value like others.
NULLS_UNDER: Final = frozenset({"attributes", "fields"})


@dataclass(slots=True)
class Loaded:
    """The documents of a set by kind, and what is wrong with them so far."""

    sets: list[Placed[PolicySet]] = field(default_factory=list)
    source_lists: list[Placed[SourceList]] = field(default_factory=list)
    sources: list[Placed[SourceItem]] = field(default_factory=list)
    policies: list[Placed[DisclosurePolicy]] = field(default_factory=list)
    rules: list[Placed[RuleItem]] = field(default_factory=list)
    """The rules of policies and those that embargoes stand for."""
    embargoes: list[Placed[Embargo]] = field(default_factory=list)
    texts: list[Placed[Texts]] = field(default_factory=list)
    definitions: list[Placed[Definitions]] = field(default_factory=list)
    environments: list[Placed[Environment]] = field(default_factory=list)
    owners: list[Placed[Owners]] = field(default_factory=list)
    retention: list[Placed[RetentionPolicy]] = field(default_factory=list)
    parameters: Parameters = field(default_factory=lambda: Parameters({}, {}))
    """Those declared, with their values in the environment that the set was loaded for."""
    files: tuple[str, ...] = ()
    """The paths of the policy files."""
    problems: list[PolicyProblem] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)
    """Every label that a source list gives, also in an item that is wrong otherwise: no error follows from an error."""
    text_ids: dict[str, set[str]] = field(default_factory=dict)
    """Likewise the keys of texts, by locale."""
    whole: bool = True
    """False where a file could not be read to its end, so that a name may be declared without being known."""


def load(files: Mapping[str, bytes], environment: str = "", given: Placed[Given] | None = None) -> Loaded:
    """Returns the documents of the given policy files (no tests) and every problem of their form.

    `environment` names the one whose values the parameters take; "": none is chosen, their defaults hold. `given` are
    values over these.
    """
    loaded = Loaded(files=tuple(sorted(files)))
    known: list[tuple[Document, str]] = []
    for file in sorted(files):
        documents, problems = read(file, files[file])
        loaded.problems += problems
        cut_off = len(problems) > PROBLEMS_MAX or any(found.code in _CUTTING for found in problems)
        loaded.whole = loaded.whole and not cut_off
        for document in documents:
            loaded.problems += empty_values(document)
            kind = kind_of(document, loaded.problems)
            known += [(document, kind)] if kind is not None else []
    loaded.parameters = _parameters(loaded, known, environment, given)
    for document, kind in known:
        _take(loaded, document, kind)
    return loaded


def _parameters(
    loaded: Loaded, known: list[tuple[Document, str]], environment: str, over: Placed[Given] | None
) -> Parameters:
    """Returns the parameters, which other documents may refer to and which are therefore read before all others."""
    declaring: list[Placed[Given]] = []
    count = 0
    for document, kind in known:
        if kind == "Environment":
            count += 1
            loaded.environments += validated(loaded.problems, document, (), Environment)
        elif kind == "PolicySet":
            declared = document.node(("parameters",))
            if isinstance(declared, Entries) and declared is not document.root:
                given = {name: plain(entry.value) for name, entry in declared.entries.items()}
                declaring.append(Placed(given, document))
    whole = loaded.whole and len(loaded.environments) == count
    return parameters_of(declaring, loaded.environments, environment, loaded.problems, whole=whole, given=over)


def empty_values(document: Document) -> list[PolicyProblem]:
    """Returns a problem for every key or item without a value: a commented-out list must not come to mean any."""
    found: list[PolicyProblem] = []
    nodes: list[Node] = [document.root]
    while nodes:
        node = nodes.pop()
        if isinstance(node, Items):
            nodes += node.items
            hint = "give it a value, or take the - out"
            found += [problem(item.place, "an item is empty", hint) for item in node.items if _is_empty(item)]
        elif isinstance(node, Entries):
            nodes += (entry.value for entry in node.entries.values() if str(entry.key.value) not in NULLS_UNDER)
            hint = "give it one, or leave the key out"
            empty = (entry for entry in node.entries.values() if _is_empty(entry.value))
            found += [
                problem(entry.value.place, f"{shortened(str(entry.key.value))} has no value", hint) for entry in empty
            ]
    return found


def _is_empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


_CUTTING: Final = frozenset({Code.ENCODING, Code.CHARACTER, Code.SYNTAX, Code.LIMIT})


def _take(loaded: Loaded, document: Document, kind: str) -> None:
    problems, parameters = loaded.problems, loaded.parameters
    if kind == TEST_KIND:
        hint = "tests stand in files whose names end in _test.yaml"
        problems.append(problem(document.place("kind"), "a PolicyTest in a policy file", hint, Code.FILE))
    elif kind == "PolicySet":
        loaded.sets += validated(problems, document, (), PolicySet, parameters)
    elif kind == "SourceList":
        loaded.source_lists += validated(problems, document, (), SourceList, parameters)
        loaded.sources += items_of(problems, document, "sources", SourceItem, parameters)
        loaded.labels |= _texts_below(document, "sources", "label")
    elif kind == "DisclosurePolicy":
        loaded.policies += validated(problems, document, (), DisclosurePolicy, parameters)
        loaded.rules += items_of(problems, document, "rules", RuleItem, parameters)
    elif kind == "Embargo":
        found = validated(problems, document, (), Embargo, parameters)
        loaded.embargoes += found
        loaded.rules += [Placed(each.value.rule(), document) for each in found]
    elif kind == "Texts":
        loaded.texts += validated(problems, document, (), Texts, parameters)
        _note_text_ids(loaded, document)
    elif kind == "Definitions":
        loaded.definitions += validated(problems, document, (), Definitions, parameters)
    elif kind == "Owners":
        loaded.owners += validated(problems, document, (), Owners, parameters)
    elif kind == "RetentionPolicy":
        loaded.retention += validated(problems, document, (), RetentionPolicy, parameters)


def kind_of(document: Document, problems: list[PolicyProblem]) -> str | None:
    """Returns the kind of a document, or None with a problem noted."""
    if not isinstance(document.root, Entries):
        found = "the document is not a mapping" if plain(document.root) is not None else "the document is empty"
        hint = f"it begins with apiVersion: {API_VERSION}, kind, name"
        problems.append(problem(document.root.place, found, hint, Code.FILE))
        return None
    version, kind = (document.node((key,)) for key in ("apiVersion", "kind"))
    for key, node in (("apiVersion", version), ("kind", kind)):
        if node is document.root:
            problems.append(
                problem(document.root.place, f"the key {quoted(key)} is missing", _FIRST_KEYS[key], Code.MISSING_KEY)
            )
    if version is document.root or kind is document.root:
        return None
    if not isinstance(version, Scalar) or version.value != API_VERSION:
        problems.append(problem(version.place, "this apiVersion is not known", f"write {API_VERSION}"))
        return None
    known = [*KINDS, TEST_KIND]
    name = kind.value if isinstance(kind, Scalar) else None
    if isinstance(name, str) and name in known:
        return name
    shown = quoted(name) if isinstance(name, str) else "like this"
    hint = did_you_mean(name, known) if isinstance(name, str) else "one of " + ", ".join(known)
    problems.append(problem(kind.place, f"no kind {shown}", hint, Code.UNKNOWN_NAME))
    return None


_FIRST_KEYS: Final = {
    "apiVersion": f"write apiVersion: {API_VERSION}",
    "kind": "one of " + ", ".join([*KINDS, TEST_KIND]),
}


def _texts_below(document: Document, key: str, field_name: str) -> set[str]:
    node = document.node((key,))
    if not isinstance(node, Items):
        return set()
    fields = (document.node((key, position, field_name)) for position in range(len(node.items)))
    return {value.value for value in fields if isinstance(value, Scalar) and isinstance(value.value, str)}


def _note_text_ids(loaded: Loaded, document: Document) -> None:
    locale, texts = document.node(("locale",)), document.node(("texts",))
    if isinstance(locale, Scalar) and isinstance(texts, Entries):
        loaded.text_ids.setdefault(str(locale.value), set()).update(texts.entries)
