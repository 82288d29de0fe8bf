"""Numbers and sentences as tables, pages and the console print them, and tables in five languages.

A table is a frame, and which of its fields stand under which heads. What is not known is a dash. Printed numbers are
rounded, those of a CSV are not.
"""

import csv
import io
import math
import os
import re
import shutil
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, groupby, pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from evenhand.files import as_line, shipped_yaml, write_whole
from evenhand.terminal import say

TABLES = Path(__file__).parents[1] / "tables.yaml"  # those that every study has; see table_from
WORDS = TABLES.with_name("words.j2")
DASH = "–"


def is_unknown(value: Any) -> bool:
    """Whether a cell holds nothing: None, or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def printed(value: Any, form: str = "") -> str:
    """A cell, rounded. What rounds to zero has no sign.

    form: a format of Python ("+.1f", ".1%", ".3f"), "p" for p-values, or "" for what the type says (float .1f, int d).
    A pair is an interval, "[low, high]", or a dash where an end is unknown. Text ignores the format.
    """
    if isinstance(value, tuple):
        low, high = value
        return DASH if is_unknown(low) or is_unknown(high) else f"[{printed(low, form)}, {printed(high, form)}]"
    if is_unknown(value):
        return DASH
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(map(str, value))
    if value is True or value is False:
        return "yes" if value else "no"
    if form == "p":
        return "<.0001" if value < 0.0001 else f"{value:.4f}".removeprefix("0")
    if form == "d" and isinstance(value, float):
        form = ".0f"
    text = format(value, form or ("d" if isinstance(value, int) else ".1f"))
    return text if re.search(r"[1-9]|inf", text) else text.lstrip("+-")


def number(value: float | None, digits: int = 1) -> str:
    """A number."""
    return printed(value, f".{digits}f")


def signed(value: float | None, digits: int = 1) -> str:
    """A number with its sign."""
    return printed(value, f"+.{digits}f")


def interval(low: float | None, high: float | None, digits: int = 1) -> str:
    """ "[low, high]" """
    return printed((low, high), f"+.{digits}f")


def p_value(p: float | None) -> str:
    """A p-value; small ones as a bound."""
    return printed(p, "p")


def percent(rate: float | None) -> str:
    """A rate in [0, 1] as a whole percentage."""
    return "an unknown share" if is_unknown(rate) else f"{100 * (rate or 0):.0f}%"


def significance(direction: int | None) -> str:
    """A change's direction in words; see Change.direction."""
    return {-1: "lower", 0: "not significant", 1: "higher"}.get(direction, DASH) if direction is not None else DASH


WIDTH = 120  # characters of a console's line
PART = "## "  # before the name of a part of a template

TEXTS = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, autoescape=False, optimized=False)
TEXTS.filters |= {form.__name__: form for form in (number, signed, percent, p_value, significance)}
TEXTS.globals |= {"interval": interval}


@cache
def compiled(text: str) -> Template:
    """The template of a text. Compiling takes longer than filling in, and a command fills in most texts twice."""
    return TEXTS.from_string(text)


def sentences(words: str | Path, facts: Mapping[str, Any]) -> dict[str, list[str]]:
    """Part of a template (its text or its file), behind a line "## NAME", → its lines, without empty ones."""
    template = compiled(words.read_text(encoding="utf-8") if isinstance(words, Path) else words)
    parts: dict[str, list[str]] = defaultdict(list)
    name = ""
    for line in template.render(facts).splitlines():
        if line.startswith(PART):
            name = line.removeprefix(PART).strip()
        elif line.strip():
            parts[name].append(" ".join(line.split()))
    return parts


def said(name: str, *facts: Any) -> str:
    """A sentence of words.j2, by the name of its macro."""
    return " ".join(str(getattr(compiled(WORDS.read_text(encoding="utf-8")).module, name)(*facts)).split())


def wrapped(lines: Sequence[str]) -> str:
    """Sentences for a console, each on lines of its own."""
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for line in lines)


def legend(texts: Iterable[str], meanings: Iterable[str]) -> str:
    """Of lines "TERM: what it means." those whose term stands in some texts."""
    text = "\n".join(texts)
    return " ".join(line for line in meanings if re.search(rf"\b{line.partition(':')[0]}s?\b", text))


