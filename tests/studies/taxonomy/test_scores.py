"""Tables 17, 18, 30 to 32 of the DialDefer paper from the counts of Table 18, and where its own figures disagree."""

from collections.abc import Mapping

import pytest

from eval.results import Results
from studies.flips import LENIENT, STRICT
from tests.made.paper_figures import golden
from tests.made.taxonomy_runs import flips_folder, judged_run, results, table_18

TEXT = {row["figure"]: row["value"] for row in golden("dialdefer_taxonomy_text.csv")}
SIDES = {"def. n": "n_deference", "def. %": "share_deference", "skep. n": "n_skepticism", "skep. %": "share_skepticism"}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Results:
    root = tmp_path_factory.mktemp("paper")
    flips, says = table_18()
    return results(judged_run(root, flips_folder(root / "flips", flips), says), draws=200)


def shown(ours: Results, name: str, key: str) -> dict[str, dict[str, str]]:
    """The lines of a table as they are printed, by one of their cells."""
    table = next(table for table in ours.tables if table.name == f"taxonomy_{name}")
    lines = [dict(zip(table.columns, cells, strict=True)) for cells in table.cells]
    return {name: {**line, key: name} for line in lines for name in [line[key].replace("Total", "total")]}


def same(cells: Mapping[str, str], row: Mapping[str, str], columns: Mapping[str, str]) -> None:
    for ours, theirs in columns.items():
        assert cells[ours] in (row[theirs], f"{row[theirs]}.0"), (ours, row)


def test_tables_17_and_30_follow_from_the_counts(ours: Results) -> None:
    lines, rows = shown(ours, "categories", "category"), golden("dialdefer_table17.csv")
    for line, row in zip(lines.values(), rows, strict=True):
        same(line, row, {"category": "category", "n": "n", "%": "share"})


def test_table_18_follows_from_its_counts_to_the_last_digit(ours: Results) -> None:
    codes, directions = shown(ours, "codes", "code"), shown(ours, "directions", "code")
    for row in golden("dialdefer_table18.csv"):
        same(codes[row["code"]], row, {"n": "n", "%": "share"})
        same(directions[row["code"]], row, SIDES)
    assert len(codes) == len(golden("dialdefer_table18.csv"))


def test_table_31_follows_in_its_order_but_for_the_seldom_codes_that_share_a_line(ours: Results) -> None:
    lines, rows = shown(ours, "codes", "code"), golden("dialdefer_table31.csv")
    others = [code for code in ("EV2", "KI1", "RE2", "RE3") if lines[code]["%"] == "0.0"]
    assert [code for code in lines if code not in others] == [*(row["code"] for row in rows[:-1]), "total"]
    assert sum(int(lines[code]["n"]) for code in others) == int(rows[-1]["n"])


def test_table_32_follows_with_its_ratios(ours: Results) -> None:
    total, *rows = golden("dialdefer_table32.csv")
    for line, row in zip(shown(ours, "directions", "code").values(), rows, strict=False):
        same(line, row, {"code": "code", **SIDES})
        if row["ratio"]:
            assert f"{float(line['ratio']):.1f}" == row["ratio"]
            low, high = (float(end) for end in line["ratio 95%"].strip("[]").split(", "))
            assert low < float(row["ratio"]) < high
    ratio = value(ours, "primary_ratio", "RE1", None)
    assert 1 / ratio == pytest.approx(float(TEXT["RE1 skepticism over deference"]), abs=0.05)
    assert shown(ours, "models", "model")["m"]["deference %"] == total["share_deference"]


def value(ours: Results, measure: str, label: str | None, direction: str | None) -> float:
    """Of all datasets."""
    asked = (measure, label, direction)
    (row,) = (s for s in ours.score_rows if (s.measure, s.setting["label"], s.setting["direction"]) == asked)
    assert row.estimate.value is not None
    return row.estimate.value


def test_the_top_code_and_the_unexplained_are_those_of_f_2(ours: Results) -> None:
    (line,) = shown(ours, "models", "model").values()
    assert line["top code"] == "IC2 Internal Contradiction"
    assert (line["%"], line["UN1 %"], line["below 5%"]) == ("30.9", TEXT["unexplained"], "yes")
    assert line["flips"] == line["with a code"] == TEXT["n flips"]


EXCEPTIONS = {  # figure of the text → what Table 18 gives; docs/taxonomy.md says why the printed one is another
    "Internal Incoherence of skepticism": "41.2",
    "Social Framing of deference": "27.0",
    "Reasoning Error of skepticism": "32.8",
}


def test_the_text_follows_from_table_18_or_is_listed(ours: Results) -> None:
    asked = {
        "Internal Incoherence of deference": ("category_share", "Internal Incoherence", LENIENT),
        "Internal Incoherence of skepticism": ("category_share", "Internal Incoherence", STRICT),
        "Social Framing of deference": ("primary_share", "SA1", LENIENT),
        "Social Framing of skepticism": ("primary_share", "SA1", STRICT),
        "Reasoning Error of skepticism": ("category_share", "Reasoning Error", STRICT),
        "Speaker Authority of deference": ("primary_share", "ES1", LENIENT),
        "unexplained": ("primary_share", "UN1", "all"),
    }
    figures = {figure: f"{value(ours, *words):.1f}" for figure, words in asked.items()}
    n = {way: value(ours, "n_flips", None, way) for way in (LENIENT, STRICT)}
    figures |= {way: f"{100 * n[way] / sum(n.values()):.1f}" for way in n}
    assert {figure: ours_is for figure, ours_is in figures.items() if ours_is != TEXT[figure]} == EXCEPTIONS
