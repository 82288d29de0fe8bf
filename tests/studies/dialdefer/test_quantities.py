"""What a framing does to acceptance, apart from the pull of the first number and from how sure a judge is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eval.estimates.changes import Compared, change_in
from eval.estimates.estimate import estimate
from eval.estimates.resampling import Drawing
from studies.dialdefer.measures import ACCEPT, REJECT, UNPARSED
from studies.dialdefer.options import DENOMINATORS
from studies.dialdefer.panels import both_orders
from studies.dialdefer.quantities import (
    CHANGE_ACC,
    CHANGE_ACC_ORDERS,
    DEFERENCE,
    POSITION,
    SHIFT,
    WORDINGS,
    observed,
    pair_of,
    scale_free_shift,
)
from studies.dialdefer.scores import changes_over
from tests.made.made_panels import made_panel, margin_panel, random_replies

IS_C2 = np.array([0, 0, 1, 1])
DRAWING = Drawing(n_draws=400, seed=1)
PLANTED = {"both": (30.0, 30.0), "neither": (0.0, 0.0)}  # d, p


def planted_panel(rng, d, p, dataset="bbq", rate=None):
    """A judge whose acceptance of a claim rises by (d + p) / 2 points in a dialogue, and by (d - p) / 2 swapped."""
    n_items = 40
    rate = rng.uniform(0.3, 0.6, size=(n_items, 1)) if rate is None else rate  # of each item
    orders = [
        made_panel(random_replies(rng, n_items, rate + IS_C2 * rise / 200), dataset=dataset, answer_order=order)
        for order, rise in (("yes_first", d + p), ("no_first", d - p))
    ]
    return both_orders(*orders)


def margins_of(margins):
    """The margins of a judge, as observed."""
    (columns,) = observed("margins", [margin_panel(margins)], "published")
    return columns


def test_a_claim_is_agreed_upon_where_both_framings_and_orders_give_one_verdict():
    right = [ACCEPT, REJECT, ACCEPT, REJECT]
    defers, wrong, unread = [ACCEPT, REJECT, ACCEPT, ACCEPT], [REJECT] * 4, [ACCEPT, REJECT, UNPARSED, REJECT]
    orders = [
        made_panel([right, usual, wrong, right], answer_order=order)
        for order, usual in (("yes_first", right), ("no_first", defers))
    ]
    (part,) = observed("agreement", [both_orders(*orders)], "answered")
    assert (100 * part.means).tolist() == [100 * 7 / 8, 100 * 6 / 7, 100 * 7 / 8, pytest.approx(100 * 27 / 32)]
    single = {
        kind: observed("agreement", [made_panel([right, unread])], kind)[0].means for kind in DENOMINATORS.values()
    }
    sampled = [[[ACCEPT] * 2, [REJECT] * 2, [ACCEPT, UNPARSED], [REJECT] * 2]]  # one of two samples is unparsed
    assert observed("agreement", [made_panel(sampled)], "answered")[0].means[0] == 1 / 2
    assert single["answered"].tolist() == [3 / 4, 1, 1, 1]
    assert single["published"].tolist() == [3 / 4, 1, 1, 7 / 8]


@pytest.mark.parametrize("judge", PLANTED)
def test_deference_and_position_of_a_planted_judge_are_covered(judge):
    rng, hits = np.random.default_rng(7), np.zeros(2)
    for _ in range(n_runs := 200):
        panels = [planted_panel(rng, *PLANTED[judge], dataset) for dataset in ("bbq", "amqa")]
        parts = [seen for p in panels for seen in observed("orders", [p], "published")]
        ends = zip((DEFERENCE, POSITION), PLANTED[judge], strict=True)
        hits += [not estimate(measure, parts, DRAWING).excludes(value) for measure, value in ends]
    assert ((0.92 * n_runs <= hits) & (hits <= 0.98 * n_runs)).all(), hits / n_runs


def test_over_wordings_the_square_of_d_is_unbiased_and_items_are_one_unit_in_all_of_them():
    """d is 30 in one wording and 0 in two; a fall of each by a third is covered, though items are alike in all."""
    rng, squares, hits = np.random.default_rng(5), [], 0
    for _ in range(n_runs := 200):
        rate = rng.uniform(0.3, 0.6, size=(40, 1))
        before, after = ([planted_panel(rng, d, 10, rate=rate) for d in side] for side in ((30, 0, 0), (20, 0, 0)))
        pair = pair_of("orders", before, after, "published", DRAWING)
        change = change_in(WORDINGS[0], pair, Compared("a", "b", {}), "bbq")
        squares.append(change.before.value)
        hits += not change.change.excludes(400 / 3 - 300)
    error = np.std(squares) / np.sqrt(n_runs)
    assert abs(np.mean(squares) - 300) < 3 * error < 60  # noise adds 130
    assert 0.91 * n_runs <= hits, hits / n_runs


@given(hnp.arrays(float, 8, elements=st.floats(0, 1)))
def test_over_both_orders_accuracy_changes_by_the_mean_of_its_changes(means):
    statements, dialogues = means.reshape(2, 2, 2).swapaxes(0, 1)
    of_orders = [CHANGE_ACC.statistic(side) for side in (means[:4], means[4:])]
    assert of_orders == pytest.approx(100 * (dialogues - statements).mean(axis=1))
    assert CHANGE_ACC_ORDERS.statistic(means) == pytest.approx(np.mean(of_orders))


def test_the_scale_free_shift_is_in_deviations_of_true_and_of_false_claims():
    rises, centred, squares = [0, 0, 1, 2], [1, 2], [5, 5]  # deviations 2 and 1
    assert scale_free_shift(np.array([*rises, *centred, *squares], dtype=float)) == pytest.approx((1 / 2 + 2) / 2)


def values(first, second, **setting):
    """Measure → its values on both sides."""
    every = changes_over([(first, second)], Compared("a", "b", setting), "published", DRAWING)
    return {change.measure: (change.before.value, change.after.value) for change in every}


@pytest.mark.parametrize("factor", [1, 10, 0.01])
def test_a_judge_that_grows_sure_of_itself_keeps_its_scale_free_shift(factor):
    rng = np.random.default_rng(3)
    skill = np.array([1.0, -1.0, 1.0, -1.0])
    base = margin_panel(rng.normal(size=(50, 1)) + skill + 0.5 * IS_C2 + 0.2 * rng.normal(size=(50, 4)))
    after = margin_panel(factor * base.margins[:, :, 0])
    changed = values(base, after)
    assert changed["shift"] == pytest.approx(changed["shift"][:1] * 2)
    assert changed["shift"][0] == pytest.approx(0.5, abs=0.15)
    mixed = values(base, after, c1_source="fixed")
    assert "shift" not in mixed, "dialogues and statements are not of one judge"


def test_a_judge_whose_statements_all_have_one_margin_has_an_unknown_shift_and_an_infinite_margin_is_left_out():
    alike = margins_of(np.tile([1.0, -1.0, 2.0, 1.0], (10, 1)))
    assert estimate(SHIFT, [alike], DRAWING).value is None
    margins = np.random.default_rng(1).normal(size=(10, 4))
    margins[0, 2] = np.inf
    columns = margins_of(margins)
    assert np.isfinite(SHIFT.statistic(columns.means))
    assert len(columns.units) == 9


def test_soft_shares_are_of_the_items_with_all_margins_and_an_infinite_one_counts():
    panel = margin_panel([[0.0, 0.0, 0.0, 0.0], [9.0, np.nan, 9.0, 9.0], [np.inf, np.inf, np.inf, np.inf]])
    (columns,) = observed("soft", [panel], "published")
    assert columns.earned.tolist() == [[0.5, 0.5, 0.5, 0.5], [1, 0, 1, 0]]
    assert observed("soft", [panel.at([1])], "published") == []
