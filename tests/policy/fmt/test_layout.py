"""What the one layout looks like: keys, indents, quotes, brackets, and where each comment goes."""

from __future__ import annotations

import pytest

from discreet.policy.fmt import formatted
from discreet.policy.fmt.order import RULE_KEYS
from discreet.policy.model.kinds import RuleItem
from discreet.policy.problems import PolicyProblems
from tests.policy.sets.sets import POLICY_HEAD

HEAD = POLICY_HEAD


def laid_out(text: str) -> str:
    """Returns a text in the one layout, which laid out again is the same."""
    once = formatted("f.yaml", text.encode())
    assert formatted("f.yaml", once) == once
    return once.decode()


LAYOUTS = {
    "keys of a document": (
        "name: main\nkind: DisclosurePolicy\napiVersion: discreet/v1\nempty: true\n",
        HEAD + "empty: true\n",
    ),
    "keys of a rule": (
        HEAD + "rules:\n- when: 'a'\n  sources: [a]\n  moments: [PUBLISH]\n  effect: ALLOW\n  id: r\n",
        HEAD + 'rules:\n  - id: r\n    effect: ALLOW\n    moments: [PUBLISH]\n    sources: [a]\n    when: "a"\n',
    ),
    "keys in brackets": (
        HEAD + "rules:\n  - {moments: [PUBLISH], effect: ALLOW, id: r}\n",
        HEAD + "rules:\n  - { id: r, effect: ALLOW, moments: [PUBLISH] }\n",
    ),
    "an embargo begins before it ends": (
        HEAD.replace("DisclosurePolicy", "Embargo") + "until: b\nsources: [a]\nfrom: a\n",
        HEAD.replace("DisclosurePolicy", "Embargo") + "from: a\nuntil: b\nsources: [a]\n",
    ),
    "unknown keys last": (HEAD + "zz: 1\naa: 2\nempty: true\n", HEAD + "empty: true\nzz: 1\naa: 2\n"),
    "indents": (
        HEAD + "rules:\n      - id: r\n        kinds:\n            - a\n",
        HEAD + "rules:\n  - id: r\n    kinds:\n      - a\n",
    ),
    "lists flush with their key": (HEAD + "rules:\n- id: r\n- id: s\n", HEAD + "rules:\n  - id: r\n  - id: s\n"),
    "quotes": (
        HEAD + "rules:\n  - id: 'r'\n    when: 'a == \"b\"'\n    text: \"it's\"\n",
        HEAD + 'rules:\n  - id: "r"\n    when: \'a == "b"\'\n    text: "it\'s"\n',
    ),
    "quotes that are needed": (
        HEAD + "zz: ['1', 'no', '', '# x', 'a: b']\n",
        HEAD + 'zz: ["1", "no", "", "# x", "a: b"]\n',
    ),
    "escapes": (HEAD + 'zz: "a\\tb\\u00a0"\n', HEAD + 'zz: "a\\tb\\u00a0"\n'),
    "a block scalar": (
        HEAD + "rules:\n  - id: r\n    when: |\n            a &&\n              b\n\n\n            c\n    text: t\n",
        HEAD + "rules:\n  - id: r\n    when: |\n      a &&\n        b\n\n\n      c\n    text: t\n",
    ),
    "a block scalar without its end": (
        HEAD + "rules:\n  - when: >-\n     a\n     b\n",
        HEAD + "rules:\n  - when: >-\n      a\n      b\n",
    ),
    "a block scalar that keeps its end": (HEAD + "zz: |+\n  a\n\n\nyy: 1\n", HEAD + 'zz: "a\\n\\n\\n"\n\nyy: 1\n'),
    "a block scalar that begins further in": (HEAD + "zz: |2\n    a\n  b\n", HEAD + 'zz: "  a\\nb\\n"\n'),
    "text over several lines": (HEAD + "zz: a\n      b\n    c\n", HEAD + "zz: a\n  b\n  c\n"),
    "quoted text over several lines": (HEAD + 'zz: "a\n      b\n\n\n    c"\n', HEAD + 'zz: "a\n  b\n\n\n  c"\n'),
    "brackets over several lines": (HEAD + "zz: [\n  a,\n  b,\n]\n", HEAD + "zz: [a, b]\n"),
    "brackets that are too long": (
        HEAD + f"zz: [{', '.join(['abcdefghij'] * 12)}]\n",
        HEAD + "zz:\n" + "  - abcdefghij\n" * 12,
    ),
    "empty brackets": (HEAD + "zz: [ ]\nyy: { }\n", HEAD + "zz: []\nyy: {}\n"),
    "lists in lists": (HEAD + "zz:\n-   - a\n    - b\n- - c\n", HEAD + "zz:\n  - - a\n    - b\n  - - c\n"),
    "JSON": (
        '{"apiVersion": "discreet/v1", "kind": "DisclosurePolicy", "name": "main", "empty": true}',
        '"apiVersion": "discreet/v1"\n"kind": "DisclosurePolicy"\n"name": "main"\n"empty": true\n',
    ),
    "empty lines": (
        "\n\n" + HEAD + "\n\n\nzz: 1\nyy:\n\n  - a\n\n\n  - b\n\n\n",
        HEAD + "\nzz: 1\nyy:\n  - a\n\n  - b\n",
    ),
    "several documents": (HEAD + "empty: true\n---\n" + HEAD, HEAD + "empty: true\n---\n" + HEAD),
    "a mark before the first document": ("--- # c\n" + HEAD, "# c\n" + HEAD),
    "CRLF and a byte-order mark": ("\ufeff" + HEAD.replace("\n", "\r\n"), HEAD),
    "no end of the last line": (HEAD.rstrip("\n"), HEAD),
    "space at the end of lines": (HEAD.replace("main", "main  ") + "zz:   1   # c  \n", HEAD + "zz: 1 # c\n"),
    "the name and what is expected of a test": (
        "apiVersion: discreet/v1\nkind: PolicyTest\nname: t\ncases:\n"
        "- {expect: {verdict: ALLOW}, moment: PUBLISH, name: one, principal: a}\n",
        "apiVersion: discreet/v1\nkind: PolicyTest\nname: t\ncases:\n"
        "  - { name: one, moment: PUBLISH, principal: a, expect: { verdict: ALLOW } }\n",
    ),
}


