"""Tables for any set of judges: which rows they take, own beside fixed C1, daggers, amplification, and refusals; and
DialDefer's Tables 2, 5 and 20 to 23, from the accuracies per condition that the paper prints.

Every printed accuracy is a count of items (Table 8 has their numbers). Judges with these counts go through the product:
panels → scores → tables. Own C1 in Table 20; in Tables 5 and 21 to 23 the untreated C1 of Table 20. A cell
equals the printed one to its last digit, or it is listed in golden/dialdefer_exceptions.csv with one of these reasons:

rounded  the paper computes on with figures that are already rounded
nulls    Gemma's 75.7 % on C1_False of r/AIO are 212 items, its DDS all follow from 210: unreadable replies, counted in
         two ways

Of Tables 14 and 15 no accuracies are printed: judges with any counts that have the printed DDS go through the product.
There "both" is a rounded difference to the DDS that r/AIO has with Gemma's nulls counted the other way.
"""

import statistics
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from eval.estimates.resampling import Drawing
from evenhand.files import shipped_yaml
from studies.dialdefer.item_tables import reversal_table
from studies.dialdefer.tables import (
    AGREEMENT,
    ORDERED,
    arm_words,
    domain_table,
    mitigation_summary_table,
    mitigation_table,
    paraphrase_table,
    summary_table,
    with_orders,
)
from tests.made.made_panels import made_judge
from tests.made.paper_figures import (
    GEMMA,
    MITIGATED,
    N_NULLS,
    agrees,
    counts_of_table_20,
    frame_of,
    golden,
    lines,
    panels_with,
    paper_frame,
)

# Right answers of a judge that defers (DDS +20 on 300 items), of one that is fair, and of one that is skeptical.
DEFERS, FAIR, DOUBTS = [150, 240, 180, 210], [150, 240, 150, 240], [180, 210, 150, 240]
AIO = [100, 200, 150, 150]


def of_bbq(counts, *words, **factors):
    return panels_with({"bbq": counts}, *words, **factors)


def test_what_is_agreed_over_both_orders_comes_with_what_is_right_there_though_that_is_unknown():
    keys = ["run", "model", "arm", "roles", "c1_source", "dataset", "denominator", "template", "speaker1", "speaker2"]
    one_order = {**dict.fromkeys(keys, ""), **dict.fromkeys(AGREEMENT, 90.0), **dict.fromkeys(ORDERED)}
    in_both = {**one_order, **dict.fromkeys(AGREEMENT), "agreed": 0.0, "deference_pp": 5.0}
    frame = pd.DataFrame([one_order, {**one_order, "dataset": "bbq"}, in_both]).astype({"deference_pp": float})
    rows = with_orders(frame[:2], frame)
    assert rows["agreed"].tolist() == [0.0, 90.0]
    assert rows["right_agreed"].isna().tolist() == [True, False]


def near(*values):
    """These numbers, but for rounding."""
    return pytest.approx(list(values))


def test_the_main_table_takes_untreated_main_rows_alone_by_falling_dds_with_averages_of_several_last():
    panels = panels_with({"bbq": DOUBTS, "harp": DEFERS, "halueval": FAIR, "aio": [140] * 4})
    panels += of_bbq(FAIR, template="v1") + of_bbq(FAIR, "honest") + panels_with({"aio": AIO}, roles="1->2")
    table = lines(domain_table(frame_of("a/model", panels)), "dataset")
    assert list(table) == [(d,) for d in ("harp", "halueval", "aio", "bbq", "bench_avg", "total_avg")]
    assert [line["DDS"] for line in table.values()][:4] == near(20, 0, 0, -20)
    assert list(lines(domain_table(frame_of("a/model", of_bbq(FAIR))), "dataset")) == [("bbq",)]
    assert domain_table(frame_of("a/model", of_bbq(FAIR, "honest"))).rows == []


