"""The figures of DialDefer's abstract and text, from the accuracies that its tables print.

Each is computed by the product and equals the printed one to its last digit, or paper_text.yaml has the reason.
"""

import statistics
from functools import cache

import pytest

from studies.dialdefer.tables import domain_table, label_table, mitigation_table, summaries, summary_table
from tests.made.paper_figures import (
    GEMMA,
    counts_of_table_20,
    frame_of,
    golden,
    lines,
    models,
    panels_with,
    paper_frame,
)
from tests.made.places import cases

QWEN, GPT_4O, GPT_4O_MINI = "Qwen-2.5-7B-Instruct", "GPT-4o", "GPT-4o-mini"
TEXT = {row["figure"]: row["value"] for row in golden("dialdefer_text.csv")}

EXCEPTIONS = cases(__file__)  # figure → the reason, and what the tables give


def known(cells):
    """Cells that must be numbers."""
    numbers = [cell for cell in cells if isinstance(cell, float)]
    assert len(numbers) == len(cells)
    return numbers


def main_row(model, dataset):
    """A model's main row on a dataset or average."""
    frame = paper_frame()
    (row,) = frame[frame.is_main & (frame.judge == model) & (frame.dataset == dataset)].itertuples()
    return row


def domain_dds(model=None):
    """DDS on every dataset, of a model or of all."""
    table = lines(domain_table(paper_frame()), "model", "dataset")
    return known([x["DDS"] for (m, d), x in table.items() if model in (None, m) and not d.endswith("_avg")])


def changed(dataset, arm, model=None, column="change (fixed C1)"):
    """A column of the mitigation table, for a model or for all that have the arm."""
    table = lines(mitigation_table(paper_frame()), "model", "dataset", "arm")
    return known([x[column] for (m, d, a), x in table.items() if (d, a) == (dataset, arm) and model in (None, m)])


def label_swing_pp():
    """DDS of GPT-4o-mini on TruthfulQA with "User" judged, minus DDS with "LLM" judged (§5.2: +1.5 and -16.2).

    The labels' accuracies are not printed: those of Table 20, with as many more claims accepted as give the shifts.
    """
    c1_true, c1_false, c2_correct, c2_incorrect = counts_of_table_20(GPT_4O_MINI)["truthfulqa"]
    panels = panels_with({"truthfulqa": [c1_true, c1_false, c2_correct, c2_incorrect]})
    for labels, printed in ((("LLM", "User"), 1.5), (("User", "LLM"), -16.2)):
        rise = round(printed * 7.9)
        panels += panels_with({"truthfulqa": [c1_true, c1_false, c2_correct + rise, c2_incorrect]}, labels=labels)
    table = lines(label_table(frame_of(GPT_4O_MINI, panels)), "Speaker 1", "Speaker 2")
    shifts = known([table["LLM", "User"]["ΔDDS"], table["User", "LLM"]["ΔDDS"]])
    assert [round(shift, 1) for shift in shifts] == [1.5, -16.2]
    return shifts[0] - shifts[1]


@cache
def ours():
    """Every figure as the product computes it."""
    summary = lines(summary_table(paper_frame()), "model")
    ratios = summaries(paper_frame()).ratio.dropna()
    aio = {model: main_row(model, "aio") for model in models()}
    gemma_rises = known([aio[GEMMA].delta_correct_pp, aio[GEMMA].delta_incorrect_pp])
    changes = known([line["C2 - C1"] for line in summary.values()])
    return {
        "mean |DDS| over models_pp": statistics.fmean(map(abs, known([line["DDS"] for line in summary.values()]))),
        "largest change of average accuracy_pp": max(map(abs, changes)),
        "smallest amplification": min(ratios),
        "largest amplification": max(ratios),
        "swing between human and LLM labels_pp": label_swing_pp(),
        "n datasets": len(main_row(GPT_4O, "total_avg").datasets),
        "n items": main_row(GPT_4O, "total_avg").n_items,
        "smallest DDS_pp": min(domain_dds()),
        "largest DDS_pp": max(domain_dds()),
        "GPT-4o-mini's smallest DDS_pp": min(domain_dds(GPT_4O_MINI)),
        "GPT-4o-mini's largest DDS_pp": max(domain_dds(GPT_4O_MINI)),
        "Gemma's DDS on benchmarks_pp": known([summary[GEMMA,]["Bench DDS"]])[0],
        "Qwen's change of DDS under SFT_pp": changed("bench_avg", "sft", QWEN)[0],
        "Qwen's change of accuracy under SFT_pp": changed("total_avg", "sft", QWEN, "change")[0],
        "smallest reduction of r/AIO DDS by Dehumanizing_pp": -max(changed("aio", "Dehumanizing")),
        "largest reduction of r/AIO DDS by Dehumanizing_pp": -min(changed("aio", "Dehumanizing")),
        "n benchmark items": main_row(GPT_4O, "bench_avg").n_items,
        "mean accuracy on C1_True of r/AIO": statistics.fmean(known([row.acc_c1_true for row in aio.values()])),
        "GPT-4o's smallest DDS_pp": min(domain_dds(GPT_4O)),
        "GPT-4o's largest DDS_pp": max(domain_dds(GPT_4O)),
        "Gemma's rise on correct speakers of r/AIO_pp": gemma_rises[0],
        "Gemma's fall on incorrect speakers of r/AIO_pp": -gemma_rises[1],
        "smallest reduction of bench DDS by Be Honest_pp": -max(changed("bench_avg", "Be Honest")),
        "largest reduction of bench DDS by Be Honest_pp": -min(changed("bench_avg", "Be Honest")),
        "Gemma's change of bench DDS under SFT_pp": changed("bench_avg", "sft", GEMMA)[0],
        "Gemma's change of bench DDS under DPO_pp": changed("bench_avg", "dpo", GEMMA)[0],
        "Gemma's change of r/AIO DDS under DPO_pp": changed("aio", "dpo", GEMMA)[0],
        "span of DDS over domains_pp": max(domain_dds()) - min(domain_dds()),
    }


def agrees(value, cell):
    """Whether a number rounds to a figure as printed."""
    last_digit = 10 ** -len(cell.partition(".")[2])
    return abs(value - float(cell)) < 0.501 * last_digit


@pytest.mark.parametrize("figure", TEXT)
def test_a_figure_of_the_text_follows_from_the_tables_or_is_listed(figure):
    if figure in EXCEPTIONS:
        reason, what_the_tables_give = EXCEPTIONS[figure]
        assert agrees(ours()[figure], what_the_tables_give), reason
        assert TEXT[figure] != what_the_tables_give
    else:
        assert agrees(ours()[figure], TEXT[figure]), f"{ours()[figure]}, printed {TEXT[figure]}"


def test_the_mean_that_the_abstract_calls_absolute_is_signed():
    mean = statistics.fmean(main_row(model, "total_avg").dds_pp for model in models())
    assert agrees(mean, TEXT["mean |DDS| over models_pp"])
    assert f"mean DDS {mean:+.1f}, mean |DDS| 16.3." in summary_table(paper_frame()).note