@pytest.mark.parametrize("given, expected", LAYOUTS.values(), ids=LAYOUTS)
def test_the_layout(given: str, expected: str) -> None:
    """E1: one way to write each thing."""
    assert laid_out(given) == expected


COMMENTS = {
    "above a key that moves": (
        HEAD + "rules:\n- id: r\n  # why\n\n  # so\n  text: t\n  # when\n  when: a\n",
        HEAD + "rules:\n  - id: r\n    # when\n    when: a\n    # why\n\n    # so\n    text: t\n",
    ),
    "above the key that becomes the first": (
        HEAD + "rules:\n- effect: ALLOW\n  # the id\n  id: r\n",
        HEAD + "rules:\n  # the id\n  - id: r\n    effect: ALLOW\n",
    ),
    "behind a value that moves": (
        HEAD + "rules:\n- text: t # why\n  id: r # who\n",
        HEAD + "rules:\n  - id: r # who\n    text: t # why\n",
    ),
    "at the head of the file": (
        "# a\n\n# b\nkind: DisclosurePolicy\napiVersion: discreet/v1\nname: x\n",
        "# a\n\n# b\napiVersion: discreet/v1\nkind: DisclosurePolicy\nname: x\n",
    ),
    "at the end of the file": (HEAD + "zz: 1\n\n# end\n", HEAD + "zz: 1\n\n# end\n"),
    "at the end of an item": (
        HEAD + "rules:\n- id: r\n  # advice: true\n- id: s\n  # text: t\n# after\nzz: 1\n",
        HEAD + "rules:\n  - id: r\n    # advice: true\n  - id: s\n    # text: t\n# after\nzz: 1\n",
    ),
    "commented-out keys keep their own indents": (HEAD + "# a:\n#   b: 1\nzz: 1\n", HEAD + "# a:\n#   b: 1\nzz: 1\n"),
    "behind a key whose list follows": (HEAD + "zz: # why\n  - a\n", HEAD + "zz: # why\n  - a\n"),
    "behind the head of a block scalar": (
        HEAD + "zz: |  # why\n    a # no comment\n",
        HEAD + "zz: | # why\n  a # no comment\n",
    ),
    "behind brackets": (HEAD + "zz: {a: [b]}   # why\n", HEAD + "zz: { a: [b] } # why\n"),
    "inside of brackets": (
        HEAD + "zz: [\n  a, # one\n  # two\n  b,\n  # end\n]\n",
        HEAD + "zz:\n  - a # one\n  # two\n  - b\n  # end\n",
    ),
    "between a key and its value": (HEAD + "zz:\n  # why\n  a\nyy: 1\n", HEAD + "# why\nzz: a\nyy: 1\n"),
    "behind a dash": (HEAD + "zz:\n  - # why\n    a: 1\n", HEAD + "zz:\n  # why\n  - a: 1\n"),
    "before another document": (HEAD + "zz: 1\n# one\n---\n# two\n" + HEAD, HEAD + "zz: 1\n# one\n---\n# two\n" + HEAD),
    "that is no comment": (HEAD + 'zz: "a # b"\nyy: a#b\n', HEAD + 'zz: "a # b"\nyy: a#b\n'),
}


@pytest.mark.parametrize("given, expected", COMMENTS.values(), ids=COMMENTS)
def test_a_comment_stays_with_what_it_is_about(given: str, expected: str) -> None:
    """E1: wherever it stands, and wherever what it stands at goes."""
    assert laid_out(given) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: [",
        "a: 1\na: 2\n",
        "- a\n",
        HEAD + "zz: no\n",
        HEAD + "zz: &a 1\n",
        HEAD.replace("main", "a\tb"),
        "kind: X\n",
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_problems(text: str) -> None:
    """YML-01, YML-10: nothing is laid out whose meaning is not certain."""
    with pytest.raises(PolicyProblems) as refused:
        formatted("f.yaml", text.encode())
    assert refused.value.problems[0].file == "f.yaml"


def test_the_order_of_a_rule_names_every_key() -> None:
    """E1: a key that is added to rules gets a place."""
    assert sorted(RULE_KEYS) == sorted(field.alias or name for name, field in RuleItem.model_fields.items())
