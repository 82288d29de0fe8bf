"""Means of absolute values and of squares over datasets, in which noise does not cancel: what is said of it."""

import numpy as np
import pytest

from eval.estimates.changes import Change, Compared, Paired, change_in
from eval.estimates.estimate import Drawing, Measure, Observed, OverDatasets, by_chance, without_interval

N_DATASETS, N_ITEMS = 8, 30


def shift(over: OverDatasets) -> Measure:
    return Measure(name="shift", unit="pp", statistic=lambda means: means[..., 0], over_datasets=over)


def observed(dataset: int, values: np.ndarray) -> Observed:
    earned = values[:, None]
    units = tuple(str(i) for i in range(len(values)))
    return Observed(dataset=str(dataset), units=units, earned=earned, counted=np.ones_like(earned))


def changes(over: OverDatasets, before: float, after: float, n_runs: int, n_draws: int = 2) -> list[Change]:
    """Judges with a true shift in every dataset, whose items vary by 80 around it and are half alike in both."""
    rng, drawing, found = np.random.default_rng(4), Drawing(n_draws=n_draws, seed=1), []
    for _ in range(n_runs):
        shared, *own = rng.normal(0, 80 * 0.5**0.5, (3, N_DATASETS, N_ITEMS))
        sides = [truth + shared + of_side for truth, of_side in zip((before, after), own, strict=True)]
        pairs = [
            Paired(first=observed(d, sides[0][d]), second=observed(d, sides[1][d]), drawing=drawing)
            for d in range(N_DATASETS)
        ]
        found.append(change_in(shift(over), pairs, Compared("a", "b", {}), "all"))
    return found


def test_the_mean_absolute_value_of_a_judge_without_a_shift_is_what_chance_alone_gives() -> None:
    found = [one.after for one in changes("mean of absolute values", 25, 0, 80)]
    by_noise = [by_chance(level) or 0.0 for level in found]
    assert np.mean([level.value for level in found]) == pytest.approx(np.mean(by_noise), rel=0.06)
    assert np.mean(by_noise) == pytest.approx(80 / np.sqrt(N_ITEMS) * np.sqrt(2 / np.pi), rel=0.02)


@pytest.mark.parametrize("truth", [0, 25])
def test_the_mean_square_is_unbiased(truth: float) -> None:
    rng, found = np.random.default_rng(6), []
    for _ in range(400):
        items = rng.normal(truth, 80, (N_DATASETS, N_ITEMS))
        level = without_interval(shift("mean of squares"), [observed(d, of) for d, of in enumerate(items)])
        found.append(level.value)
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - truth**2) < 3 * error < 100  # noise adds 213


@pytest.mark.parametrize(("before", "after"), [(25, 0), (50, 25)])
def test_intervals_of_the_mean_square_cover(before: float, after: float) -> None:
    found = changes("mean of squares", before, after, 80, n_draws=200)
    assert np.mean([not one.after.excludes(after**2) for one in found]) >= 0.9
    assert np.mean([not one.change.excludes(after**2 - before**2) for one in found]) >= 0.9
