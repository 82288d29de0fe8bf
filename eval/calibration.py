"""`evenhand calibrate TRAIN_RUN TEST_RUN`: thresholds on margins, fitted on one run and carried to another.

A judge gives its first answer where its margin, the log-odds of that answer, exceeds 0. Where a framing merely moves
all margins, a threshold of its own undoes that without training. A trained mitigation is worth its price if it beats
this.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, TypeAdapter

from eval.estimates.comparability import config_differences, sampled_checkpoint
from eval.estimates.resampling import FloatArray
from eval.options import Options
from eval.report.tables import said
from eval.scorecard.arms import CALIBRATED, training_folder, trainings
from evenhand.config import Closed
from evenhand.errors import DataError
from evenhand.files import write_json
from evenhand.records import record_from
from evenhand.run_directory import ITEMS_FILE, read_json
from evenhand.terminal import say

DDS, ACCEPTANCE = "dds", "acceptance"  # what thresholds are fitted for
AIMS = {DDS: "no shift", ACCEPTANCE: "half accepted everywhere"}
Fit = Mapping[str, Any]  # a Threshold by the names of its fields
BEYOND = 1.0  # nats between the outermost margin and a threshold outside of all
ROUNDING = 1e-12  # shares that differ by less are equal


class Threshold(Closed):
    """Of a framing in one prompt variant (of a study in YAML, an order of the answers; "" is the main one).

    n_items: that it was fitted on; shares: of the first answer on these, at 0 and at the threshold.
    """

    condition: str
    variant: str
    threshold_nats: float
    n_items: int
    share_before: float
    share_after: float


class ThresholdsFile(Closed):
    """What thresholds.json holds."""

    train_run: str
    test_run: str
    objective: Literal["dds", "acceptance"]
    calibrations: Annotated[tuple[Threshold, ...], Field(min_length=1)]


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
    misses = abs(np.mean([shares_above(margins, thresholds) for margins in kinds], axis=0) - share)
    best = thresholds[misses <= misses.min() + ROUNDING]
    return float(best[np.argmin(np.abs(best))])


def shares_above(margins: FloatArray, thresholds: FloatArray) -> FloatArray:
    """The share of margins above each threshold, those on it by half."""
    ordered = np.sort(margins)
    n_below = [np.searchsorted(ordered, thresholds, side) for side in ("left", "right")]
    return np.asarray(1 - np.mean(n_below, axis=0) / len(ordered))


def share_of(kinds: Sequence[FloatArray], threshold: float) -> float:
    """The share of margins above a threshold, meaned over kinds of claims."""
    return float(np.mean([shares_above(margins, np.array([threshold])) for margins in kinds]))


def fits_of(margins: Mapping[str, Sequence[FloatArray]], objective: str, variant: str, n_items: int) -> list[Fit]:
    """The thresholds of framings in one prompt variant.

    dds: the baseline stays as it is, and each framing gives the first answer as often; acceptance: each gives it in
    half. So all give it alike often on these items, but for equal margins that no threshold separates (bfloat16 has
    coarse steps). margins: framing, the baseline first → margins in nats, NaN where unknown, of each kind of claims.

    Raises DataError for a framing with a kind of claims that has no margins.
    """
    kinds_of = {condition: [kind[~np.isnan(kind)] for kind in kinds] for condition, kinds in margins.items()}
    if without := [condition for condition, kinds in kinds_of.items() if not min(map(len, kinds), default=0)]:
        raise DataError(f"{', '.join(without)}: no margins to fit on; sample with `verdict: margin` or options")
    share, fits = 0.5 if objective == ACCEPTANCE else share_of(next(iter(kinds_of.values())), 0.0), list[Fit]()
    for condition, kinds in kinds_of.items():
        threshold = nearest_threshold(kinds, share)
        shares = {"share_before": share_of(kinds, 0.0), "share_after": share_of(kinds, threshold)}
        fits.append(
            {"condition": condition, "variant": variant, "threshold_nats": threshold, "n_items": n_items, **shares}
        )
    return fits


def thresholds(fits: Sequence[Fit]) -> dict[tuple[str, str], float]:
    """(condition, variant) → its threshold in nats."""
    return {(fit["condition"], fit["variant"]): fit["threshold_nats"] for fit in fits}


def sharing_a_prompt(train: Any, test: Any) -> list[str]:
    """The items of the test run of which the train run has a prompt, under whatever name."""
    hashes = {prompt.prompt_hash for prompt in train.plan}
    return [*dict.fromkeys(prompt.item_id for prompt in test.plan if prompt.prompt_hash in hashes)]


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
        heading = f"{train.name} and {test.name} differ in more than their items:"
        raise DataError(f"{heading}\n{listed}\n  Sample both alike; --pooled allows other wordings.")


def training_doubts(run: Any, hashes: Collection[str]) -> list[str]:
    """That a run's model was trained on items of it, or that this is not known. hashes: see StudyTraining.unit_hash."""
    folder, doubts = training_folder(run.config), list[str]()
    folders = [trained for trained, _ in trainings(run.config, run.path) if (trained / ITEMS_FILE).is_file()]
    if folder and not (folders and hashes):
        missing = "its items are not here as they were" if folders else f"{folder / ITEMS_FILE} is not here"
        doubts.append(f"whether its items were trained on is not known: {missing}")
    for trained in folders:
        known = {*read_json(trained / ITEMS_FILE)["hashes"]}
        if n_trained := sum(each in known for each in hashes):
            doubts.append(
                f"{trained.name} was trained on {n_trained} of its {len(hashes)} items; on new ones margins may lie "
                "elsewhere. Fit thresholds on items that no training had"
            )
    return doubts


def write_fits(
    options: Options, train: Any, test: Any, fits: Sequence[Fit], answer: str, hashes: Collection[str]
) -> None:
    """Print the thresholds, what to know of the runs' answers, and where they are written, as thresholds.json.

    answer: what the first answer is called. hashes: of the items fitted on, see training_doubts.
    """
    fitted = f"fitted for {AIMS[options.objective]} on {fits[0]['n_items']} items, none of which is scored"
    say(f"Thresholds of {train.judge}, {fitted}:")
    for fit in fits:
        say(said("fit", fit, answer))
    for run, doubts in ((train, [*train.doubts, *training_doubts(train, hashes)]), (test, test.doubts)):
        for doubt in doubts:
            say(f"Warning: {run.name}: {doubt}")
    file = (options.out or test.path / CALIBRATED) / "thresholds.json"
    facts = {"train_run": train.name, "test_run": test.name, "objective": options.objective, "calibrations": fits}
    write_json(file, facts)
    say(f"written: {file}; `evenhand scorecard {test.path} ... --calibrated {file}` scores it")


def read_fits(file: Path, run: str) -> tuple[Sequence[Fit], str]:
    """The thresholds of a file for a run, and what to say of them.

    Raises DataError for a malformed file, and when they were made for another run: that no item was fitted on and is
    scored, `evenhand calibrate` has checked for the test run that it was given, and for no other.
    """
    try:
        content = record_from(TypeAdapter(ThresholdsFile), read_json(file))
    except ValueError as error:
        raise DataError(f"{file}: {error}; write it anew with `evenhand calibrate`") from None
    if content.test_run != run:
        raise DataError(
            f"{file}: its thresholds are for run {content.test_run}, not {run}; run `evenhand calibrate` for it"
        )
    fits = [fit.model_dump() for fit in content.calibrations]
    return fits, f"fitted for {AIMS[content.objective]} on {fits[0]['n_items']} items of {content.train_run}"
