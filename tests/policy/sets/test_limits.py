"""How large a policy set may be: at each limit it is taken, one past it the author is told which limit it is."""

from __future__ import annotations

import pytest

from discreet.policy.bundle import FILES_MAX
from discreet.policy.model.fields import LIST_MAX, TITLE_CHARS_MAX
from tests.policy.sets.sets import SOURCES, a_set, problems, rules

HEAD = "apiVersion: discreet/v1\nkind: PolicyTest\nname: t\nnow: 2026-01-05T09:00:00Z\ncases:\n"
CASE = (
    "  - {{name: case {n}, moment: PUBLISH, principal: ana, grounding: UNBOUND, kind: chat, "
    "expect: {{verdict: WITHHOLD, reason: POLICY_RULE}}}}\n"
)


def test_a_title_is_bounded() -> None:
    """A2: 200 characters, whatever they are."""
    for count, refused in ((TITLE_CHARS_MAX, 0), (TITLE_CHARS_MAX + 1, 1)):
        found = problems(a_set(sources=SOURCES.replace("title: Drafts", f'title: "{"图" * count}"')))
        assert len(found) == refused
        assert all(f"1 to {TITLE_CHARS_MAX} characters" in line for line in found)


def test_a_list_is_bounded() -> None:
    """A16: a source has at most a thousand collectors."""
    for count, refused in ((LIST_MAX, 0), (LIST_MAX + 1, 1)):
        names = ", ".join(f"c{number}" for number in range(count))
        found = problems(a_set(sources=SOURCES.replace("[eq]", f"[{names}]")))
        assert len(found) == refused
        assert all(f"more than {LIST_MAX} items" in line for line in found)


def test_the_number_of_files_is_bounded() -> None:
    """F2: a folder is read whole, so how much it holds is bounded; files that are no policies count too."""
    whole = a_set()
    room = FILES_MAX - len(whole)
    assert problems(whole | {f"notes/{number}.md": b"" for number in range(room)}) == []
    (line,) = problems(whole | {f"notes/{number}.md": b"" for number in range(room + 1)})
    assert f"more than {FILES_MAX} files" in line


@pytest.mark.parametrize("what, limit", [("sources", 3), ("rules", 4), ("cases", 5)])
def test_the_size_of_a_set_is_bounded(monkeypatch: pytest.MonkeyPatch, what: str, limit: int) -> None:
    """YML-06: sources, rules and test cases are 20,000 each; the bound is lowered here, to be met in no time."""
    place = "testing.load.CASES_MAX" if what == "cases" else f"references.{what.upper()}_MAX"
    monkeypatch.setattr(f"discreet.policy.{place}", limit)
    for past in (0, 1):
        count = limit + past
        more = "".join(
            f"  - {{label: s{number}, title: S, duty: DOCUMENT_STORE, collectors: [c], listed: false}}\n"
            for number in range(count - 3)
        )
        texts = {
            "sources": a_set(sources=SOURCES + more),
            "rules": a_set(
                rules=rules(
                    *(f"{{id: r{n}, effect: ALLOW, moments: [PUBLISH], sources: [notes]}}" for n in range(count))
                )
            ),
            "cases": a_set() | {"a_test.yaml": (HEAD + "".join(CASE.format(n=n) for n in range(count))).encode()},
        }
        found = problems(texts[what])
        assert len(found) == past
        assert all(f"more than {limit} {what}" in line for line in found)
