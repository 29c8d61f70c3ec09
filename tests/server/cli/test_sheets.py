"""CSV for spreadsheets: it reads back as what it was, and no cell of it is a formula."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cli.escaping import safe
from discreet.cli.sheets import FORMULAS, sheet_line


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =cmd|'/C calc'!A0", "＝1", '=HYPERLINK("http://x","y")'],
)
def test_a_text_that_could_be_a_formula_is_text(text: str) -> None:
    """E3: a record id or a reason is the caller's, and an auditor opens it in a spreadsheet."""
    (cells,) = csv.reader([sheet_line(["a", text])])
    assert cells == ["a", f"'{safe(text)}"]


@given(st.lists(st.text(), min_size=1))
def test_every_line_reads_back_as_its_cells(cells: list[str]) -> None:
    """E3: commas, quotes and line ends of the data stay within their cell; one row is one line."""
    line = sheet_line(cells)
    assert len(line.splitlines()) <= 1
    found = next(csv.reader([line])) if line else [""]
    assert [cell.removeprefix("'") for cell in found] == [safe(cell).removeprefix("'") for cell in cells]
    assert not any(cell.lstrip(" ").startswith(FORMULAS) for cell in found)
