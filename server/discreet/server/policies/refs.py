"""Which commit a ref means. A short name that is both a branch and a tag means neither (GIT-08)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dulwich.objects import ObjectID
from dulwich.refs import Ref

from discreet.server.policies.errors import SourceRefused, SourceUnavailable

_COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)
NAMES_SHOWN_MAX = 10


def wanted_sha(refs: Mapping[Ref, ObjectID], ref: str) -> ObjectID:
    """The object id that a ref names among those of a repository.

    HEAD where it is empty, a full ref, a short one, a commit id.
    """
    if _COMMIT.fullmatch(ref):
        return ObjectID(ref.encode())
    if ref in {"", "HEAD"} or ref.startswith("refs/"):
        name = ref or "HEAD"
        if Ref(name.encode()) in refs:
            return refs[Ref(name.encode())]
        raise SourceUnavailable(f"no ref {name}; {_known(refs)}" if refs else "the repository holds no commit yet")
    return _short(refs, ref)


def _short(refs: Mapping[Ref, ObjectID], ref: str) -> ObjectID:
    candidates = [name for name in (f"refs/heads/{ref}", f"refs/tags/{ref}") if Ref(name.encode()) in refs]
    if len(candidates) > 1:
        raise SourceRefused(f"--ref {ref} is both a branch and a tag; write {candidates[0]} or {candidates[1]}")
    if not candidates:
        raise SourceUnavailable(f"no branch or tag {ref}; {_known(refs)}")
    return refs[Ref(candidates[0].encode())]


def _known(refs: Mapping[Ref, ObjectID]) -> str:
    names = sorted(name.decode("utf-8", "replace") for name in refs if name.startswith((b"refs/heads/", b"refs/tags/")))
    if not names:
        return "there are no branches and no tags"
    shown = ", ".join(names[:NAMES_SHOWN_MAX])
    return f"there are {shown}" + (f" and {len(names) - NAMES_SHOWN_MAX} more" if len(names) > NAMES_SHOWN_MAX else "")
