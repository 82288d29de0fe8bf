"""Tables for any set of judges: which rows they take, own beside fixed C1, daggers, amplification, and refusals."""

from dataclasses import replace

import pandas as pd
import pytest

from eval.dialdefer.aio import reversal_table
from eval.dialdefer.measures import ERROR
from eval.dialdefer.panels import Judge, Panel
from eval.dialdefer.scores import wide_frame
from eval.dialdefer.tables import (
    amplification_table,
    amplifications,
    domain_table,
    label_table,
    mitigation_summary_table,
    mitigation_table,
    paraphrase_table,
    summary_table,
)
from eval.estimates.estimate import Drawing
from eval.report.table import Table, printed, to_csv, to_latex, to_markdown
from evenhand.errors import DataError
from tests.made.paper_figures import frame_of, lines, panels_with, scores_of

# Right answers of a judge that defers (DDS +20 on 300 items), of one that is fair, and of one that is skeptical.
DEFERS, FAIR, DOUBTS = [150, 240, 180, 210], [150, 240, 150, 240], [180, 210, 150, 240]


def rows_of(panels: list[Panel], model: str = "a/model", n_draws: int = 50) -> pd.DataFrame:
    return frame_of(model, panels, n_draws)


def test_datasets_stand_by_falling_dds_and_averages_last() -> None:
    table = domain_table(rows_of(panels_with({"bbq": DOUBTS, "harp": DEFERS, "halueval": FAIR, "aio": [140] * 4})))
    assert [row[1] for row in table.rows] == ["harp", "halueval", "aio", "bbq", "bench_avg", "total_avg"]
    assert [round(cell, 6) for row in table.rows if isinstance(cell := row[11], float)][:4] == [20, 0, 0, -20]


def test_an_average_over_a_single_dataset_is_not_repeated() -> None:
    assert [row[1] for row in domain_table(rows_of(panels_with({"bbq": FAIR}))).rows] == ["bbq"]


def test_the_main_tables_take_untreated_rows_in_the_main_variant_and_roles_only() -> None:
    panels = panels_with({"bbq": DEFERS, "aio": [100, 200, 150, 150]})
    panels += panels_with({"bbq": DOUBTS}, template="v1") + panels_with({"bbq": DOUBTS}, "honest")
    panels += panels_with({"aio": [200, 100, 100, 200]}, roles="1->2")
    table = lines(domain_table(rows_of(panels)), "model", "dataset")
    assert [dataset for _, dataset in table] == ["aio", "bbq", "total_avg"]
    assert table["a/model", "bbq"]["DDS"] == pytest.approx(20)


def test_two_runs_of_one_model_are_told_apart() -> None:
    first = scores_of("a/model", panels_with({"bbq": DEFERS}))
    second = [replace(score, run="again") for score in scores_of("a/model", panels_with({"bbq": FAIR}))]
    models = [row[0] for row in summary_table(wide_frame([*first, *second])).rows]
    assert models == ["a/model (a/model)", "a/model (again)"]


def test_a_saturated_judge_is_called_so() -> None:
    yes_to_all = {"bbq": [300, 0, 300, 0]}
    rows = rows_of(panels_with(yes_to_all))
    assert domain_table(rows).rows[0][-1] == "yes"
    assert summary_table(rows).rows[0][-1] == "yes"


def test_the_summary_says_over_judges_what_signs_hide() -> None:
    rows = pd.concat([rows_of(panels_with({"bbq": DEFERS})), rows_of(panels_with({"bbq": DOUBTS}), "b/model")])
    assert "Over 2 judges: mean DDS +0.0, mean |DDS| 20.0." in summary_table(rows).note
    assert "not all asked the same items" not in summary_table(rows).note


def test_the_summary_says_how_far_accuracy_moves_and_how_far_dds_moves_behind_it() -> None:
    panels = panels_with({"bbq": [150, 240, 180, 240], "harp": DOUBTS})
    panels += [replace(panel, dataset="aio-context") for panel in panels_with({"halueval": DEFERS})]
    line = lines(summary_table(rows_of(panels)), "model")["a/model",]
    assert line["over"] == "bench_avg"
    assert line["C2 - C1"] == pytest.approx(2.5)
    assert line["DDS"] == pytest.approx(-5)
    assert line["mean |DDS|"] == pytest.approx(15), "aio-context is in no average, so it is not in this mean either"


def test_the_summary_warns_when_judges_were_asked_different_datasets() -> None:
    rows = pd.concat([rows_of(panels_with({"bbq": DEFERS})), rows_of(panels_with({"harp": DEFERS}), "b/model")])
    assert "The judges were not all asked the same items" in summary_table(rows).note