Cell = str | int | float | None | tuple[float | None, float | None]
Field = str | tuple[str, str]  # a column of the frame; or the two ends of an interval
Columns = Mapping[str, tuple[Field, str]]  # head → (field, format); see text.printed
Place = Literal["console", "page", "files"]

NAME_WIDTH = 30  # of the first cell of a printed line; a longer one is cut in its middle
MOST_LINES = 120  # of a table on the page; its files have all
LONGEST_CELL = 400  # characters of a cell on the page; its files have all of it
LATEX_ESCAPES = str.maketrans(shipped_yaml(Path(__file__).parent / "templates" / "latex.yaml"))


@dataclass(frozen=True, eq=False)
class TableSpec:
    """What a table shows, one line a row of the frame. None and NaN are unknown and print as a dash.

    place: "console": printed, on the page and in files; "page": the same, behind those; "files": folded on the page.
    """

    name: str  # the stem of its files: letters, digits, "-" and "_"
    title: str
    frame: pd.DataFrame
    columns: Columns
    note: str = ""
    place: Place = "files"
    is_change: bool = False  # stands before the others

    @cached_property
    def rows(self) -> list[list[Cell]]:
        """The cells, unrounded; an interval is a pair."""

        def cells(fields: Field) -> list[Any]:
            if isinstance(fields, tuple):
                return list(zip(*map(cells, fields), strict=True))
            return [cell.item() if isinstance(cell, np.generic) else cell for cell in self.frame[fields].tolist()]

        columns = [cells(fields) for fields, _ in self.columns.values()] if len(self.frame) else []
        return [list(row) for row in zip(*columns, strict=True)]

    @cached_property
    def cells(self) -> list[list[str]]:
        """The same as a reader sees them, not yet escaped for any language."""
        forms = [form for _, form in self.columns.values()]
        return [[printed(cell, form) for cell, form in zip(row, forms, strict=True)] for row in self.rows]

    @cached_property
    def is_numeric(self) -> list[bool]:
        """For each column whether it holds numbers alone, and is therefore aligned to the right."""
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.columns)
        known = [[cell for cell in column if not is_unknown(cell)] for column in columns]
        return [bool(cells) and not any(isinstance(cell, str) for cell in cells) for cells in known]


def with_rows(name: str, title: str, heads: Mapping[str, str], rows: Iterable[Sequence[Any]], **keys: Any) -> TableSpec:
    """A table of few lines that are no query. heads: head → format."""
    frame = pd.DataFrame([list(row) for row in rows], columns=list(heads), dtype=object)
    columns = {head: (head, form) for head, form in heads.items()}
    return TableSpec(name=name, title=title, frame=frame, columns=columns, **keys)


def table_from(file: Path, name: str, frame: pd.DataFrame, /, *, digits: int = 2, **keys: Any) -> TableSpec:
    """A table as a study's tables.yaml describes it: name → title, note, place, columns, and optional.

    columns: head → field, or [field, format], or [[low, high], format] for an interval. keys: fields of TableSpec that
    are not the file's, such as a title or note with words of the results. Fields that the frame lacks are unknown.
    digits: what {digits} in a format stands for.
    optional: heads whose columns are left out where no row has a value; true for all of them.
    """
    described = {**yaml_tables(file)[name], **keys}
    pairs = {h: (c, "") if isinstance(c, str) else tuple(c) for h, c in described.pop("columns").items()}
    columns = {
        h: (tuple(f) if isinstance(f, list) else f, form.format(digits=digits)) for h, (f, form) in pairs.items()
    }
    fields = {head: [f] if isinstance(f, str) else [*f] for head, (f, _) in columns.items()}
    frame = frame.reindex(columns=[*dict.fromkeys([*frame, *chain(*fields.values())])])
    optional, unknown = described.pop("optional", []), {*frame.columns[frame.isna().all()]}
    for head in fields if optional is True else optional:
        if unknown.issuperset(fields[head]):
            del columns[head]
    return TableSpec(frame=frame, columns=columns, **{"name": name, **described})


yaml_tables = cache(shipped_yaml)


