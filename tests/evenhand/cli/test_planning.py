"""Planning: laws of the power that the answer's rule gives, and the promise against planted judges."""

from dataclasses import replace

import pytest

from bench.simulated_plans import PLANTED, promised_and_found
from eval.shift.answer import Shift, answer
from evenhand.cli.planning import default_spread, power, spread_of, units_needed
from evenhand.errors import DataError

SPREAD = replace(default_spread(n_prompts=4, n_tested=4), wording_sd=2.0)


def test_power_rises_with_units_and_shift_and_falls_with_rewordings():
    by_units = [power(SPREAD, 10, n, 8) for n in (40, 160, 640)]
    by_shift = [power(SPREAD, true, 160, 8) for true in (3, 10, 15)]
    by_rewordings = [power(replace(SPREAD, wording_sd=sd), 10, 160, 8) for sd in (4.0, 2.0, 0.0)]
    for rising in (by_units, by_shift, by_rewordings):
        assert rising == sorted({*rising})


def test_at_the_limit_itself_no_number_of_units_is_enough():
    n_units, best = units_needed(replace(SPREAD, wording_sd=0.0), 5, 8)
    assert n_units is None
    assert best < 0.55


def test_a_judge_that_nothing_moves_is_seldom_told_yes():
    assert power(SPREAD, 0, 100, 0, 1000) < 0.02


def test_the_fewest_units_reach_the_power_and_a_third_fewer_do_not():
    n_units, reached = units_needed(SPREAD, 10, 8)
    assert n_units is not None
    assert 0.8 <= reached < 0.85
    assert power(SPREAD, 10, 2 * n_units // 3, 8, 1000) < 0.8


@pytest.mark.parametrize("scale", [1.0, 0.2, 2.0])  # of a share, of a scale, of DDS
def test_the_spread_of_a_run_is_read_off_its_intervals_and_placebos_whatever_its_unit(scale):
    sd, n_units, placebos = 20.0, 100, (-3.0, 3.0) * 4
    half = 1.96 * sd / n_units**0.5
    of = {"measure": "shift", "dataset": "a", "n_units": n_units, "p": 0.5, "little": 5 * scale}
    placebos_in_unit = tuple(scale * each for each in placebos)
    ends = {"value": 0.0, "low": -half * scale, "high": half * scale, "placebos": placebos_in_unit}
    spread = spread_of(answer([Shift(condition=str(i), **of, **ends) for i in range(3)]), SPREAD)
    assert spread.unit_sd == pytest.approx(sd, rel=1e-3)
    assert spread.wording_sd**2 == pytest.approx(9 * 8 / 7 - sd**2 / 2 / n_units, rel=1e-2)
    without = [Shift(condition="x", **of, **{**ends, "placebos": placebos_in_unit[:4]})]
    assert spread_of(answer(without), SPREAD).wording_sd == SPREAD.wording_sd
    with pytest.raises(DataError, match="leave --run out"):
        spread_of(answer([]), SPREAD)


def test_a_planted_judge_is_found_as_often_as_the_plan_promises():
    _, promised, found = promised_and_found(PLANTED["shift 8, no placebos"], 60)
    assert found == pytest.approx(promised, abs=0.15)  # 60 runs have a standard error of 5 points
