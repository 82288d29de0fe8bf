"""A table of results, and the same as Markdown, CSV and LaTeX. Printed numbers are rounded, those of a CSV are not."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.report.result_files import CsvText
from evenhand.errors import DataError
from evenhand.jsonl import write_whole

Cell = str | int | float | None
DASH = "–"

TEX = {mark: f"\\{mark}" for mark in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "Δ": r"$\Delta$",
    "μ": r"$\mu$",
    "σ": r"$\sigma$",
    "κ": r"$\kappa$",
    "→": r"$\rightarrow$",
    "−": "$-$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "†": r"\textdagger{}",
    "×": r"$\times$",
    "±": r"$\pm$",
    "–": "--",
    "…": r"\dots{}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under named columns. None is unknown and prints as a dash, as NaN does.

    formats: for each column a format of Python ("+.1f", ".1%", ".3f"), "p" for p-values, or "" for what the type says
    (float .1f, int d); may be left out. Text cells ignore it. Raises DataError when a row has another length.
    """

    name: str  # the stem of its files: letters, digits, "-" and "_"
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    formats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_-]+", self.name):
            raise DataError(f"table '{self.name}': its name becomes a file's; use letters, digits, '-' and '_'")
        lengths = {len(self.columns), *map(len, self.rows)} | ({len(self.formats)} if self.formats else set())
        if len(lengths) > 1:
            raise DataError(f"table {self.name}: has {len(self.columns)} columns, but rows or formats of other lengths")


def printed(table: Table) -> list[list[str]]:
    """The cells of the rows as a reader sees them, not yet escaped for any language."""
    formats = table.formats or ("",) * len(table.columns)
    return [[printed_cell(cell, form) for cell, form in zip(row, formats, strict=True)] for row in table.rows]


def printed_cell(cell: Cell, form: str = "") -> str:
    """A cell, rounded by its column's format. What rounds to zero has no sign."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return DASH
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if form == "p":
        return "<.0001" if cell < 0.0001 else f"{cell:.4f}".removeprefix("0")
    text = format(cell, form or ("d" if isinstance(cell, int) else ".1f"))
    return text if re.search(r"[1-9]|inf", text) else text.lstrip("+-")


def is_numeric(table: Table, column: int) -> bool:
    """Whether a column holds numbers only, and is therefore aligned to the right."""
    cells = [row[column] for row in table.rows if row[column] is not None]
    return bool(cells) and not any(isinstance(cell, str) for cell in cells)


def to_markdown(table: Table) -> str:
    """GitHub-flavoured Markdown: the title, the table with padded columns, the note."""
    lines = [[markdown(cell) for cell in line] for line in [table.columns, *printed(table)]]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(table.columns))]
    right = [is_numeric(table, i) for i in range(len(table.columns))]
    rule = ["-" * (w - 1) + ":" if r else "-" * w for w, r in zip(widths, right, strict=True)]
    padded = [
        "| " + " | ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True)) + " |"
        for line in [lines[0], rule, *lines[1:]]
    ]
    note = ["", markdown(table.note)] if table.note else []
    return "\n".join([f"**{markdown(table.title)}**", "", *padded, *note]) + "\n"


def markdown(text: str) -> str:
    """Text that Markdown shows as it is: one line, nothing in it is markup, a pipe ends no cell."""
    return re.sub(r"([\\`*_\[\]<>|~$&#])", r"\\\1", " ".join(text.split()))


def to_csv(table: Table) -> str:
    """CSV with a line of column names; numbers in full precision, what is unknown empty, yes and no for booleans."""
    return str(CsvText([csv_cell(cell) for cell in cells] for cells in (table.columns, *table.rows)))


def csv_cell(cell: Cell) -> Cell:
    """A cell as CSV has it."""
    if isinstance(cell, float) and math.isnan(cell):
        return None
    return printed_cell(cell) if isinstance(cell, bool) else cell


def to_latex(table: Table) -> str:
    """A floating table for LaTeX with the package booktabs; label `tab:<name>`."""
    align = "".join("r" if is_numeric(table, i) else "l" for i in range(len(table.columns)))
    lines = [
        *(r"\begin{table}", r"\centering", rf"\caption{{{latex(table.title)}}}", rf"\label{{tab:{table.name}}}"),
        *(rf"\begin{{tabular}}{{{align}}}", r"\toprule", latex_line(table.columns), r"\midrule"),
        *(latex_line(line) for line in printed(table)),
        *(r"\bottomrule", r"\end{tabular}"),
        *([rf"\par\smallskip{{\footnotesize {latex(table.note)}\par}}"] if table.note else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def latex_line(cells: Sequence[str]) -> str:
    """A line of a tabular."""
    return " & ".join(map(latex_cell, cells)) + r" \\"


def latex_cell(text: str) -> str:
    """A cell. The minus of a number is a minus and no hyphen; a leading [ is no argument of the line break before."""
    if re.match(r"-[\d.]", text):
        return "$-$" + latex(text[1:])
    return ("{}" if text.startswith(("[", "*")) else "") + latex(text)


def latex(text: str) -> str:
    """Text that LaTeX shows as it is, on one line."""
    return "".join(TEX.get(character, character) for character in " ".join(text.split()))


FORMATS = {".md": to_markdown, ".csv": to_csv, ".tex": to_latex}


def write_tables(out: Path, tables: Sequence[Table]) -> list[Path]:
    """Each table as `<name>.md`, `<name>.csv` and `<name>.tex` in a folder. Raises DataError when two share a name."""
    twice = [name for name, n in Counter(table.name for table in tables).items() if n > 1]
    if twice:
        raise DataError(f"{out}: two tables are called '{twice[0]}', so one would replace the other; rename one")
    paths = []
    for table in tables:
        for suffix, text_of in FORMATS.items():
            paths.append(out / f"{table.name}{suffix}")
            write_whole(paths[-1], text_of(table))
    return paths
