"""Values of documents with the way to them, and their validation: every problem with its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from discreet.policy.model.errors import problems_of
from discreet.policy.model.values import Parameters
from discreet.policy.problems import Place, PolicyProblem
from discreet.policy.yaml import Document, Items, Path, plain

T_co = TypeVar("T_co", covariant=True)
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Placed(Generic[T_co]):
    """A value of a document with the way to it."""

    value: T_co
    document: Document
    path: Path = ()

    def place(self, *more: str | int) -> Place:
        """Returns where it stands, or where something in it stands."""
        return self.document.place(*self.path, *more)

    def key_place(self, *more: str | int) -> Place:
        """Returns where a key in it stands."""
        return self.document.key_place(*self.path, *more)


def validated(
    problems: list[PolicyProblem],
    document: Document,
    path: Path,
    model: type[M],
    parameters: Parameters | None = None,
) -> list[Placed[M]]:
    """Returns the value at a path as a model, in a list; an empty one, with the problems noted, where it is none."""
    try:
        value = model.model_validate(plain(document.node(path)), context=parameters)
    except ValidationError as error:
        problems += problems_of(error, document, path, model)
        return []
    return [Placed(value, document, path)]


def items_of(
    problems: list[PolicyProblem],
    document: Document,
    key: str,
    model: type[M],
    parameters: Parameters | None = None,
) -> list[Placed[M]]:
    """Returns the items of a list that are well-formed, each judged by itself, and notes the problems of the others."""
    node = document.node((key,))
    if not isinstance(node, Items):
        return []
    found: list[Placed[M]] = []
    for position in range(len(node.items)):
        found += validated(problems, document, (key, position), model, parameters)
    return found
