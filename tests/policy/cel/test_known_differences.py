"""The tables in the oracle: what differs is on the list of known differences, and the list may only shrink."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

from cel_expr_python import cel

from tests.policy.cel.oracle import ERROR, known_differences, ours, theirs
from tests.policy.cel.world import activation, lines, outcome_of

#: What the list holds now. Whoever shortens it lowers these; nobody raises them without saying in the list why.
EXPRESSIONS_MAX: Final = 54
REASONS_MAX: Final = 13
PATTERNS_MAX: Final = 8

ENV: Final = cel.NewEnv(variables={"data": cel.Type.DYN, "flag": cel.Type.BOOL, "now": cel.Type.TIMESTAMP})
TEXT: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
#: Records, which the oracle has no like of: absent fields, timestamps inside.
RECORDS: Final = re.compile(r"\b(doc|absent|note|plain)\b")


def differs(expression: str) -> bool:
    """Says whether an expression comes out otherwise; what is refused at load may be refused by its type checker."""
    values = activation()
    now = dt.datetime.fromisoformat(str(values["now"]))
    data = {"data": values["data"], "flag": values["flag"], "now": now}
    sort, value = outcome_of(expression)
    other = theirs(expression, ENV, data)
    if (ours(value) if sort == "value" else ERROR) == other:
        return False
    return sort != "load" or theirs(expression, ENV, data, check=True) != ERROR


def comparable() -> list[str]:
    """Returns the expressions of the tables that the oracle can evaluate."""
    return [text for _, text, _ in lines() if not RECORDS.search(TEXT.sub("", text))]


def test_the_tables_differ_from_the_oracle_only_where_the_list_says() -> None:
    """F12: every line that the oracle can evaluate, value or error, is the same there or is on the list."""
    listed = {text for each in known_differences() for text in each.expressions}
    tried = comparable()
    assert len(tried) > 1_900
    unlisted = [text for text in tried if text not in listed and differs(text)]
    assert not unlisted, "\n".join(unlisted)


def test_each_known_difference_is_still_one() -> None:
    """What has been mended leaves the list; what is on it stands in the tables, where its outcome here is stated."""
    texts = [text for each in known_differences() for text in each.expressions]
    assert len(set(texts)) == len(texts)
    assert not set(texts) - set(comparable()), "not in the tables"
    assert not [text for text in texts if not differs(text)], "no difference any more: take it off the list"


def test_the_list_may_only_shrink() -> None:
    """Its length is pinned, expressions, reasons and patterns; each reason has an expression that shows it."""
    found = known_differences()
    assert all(each.reason and each.expressions for each in found)
    assert sum(len(each.expressions) for each in found) == EXPRESSIONS_MAX, "shorter is good: lower the number"
    assert len(found) == REASONS_MAX
    assert sum(len(each.messages) for each in found) == PATTERNS_MAX
