"""One change over several trainings: by hand, and how often its interval covers."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from eval.estimates.estimate import Estimate
from eval.estimates.false_discovery import holm
from eval.estimates.seeds import half_of_seeds, lead_over_seeds, over_seeds, p_over_seeds

N_ITEMS, N_RUNS = 100, 4000


def estimate(value: float, half: float) -> Estimate:
    return Estimate(value=value, low=value - half, high=value + half, n_units=N_ITEMS)


def test_half_widths_are_added_in_quadrature():
    found = over_seeds([estimate(1.0, 3.0), estimate(3.0, 5.0)])
    of_seeds = 12.706 * np.sqrt(2) / np.sqrt(2)  # t with one degree of freedom × standard deviation / √2
    assert (found.value, found.high) == (2.0, pytest.approx(2 + np.hypot(4.0, of_seeds), rel=0.03))
    assert found.low == pytest.approx(2 - (found.high - 2))
    assert over_seeds([estimate(1.0, 3.0)]) == estimate(1.0, 3.0)


def test_what_one_seed_does_not_know_is_not_known():
    lacking = Estimate(value=None, low=None, high=None, n_units=3)
    assert over_seeds([estimate(1.0, 3.0), lacking]).value is None
    without = Estimate(value=2.0, low=None, high=None, n_units=3)
    assert (over_seeds([estimate(1.0, 3.0), without]).value, over_seeds([estimate(1.0, 3.0), without]).low) == (
        1.5,
        None,
    )


@pytest.mark.parametrize(("value", "p"), [(1.0, 0.05), (-1.0, 0.05), (2.0, 0.0000886), (0.0, 1.0)])
def test_p_of_one_seed_is_that_of_its_interval(value: float, p: float):
    assert p_over_seeds([estimate(value, 1.0)]) == pytest.approx(p, rel=0.01)


def test_p_over_seeds_is_students_where_seeds_are_all_that_varies():
    values = (1.0, 2.0, 3.5)
    found = p_over_seeds([estimate(value, 1e-9) for value in values])
    assert found == pytest.approx(float(ttest_1samp(values, 0).pvalue), rel=0.01)


@pytest.mark.parametrize("sd_seed", [0.0, 5.0, 30.0])
def test_nine_arms_without_an_effect_are_seldom_told_apart(sd_seed: float):
    """Holm over nine arms of three seeds each: how often one or more is called lower or higher."""
    rng, called, n_runs = np.random.default_rng(11), 0, 300
    for _ in range(n_runs):
        values = rng.normal(0, sd_seed, (9, 3)) + rng.normal(0, 5.0)
        ps = [p_over_seeds([estimate(value, 1.96 * 5.0) for value in of_arm]) or 0.0 for of_arm in values.tolist()]
        called += min(holm(ps)) < 0.05
    print(f"sd {sd_seed} of seeds: {100 * called / n_runs:.1f} % of scorecards")
    assert called <= 0.08 * n_runs


def test_a_lead_has_the_noise_of_units_once_and_that_of_both_arms_seeds():
    leads = [estimate(value, 3.0) for value in (14.0, 16.0)]
    alone = lead_over_seeds(leads, [20.0], [5.0])
    assert (alone.value, alone.low, alone.high) == (15.0, 12.0, 18.0)
    of_seeds = half_of_seeds([19.0, 21.0])
    both = lead_over_seeds(leads, [19.0, 21.0], [4.0, 6.0])
    assert both.high == pytest.approx(15 + np.hypot(3.0, np.hypot(of_seeds, of_seeds)))


@pytest.mark.parametrize("sd_seed", [0.0, 10.0])
def test_the_lead_of_two_arms_covers_at_its_level(sd_seed: float):
    """Two arms over the same items: what an item adds to both is in no lead of the one over the other."""
    rng, covered, widths = np.random.default_rng(5), 0, []
    for _ in range(N_RUNS // 4):
        shared = rng.normal(0, 50, N_ITEMS)
        arms = [[rng.normal(0, sd_seed) + shared + rng.normal(0, 10, N_ITEMS) for _ in range(3)] for _ in range(2)]
        pairs = [first - second for first in arms[0] for second in arms[1]]
        halves = [1.96 * pair.std(ddof=1) / np.sqrt(N_ITEMS) for pair in pairs]
        leads = [estimate(float(pair.mean()), float(half)) for pair, half in zip(pairs, halves, strict=True)]
        lead = lead_over_seeds(leads, *([float(one.mean()) for one in arm] for arm in arms))
        covered += not lead.excludes(0.0)
        widths.append((lead.high - lead.low) / 2)
    print(f"sd {sd_seed} of seeds: covers {100 * covered / (N_RUNS // 4):.1f} %")
    assert covered >= 0.94 * (N_RUNS // 4)
    unpaired = 1.96 * np.hypot(50, 50) / np.sqrt(N_ITEMS)  # as wide as if each arm had items of its own
    assert sd_seed or np.median(widths) < unpaired / 2


def coverage(n_seeds: int, sd_seed: float, sd_item: float, sd_both: float) -> float:
    """How often the interval over seeds holds the true change, in per cent: 100 items, each moved by a seed."""
    rng, covered = np.random.default_rng(7), 0
    for _ in range(N_RUNS):
        moved = rng.normal(0, sd_seed, (n_seeds, 1)) + rng.normal(0, sd_item, N_ITEMS)
        moved = moved + rng.normal(0, sd_both, (n_seeds, N_ITEMS))
        halves = 1.96 * moved.std(axis=1, ddof=1) / np.sqrt(N_ITEMS)
        found = over_seeds([estimate(*pair) for pair in zip(moved.mean(axis=1).tolist(), halves.tolist(), strict=True)])
        covered += not found.excludes(0.0)
    return 100 * covered / N_RUNS


@pytest.mark.parametrize("n_seeds", [3, 5])
@pytest.mark.parametrize(
    ("sd_seed", "sd_item", "sd_both"), [(0, 50, 30), (5, 50, 30), (10, 50, 30), (10, 0, 50), (20, 30, 0)]
)
def test_the_interval_covers_at_its_level(n_seeds: int, sd_seed: float, sd_item: float, sd_both: float):
    found = coverage(n_seeds, sd_seed, sd_item, sd_both)
    print(f"{n_seeds} seeds, sd {sd_seed} of seeds, {sd_item} of items, {sd_both} of both: covers {found:.1f} %")
    assert found >= 94
