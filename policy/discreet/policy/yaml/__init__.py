"""YAML 1.2 for policies: values that know their place, and nothing that could mean two things."""

from discreet.policy.yaml.nodes import Document, Entries, Entry, Items, Node, Path, Scalar, Value, plain
from discreet.policy.yaml.offsets import source_offset
from discreet.policy.yaml.reader import read
from discreet.policy.yaml.source import SourceText, normal

__all__ = [
    "Document",
    "Entries",
    "Entry",
    "Items",
    "Node",
    "Path",
    "Scalar",
    "SourceText",
    "Value",
    "normal",
    "plain",
    "read",
    "source_offset",
]
