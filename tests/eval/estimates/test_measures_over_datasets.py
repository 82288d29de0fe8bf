"""Means of absolute values and of squares over datasets, in which noise does not cancel: what is said of it."""

import numpy as np
import pytest

from eval.estimates.changes import Change, Compared, Paired, change_in
from eval.estimates.estimate import by_chance
from eval.estimates.observed import Drawing, Measure, Observed, OverDatasets

N_DATASETS, N_ITEMS, N_RUNS = 8, 30, 150
DRAWING = Drawing(n_draws=200, seed=1)


def shift(over: OverDatasets) -> Measure:
    return Measure(name="shift", unit="pp", statistic=lambda means: means[..., 0], over_datasets=over)


def observed(dataset: int, values: np.ndarray) -> Observed:
    earned = values[:, None]
    units = tuple(str(i) for i in range(len(values)))
    return Observed(dataset=str(dataset), units=units, earned=earned, counted=np.ones_like(earned))


def changes(over: OverDatasets, before: float, after: float) -> list[Change]:
    """Judges with a true shift in every dataset, whose items vary by 80 around it and are half alike in both."""
    rng, found = np.random.default_rng(4), []
    for _ in range(N_RUNS):
        shared, *own = rng.normal(0, 80 * 0.5**0.5, (3, N_DATASETS, N_ITEMS))
        sides = [truth + shared + of_side for truth, of_side in zip((before, after), own, strict=True)]
        pairs = [
            Paired(first=observed(d, sides[0][d]), second=observed(d, sides[1][d]), drawing=DRAWING)
            for d in range(N_DATASETS)
        ]
        found.append(change_in(shift(over), pairs, Compared("a", "b", {}), "all"))
    return found


def test_the_mean_absolute_value_of_a_judge_without_a_shift_is_what_chance_alone_gives() -> None:
    found = [one.after for one in changes("mean of absolute values", 25, 0)]
    by_noise = [by_chance(level) or 0.0 for level in found]
    assert np.mean([level.value for level in found]) == pytest.approx(np.mean(by_noise), rel=0.05)
    assert np.mean(by_noise) == pytest.approx(80 / np.sqrt(N_ITEMS) * np.sqrt(2 / np.pi), rel=0.02)


@pytest.mark.parametrize(("before", "after"), [(25, 0), (50, 25), (25, 25)])
def test_the_mean_square_is_unbiased_and_its_intervals_cover(before: float, after: float) -> None:
    found = changes("mean of squares", before, after)
    noise = 80**2 / N_ITEMS  # of a dataset's value, which is in the plain square
    assert np.mean([one.after.value for one in found]) == pytest.approx(after**2, abs=0.2 * noise)
    assert np.mean([one.change.value for one in found]) == pytest.approx(after**2 - before**2, abs=0.4 * noise)
    assert np.mean([not one.after.excludes(after**2) for one in found]) >= 0.92
    assert np.mean([not one.change.excludes(after**2 - before**2) for one in found]) >= 0.92
