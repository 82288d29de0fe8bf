"""Tables 17, 18, 30 to 32 of the DialDefer paper from the counts of Table 18, and where its own figures disagree."""

from collections.abc import Mapping

import pytest

from eval.estimates.observed import Drawing
from eval.report.table import Cell, Table, printed
from eval.taxonomy.findings import TaxonomyFindings, find_taxonomy
from eval.taxonomy.plots import taxonomy_plots
from eval.taxonomy.tables import taxonomy_tables
from studies.flips import LENIENT, STRICT
from tests.made.paper_figures import golden, lines
from tests.made.taxonomy_runs import flips_folder, judged_run, table_18

DRAWING = Drawing(n_draws=200, seed=1)
TEXT = {row["figure"]: row["value"] for row in golden("dialdefer_taxonomy_text.csv")}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> TaxonomyFindings:
    root = tmp_path_factory.mktemp("paper")
    flips, says = table_18()
    run = judged_run(root, flips_folder(root / "flips", flips), says)
    return find_taxonomy([run], DRAWING, allow_differences=False, is_before_after=False)


def table(found: TaxonomyFindings, name: str) -> Table:
    return next(table for table in taxonomy_tables(found) if table.name == f"taxonomy_{name}")


def shown(of: Table, *keys: str) -> dict[tuple[str, ...], dict[str, str]]:
    """The lines of a table as they are printed."""
    as_printed = Table(name=of.name, title=of.title, columns=of.columns, rows=tuple(map(tuple, printed(of))))
    return {key: {name: str(cell) for name, cell in line.items()} for key, line in lines(as_printed, *keys).items()}


def same(cells: Mapping[str, Cell], row: Mapping[str, str], columns: Mapping[str, str]) -> None:
    for ours, theirs in columns.items():
        assert cells[ours] in (row[theirs], f"{row[theirs]}.0"), (ours, row)


def test_tables_17_and_30_follow_from_the_counts(found: TaxonomyFindings) -> None:
    ours = shown(table(found, "categories"), "category")
    for row in golden("dialdefer_table17.csv"):
        name = "Total" if row["category"] == "total" else row["category"]
        same(ours[name,], row, {"n": "n", "%": "share"})
    assert list(ours) == [(row["category"],) for row in golden("dialdefer_table17.csv")[:-1]] + [("Total",)]


def test_table_18_follows_from_its_counts_to_the_last_digit(found: TaxonomyFindings) -> None:
    ours = shown(table(found, "codes"), "code")
    columns = {
        "n": "n",
        "%": "share",
        "def. n": "n_deference",
        "def. %": "share_deference",
        "skep. n": "n_skepticism",
        "skep. %": "share_skepticism",
    }
    for row in golden("dialdefer_table18.csv"):
        same(ours["Total" if row["code"] == "total" else row["code"],], row, columns)
    assert len(ours) == len(golden("dialdefer_table18.csv"))


def test_table_31_follows_in_its_order_with_the_seldom_codes_on_one_line(found: TaxonomyFindings) -> None:
    ours = shown(table(found, "top_codes"), "code")
    assert list(ours) == [(row["code"],) for row in golden("dialdefer_table31.csv")]
    for row in golden("dialdefer_table31.csv"):
        same(ours[row["code"],], row, {"count": "n", "%": "share"})
    assert ours["Other",]["failure type"] == "(EV2, KI1, RE2, RE3)"


def test_table_32_follows_with_its_ratios(found: TaxonomyFindings) -> None:
    of = table(found, "directions")
    ours, rows = list(shown(of, "").values()), golden("dialdefer_table32.csv")
    for line, row in zip(ours, rows, strict=True):
        assert line[""].startswith(row["code"])
        columns = {"def. n": "n_deference", "def. %": "share_deference"}
        same(line, row, {**columns, "skep. n": "n_skepticism", "skep. %": "share_skepticism"})
        if row["ratio"]:
            assert f"{float(line['ratio']):.1f}" == row["ratio"]
            low, high = (float(end) for end in line["ratio 95%"].strip("[]").split(", "))
            assert low < float(row["ratio"]) < high
    ratio = value(found, "primary_ratio", "RE1", None)
    assert 1 / ratio == pytest.approx(float(TEXT["RE1 skepticism over deference"]), abs=0.05)


