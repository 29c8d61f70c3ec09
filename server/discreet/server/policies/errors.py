"""Why a policy's source gave no set of files: it could not be read now, or what it holds cannot be a policy set."""

from enum import StrEnum


class Cause(StrEnum):
    """What was wrong with a commit that did not come into force; a closed set, for metrics."""

    PROBLEMS = "problems"
    """The set has problems."""
    TESTS = "tests"
    """The set's own tests fail."""
    FILES = "files"
    """Its files cannot be a policy set: a link, too many, too large."""
    ENGINE = "engine"
    """A live server is too old for it."""
    REF = "ref"
    """The ref names no commit, or more than one."""


class SourceUnavailable(Exception):
    """The source cannot be read, or has no such ref, now. It is asked again; the revision in force goes on."""


class SourceRefused(Exception):
    """What the source holds cannot be a policy set (a link, a file too large, an ambiguous ref).

    Mended by a new commit or setting.
    """
