"""Means of absolute values and of squares over datasets, in which noise does not cancel; Holm; unlike engines."""

import numpy as np
import pytest
from pydantic import BaseModel

from eval.estimates.changes import Change, Compared, Paired, change_in
from eval.estimates.comparability import config_differences
from eval.estimates.estimate import Drawing, Measure, Observed, OverDatasets, by_chance, without_interval
from eval.estimates.resampling import holm, pivotal_interval
from inference.config import OpenAIConfig, TransformersConfig, VllmConfig

N_DATASETS, N_ITEMS = 8, 30


def shift(over: OverDatasets) -> Measure:
    return Measure(name="shift", unit="pp", statistic=lambda means: means[..., 0], over_datasets=over)


def observed(dataset: int, values: np.ndarray) -> Observed:
    earned = values[:, None]
    units = tuple(str(i) for i in range(len(values)))
    return Observed(dataset=str(dataset), units=units, earned=earned, counted=np.ones_like(earned))


def changes(over: OverDatasets, before: float, after: float, n_runs: int, n_draws: int = 2) -> list[Change]:
    """Judges with a true shift in every dataset, whose items vary by 80 around it and are half alike in both."""
    rng, drawing, moves = np.random.default_rng(4), Drawing(n_draws=n_draws, seed=1), []
    for _ in range(n_runs):
        shared, *own = rng.normal(0, 80 * 0.5**0.5, (3, N_DATASETS, N_ITEMS))
        sides = [truth + shared + of_side for truth, of_side in zip((before, after), own, strict=True)]
        pairs = [
            Paired(first=observed(d, sides[0][d]), second=observed(d, sides[1][d]), drawing=drawing)
            for d in range(N_DATASETS)
        ]
        moves.append(change_in(shift(over), pairs, Compared("a", "b", {}), "all"))
    return moves


def test_the_mean_absolute_value_of_a_judge_without_a_shift_is_what_chance_alone_gives() -> None:
    levels = [change.after for change in changes("mean of absolute values", 25, 0, 80)]
    by_noise = [by_chance(level) or 0.0 for level in levels]
    assert np.mean([level.value for level in levels]) == pytest.approx(np.mean(by_noise), rel=0.06)
    assert np.mean(by_noise) == pytest.approx(80 / np.sqrt(N_ITEMS) * np.sqrt(2 / np.pi), rel=0.02)


@pytest.mark.parametrize("truth", [0, 25])
def test_the_mean_square_is_unbiased(truth: float) -> None:
    items = np.random.default_rng(6).normal(truth, 80, (400, N_DATASETS, N_ITEMS))
    runs = [[observed(d, of_dataset) for d, of_dataset in enumerate(of_run)] for of_run in items]
    values = [without_interval(shift("mean of squares"), parts).value for parts in runs]
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - truth**2) < 3 * error < 100  # noise adds 213


def test_a_pivotal_interval_mirrors_the_draws_about_the_value() -> None:
    assert pivotal_interval(10.0, np.linspace(11, 15, 1001), 0.5) == pytest.approx((6, 8))
    assert pivotal_interval(float("nan"), np.ones(3)) is None
    assert pivotal_interval(1.0, np.array([1.0, np.nan])) is None


def test_holm_multiplies_the_smallest_p_by_all_and_never_lets_the_order_turn() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert (holm([0.9, 0.8]), holm([])) == ([1.0, 1.0], [])


def test_of_an_engines_keys_only_those_that_can_change_an_answer_are_serious() -> None:
    """What an engine is and computes with, and what it is asked; every other key is about speed and patience."""
    schemas: list[type[BaseModel]] = [VllmConfig, OpenAIConfig, TransformersConfig]
    keys = [key for schema in schemas for key in schema.model_fields]
    before, after = ({"engine": dict.fromkeys(keys, value)} for value in ("one", "another"))
    differing = {difference.what: difference.serious for difference in config_differences(before, after)}
    serious = {"kind", "dtype", "json_mode", "send_seed", "extra_body"}
    assert differing == {f"engine.{key}": key in serious for key in keys}