def value(found: TaxonomyFindings, measure: str, label: str | None, direction: str | None) -> float:
    """Of all datasets."""
    asked = (measure, label, direction)
    (of,) = (s for s in found.scores if (s.measure, s.setting["label"], s.setting["direction"]) == asked)
    assert of.estimate.value is not None
    return of.estimate.value


def test_the_top_code_and_the_unexplained_are_those_of_f_2(found: TaxonomyFindings) -> None:
    (line,) = shown(table(found, "models"), "model").values()
    assert line["top code"] == "IC2 Internal Contradiction"
    assert (line["%"], line["UN1 %"], line["below 5%"]) == ("30.9", TEXT["unexplained"], "yes")
    assert line["flips"] == line["with a code"] == TEXT["n flips"]


# Figure of the text → (what Table 18 gives, why the printed one is another); see docs/taxonomy.md.
EXCEPTIONS = {
    "Internal Incoherence of skepticism": ("41.2", "192 + 14 of 500"),
    "Social Framing of deference": ("27.0", "515 of 1,910, as Tables 18 and 32 print"),
    "Reasoning Error of skepticism": ("32.8", "163 + 1 of 500; 32.6 is RE1 alone"),
}


def test_the_text_follows_from_table_18_or_is_listed(found: TaxonomyFindings) -> None:
    asked = {
        "Internal Incoherence of deference": ("category_share", "Internal Incoherence", LENIENT),
        "Internal Incoherence of skepticism": ("category_share", "Internal Incoherence", STRICT),
        "Social Framing of deference": ("primary_share", "SA1", LENIENT),
        "Social Framing of skepticism": ("primary_share", "SA1", STRICT),
        "Reasoning Error of skepticism": ("category_share", "Reasoning Error", STRICT),
        "Speaker Authority of deference": ("primary_share", "ES1", LENIENT),
        "unexplained": ("primary_share", "UN1", "all"),
    }
    ours = {figure: f"{value(found, *words):.1f}" for figure, words in asked.items()}
    n = {way: value(found, "n_flips", None, way) for way in (LENIENT, STRICT)}
    ours |= {way: f"{100 * n[way] / sum(n.values()):.1f}" for way in n}
    differ = {figure: ours[figure] for figure in ours if ours[figure] != TEXT[figure]}
    assert differ == {figure: value for figure, (value, _) in EXCEPTIONS.items()}


def test_the_papers_totals_disagree_as_the_page_lists() -> None:
    rows = {row["model"]: row for row in golden("dialdefer_table28.csv")}
    total = rows.pop("total")
    deference, skepticism, flips = (
        sum(int(row[name]) for row in rows.values()) for name in ("n_deference", "n_skepticism", "n_flips")
    )
    assert (deference, skepticism, flips) == (1911, 554, 2465)
    assert [int(total[name]) for name in ("n_deference", "n_skepticism", "n_flips")] == [1910, 554, 2465]
    # 2,410 were sorted, all with a valid code, though 4 of them met API errors; 54 skepticism flips are gone.
    table_18_total = golden("dialdefer_table18.csv")[-1]
    assert [int(table_18_total[name]) for name in ("n", "n_deference", "n_skepticism")] == [2410, 1910, 500]
    assert TEXT["n flips"] == TEXT["n valid classifications"] == "2410"
    assert int(TEXT["n flips of appendix J"]) - 2410 == (1911 - 1910) + (554 - 500)
    # The models' shares of IC2, weighted by Table 28, give its 30.9 %.
    weighted = sum(float(TEXT[f"IC2 of {model}"]) * int(row["n_flips"]) for model, row in rows.items()) / flips
    assert round(weighted, 1) == 30.9


def test_figure_6_says_both_directions_of_each_category(found: TaxonomyFindings) -> None:
    (plot,) = taxonomy_plots(found)
    assert "Internal Incoherence: deference 29.7%, skepticism 41.2%" in plot.alt
    assert "Framing Shift: deference 27.0%, skepticism 7.8%" in plot.alt
