"""Rules on the margins of a study in YAML, with a threshold for each framing and order of the answers; see
eval.calibration and eval.scorecard.rules."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from eval.calibration import ACCEPTANCE, DDS, Fit, check_alike, fits_of, sharing_a_prompt, thresholds, write_fits
from eval.estimates.resampling import FloatArray
from eval.options import Options
from eval.scorecard.rules import BOTH_AND_THRESHOLD, BOTH_ORDERS, RULES, THRESHOLD, Folded, folds_of, thresholds_by_fold
from evenhand.errors import DataError, EvenhandError
from evenhand.terminal import say
from studies.framing.grids import FramedRun, Grid, judged_above
from studies.framing.measures import is_claim
from studies.framing.rows import row_hash

TEXTS = ("ask", "set", "system", "answers", "framings", "placebos", "baseline")  # in which pooled thresholds may differ


def calibrate_runs(train: FramedRun, test: FramedRun, options: Options) -> None:
    """Fit thresholds on one run for another, print and write them."""
    keys = ("items", "columns", "placebo_items", *(TEXTS if options.pooled else ()))
    check_alike(train, test, [f"framing.{key}" for key in keys])
    fits = calibrate(train, test, options.objective, is_pooled=options.pooled)
    if left := [name for name in test.section.texts if name not in {fit["condition"] for fit in fits}]:
        say(
            f"None for {', '.join(left)}: what it goes on behind would be another reply. A scorecard ranks arms by all "
            "framings, and so not this one."
        )
    try:
        hashes = [*map(row_hash, train.section.rows)]
    except EvenhandError:  # its files are gone, which thresholds do not need
        hashes = []
    write_fits(options, train, test, fits, test.answers[0], hashes)


def calibrate(train: FramedRun, test: FramedRun, objective: str = DDS, *, is_pooled: bool = False) -> list[Fit]:
    """Thresholds for each framing and order of the test run, fitted on the train run's margins; see fits_of.

    Shares are meaned over datasets and cases, as the measures are; objective acceptance needs items that are asked as a
    true and a false claim. is_pooled: one threshold for the baseline and the placebos, one for all framings of the
    train run together. A framing that goes on behind a reply which thresholds may change has none: what would be asked
    then is not known.

    Raises DataError where an item is in both runs, or there are no margins of two answers.
    """
    if same := shared(train, test, is_pooled):
        raise DataError(
            f"{test.name}: item '{same[0]}' is fitted on and would be scored, and {len(same) - 1} more; fit thresholds "
            "on other items, such as those of `split: train`"
        )
    if train.answers != test.answers or train.section.order_names != test.section.order_names:
        raise DataError(f"{train.name} and {test.name} differ in their answers or orders; sample both alike")
    if len(train.answers) != 2 or train.section.scale:
        raise DataError(f"{train.name}: thresholds part two answers, and here {len(train.answers)} are given")
    if objective == ACCEPTANCE and not is_claim(train.section):
        raise DataError("objective acceptance: half is right where items are a true and a false claim alone; take dds")
    base, of_test = train.section.baseline, test.section
    framed = [name for name, text in train.section.framings.items() if name != base and text.follow_up_to is None]
    fitted_on = {of_test.baseline: [base]}  # framing → those of the train run that it is fitted on
    for framing, text in of_test.texts.items():
        if text.follow_up_to in (None, *[of_test.baseline] * (objective == DDS)):
            is_base = framing == of_test.baseline or (is_pooled and framing not in of_test.framings)
            fitted_on[framing] = [base] if is_base else framed if is_pooled else [framing]
    n_items = sum(len(grid.items) for grid in train.grids.values())
    fits = list[Fit]()
    for place, order in enumerate(of_test.order_names):
        margins = {framing: margins_of(train, names, place) for framing, names in fitted_on.items()}
        fits += fits_of(margins, objective, order, n_items)
    return fits


def margins_of(run: FramedRun, framings: Sequence[str], place: int) -> list[FloatArray]:
    """The margins in one order: an array for each framing, dataset and case in which some is known."""
    margins = (of for name in framings for grid in run.grids.values() for of in grid.of("odds", name)[:, :, place].T)
    return [of_case for of_case in margins if not np.isnan(of_case).all()]


def shared(train: FramedRun, test: FramedRun, is_pooled: bool) -> list[str]:
    """The items of the test run that are in the train run: in equal words they have an equal prompt.

    is_pooled: words may differ, so the items are read again, and held against each other as the baseline shows them.
    """
    same = dict.fromkeys(sharing_a_prompt(train, test))
    if is_pooled:
        baseline_text = train.section.baseline_text
        fitted = {*map(baseline_text, train.section.rows)}
        rows = (row for row in test.section.rows if baseline_text(row) in fitted)
        same |= dict.fromkeys(row.item_id for row in rows)
    return list(same)


def with_thresholds(run: FramedRun, fits: Sequence[Fit]) -> FramedRun:
    """The run as these thresholds judge it; of a framing without one nothing is known."""
    nats = thresholds(fits)

    def table(grid: Grid) -> FloatArray:
        return np.array([[[nats.get((framing, order), np.nan) for order in grid.orders] for framing in grid.framings]])

    return replace(run, judged={name: judged_above(grid, table(grid)) for name, grid in run.grids.items()})


def under_rules(run: FramedRun, _: Options, rules: Sequence[str] = RULES) -> dict[str, FramedRun]:
    """The run as each free rule judges it; {} where it has no log-odds of two answers."""
    if run.section.scale or len(run.answers) != 2 or all(np.isnan(g.fields["odds"]).all() for g in run.grids.values()):
        return {}
    grids_of = {THRESHOLD: run.grids}
    if len(run.section.order_names) > 1:
        averaged = {name: with_both_orders(grid, as_asked(run)) for name, grid in run.grids.items()}
        grids_of |= {BOTH_ORDERS: averaged, BOTH_AND_THRESHOLD: averaged}
    return {
        rule: replace(run, judged=grids_of[rule] if rule == BOTH_ORDERS else cross_fitted(run, grids_of[rule]))
        for rule in rules
        if rule in grids_of
    }


def as_asked(run: FramedRun) -> FloatArray:
    """(1, n_framings, 1): thresholds of 0. What goes on behind a reply has none: a rule may change that reply, and what
    would be asked then is not known."""
    return np.array([[[np.nan if name in run.follow_ups else 0.0] for name in run.first_grid.framings]])


def with_both_orders(grid: Grid, limits: FloatArray) -> Grid:
    """One verdict over both orders, by their mean log-odds, in the place of each; unparsed where one has none."""
    odds = np.broadcast_to(grid.fields["odds"].mean(axis=-1, keepdims=True), grid.fields["odds"].shape)
    is_asked = ~np.isnan(grid.fields["unread"]).any(axis=-1, keepdims=True)
    unread, unknown = np.where(is_asked, np.isnan(odds), np.nan), np.full(odds.shape, np.nan)
    fields = {"odds": odds, "unread": unread, "soft": unknown}  # what is judged gets its own
    return judged_above(replace(grid, fields=fields, shares=np.full(grid.shares.shape, np.nan)), limits)


def cross_fitted(run: FramedRun, grids: Mapping[str, Grid]) -> dict[str, Grid]:
    """Grids under a threshold for each framing and order, fitted on the items of other folds. One
    that changes no verdict has taken no noise."""
    fold_of = folds_of(run.plan)
    folds = {name: np.array([fold_of[name, item] for item in grid.items]) for name, grid in grids.items()}
    by_fold = thresholds_by_fold([Folded(grid.fields["odds"], folds[name]) for name, grid in grids.items()])
    judged = {name: judged_above(grid, by_fold[folds[name]] + as_asked(run)) for name, grid in grids.items()}
    is_other = any(((g.shares != grids[name].shares) & ~np.isnan(g.shares)).any() for name, g in judged.items())
    return {name: replace(grid, fitted=is_other / len(grids)) for name, grid in judged.items()}