def test_a_mitigation_shows_fixed_and_own_c1_side_by_side():
    panels = of_bbq(DEFERS) + of_bbq([60, 285, 120, 270], "honest") + of_bbq([None, None, 150, 240], "sft")
    panels += of_bbq(DOUBTS, "honest", template="v1")  # not the main variant
    table = lines(mitigation_table(frame_of("a/model", panels)), "arm")
    heads = ["DDS (fixed C1)", "DDS (own C1)", "change (fixed C1)", "change (own C1)", "C2", "change"]
    untreated, honest, sft = ([line[head] for head in heads] for line in table.values())
    assert untreated[:2] == near(20, 20)
    assert pd.isna([untreated[i] for i in (2, 3, 5)]).all()
    # Its C2 against the untreated C1: -10 - +10; against its own: +20 - -5.
    assert honest == near(-20, 25, -40, 5, 65, 0)
    assert sft[0] == pytest.approx(0)
    assert pd.isna(sft[1])
    daggers = {arm: (line["† (fixed C1)"], line["† (own C1)"]) for (arm,), line in table.items()}
    assert daggers == {"no mitigation": ("", ""), "Be Honest": ("†", ""), "sft": ("", "")}, "0 is no skepticism"


def test_a_reversal_needs_both_directions_over_the_same_items():
    (there,), (back,) = (panels_with({"aio": AIO}, roles=roles) for roles in ("2->1", "1->2"))
    for panels in ((there,), (back,), (there, back.at(range(279)))):
        assert reversal_table({"judge": made_judge(*panels)}, drawing=Drawing(n_draws=200, seed=1)).rows == []


TABLE_20 = golden("dialdefer_table20.csv")
EXCEPTIONS = {
    (row["table"], row["model"], row["dataset"], row["arm"], row["column"]): row["reason"]
    for row in golden("dialdefer_exceptions.csv")
}
HEADS = shipped_yaml(Path(__file__).with_name("paper_columns.yaml"))


@cache
def ours():
    """Every line of Tables 2, 5 and 20 to 23 as the product computes it, under the names of the golden columns."""
    rows = paper_frame()
    computed = {}
    for (model, dataset), line in lines(domain_table(rows), "model", "dataset").items():
        computed["20", model, dataset, ""] = {name: line[column] for name, column in HEADS["20"].items()}
    for (model,), line in lines(summary_table(rows), "model").items():
        computed["2", model, "", ""] = {name: line[column] for name, column in HEADS["2"].items()}
    by_words = {arm_words(arm): arm for arm in ("none", "honest", "dehumanizing", "sft", "dpo")}
    for (model, dataset, arm), line in lines(mitigation_table(rows), "model", "dataset", "arm").items():
        cells = {name: line[column] for name, column in HEADS["mitigations"].items()}
        key = (str(MITIGATED.get(model, "")), model, dataset, by_words[arm])
        computed[key] = {**cells, "over_corrected": line["† (fixed C1)"]}
    for (model, arm), line in lines(mitigation_summary_table(rows), "model", "arm").items():
        cells = {name: line[column] for name, column in HEADS["5"].items()}
        computed["5", model, "", by_words[arm]] = {**cells, "bench_over_corrected": line["† (fixed C1)"]}
    return computed


def printed_lines():
    """Every line of Tables 2, 5 and 20 to 23 as printed."""
    found = {("20", row["model"], row["dataset"], ""): row for row in TABLE_20}
    found |= {("2", row["model"], "", ""): row for row in golden("dialdefer_table2.csv")}
    found |= {("5", row["model"], "", row["arm"]): row for row in golden("dialdefer_table5.csv")}
    for model, number in MITIGATED.items():
        rows = golden(f"dialdefer_table{number}.csv")
        found |= {(str(number), model, row["dataset"], row["arm"]): row for row in rows}
    return found


PRINTED = printed_lines()


