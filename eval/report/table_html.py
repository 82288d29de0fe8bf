"""Tables as HTML, under their titles."""

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

from eval.report.page import PARTS, element, unfolding
from eval.report.table import Cell, Table, is_numeric, printed
from eval.report.tables import TableSpec

MOST_LINES = 120  # of a table on the page; its files have all
LONG_TEXT = 40  # characters from which on a cell is broken into lines


def table_section(shown: Sequence[Table], left_out: Sequence[str]) -> list[str]:
    """Every table behind its title, and what could not be made."""
    words = "Each lies in tables/ as Markdown, CSV in full precision, and LaTeX; figures lie in plots/ as PNG and SVG."
    parts = [element("p", words, "note"), *(unfolding(t.title, [data_table(t)]) for t in shown)]
    return [*parts, *(element("p", f"Left out: {reason}", "note") for reason in left_out)]


def data_table(shown: Any, *, has_files: bool = True) -> str:
    """A table with its note and the names of its files, if it has any; of a very long one the first lines.

    Where lines in a row begin with the same cell it becomes a heading over them, which saves a phone's width.
    """
    if isinstance(shown, TableSpec):
        from eval.report.study_part import table_html

        return table_html(shown)
    lines = [
        [(text, css_of(cell, text)) for text, cell in zip(cells, row, strict=True)]
        for cells, row in zip(printed(shown)[:MOST_LINES], shown.rows, strict=False)
    ]
    firsts = [line[0][0] for line in lines]
    is_grouped = len(shown.columns) > 1 and any(one == other for one, other in pairwise(firsts))
    columns = [(column, "" if is_numeric(shown, i) else "text") for i, column in enumerate(shown.columns)]
    groups = [
        (heading, [line[is_grouped:] for line in group])
        for heading, group in groupby(lines, key=lambda line: line[0][0] if is_grouped else None)
    ]
    rest = f"The first {MOST_LINES} of {len(shown.rows):,} lines." if len(shown.rows) > MOST_LINES else ""
    files = f"Files: tables/{shown.name}.md, .csv, .tex" if has_files else ""
    note = " ".join(filter(None, [rest, shown.note, files]))
    return str(PARTS.data_table(shown.title, columns[is_grouped:], groups, len(shown.columns), note))


def css_of(cell: Cell, text: str) -> str:
    """Words stand to the left, long ones are broken."""
    return ("text long" if len(text) > LONG_TEXT else "text") if isinstance(cell, str) else ""
