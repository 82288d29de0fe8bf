"""`evenhand calibrate TRAIN_RUN TEST_RUN`: thresholds on margins, fitted on one run and carried to another.

A judge gives its first answer where its margin, the log-odds of that answer, exceeds 0. Where a framing merely moves
all margins, a threshold of its own undoes that without training. A trained mitigation is worth its price if it beats
this.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from eval.estimates.comparability import config_differences, sampled_checkpoint
from eval.estimates.resampling import FloatArray
from eval.options import Options
from eval.scorecard.arms import COST, CardArm
from evenhand.errors import DataError
from evenhand.files import write_json
from evenhand.run_directory import read_json
from evenhand.terminal import say

CALIBRATED = "calibrated"  # the arm, and its kind
DDS, ACCEPTANCE = "dds", "acceptance"  # what thresholds are fitted for
BEYOND = 1.0  # nats between the outermost margin and a threshold outside of all
ROUNDING = 1e-12  # shares that differ by less are equal


def nearest_threshold(kinds: Sequence[FloatArray], share: float) -> float:
    """The threshold in nats above which nearest to this share of margins lies, meaned over kinds of claims.

    All thresholds between two neighbouring margins judge alike, so their middle is tried, 0, and one nat beyond the
    outermost margins. Of the best the one nearest to 0 is taken: where the items do not tell thresholds apart (all
    margins the same) the judge is changed least. kinds: known margins, some of each.
    """
    values = np.unique(np.concatenate(kinds))
    values = values[np.isfinite(values)]
    beyond = [values[:1] - BEYOND, values[-1:] + BEYOND]
    thresholds = np.concatenate([[0.0], (values[1:] + values[:-1]) / 2, *beyond])
    misses = np.array([abs(np.mean([share_above(margins, at) for margins in kinds]) - share) for at in thresholds])
    best = thresholds[misses <= misses.min() + ROUNDING]
    return float(best[np.argmin(np.abs(best))])


def share_above(margins: FloatArray, threshold: float) -> float:
    """Share of margins above a threshold, those on it by half."""
    return float((margins > threshold).mean() + (margins == threshold).mean() / 2)


def check_alike(train: Any, test: Any, allowed: Sequence[str]) -> None:
    """Raises DataError for runs of two models, or that differ in what moves a margin: format, precision, templates.

    allowed: config keys in which they may differ beside.
    """
    names = [run.config["model"]["name"] for run in (train, test)]
    hashes = [sampled_checkpoint(run.provenance) for run in (train, test)]
    for fitted, scored in (names, hashes):
        if fitted != scored and None not in (fitted, scored):
            raise DataError(f"thresholds of {fitted} say nothing about {scored}; sample the same model twice")
    differing = [each for each in config_differences(train.config, test.config) if each.serious]
    if serious := [each for each in differing if not each.what.startswith(tuple(allowed))]:
        listed = "\n".join(f"  {each.what}: {each.base} when fitted, {each.after} when scored" for each in serious)
        raise DataError(
            f"{train.name} and {test.name} differ in more than their items:\n{listed}\n  Sample both alike; --pooled "
            "allows other wordings."
        )


def write_fits(options: Options, train: Any, test: Any, fits: Sequence[Mapping[str, Any]]) -> None:
    """Write thresholds.json, and say where, and what to know of the runs' answers."""
    for run in (train, test):
        for doubt in run.doubts:
            say(f"Warning: {run.name}: {doubt}")
    file = (options.out or test.path / CALIBRATED) / "thresholds.json"
    facts = {"train_run": train.name, "test_run": test.name, "objective": options.objective, "calibrations": fits}
    write_json(file, facts)
    say(f"written: {file}; `evenhand scorecard {test.path} ... --calibrated {file}` scores it")


def read_fits(file: Path | None, run: str) -> tuple[list[Any], str]:
    """The thresholds of a file for a run, and what to say of them.

    Raises DataError when they were made for another run: that no item was fitted on and is scored, `evenhand calibrate`
    has checked for the test run that it was given, and for no other.
    """
    assert file, "there are such arms with --calibrated alone"
    content = read_json(file)
    if content.get("test_run") != run:
        raise DataError(
            f"{file}: its thresholds were checked against run {content.get('test_run')}, not {run}; make them for this "
            "one with `evenhand calibrate TRAIN_RUN BASE_RUN`"
        )
    fits = content["calibrations"]
    return fits, f"fitted by {content['objective']} on {fits[0]['n_items']} items of {content['train_run']}"


def made_arm(base: CardArm, name: str, kind: str, note: str) -> CardArm:
    """The base's run as an arm that cost no training."""
    return replace(base, name=name, arm=name, kind=kind, cost=dict.fromkeys(COST), note=note)