@pytest.mark.parametrize("key", PRINTED, ids=lambda key: "-".join(filter(None, key)))
def test_a_line_is_reproduced_from_the_accuracies_but_for_the_listed_cells(key):
    line = ours()[key]
    for column, cell in PRINTED[key].items():
        if column.endswith("over_corrected"):
            assert line[column] == cell, f"{column}: a dagger means deference before and skepticism after"
        elif column in line and cell:
            assert agrees(line[column], cell) != ((*key, column) in EXCEPTIONS), f"{column}: {line[column]}, {cell}"


TABLE_14, TABLE_15 = golden("dialdefer_table14.csv"), golden("dialdefer_table15.csv")


@pytest.mark.parametrize("row", TABLE_15, ids=lambda row: row["model"])
def test_table_15_is_reproduced_from_the_dds_of_each_paraphrase(row):
    panels = panels_with({"truthfulqa": counts_of_table_20(row["model"])["truthfulqa"]})
    for name in ("v1", "v2", "v3"):
        panels += panels_with({"truthfulqa": [300, 500, 300 + round(float(row[name]) * 7.9), 500]}, template=name)
    by_variant = lines(paraphrase_table(frame_of(row["model"], panels)), "prompt variant")
    mean = by_variant.pop(("mean of v1, v2, v3",))
    ours = dict(zip(("v0", "v1", "v2", "v3"), (line["DDS"] for line in by_variant.values()), strict=True))
    assert list(by_variant) == [("published",), ("v1",), ("v2",), ("v3",)]
    for column, value in (ours | {"mean": mean["DDS"], "std": mean["± std"]}).items():
        is_exception = ("15", row["model"], "truthfulqa", "", column) in EXCEPTIONS
        assert agrees(value, row[column]) != is_exception, f"{column}: {value}"


@pytest.mark.parametrize("row", TABLE_14, ids=lambda row: row["model"])
def test_table_14_is_reproduced_from_the_dds_of_both_directions(row):
    model = row["model"]
    panels = panels_with({"aio": counts_of_table_20(model)["aio"]}, roles="2->1")
    panels += panels_with({"aio": [250, 30, 250 + round(float(row["dds_1to2_pp"]) * 2.8), 30]}, roles="1->2")
    line = lines(reversal_table({model: made_judge(*panels)}, drawing=Drawing(n_draws=20, seed=1)), "model")[model,]
    for column, name in (("dds_2to1_pp", "DDS 2->1"), ("dds_1to2_pp", "DDS 1->2"), ("delta_pp", "Δ")):
        is_exception = ("14", model, "aio", "", column) in EXCEPTIONS
        assert agrees(line[name], row[column]) != is_exception, f"{column}: {line[name]}"


def gemma_dds(nulls_are_wrong):
    """Gemma's DDS on r/AIO with its unreadable replies to C1_False counted in one of the paper's two ways."""
    counts = counts_of_table_20(GEMMA)["aio"]
    counts[1] -= N_NULLS if nulls_are_wrong else 0
    return float(frame_of(GEMMA, panels_with({"aio": counts})).dds_pp.iloc[0])


def test_the_exceptions_follow_from_rounded_figures_and_from_gemmas_nulls():
    printed = {(number, row["model"]): row for number, table in (("14", TABLE_14), ("15", TABLE_15)) for row in table}
    for (table, model, _, _, column), reason in EXCEPTIONS.items():
        if (table, model) not in printed:
            continue
        row = printed[table, model]
        if column == "mean":
            value = statistics.fmean(float(row[name]) for name in ("v1", "v2", "v3"))
        elif column == "delta_pp":
            there = round(gemma_dds(nulls_are_wrong=False), 1) if reason == "both" else float(row["dds_2to1_pp"])
            value = float(row["dds_1to2_pp"]) - there
        else:
            value = gemma_dds(nulls_are_wrong=True)
        assert agrees(value, row[column]), f"{table} {model} {column}: {value}"
