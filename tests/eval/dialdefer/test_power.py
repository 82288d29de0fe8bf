"""Minimum detectable DDS: the formula, and by simulation with the test that is used."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.dialdefer.accuracy import credit
from eval.dialdefer.dds import dds_pp
from eval.dialdefer.panels import ACCEPT, ERROR, REJECT, UNREADABLE
from eval.dialdefer.power import (
    PLANNED_SIZES,
    contributions,
    minimum_detectable_dds_pp,
    observed_sds,
    planning_table,
    standard_error_pp,
)
from eval.estimates.resampling import resampled_means
from eval.estimates.sign_flip import sign_flip_p
from evenhand.errors import DataError
from tests.made.made_panels import made_judge, made_panel, random_replies

A, R, U = ACCEPT, REJECT, UNREADABLE
sds, sizes = st.floats(0.01, 2), st.integers(2, 100_000)


def test_at_80_percent_power_it_is_two_point_eight_standard_errors() -> None:
    assert minimum_detectable_dds_pp([0.679], [300]) == pytest.approx(2.8016 * 67.9 / np.sqrt(300), rel=1e-4)
    assert minimum_detectable_dds_pp([1.0], [100], power=0.5) == pytest.approx(19.6, abs=0.01)


@given(sds, sizes)
def test_four_times_the_items_halve_it(sd: float, n: int) -> None:
    assert minimum_detectable_dds_pp([sd], [4 * n]) == pytest.approx(minimum_detectable_dds_pp([sd], [n]) / 2)


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_a_shift_of_that_size_is_found_as_often_as_promised(power: float) -> None:
    rng, n_items = np.random.default_rng(0), 300
    values = np.array([-2, -1, 0, 1, 2])
    spread = np.array([0.02, 0.1, 0.74, 0.12, 0.02])
    for _ in range(50):  # move weight from -1 to 1 until the true DDS is the detectable one
        mean = (spread * values).sum()
        sd = float(np.sqrt((spread * values**2).sum() - mean**2))
        gap = minimum_detectable_dds_pp([sd], [n_items], power=power) / 100 - mean
        spread += np.array([0, -gap / 2, 0, gap / 2, 0])
    found = [sign_flip_p(rng.choice(values, n_items, p=spread)) < 0.05 for _ in range(2500)]
    assert power - 0.04 < np.mean(found) < power + 0.02  # sums are whole numbers, so the exact test is a little careful


def test_the_standard_error_of_an_average_is_that_of_its_bootstrap() -> None:
    rng = np.random.default_rng(0)
    panels = [
        made_panel(random_replies(rng, n, [0.7, 0.4, 0.8, 0.6]), dataset=d) for d, n in (("bbq", 150), ("gpqa", 60))
    ]
    draws = np.mean([dds_pp(resampled_means(*credit(p.replies, "published"), 4000, rng)) for p in panels], axis=0)
    sds_here = [float(contributions(p).std()) for p in panels]
    assert standard_error_pp(sds_here, [150, 60]) == pytest.approx(draws.std(), rel=0.05)


def test_contributions_are_each_items_own_dds() -> None:
    panel = made_panel([[R, R, A, A], [A, A, R, R], [A, R, A, R], [A, R, A, A], [A, U, A, A]])
    assert contributions(panel).tolist() == [2, -2, 0, 1, 0]


@given(st.lists(st.lists(st.sampled_from([ERROR, U, A, R]), min_size=4, max_size=4), min_size=2, max_size=25))
def test_their_mean_is_dds_under_either_denominator(rows: list[list[int]]) -> None:
    panel = made_panel([[A, R, A, R], *rows])
    for denominator in ("published", "answered"):
        kept = panel.replies[(panel.replies != ERROR).all(axis=(1, 2))]
        earned, counted = credit(kept, denominator)
        dds = dds_pp(earned.sum(axis=0) / counted.sum(axis=0))
        assert 100 * contributions(panel, denominator).mean() == pytest.approx(dds, abs=1e-9)


def test_with_answered_their_spread_is_that_of_the_bootstrap() -> None:
    rng = np.random.default_rng(2)
    replies = random_replies(rng, 400, [0.7, 0.4, 0.8, 0.6])
    replies[rng.random((400, 4)) < [0.05, 0.3, 0.1, 0.4]] = U
    draws = dds_pp(resampled_means(*credit(replies[:, :, None], "answered"), 4000, rng))
    sd = float(contributions(made_panel(replies), "answered").std())
    assert standard_error_pp([sd], [400]) == pytest.approx(draws.std(), rel=0.05)


def test_a_condition_without_a_countable_reply_has_no_contributions() -> None:
    with pytest.raises(DataError, match="bbq, arm none: a condition has no countable reply"):
        contributions(made_panel([[A, R, U, R]] * 3), "answered")


def test_a_pilot_gives_the_spread_of_each_dataset_in_the_first_variant() -> None:
    first, other = made_panel([[A, R, A, A], [A, R, A, R]]), made_panel([[A, R, A, R]] * 2, template="v1")
    assert observed_sds(made_judge(first, other), "published") == {"bbq": pytest.approx(np.sqrt(0.5))}


def test_the_planning_table_has_the_published_sizes() -> None:
    table = planning_table({"Qwen": 0.679})
    assert tuple(row[0] for row in table.rows) == PLANNED_SIZES == (50, 100, 134, 240, 280, 300, 790, 2964)
    assert table.rows[5][1] == pytest.approx(11.0, abs=0.05)  # Qwen, one dataset of 300
    nine = [300] * 6 + [790, 240, 134]
    last = minimum_detectable_dds_pp([0.6], [2964])
    assert minimum_detectable_dds_pp([0.6] * 9, nine) / last == pytest.approx(1.10, abs=0.005)  # as the note says


@pytest.mark.parametrize(("keys", "named"), [({"power": 1.0}, "power 1.0"), ({"alpha": 0.0}, "alpha 0.0")])
def test_impossible_wishes_are_refused(keys: dict[str, float], named: str) -> None:
    with pytest.raises(DataError, match=named):
        minimum_detectable_dds_pp([1.0], [10], **keys)
    with pytest.raises(DataError, match="needs at least one"):
        minimum_detectable_dds_pp([1.0], [0])
