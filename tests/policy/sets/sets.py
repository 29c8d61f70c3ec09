"""Small policy sets for tests: a valid one to start from, and ways to change it. Knows nothing of decisions."""

from __future__ import annotations

from discreet.policy.check import check_set
from discreet.policy.compile import compile_set
from discreet.policy.snapshot import Snapshot

SET = "apiVersion: discreet/v1\nkind: PolicySet\nname: demo\n"
SOURCES = """\
apiVersion: discreet/v1
kind: SourceList
name: sources
sources:
  - {label: equity-desk, title: Equity desk, duty: DATA_CHANNEL, collectors: [eq], max-age: 36h}
  - {label: notes, title: Notes, duty: DOCUMENT_STORE, collectors: [clerk]}
  - {label: drafts, title: Drafts, duty: DOCUMENT_STORE, collectors: [clerk], listed: false}
"""
POLICY_HEAD = "apiVersion: discreet/v1\nkind: DisclosurePolicy\nname: main\n"
RULES = (
    POLICY_HEAD
    + """\
rules:
  - {id: figures, effect: ALLOW, moments: [PUBLISH], sources: [equity-desk]}
  - {id: notes, effect: ALLOW, moments: [RETRIEVE, PUBLISH], sources: [notes]}
"""
)
TEXTS_HEAD = "apiVersion: discreet/v1\nkind: Texts\nname: words\n"


def a_set(**changed: str | bytes | None) -> dict[str, bytes]:
    """Returns a valid set; an argument `rules` replaces `rules.yaml`, None takes the file out."""
    files: dict[str, str | bytes | None] = {"discreet": SET, "sources": SOURCES, "rules": RULES, **changed}
    return {
        f"{name}.yaml": text.encode() if isinstance(text, str) else text
        for name, text in files.items()
        if text is not None
    }


def rules(*lines: str, name: str = "main") -> str:
    """Returns a DisclosurePolicy whose rules begin at line 5, one a line."""
    head = POLICY_HEAD.replace("main", name)
    return head + "rules:\n" + "".join(f"  - {line}\n" for line in lines)


def problems(files: dict[str, bytes]) -> list[str]:
    """Returns what is wrong with a set, as lines."""
    return [str(found) for found in check_set(files).problems]


def warnings(files: dict[str, bytes]) -> list[str]:
    """Returns the warnings of a set, as lines."""
    return [str(found) for found in check_set(files).warnings]


def compiled(files: dict[str, bytes]) -> Snapshot:
    """Returns the compiled set."""
    return compile_set(files, commit="c" * 40, number=7, dirty=False)
