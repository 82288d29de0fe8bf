"""What margins gain: soft DDS beside DDS over the same items, and how many items a 0/1 score would need."""

import numpy as np
import pytest

from eval.dialdefer.panels import ACCEPT, REJECT
from eval.dialdefer.power import contributions
from eval.dialdefer.precision import PrecisionRow, precision_rows, precision_table
from evenhand.errors import DataError
from tests.made.made_panels import made_judge, made_panel, margin_panel

N = 400


def shifted(shift: float, level: float = 0.0, n: int = N) -> np.ndarray:
    """Margins of a judge whose C2 margins lie higher: (n, 4)."""
    rng = np.random.default_rng(n)
    base = rng.normal([1, -1], 1, (n, 2))
    return np.hstack([base, base + shift + rng.normal(0, 0.3, (n, 2))]) + level


def only(rows: list[PrecisionRow], dataset: str = "bbq") -> PrecisionRow:
    """The one row of a dataset."""
    (row,) = [row for row in rows if row.dataset == dataset]
    return row


def test_soft_dds_is_more_precise_where_margins_move_alike() -> None:
    row = only(precision_rows(made_judge(margin_panel(shifted(0.5))), 2000, 0))
    assert row.items_ratio is not None
    assert row.width_ratio is not None
    assert row.items_ratio > 3
    assert row.width_ratio == pytest.approx(np.sqrt(row.items_ratio), rel=0.1)
    assert row.n_items_needed == round(N * row.items_ratio)
    assert row.dds_ci_low_pp < row.dds_pp < row.dds_ci_high_pp
    assert row.soft_dds_ci_low_pp < row.soft_dds_pp < row.soft_dds_ci_high_pp


def test_so_many_items_do_give_a_0_1_interval_as_narrow() -> None:
    row = only(precision_rows(made_judge(margin_panel(shifted(0.5))), 2000, 0))
    assert row.n_items_needed is not None
    larger = only(precision_rows(made_judge(margin_panel(shifted(0.5, n=row.n_items_needed))), 2000, 0))
    soft_width = row.soft_dds_ci_high_pp - row.soft_dds_ci_low_pp
    assert larger.dds_ci_high_pp - larger.dds_ci_low_pp == pytest.approx(soft_width, rel=0.15)


def test_the_variances_are_those_of_the_items_contributions() -> None:
    panel = margin_panel(shifted(0.8))
    row = only(precision_rows(made_judge(panel), 4000, 0))
    probability = 1 / (1 + np.exp(-panel.margins[:, :, 0]))
    soft = probability @ np.array([-1, -1, 1, 1])
    assert row.soft_dds_pp == pytest.approx(100 * soft.mean())
    assert row.items_ratio == pytest.approx(contributions(panel).var() / soft.var(), rel=0.1)
    assert row.dds_z == pytest.approx(contributions(panel).mean() / contributions(panel).std() * np.sqrt(N), rel=0.05)


def test_a_saturated_judge_has_a_soft_dds_and_no_ratio() -> None:
    row = only(precision_rows(made_judge(margin_panel(shifted(-0.5, level=12))), 500, 0))
    assert (row.dds_pp, row.dds_z, row.items_ratio, row.n_items_needed) == (0, None, None, None)
    assert row.soft_dds_pp < 0
    assert row.soft_dds_z is not None
    assert row.soft_dds_z < -5


def test_the_two_scores_are_different_quantities() -> None:
    sure = np.tile([9.0, -9.0, 9.0, 9.0], (20, 1))  # a whole flip of every false claim
    near = np.tile([0.01, -0.01, 0.01, 0.01], (20, 1))  # the same verdicts, hardly any probability
    rows = [only(precision_rows(made_judge(margin_panel(m)), 100, 0)) for m in (sure, near)]
    assert [row.dds_pp for row in rows] == pytest.approx([100, 100])
    assert [row.soft_dds_pp for row in rows] == pytest.approx([100, 0.5], abs=0.1)


def test_items_without_a_margin_in_every_condition_are_left_out_of_both_and_counted() -> None:
    margins = shifted(0.5)
    margins[:50, 2] = np.nan
    row = only(precision_rows(made_judge(margin_panel(margins)), 500, 0))
    whole = only(precision_rows(made_judge(margin_panel(margins[50:])), 500, 0))
    assert (row.n_items, row.n_left_out) == (N - 50, 50)
    assert (row.dds_pp, row.soft_dds_pp) == (whole.dds_pp, whole.soft_dds_pp)


def test_an_average_has_a_row_over_its_datasets() -> None:
    judge = made_judge(margin_panel(shifted(0.5)), margin_panel(shifted(0.0), dataset="gpqa"))
    rows = precision_rows(judge, 500, 0)
    assert [row.dataset for row in rows] == ["bbq", "gpqa", "bench_avg"]
    average = only(rows, "bench_avg")
    assert average.dds_pp == pytest.approx((only(rows).dds_pp + only(rows, "gpqa").dds_pp) / 2)
    assert average.n_items == 2 * N


def test_a_judge_without_margins_is_refused() -> None:
    panel = made_panel([[ACCEPT, REJECT, ACCEPT, REJECT]] * 3)
    with pytest.raises(DataError, match="judge, bbq, arm none: no item has all four margins"):
        precision_rows(made_judge(panel), 100, 0)


def test_the_table_says_that_they_estimate_different_things() -> None:
    table = precision_table(precision_rows(made_judge(margin_panel(shifted(0.5))), 100, 0))
    assert [row[3] for row in table.rows] == ["bbq"]  # the average over it alone would say the same
    assert "two quantities" in table.note