def test_a_mitigation_shows_fixed_and_own_c1_side_by_side() -> None:
    panels = panels_with({"bbq": DEFERS}) + panels_with({"bbq": [60, 285, 120, 270]}, "honest")
    table = lines(mitigation_table(rows_of(panels)), "dataset", "arm")
    untreated, honest = table["bbq", "no mitigation"], table["bbq", "Be Honest"]
    assert pd.isna([untreated["change"], untreated["change (own C1)"]]).all()
    assert untreated["DDS (fixed C1)"] == untreated["DDS (own C1)"] == pytest.approx(20)
    # Its C2 against the untreated C1: -10 - +10; against its own: +20 - -5.
    assert [honest["DDS (fixed C1)"], honest["DDS (own C1)"]] == pytest.approx([-20, 25])
    assert [honest["change (fixed C1)"], honest["change (own C1)"]] == pytest.approx([-40, 5])
    assert (honest["† (fixed C1)"], honest["† (own C1)"]) == ("†", "")
    assert [honest["C2"], honest["change"]] == pytest.approx([65, 0])


def test_a_mitigation_is_shown_in_the_main_variant_and_roles() -> None:
    panels = panels_with({"bbq": DEFERS, "aio": [140] * 4})
    panels += panels_with({"bbq": FAIR, "aio": [140, 140, 140, 168]}, "honest")
    panels += panels_with({"bbq": DOUBTS}, "honest", template="v1")
    panels += panels_with({"aio": [140, 140, 196, 140]}, "honest", roles="1->2")
    table = lines(mitigation_table(rows_of(panels)), "dataset", "arm")
    assert table["bbq", "Be Honest"]["DDS (own C1)"] == pytest.approx(0)
    assert table["aio", "Be Honest"]["DDS (own C1)"] == pytest.approx(-10)


def test_an_arm_with_c2_only_has_fixed_c1_and_a_dash_for_its_own() -> None:
    panels = panels_with({"bbq": DEFERS}) + panels_with({"bbq": [None, None, 150, 240]}, "sft")
    row = lines(mitigation_table(rows_of(panels)), "arm")["sft",]
    assert row["DDS (fixed C1)"] == pytest.approx(0)
    assert pd.isna(row["DDS (own C1)"])
    assert row["† (fixed C1)"] == "", "0 is no skepticism"


def test_the_summary_of_mitigations_says_over_what_its_dds_is() -> None:
    panels = panels_with({"bbq": DEFERS, "aio": [100, 200, 150, 150]})
    panels += panels_with({"bbq": DOUBTS, "aio": [100, 200, 100, 200]}, "honest")
    table = lines(mitigation_summary_table(rows_of(panels)), "arm")
    assert table["Be Honest",]["DDS over"] == "bbq"
    assert table["Be Honest",]["change (own C1)"] == pytest.approx(-40)
    assert table["Be Honest",]["r/AIO change (own C1)"] == pytest.approx(-100 * 100 / 280)
    pocket = [replace(panel, benchmark="pocket", dataset="pocket") for panel in panels_with({"bbq": DEFERS})]
    assert mitigation_summary_table(rows_of(pocket)).rows[0][4] == "pocket"


@pytest.mark.parametrize(
    ("bench", "aio", "ratios", "direction"),
    [  # DDS with its interval
        ((10.0, 8.0, 12.5), (-40.0, -50.0, -30.0), [4.0, 30 / 12.5, 50 / 8], "turned"),
        ((3.0, -1.0, 7.0), (30.0, 20.0, 40.0), [None] * 3, "same"),  # it may be nothing, so nothing to multiply
        ((3.0, 0.0, 6.0), (30.0, 20.0, 40.0), [None] * 3, "same"),
        ((10.0, 5.0, 15.0), (10.0, -2.0, 20.0), [1.0, 0.0, 4.0], "same"),
        ((10.0, 5.0, 15.0), (1e-14, -2.0, 2.0), [0.0, 0.0, 0.4], "none"),
    ],
)
def test_an_amplification_is_a_ratio_of_magnitudes_with_bounds(
    bench: tuple[float, ...], aio: tuple[float, ...], ratios: list[float | None], direction: str
) -> None:
    rows = rows_of(panels_with({"bbq": DEFERS, "aio": [100, 200, 150, 150]}))
    for dataset, values in (("bench_avg", bench), ("aio", aio)):
        rows.loc[rows.dataset == dataset, ["dds_pp", "dds_ci_low_pp", "dds_ci_high_pp"]] = values
    (row,) = amplifications(rows).itertuples()
    ours = [None if pd.isna(value) else value for value in (row.ratio, row.ratio_low, row.ratio_high)]
    assert ours == [value if value is None else pytest.approx(value) for value in ratios]
    assert row.direction == direction


def test_a_judge_without_r_aio_has_no_amplification() -> None:
    assert amplification_table(rows_of(panels_with({"bbq": DEFERS, "harp": DEFERS}))).rows == ()


def test_a_standard_deviation_needs_two_paraphrases_and_has_ddof_1() -> None:
    panels = panels_with({"bbq": DEFERS}) + panels_with({"bbq": DEFERS}, template="v1")
    assert [row[9] for row in printed(paraphrase_table(rows_of(panels)))] == ["–"] * 3
    panels += panels_with({"bbq": FAIR}, template="v2")
    mean = paraphrase_table(rows_of(panels)).rows[-1]
    assert [mean[6], mean[9]] == pytest.approx([10, 200**0.5])


