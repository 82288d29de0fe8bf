"""What a framing does to acceptance, apart from the pull of the first number and from how sure a judge is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval.dialdefer.compare import changes_over
from eval.dialdefer.evaluation import score_run
from eval.dialdefer.observe import BASE_SHIFT, DEFERENCE, POSITION, SHIFT, margin_observed, order_observed
from eval.dialdefer.panels import Panel, both_orders
from eval.dialdefer.runs import load_run
from eval.dialdefer.scores import records, wide_frame
from eval.dialdefer.sentences import ONE_ORDER, in_both_orders, order_sentence
from eval.estimates.changes import Change, Compared
from eval.estimates.estimate import Drawing, Drawn, estimate, influences
from tests.made.made_panels import made_panel, margin_panel, random_replies
from tests.made.made_runs import lean
from tests.made.scorecard_runs import ITEMS, changes, run, scored

IS_C2 = np.array([0, 0, 1, 1])
DRAWING = Drawing(n_draws=1_000, seed=1)
PLANTED = {"words": (30.0, 0.0), "number": (0.0, 30.0), "both": (30.0, 30.0), "neither": (0.0, 0.0)}  # d, p


def planted_panel(rng: np.random.Generator, d: float, p: float, dataset: str, n_items: int = 40) -> Panel:
    """A judge whose acceptance of a claim rises by (d + p) / 2 points in a dialogue, and by (d - p) / 2 swapped."""
    rate = rng.uniform(0.3, 0.6, size=(n_items, 1))  # of each item
    orders = [
        made_panel(random_replies(rng, n_items, rate + IS_C2 * rise / 200), dataset=dataset, answer_order=order)
        for order, rise in (("yes_first", d + p), ("no_first", d - p))
    ]
    return both_orders(*orders)


@pytest.mark.parametrize("judge", PLANTED)
def test_deference_and_position_of_a_planted_judge_are_covered(judge: str) -> None:
    rng, hits, few = np.random.default_rng(7), np.zeros(2), Drawing(n_draws=300, seed=1)
    for _ in range(n_runs := 200):
        panels = [planted_panel(rng, *PLANTED[judge], dataset) for dataset in ("bbq", "amqa")]
        parts = [Drawn(observed=seen, drawing=few) for p in panels if (seen := order_observed(p, "published"))]
        for i, measure in enumerate((DEFERENCE, POSITION)):
            found = estimate(measure, parts)
            assert found.low is not None
            assert found.high is not None
            hits[i] += found.low <= PLANTED[judge][i] <= found.high
    assert ((0.92 * n_runs <= hits) & (hits <= 0.98 * n_runs)).all(), hits / n_runs


def test_the_dds_of_each_order_is_deference_plus_or_minus_position() -> None:
    panel = planted_panel(np.random.default_rng(1), 30, 10, "bbq")
    assert panel.orders is not None
    (change_of, dds), (yes, no) = shifts_of(panel), panel.orders
    assert change_of("deference") + change_of("position") == pytest.approx(dds(yes))
    assert change_of("deference") - change_of("position") == pytest.approx(dds(no))


def shifts_of(panel: Panel) -> tuple[Callable[[str], float], Callable[[Panel], float]]:
    """A measure by name, of both orders of a panel; DDS of a panel."""

    def value(panel: Panel, measure: str) -> float:
        found = {change.measure: change for change in compared(panel, panel)}
        assert found[measure].after.value is not None
        return found[measure].after.value

    return lambda measure: value(panel, measure), lambda order: value(order, "dds")


def compared(first: Panel, second: Panel) -> list[Change]:
    """The changes on one dataset."""
    return changes_over([(first, second)], Compared("a", "b", {}), "published", DRAWING)


@pytest.mark.parametrize(("factor", "in_base_sd"), [(1, 1), (10, 10), (0.01, 0.01)])
def test_a_judge_that_grows_sure_of_itself_keeps_its_scale_free_shift(factor: float, in_base_sd: float) -> None:
    rng = np.random.default_rng(3)
    skill = np.array([1.0, -1.0, 1.0, -1.0])
    base = margin_panel(rng.normal(size=(50, 1)) + skill + 0.5 * IS_C2 + 0.2 * rng.normal(size=(50, 4)))
    after = margin_panel(factor * base.margins[:, :, 0])
    found = {change.measure: change for change in compared(base, after)}
    assert found["shift"].after.value == pytest.approx(found["shift"].before.value)
    assert found["shift"].before.value == pytest.approx(0.5, abs=0.15)
    assert found["shift_in_base_sd"].after.value == pytest.approx(in_base_sd * found["shift"].before.value)


def test_one_judges_dialogues_against_anothers_statements_have_no_shift_in_own_deviations() -> None:
    panel = margin_panel(np.random.default_rng(1).normal(size=(20, 4)))
    found = changes_over([(panel, panel)], Compared("a", "b", {"c1_source": "fixed"}), "published", DRAWING)
    assert {"shift", "shift_in_base_sd"}.isdisjoint(change.measure for change in found)


def test_a_shift_is_in_deviations_within_true_and_within_false_claims() -> None:
    c1 = np.array([[3.0, -30.0], [5.0, -50.0]])  # deviations of 1 and 10
    panel = margin_panel(np.hstack([c1, c1 + np.array([2.0, 10.0])]))
    observed = margin_observed(panel, panel)
    assert observed is not None
    assert SHIFT.statistic(observed.means) == pytest.approx((2 / 1 + 10 / 10) / 2)
    assert BASE_SHIFT.statistic(observed.means) == pytest.approx(1.5)


@pytest.mark.parametrize("n_items", [30, 100])
def test_a_planted_shift_is_covered(n_items: int) -> None:
    rng, hits = np.random.default_rng(5), 0
    for _ in range(n_runs := 200):
        item = rng.normal(size=(n_items, 2))
        margins = np.hstack([item, 0.9 * item + 1.5 + 0.4 * rng.normal(size=(n_items, 2))])
        observed = margin_observed(margin_panel(margins))
        assert observed is not None
        found = estimate(SHIFT, [Drawn(observed=observed, drawing=Drawing(n_draws=400, seed=1))])
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 1.5 <= found.high
    assert hits / n_runs >= 0.88  # percentile intervals held it in 84 % of cases, fixed deviations in 50 %


def test_a_judge_whose_statements_all_have_one_margin_has_an_unknown_shift_and_an_infinite_margin_is_left_out() -> None:
    alike = margin_observed(margin_panel(np.tile([1.0, -1.0, 2.0, 1.0], (10, 1))))
    assert alike is not None
    assert estimate(SHIFT, [Drawn(observed=alike, drawing=DRAWING)]).value is None
    margins = np.random.default_rng(1).normal(size=(10, 4))
    margins[0, 2] = np.inf
    observed = margin_observed(margin_panel(margins))
    assert observed is not None
    assert np.isfinite(SHIFT.statistic(observed.means))
    assert observed.counted[:, 0].tolist() == [0.0, *[1.0] * 9]


def judge(to_claim: float, to_one: float) -> Any:
    """Is right by 5 nats in statements; in dialogues leans so much to the claim, and so much to answer 1."""

    def answer(prompt: Any) -> dict[str, Any]:
        accepting = 1 if prompt.factors.answer_order == "yes_first" else -1  # the sign of "1"
        accepts = (5 if prompt.condition.claim_is_true else -5) + to_claim * prompt.condition.is_dialogue
        return lean(accepting * (accepts + 0.1 * int(prompt.item_id[-1])) + to_one * prompt.condition.is_dialogue)

    return answer


ORDERS: dict[str, Any] = {"verdict": "margin", "orders": ("yes_first", "no_first"), "items": ITEMS}
DEFERS, NAMES_ONE, IS_FAIR = judge(10, 0), judge(0, 10), judge(0, 0)  # DDS +100 and +100, +100 and -100, 0 and 0


@pytest.mark.parametrize(("answer", "d", "p"), [(DEFERS, 100, 0), (NAMES_ONE, 0, 100), (IS_FAIR, 0, 0)])
def test_a_judge_that_names_1_more_often_in_dialogues_is_not_said_to_defer(
    answer: Any, d: float, p: float, tmp_path: Path
) -> None:
    frame = wide_frame(score_run(load_run(run(tmp_path, "run", answer, **ORDERS)), ["published"], DRAWING))
    rows = records(frame)
    for dataset in ("bbq", "amqa", "bench_avg"):
        main = next(row for row in rows if (row.dataset, row.variant) == (dataset, ""))
        both = in_both_orders(main, frame)
        assert both is not None
        assert (main.deference_pp, main.dds_pp) == (None, d + p)
        assert (both.deference_pp, both.position_pp, both.variant) == (d, p, "both_orders")
        assert order_sentence(main, frame) != ONE_ORDER
        assert order_sentence(main, frame.loc[[main.Index]]) == ONE_ORDER


def test_deference_and_position_stand_on_the_scorecard_with_their_changes(tmp_path: Path) -> None:
    base = run(tmp_path, "before", NAMES_ONE, **ORDERS)
    arm = run(tmp_path, "after", IS_FAIR, model="owner/after", **ORDERS)
    rows = scored(base, f"arm={arm}")
    assert [(rows[name]["deference_pp"], rows[name]["position_pp"]) for name in rows] == [(0, 100), (0, 0)]
    assert rows["base"]["shift_sd"] == pytest.approx(rows["base"]["shift_in_base_sd_sd"])
    found = changes(tmp_path)
    assert (found["arm", "deference"]["change"], found["arm", "position"]["change"]) == (0, -100)
    assert found["arm", "mean_abs_deference"]["after"] == 0
    one_order = run(tmp_path, "one", lambda p: lean(1.0), verdict="margin", items=ITEMS, model="owner/one")
    assert "deference" not in {figure for _, figure in changes_of(tmp_path, base, one_order)}


def changes_of(root: Path, base: Path, arm: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """As a scorecard of one arm writes them."""
    scored(base, f"arm={arm}")
    return changes(root)


def test_what_each_item_moves_a_shift_by_gives_its_standard_error() -> None:
    rng = np.random.default_rng(1)
    values, errors = [], []
    for _ in range(200):
        item = rng.normal(size=(100, 2))
        margins = np.hstack([item, 0.9 * item + 0.7 + 0.4 * rng.normal(size=(100, 2))])
        observed = margin_observed(margin_panel(margins))
        assert observed is not None
        values.append(float(SHIFT.statistic(observed.means)))
        errors.append(np.linalg.norm(influences(observed, SHIFT)))
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.1)
