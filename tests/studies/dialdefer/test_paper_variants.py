"""DialDefer's Tables 14 and 15: DDS in both directions on r/AIO, and under three paraphrases.

No accuracies are printed for these runs: judges with any counts that have the printed DDS go through the product. Cells
that do not follow are listed in golden/dialdefer_exceptions.csv: "rounded" and "nulls" as in test_tables.py, and
"both", a rounded difference to the DDS that r/AIO has with Gemma's nulls counted the other way.
"""

import statistics

import pytest

from eval.estimates.estimate import Drawing
from studies.dialdefer.item_tables import reversal_table
from studies.dialdefer.panels import Judge
from studies.dialdefer.tables import paraphrase_table
from tests.made.paper_figures import GEMMA, N_NULLS, agrees, counts_of_table_20, frame_of, golden, lines, panels_with

EXCEPTIONS = {
    (row["table"], row["model"], row["column"]): row["reason"]
    for row in golden("dialdefer_exceptions.csv")
    if row["table"] in ("14", "15")
}
TABLE_14, TABLE_15 = golden("dialdefer_table14.csv"), golden("dialdefer_table15.csv")


@pytest.mark.parametrize("row", TABLE_15, ids=lambda row: row["model"])
def test_table_15_is_reproduced_from_the_dds_of_each_paraphrase(row: dict[str, str]) -> None:
    panels = panels_with({"truthfulqa": counts_of_table_20(row["model"])["truthfulqa"]})
    for name in ("v1", "v2", "v3"):
        panels += panels_with({"truthfulqa": [300, 500, 300 + round(float(row[name]) * 7.9), 500]}, template=name)
    by_variant = lines(paraphrase_table(frame_of(row["model"], panels)), "prompt variant")
    mean = by_variant.pop(("mean of v1, v2, v3",))
    ours = dict(zip(("v0", "v1", "v2", "v3"), (line["DDS"] for line in by_variant.values()), strict=True))
    assert list(by_variant) == [("published",), ("v1",), ("v2",), ("v3",)]
    for column, value in (ours | {"mean": mean["DDS"], "std": mean["± std"]}).items():
        is_exception = ("15", row["model"], column) in EXCEPTIONS
        assert agrees(value, row[column]) != is_exception, f"{column}: {value}"


@pytest.mark.parametrize("row", TABLE_14, ids=lambda row: row["model"])
def test_table_14_is_reproduced_from_the_dds_of_both_directions(row: dict[str, str]) -> None:
    model = row["model"]
    panels = panels_with({"aio": counts_of_table_20(model)["aio"]}, roles="2->1")
    panels += panels_with({"aio": [250, 30, 250 + round(float(row["dds_1to2_pp"]) * 2.8), 30]}, roles="1->2")
    judge = Judge(name=model, model=model, panels=tuple(panels), labels={})
    line = lines(reversal_table([judge], drawing=Drawing(n_draws=20, seed=1)), "model")[model,]
    for column, name in (("dds_2to1_pp", "DDS 2->1"), ("dds_1to2_pp", "DDS 1->2"), ("delta_pp", "Δ")):
        assert agrees(line[name], row[column]) != (("14", model, column) in EXCEPTIONS), f"{column}: {line[name]}"


def gemma_dds(nulls_are_wrong: bool) -> float:
    """Gemma's DDS on r/AIO with its unreadable replies to C1_False counted in one of the paper's two ways."""
    counts = counts_of_table_20(GEMMA)["aio"]
    counts[1] -= N_NULLS if nulls_are_wrong else 0
    return float(frame_of(GEMMA, panels_with({"aio": counts})).dds_pp.iloc[0])


def test_the_exceptions_follow_from_rounded_figures_and_from_gemmas_nulls() -> None:
    table_14, table_15 = ({row["model"]: row for row in table} for table in (TABLE_14, TABLE_15))
    for (table, model, column), reason in EXCEPTIONS.items():
        row = (table_14 if table == "14" else table_15)[model]
        if column == "mean":
            value = statistics.fmean(float(row[name]) for name in ("v1", "v2", "v3"))
        elif column == "delta_pp":
            there = round(gemma_dds(nulls_are_wrong=False), 1) if reason == "both" else float(row["dds_2to1_pp"])
            value = float(row["dds_1to2_pp"]) - there
        else:
            value = gemma_dds(nulls_are_wrong=True)
        assert agrees(value, row[column]), f"{table} {model} {column}: {value}"
