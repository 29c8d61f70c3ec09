"""Large policy sets: rules of every effect over many files, and one planted error. Knows nothing of time."""

from __future__ import annotations

from tests.policy.sets.sets import SET

SOURCES = 50
HEAD = "apiVersion: discreet/v1\nkind: {kind}\nname: {name}\n"
RULE = """\
  - id: r{n}
    effect: {effect}
    moments: [RETRIEVE, PUBLISH]
    sources: [s{source}]
    when: |
      has(document.attributes.desk) && document.attributes.desk == "d{n}" &&
        (principal.id != "p{n}" || segment.kind in ["a", "b{n}"])
"""
LINES_A_RULE = RULE.count("\n")
PLANTED = "document.atributes"


def large_set(rules: int, files: int, planted: int | None = None) -> dict[str, bytes]:
    """Returns a set of so many rules; `planted` is the number of the rule that misspells a name."""
    sources = "".join(
        f"  - {{ label: s{n}, title: S, duty: DOCUMENT_STORE, collectors: [c] }}\n" for n in range(SOURCES)
    )
    found = {
        "discreet.yaml": SET,
        "sources.yaml": HEAD.format(kind="SourceList", name="sources") + f"sources:\n{sources}",
    }
    for file in range(files):
        text = HEAD.format(kind="DisclosurePolicy", name=f"p{file}") + "rules:\n"
        for n in range(file * rules // files, (file + 1) * rules // files):
            effect = "WITHHOLD" if n % 4 == 3 else "ALLOW"
            rule = RULE.format(n=n, effect=effect, source=n % SOURCES)
            text += rule.replace("has(document.attributes", f"has({PLANTED}") if n == planted else rule
        found[f"rules/p{file:03}.yaml"] = text
    return {name: text.encode() for name, text in found.items()}


def place_of(planted: int, rules: int, files: int) -> str:
    """Returns where the planted error stands."""
    file = next(f for f in range(files) if planted < (f + 1) * rules // files)
    before = planted - file * rules // files
    return f"rules/p{file:03}.yaml:{4 + before * LINES_A_RULE + 6}:20"