def test_paraphrases_are_compared_where_they_were_asked_and_averages_over_the_same_datasets() -> None:
    panels = panels_with({"truthfulqa": [500] * 4, "bbq": DEFERS, "harp": DEFERS})
    panels += panels_with({"bbq": FAIR, "harp": FAIR}, template="v1") + panels_with({"bbq": DOUBTS}, template="matched")
    table = paraphrase_table(rows_of(panels))
    assert [(row[1], row[2]) for row in table.rows] == [
        *(("bbq", "published"), ("bbq", "v1"), ("bbq", "mean of v1")),
        *(("harp", "published"), ("harp", "v1"), ("harp", "mean of v1")),
    ], "bench_avg is over three datasets in the main prompt variant and over two in v1; matched is no paraphrase"


def test_other_labels_are_no_paraphrase_and_other_templates_no_labels() -> None:
    panels = panels_with({"bbq": DEFERS}) + panels_with({"bbq": FAIR}, labels=("User", "LLM"))
    panels += panels_with({"bbq": DOUBTS}, labels=("LLM", "User")) + panels_with({"bbq": FAIR}, template="v2")
    panels += panels_with({"bbq": FAIR}, labels=("A", "B"), template="v2")
    rows = rows_of(panels)
    assert [row[2] for row in paraphrase_table(rows).rows] == ["published", "v2", "mean of v2"]
    labels = lines(label_table(rows), "Speaker 1", "Speaker 2")
    assert list(labels) == [("Speaker 1", "Speaker 2"), ("User", "LLM"), ("LLM", "User")]
    assert [line["ΔDDS"] for line in labels.values()][1:] == [pytest.approx(-20), pytest.approx(-40)]
    assert [line["swing"] for line in labels.values()][1:] == [pytest.approx(20), pytest.approx(-20)]


def reversed_judge(panels: list[Panel]) -> Table:
    judge = Judge(name="judge", model="a/model", panels=tuple(panels), labels={})
    return reversal_table([judge], drawing=Drawing(n_draws=200, seed=1))


def test_a_judge_asked_in_one_direction_only_has_no_reversal() -> None:
    assert reversed_judge(panels_with({"aio": [140] * 4, "bbq": FAIR}, roles="2->1")).rows == ()
    assert reversed_judge(panels_with({"aio": [140] * 4}, roles="1->2")).rows == ()


def test_a_reversal_is_paired_by_item_and_says_on_what_data() -> None:
    panels = panels_with({"aio": [100, 200, 150, 150]}, roles="2->1")
    panels += panels_with({"aio": [200, 100, 150, 142]}, roles="1->2")
    line = lines(reversed_judge([replace(panel, dataset="aio-context") for panel in panels]), "dataset")["aio-context",]
    low, value, high = (line[name] for name in ("Δ 95% low", "Δ", "Δ 95% high"))
    assert line["items"] == 280
    assert value == pytest.approx(100 * (-92 - 100) / 280)
    assert low < value < high  # type: ignore[operator]
    assert [line["C1 true 2->1"], line["C1 true 1->2"]] == pytest.approx([100 * 100 / 280, 100 * 200 / 280])


def test_directions_over_different_items_are_refused() -> None:
    there, back = (panels_with({"aio": [140] * 4}, roles=roles)[0] for roles in ("2->1", "1->2"))
    with pytest.raises(DataError, match=r"1 item \(aio-0279\) has been judged on one side only"):
        reversed_judge([there, back.at(range(279))])


def test_every_table_prints_in_every_format() -> None:
    panels = panels_with({"bbq": DEFERS, "aio": [100, 200, 150, 150]}) + panels_with({"bbq": DOUBTS}, "honest")
    rows = rows_of(panels)
    makers = (domain_table, summary_table, mitigation_table, mitigation_summary_table, amplification_table)
    for maker in (*makers, paraphrase_table, label_table):
        table = maker(rows)
        assert all(table.columns[0] in text for text in (to_markdown(table), to_csv(table), to_latex(table)))


def test_a_table_of_margins_says_so() -> None:
    rows = rows_of(panels_with({"bbq": FAIR})).assign(verdict="margin", parser=None)
    assert "Verdicts from margins" in domain_table(rows).note
    assert "a tie counts as half right" in domain_table(rows).note


def test_replies_that_never_came_are_counted() -> None:
    panel = panels_with({"bbq": FAIR})[0]
    panel.replies[0, 0, 0] = ERROR
    assert "The engine lost 1 replies" in domain_table(rows_of([panel])).note


def test_a_judge_asked_under_treated_arms_only_has_no_main_results() -> None:
    assert domain_table(rows_of(panels_with({"bbq": FAIR}, "honest"))).rows == ()