def padded(lines: Sequence[Sequence[str]], is_right: Sequence[bool]) -> list[list[str]]:
    """Cells as wide as the widest of their column; is_right: for each column whether it is aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        [cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(line, widths, is_right, strict=True)]
        for line in lines
    ]


def shortened(name: str, width: int = NAME_WIDTH) -> str:
    """A name cut in its middle, since both ends tell names apart."""
    half = (width - 1) // 2
    return name if len(name) <= width else f"{name[: width - 1 - half]}…{name[len(name) - half :]}"


def console(table: TableSpec, most: int | None = None) -> str:
    """The table as text, or its first lines; all columns but the first are aligned to the right."""
    width = max(NAME_WIDTH, len(next(iter(table.columns))))
    lines = [[shortened(row[0], width), *row[1:]] for row in table.cells[:most]]
    cells = padded([list(table.columns), *lines], [False, *[True] * (len(table.columns) - 1)])
    rest = [f"({len(table.cells) - len(lines)} more lines: --all)"] * (len(table.cells) > len(lines))
    return "\n".join([table.title, *("  ".join(line) for line in cells), *rest])


def markdown(table: TableSpec) -> str:
    """GitHub-flavoured Markdown: the title, the table with padded columns, the note."""
    lines = [[markdown_text(cell) for cell in line] for line in [list(table.columns), *table.cells]]
    head, rule, *body = padded([lines[0], ["---"] * len(lines[0]), *lines[1:]], table.is_numeric)
    rule = ["-" * (len(cell) - right) + ":" * right for cell, right in zip(rule, table.is_numeric, strict=True)]
    note = ["", markdown_text(table.note)] if table.note else []
    rows = ["| " + " | ".join(line) + " |" for line in (head, rule, *body)]
    return "\n".join([f"**{markdown_text(table.title)}**", "", *rows, *note]) + "\n"


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is: one line, nothing in it is markup, a pipe ends no cell."""
    return re.sub(r"([\\`*_\[\]<>|~$&#])", r"\\\1", " ".join(text.split()))


def comma_separated(table: TableSpec) -> str:
    """CSV: numbers in full precision, what is unknown empty, yes and no for booleans, an interval in two columns."""
    heads = [
        " ".join(filter(None, [head, end]))
        for head, (fields, _) in table.columns.items()
        for end in ([""] if isinstance(fields, str) else ["low", "high"])
    ]
    lines = [[end for cell in row for end in (cell if isinstance(cell, tuple) else [cell])] for row in table.rows]
    return csv_text([heads, *lines])


