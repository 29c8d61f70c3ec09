"""Policy files in the one layout: key order by kind, two spaces, one way to quote; comments stay where they belong.

A layout changes nothing that a file says: what comes out is read again and compared, value by value and comment by
comment, before anybody sees it.
"""

from __future__ import annotations

from collections import Counter

from discreet.policy.fmt.comments import comments_of, placed
from discreet.policy.fmt.emit import emitted
from discreet.policy.fmt.layout import documents_of
from discreet.policy.fmt.order import order_of
from discreet.policy.model.load import kind_of
from discreet.policy.problems import Code, Place, PolicyProblem, PolicyProblems, problem
from discreet.policy.yaml import Document, Entries, Items, Node, read

__all__ = ["formatted"]


def formatted(file: str, data: bytes) -> bytes:
    """Returns a policy file or a file of tests in the one layout. Raises PolicyProblems where it cannot be read."""
    before, problems = read(file, data)
    if not problems:
        problems += _unknown_kinds(before)
    if problems:
        raise PolicyProblems(problems)
    source = before[0].source
    documents = documents_of(source.text)
    comments = comments_of(source.text, documents)
    placed(source.text, documents, comments)
    text = emitted(source.text, documents, [order_of(document.root) for document in before])
    after, wrong = read(file, text.encode())
    if wrong or list(map(said, before)) != list(map(said, after)) or _texts(source.text) != _texts(text):
        hint = "leave it as it is; what makes it odd may be told by writing it more plainly"
        raise PolicyProblems([problem(Place(file), "the file cannot be laid out without changing it", hint, Code.FILE)])
    return text.encode()


def _unknown_kinds(documents: tuple[Document, ...]) -> list[PolicyProblem]:
    problems: list[PolicyProblem] = []
    for document in documents:
        kind_of(document, problems)
    return problems


def said(document: Document) -> object:
    """Returns all that a document says, with the types of its values and without the order of keys."""
    return _said(document.root)


def _said(node: Node) -> object:
    if isinstance(node, Entries):
        return {key: _said(entry.value) for key, entry in node.entries.items()}
    if isinstance(node, Items):
        return [_said(item) for item in node.items]
    return type(node.value).__name__, repr(node.value)


def _texts(text: str) -> Counter[str]:
    return Counter(comment.text for comment in comments_of(text, documents_of(text)))
