"""False-discovery control: q-values against hand-computed cases and by simulation, and the grid of tests."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.dialdefer.discoveries import discovery_table, grid_of_tests
from eval.dialdefer.panels import ACCEPT, REJECT, UNREADABLE
from eval.estimates.false_discovery import q_values
from eval.estimates.mcnemar import mcnemar_p
from evenhand.errors import DataError
from tests.made.made_panels import made_judge, made_panel, random_replies

A, R, U = ACCEPT, REJECT, UNREADABLE
RIGHT, DEFERENT, BOTH_UP = [A, R, A, R], [A, R, A, A], [R, R, A, A]

p_lists = st.lists(st.floats(0, 1), min_size=1, max_size=30)

# The 15 tests of Benjamini & Hochberg's own example (1995, §3.2): four are discoveries at 0.05, Bonferroni finds three.
THROMBOLYSIS = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719]
THROMBOLYSIS += [0.6528, 0.7590, 1.0000]


def test_the_example_of_benjamini_and_hochberg_has_four_discoveries() -> None:
    assert sum(q <= 0.05 for q in q_values(THROMBOLYSIS)) == 4
    assert sum(p <= 0.05 / 15 for p in THROMBOLYSIS) == 3


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        ([0.01, 0.02, 0.03, 0.04], [0.04, 0.04, 0.04, 0.04]),
        ([0.04, 0.01], [0.04, 0.02]),  # in any order
        ([0.001, 0.5, 0.5, 0.9], [0.004, 2 / 3, 2 / 3, 0.9]),
        ([0.5], [0.5]),
        ([1.0, 1.0], [1.0, 1.0]),
        ([0.0, 0.0], [0.0, 0.0]),
        ([], []),
    ],
)
def test_q_is_as_computed_by_hand(p_values: list[float], expected: list[float]) -> None:
    assert q_values(p_values) == pytest.approx(expected)


@given(p_lists, st.floats(0.01, 0.5))
def test_q_below_the_level_is_what_the_step_up_procedure_rejects(p_values: list[float], level: float) -> None:
    m, ranked = len(p_values), sorted(p_values)
    passing = [i + 1 for i in range(m) if ranked[i] * (m / (i + 1)) <= level]
    assert sum(q <= level for q in q_values(p_values)) == max(passing, default=0)


@given(p_lists)
def test_q_keeps_the_order_of_p_and_is_never_below_it(p_values: list[float]) -> None:
    found = q_values(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, found, strict=True))
    assert [q for _, q in sorted(zip(p_values, found, strict=True))] == sorted(found)


def test_the_share_of_false_discoveries_is_held() -> None:
    rng, shares = np.random.default_rng(0), []
    for _ in range(400):
        p_values = np.concatenate([rng.random(40), rng.random(10) * 1e-3])
        found = np.array(q_values(p_values.tolist())) <= 0.1
        shares.append(found[:40].sum() / max(1, found.sum()))
    assert np.mean(shares) < 0.1


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_a_number_that_is_no_p_is_refused(wrong: float) -> None:
    with pytest.raises(DataError, match="is no p-value"):
        q_values([0.5, wrong])


def test_the_grid_has_a_cell_for_each_judge_and_dataset_and_no_average() -> None:
    moved = made_panel([DEFERENT] * 8 + [RIGHT] * 12)
    still = made_panel([RIGHT] * 20, dataset="gpqa")
    cells = grid_of_tests([made_judge(moved, still, name="a"), made_judge(still, name="b")])
    assert [(c.judge, c.dataset, c.n_items) for c in cells] == [("a", "bbq", 20), ("a", "gpqa", 20), ("b", "gpqa", 20)]
    assert [c.dds_pp for c in cells] == pytest.approx([40, 0, 0])
    assert cells[0].p == pytest.approx(2 / 2**8)
    assert cells[0].q == pytest.approx(3 * 2 / 2**8)


def test_an_items_two_claims_are_one_observation_in_p_and_two_in_mcnemars() -> None:
    cell = grid_of_tests([made_judge(made_panel([BOTH_UP] * 5 + [RIGHT] * 5))])[0]
    assert (cell.p, cell.mcnemar_p) == (pytest.approx(2 / 2**5), pytest.approx(mcnemar_p(0, 10)))


def test_an_unreadable_side_counts_in_the_score_and_not_in_the_test() -> None:
    cell = grid_of_tests([made_judge(made_panel([[A, R, U, R]] * 5))])[0]
    assert (cell.dds_pp, cell.p) == (pytest.approx(-100), 1.0)


def test_only_the_main_setting_is_tested() -> None:
    judge = made_judge(
        made_panel([RIGHT] * 5), made_panel([DEFERENT] * 5, template="v1"), made_panel([DEFERENT] * 5, arm="honest")
    )
    assert [c.dds_pp for c in grid_of_tests([judge])] == [0]


def test_the_table_says_how_many_are_discoveries() -> None:
    rng = np.random.default_rng(0)
    judges = [made_judge(made_panel(random_replies(rng, 200, [0.5, 0.5, c, c])), name=str(c)) for c in (0.9, 0.5)]
    table = discovery_table(grid_of_tests(judges))
    assert [row[0] for row in table.rows] == ["0.9", "0.5"]
    assert "1 of 2 cells are discoveries" in table.note
