"""Tables as HTML, under their titles."""

from collections.abc import Sequence
from html import escape
from itertools import groupby, pairwise

from eval.report.page import class_of, element, scrolling, unfolding
from eval.report.table import Cell, Table, is_numeric, printed

MOST_LINES = 120  # of a table on the page; its files have all


LONG_TEXT = 40  # characters from which on a cell is broken into lines


def table_section(shown: Sequence[Table], left_out: Sequence[str]) -> list[str]:
    """Every table behind its title, and what could not be made."""
    words = "Each lies in tables/ as Markdown, CSV in full precision, and LaTeX; figures lie in plots/ as PNG and SVG."
    parts = [element("p", words, "note"), *(unfolding(t.title, [data_table(t)]) for t in shown)]
    return [*parts, *(element("p", f"Left out: {reason}", "note") for reason in left_out)]


def data_table(shown: Table, *, has_files: bool = True) -> str:
    """A table with its note and the names of its files, if it has any; of a very long one the first lines.

    Where lines in a row begin with the same cell it becomes a heading over them, which saves a phone's width.
    """
    lines = list(zip(printed(shown), shown.rows, strict=True))[:MOST_LINES]
    firsts = [cells[0] for cells, _ in lines]
    is_grouped = len(shown.columns) > 1 and any(one == other for one, other in pairwise(firsts))
    head = "".join(
        f'<th scope="col"{class_of("text" * (not is_numeric(shown, i)))}>{escape(column)}</th>'
        for i, column in enumerate(shown.columns)
        if i or not is_grouped
    )
    bodies = []
    for first, group in groupby(lines, key=lambda line: line[0][0] if is_grouped else ""):
        heading = f'<tr class="group"><th scope="rowgroup" colspan="{len(shown.columns)}">{escape(first)}</th></tr>\n'
        body = "\n".join(data_line(cells[is_grouped:], row[is_grouped:]) for cells, row in group)
        bodies.append(f"<tbody>\n{heading if is_grouped else ''}{body}\n</tbody>")
    whole = f'<table class="data"><thead><tr>{head}</tr></thead>\n{"".join(bodies)}</table>'
    rest = f"The first {MOST_LINES} of {len(shown.rows):,} lines." if len(shown.rows) > MOST_LINES else ""
    files = f"Files: tables/{shown.name}.md, .csv, .tex" if has_files else ""
    note = " ".join(filter(None, [rest, shown.note, files]))
    return scrolling(whole, shown.title) + (element("p", note, "note") if note else "")


def data_line(cells: Sequence[str], row: Sequence[Cell]) -> str:
    """A line of printed cells; words stand to the left, long ones are broken."""
    rest = "".join(
        f"<td{class_of(('text long' if len(text) > LONG_TEXT else 'text') * isinstance(cell, str))}>{escape(text)}</td>"
        for text, cell in zip(cells[1:], row[1:], strict=True)
    )
    return f'<tr><th scope="row">{escape(cells[0])}</th>{rest}</tr>'