def csv_text(lines: Iterable[Sequence[Any]]) -> str:
    """Lines of cells as CSV. Only a terminator with both characters makes Python quote a text that holds either."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerows(map(csv_cell, cells) for cells in lines)
    return written.getvalue().replace("\r\n", "\n")


def csv_cell(cell: Any) -> Any:
    """A cell that no spreadsheet computes: before a text that begins as a formula does stands an apostrophe.

    Numbers as we print them ("+1.2", "-3.0 [-5.1, 2.0]") can call nothing and stay.
    """
    if isinstance(cell, str):
        is_formula = cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
        return f"'{cell}" if is_formula and not re.fullmatch(r"[-+0-9.,%±\[\]() –]+", cell) else cell
    if is_unknown(cell):
        return None
    if isinstance(cell, bool | tuple | list):
        return " ".join(cell) if isinstance(cell, tuple | list) else printed(cell)
    return cell


def latex(table: TableSpec) -> str:
    """A floating table for LaTeX with the package booktabs; label `tab:<name>`."""
    align = "".join("r" if is_right else "l" for is_right in table.is_numeric)
    return LATEX.get_template("table.tex").render(table=table, align=align)


def latex_line(cells: Iterable[str]) -> str:
    """A line of a tabular. The minus of a number is no hyphen; a leading [ is no argument of the line break before."""
    escaped = [("{}" if cell.startswith(("[", "*")) else "") + latex_text(cell) for cell in cells]
    return " & ".join(re.sub(r"^-(?=[\d.])", "$-$", cell) for cell in escaped) + r" \\"


def latex_text(text: str) -> str:
    """Text that LaTeX shows as it is, on one line."""
    return " ".join(text.split()).translate(LATEX_ESCAPES)


LATEX = TEXTS.overlay(loader=PackageLoader("eval.report"), keep_trailing_newline=True)
LATEX.filters |= {"latex": latex_text, "latex_line": latex_line}


def page_lines(table: TableSpec) -> tuple[list[Any], list[Any], str]:
    """(heads with their class, groups of lines under a heading or none, note): of a very long table its first lines.

    Where lines in a row begin with the same cell it becomes a heading over them, which saves a phone's width.
    """
    lines = [[shortened(cell, LONGEST_CELL) for cell in cells] for cells in table.cells[:MOST_LINES]]
    is_grouped = len(table.columns) > 1 and any(first[0] == second[0] for first, second in pairwise(lines))
    heads = [(head, "" if is_right else "text") for head, is_right in zip(table.columns, table.is_numeric, strict=True)]
    groups = [
        (heading, [line[is_grouped:] for line in group])
        for heading, group in groupby(lines, key=lambda line: line[0] if is_grouped else None)
    ]
    rest = f"The first {MOST_LINES} of {len(table.rows):,} lines. " if len(table.rows) > MOST_LINES else ""
    return heads[is_grouped:], groups, rest + table.note


LANGUAGES = {".md": markdown, ".csv": comma_separated, ".tex": latex}


def write_tables(out: Path, tables: Sequence[TableSpec]) -> list[Path]:
    """Each table as `<name>.md`, `<name>.csv` and `<name>.tex` in a folder."""
    named = {out / f"{table.name}{suffix}": (table, suffix) for table in tables for suffix in LANGUAGES}
    for path, (table, suffix) in named.items():
        write_whole(path, LANGUAGES[suffix](table))
    return [*named]


def write_rows(folder: Path, stem: str, rows: Sequence[Mapping[str, Any]]) -> list[Path]:
    """`<stem>.json` (a list of objects) and `<stem>.csv`; in the CSV a row is empty in columns that it lacks."""
    json_file, csv_file = folder / f"{stem}.json", folder / f"{stem}.csv"
    # A row a line: to indent takes several times as long.
    lines = (as_line({k: None if is_unknown(v) else v for k, v in row.items()}) for row in rows)
    write_whole(json_file, "[\n" + ",\n".join(lines) + "\n]\n")
    names = list(dict.fromkeys(name for row in rows for name in row))
    write_whole(csv_file, csv_text([names, *([row.get(name) for name in names] for row in rows)]))
    return [json_file, csv_file]


def write_long(folder: Path, stem: str, of_studies: Mapping[str, Sequence[Any]]) -> list[Path]:
    """<stem>.json and .csv of the rows of all studies; the paths written. Nothing where there is no row."""
    rows = [{"study": study, **row.as_dict()} for study, of_study in of_studies.items() for row in of_study]
    return write_rows(folder, stem, rows) if rows else []


def new_report(out: Path) -> Path:
    """The folder in `out` that a report is written into, before all of its files replace those of an earlier one."""
    own = out / f".new.{os.getpid()}"
    for new in [*out.glob(".new.[0-9]*")]:
        if new == own or not Path("/proc", new.suffix[1:]).exists():  # a killed command's
            shutil.rmtree(new, ignore_errors=True)
    return own


def replace_report(files: Sequence[Path]) -> list[Path]:
    """The files of a new report, the page first, moved from its folder into the one above, the page last.

    Files that an earlier one had alone are removed. What no page of that name has listed stays: it may be the user's.
    """
    new, out = files[0].parent, files[0].parent.parent
    names = list(dict.fromkeys(file.relative_to(new).as_posix() for file in files))
    listed = out / f".{files[0].stem}.files"
    earlier = {*listed.read_text(encoding="utf-8").splitlines()} if listed.is_file() else set()
    write_whole(listed, "".join(f"{name}\n" for name in sorted(earlier.union(names))))  # what a killed command moves
    for name in reversed(names):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (new / name).replace(out / name)
    for file in [*out.rglob("*")] if earlier.difference(names) else ():
        if file.is_file() and file.relative_to(out).as_posix() in earlier.difference(names):
            file.unlink()
    shutil.rmtree(new)
    write_whole(listed, "".join(f"{name}\n" for name in sorted(names)))
    return [out / name for name in names]


def say_written(files: Sequence[Path], *, is_all: bool) -> None:
    """Print the first file, how many more there are, and with is_all their names."""
    listed = list(map(str, files if is_all else files[:1]))
    if len(files) > len(listed):
        listed.append(f"{len(files) - 1} more files beside it: --all")
    say("\nwritten: " + ", ".join(listed))
