"""The answer of a study in YAML about simulated judges."""

from dataclasses import replace

import numpy as np
import pytest

from studies.framing.answers import rises
from studies.framing.grids import SHARE_OF, Grid
from tests.made import simulated_framings
from tests.made.simulated_framings import answered, drawn_grid, verdicts


def test_a_fair_judge_that_rewordings_move_is_rarely_told_yes_by_any_measure() -> None:
    """Without placebos it would be in more than half of the runs."""
    assert verdicts(n_items=100, n_runs=12)["yes"] <= 3
    assert verdicts(n_items=100, n_runs=2, wording_sd=0.0)["no"] == 2


def without(grid: Grid, place: tuple[slice | int, ...]) -> Grid:
    """The grid with some replies unparsed."""
    fields = {name: field.copy() for name, field in grid.fields.items()}
    fields["unread"][place], fields["value"][place], fields["right"][place] = 1, np.nan, np.nan
    shares = grid.shares.copy()
    shares[place] = np.nan
    return replace(grid, fields=fields, shares=shares)


def test_a_placebo_without_a_parsed_reply_is_none() -> None:
    grid = drawn_grid(np.random.default_rng(7), 40, 4.0)
    known = rises([grid], SHARE_OF + "accept")
    assert rises([without(grid, (slice(None), 7))], SHARE_OF + "accept") == (known[0], *known[2:])


def test_one_unparsed_reply_takes_no_no_where_answers_change_as_under_the_placebos(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(simulated_framings, "drawn_grid", lambda *of: without(drawn_grid(*of), (0, 1, 0, 0)))
    shifts = answered(np.random.default_rng(7), 100, 0.0).shifts
    assert min(min(shift.bounds) for shift in shifts if shift.measure == "changed" and shift.bounds) == 0
