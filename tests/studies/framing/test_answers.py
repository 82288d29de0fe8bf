"""The answer of a study in YAML about simulated judges."""

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np

from bench import simulated_framings
from bench.simulated_framings import answered, drawn_grid, verdicts
from studies.framing.answers import rises
from studies.framing.evaluation import unparsed_of
from studies.framing.grids import SHARE_OF, FramedRun


def test_a_fair_judge_that_rewordings_move_is_rarely_told_yes_by_any_measure():
    """Without placebos it would be in more than half of the runs."""
    assert verdicts(n_items=100, n_runs=12)["yes"] <= 3
    assert verdicts(n_items=100, n_runs=2, wording_sd=0.0)["no"] == 2


def without(grid, place):
    """The grid with some replies unparsed."""
    unread, shares = grid.fields["unread"].copy(), grid.shares.copy()
    unread[place], shares[place] = 1, np.nan
    return replace(grid, fields={**grid.fields, "unread": unread}, shares=shares)


def test_a_placebo_without_a_parsed_reply_is_none():
    grid = drawn_grid(np.random.default_rng(7), 40, 4.0)
    known = rises([grid], SHARE_OF + "accept")
    assert rises([without(grid, (slice(None), 7))], SHARE_OF + "accept") == (known[0], *known[2:])


def test_one_unparsed_reply_takes_no_no_where_answers_change_as_under_the_placebos(monkeypatch):
    monkeypatch.setattr(simulated_framings, "drawn_grid", lambda *of: without(drawn_grid(*of), (0, 1, 0, 0)))
    shifts = answered(np.random.default_rng(7), 100, 0.0).shifts
    assert min(min(shift.bounds) for shift in shifts if shift.measure == "changed" and shift.bounds) == 0


def test_what_is_unparsed_is_known_of_a_framing_that_lacks_an_order():
    grid = drawn_grid(np.random.default_rng(7), 40, 0.0)
    grid.fields["unread"][:, 1, :, 1], grid.fields["unread"][:, 2] = np.nan, np.nan
    shares = unparsed_of(cast(FramedRun, SimpleNamespace(grids={"made": grid}, first_grid=grid)))
    assert [*shares] == [name for name in grid.framings if name != grid.framings[2]]
    assert {*shares.values()} == {0.0}
