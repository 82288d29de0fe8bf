"""The re-run flip rate as a noise floor: between two runs, within one, and the part of the flips that it explains."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.dialdefer.panels import ABSENT, ACCEPT, ERROR, REJECT, TIE, UNREADABLE
from eval.dialdefer.rerun_flip_rate import NoiseRow, differing_rates, noise_between, noise_table, noise_within
from eval.estimates.resampling import wilson_interval
from evenhand.errors import DataError
from tests.made.made_panels import made_judge, made_panel, random_replies

A, R, U = ACCEPT, REJECT, UNREADABLE
RIGHT, DEFERENT = [A, R, A, R], [A, R, A, A]


def row_of(rows: list[NoiseRow], dataset: str) -> NoiseRow:
    """The one row of a dataset."""
    (row,) = [row for row in rows if row.dataset == dataset]
    return row


def test_prompts_whose_verdict_differs_between_two_runs_are_counted() -> None:
    first = made_judge(made_panel([RIGHT] * 9 + [DEFERENT]))
    second = made_judge(made_panel([RIGHT] * 7 + [DEFERENT] * 3))
    row = row_of(noise_between(first, second), "bbq")
    assert (row.n_prompts, row.n_left_out, row.rerun_flip_rate) == (40, 0, pytest.approx(2 / 40))
    assert (row.ci_low_rate, row.ci_high_rate) == wilson_interval(2, 40)
    assert row.flip_rate == pytest.approx((1 + 3) / 2 / 10)
    assert row.noise_share == pytest.approx((2 / 40) / (4 / 20))


def test_a_prompt_without_a_verdict_in_both_runs_is_left_out_and_counted() -> None:
    first = made_judge(made_panel([[U, R, A, R], [TIE, R, A, R], RIGHT, [ERROR, R, A, R]]))
    second = made_judge(made_panel([RIGHT, RIGHT, [A, R, A, A], RIGHT]))
    row = row_of(noise_between(first, second), "bbq")
    assert (row.n_prompts, row.n_left_out) == (10, 6)  # an engine error takes its item's four prompts along
    assert row.rerun_flip_rate == pytest.approx(1 / 10)


def test_several_samples_are_taken_two_at_a_time() -> None:
    replies = np.array([[[A, R, A, A], [R, R, R, R], [A, U, A, R], [R, U, U, U]]])
    assert differing_rates(replies)[0, :3].tolist() == pytest.approx([3 / 6, 0, 2 / 3])
    assert np.isnan(differing_rates(replies)[0, 3])
    row = row_of(noise_within(made_judge(made_panel(replies))), "bbq")
    assert (row.n_prompts, row.n_left_out) == (3, 1)
    assert row.rerun_flip_rate == pytest.approx((1 / 2 + 0 + 2 / 3) / 3)
    assert row.flip_rate == pytest.approx(1 / 4)  # the fourth sample accepts C1_True and rejects C2_Correct


@given(st.floats(0.02, 0.98), st.integers(2, 6))
def test_the_rate_of_samples_estimates_that_of_two_runs(accept: float, n_samples: int) -> None:
    rng = np.random.default_rng(0)
    replies = np.where(rng.random((2000, 4, n_samples)) < accept, A, R).astype(np.int8)
    assert np.mean(differing_rates(replies)) == pytest.approx(2 * accept * (1 - accept), abs=0.03)


def test_a_judge_of_pure_noise_has_all_its_flips_explained() -> None:
    rng = np.random.default_rng(0)
    lean = rng.beta(1, 3, (4000, 2))[:, [0, 1, 0, 1]]  # an item's claims are liked alike in both framings
    panels = [made_panel(np.where(rng.random((4000, 4)) < lean, A, R)) for _ in range(2)]
    row = row_of(noise_between(made_judge(panels[0]), made_judge(panels[1])), "bbq")
    assert row.flip_rate == pytest.approx(row.rerun_flip_rate, rel=0.07)
    assert row.noise_share == pytest.approx(1, abs=0.07)


def test_a_judge_that_repeats_itself_has_none_explained_and_one_without_flips_has_no_share() -> None:
    moved, still = made_judge(made_panel([DEFERENT] * 50)), made_judge(made_panel([RIGHT] * 50))
    row = row_of(noise_between(moved, moved), "bbq")
    assert (row.rerun_flip_rate, row.ci_low_rate, row.noise_share) == (0, 0, 0)
    assert row.ci_high_rate is not None
    assert 0 < row.ci_high_rate < 0.02
    assert row_of(noise_between(still, still), "bbq").noise_share is None


def test_all_datasets_of_an_arm_share_a_row_and_c2_alone_has_noise_and_no_flips() -> None:
    alone = [[ABSENT, ABSENT, A, R]] * 10
    first = made_judge(
        made_panel([DEFERENT] * 10), made_panel([RIGHT] * 30, dataset="gpqa"), made_panel(alone, arm="sft")
    )
    rows = noise_between(first, first)
    assert [(r.arm, r.dataset, r.n_prompts) for r in rows] == [
        ("none", "bbq", 40),
        ("none", "gpqa", 120),
        ("none", "all", 160),
        ("sft", "bbq", 20),
        ("sft", "all", 20),
    ]
    assert [r.flip_rate for r in rows] == [1, 0, 0.25, None, None]
    assert [r.n_left_out for r in rows] == [0] * 5


def test_two_models_or_other_prompts_or_other_items_are_no_rerun() -> None:
    panel = made_panel([RIGHT] * 3)
    with pytest.raises(DataError, match="are two models"):
        noise_between(made_judge(panel), made_judge(panel, model="owner/other"))
    with pytest.raises(DataError, match=r"1 item \(bbq-00002\) has been judged on one side only"):
        noise_between(made_judge(panel), made_judge(panel.at([0, 1])))
    with pytest.raises(DataError, match="no dataset and arm in common"):
        noise_between(made_judge(panel), made_judge(made_panel([RIGHT], dataset="gpqa")))
    other = made_panel([RIGHT] * 3)
    other.hashes[1, 2] = "0123456789abcdef"
    with pytest.raises(DataError, match=r"1 item \(bbq-00001\) has other prompts"):
        noise_between(made_judge(panel), made_judge(other))
    with pytest.raises(DataError, match="has one sample a prompt"):
        noise_within(made_judge(panel))


@pytest.mark.parametrize(
    ("n_yes", "n", "low", "high"), [(0, 20, 0, 0.1611), (10, 20, 0.2993, 0.7007), (1, 10, 0.0179, 0.4042)]
)
def test_wilsons_interval_has_its_known_ends(n_yes: int, n: int, low: float, high: float) -> None:
    assert wilson_interval(n_yes, n) == pytest.approx((low, high), abs=1e-4)


def test_wilsons_interval_covers_as_often_as_it_says_at_a_low_rate() -> None:
    counts = np.random.default_rng(0).binomial(400, 0.01, 4000)
    intervals = [wilson_interval(int(n), 400) or (0.0, 0.0) for n in counts]
    assert 0.93 <= np.mean([low <= 0.01 <= high for low, high in intervals]) <= 0.99
    assert wilson_interval(0, 0) is None


def test_the_table_shows_rates_as_percentages() -> None:
    rng = np.random.default_rng(0)
    panels = [made_panel(random_replies(rng, 40, [0.9, 0.1, 0.9, 0.2])) for _ in range(2)]
    table = noise_table(noise_between(made_judge(panels[0]), made_judge(panels[1])))
    assert [row[3] for row in table.rows] == ["bbq", "all"]
