"""thresholds.json of `evenhand calibrate`, applied to the base run: the arm that needs no training."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.dialdefer.calibrate import DDS, Calibration, Threshold, calibrated_panels, fit, untreated_panels
from eval.dialdefer.panels import variant_of
from eval.dialdefer.runs import JudgedRun, judge_of_run
from eval.dialdefer.scorecard.arms import Arm, as_untreated, trained_arm
from eval.scorecard.arms import CardArm
from eval.scorecard.cost import Cost
from evenhand.errors import DataError
from evenhand.run_directory import read_json

CALIBRATED, ORACLE = "calibrated", "oracle"  # what such arms are
ORACLE_NAME = "oracle (fitted on the test items)"


def calibrated_arms(files: Sequence[Path], base: CardArm) -> list[CardArm]:
    """The base run judged with thresholds of its own for C1 and C2, as arms. Training costs them nothing.

    Raises DataError when a file is no thresholds.json, or was made for another run: that no item was fitted on and is
    scored, `evenhand calibrate` has checked for the test run that it was given, and for no other.
    """
    arms = []
    for name, file in calibrated_names(files).items():
        found = read_json(file)
        if found.get("test_run") != base.path.name:
            raise DataError(
                f"{file}: its thresholds were checked against run {found.get('test_run')}, not {base.path.name}; make "
                f"them for this one with `evenhand calibrate TRAIN_RUN {base.path}`"
            )
        note = note_of(calibrations_in(found, file), str(found.get("train_run")))
        arms.append(replace(base, name=name, arm=name, kind=CALIBRATED, cost=Cost(), note=note))
    return arms


def oracle_arm(base: CardArm) -> CardArm:
    """The base run judged with the thresholds that serve its own items best: what none can know before it is asked."""
    note = "thresholds fitted by dds on the items that are scored: no baseline, and in no ranking"
    return replace(base, name=ORACLE_NAME, arm=ORACLE_NAME, kind=ORACLE, cost=Cost(), note=note)


def note_of(found: Sequence[Calibration], train_run: str) -> str:
    """Where thresholds come from."""
    calibration = found[0]
    return (
        f"thresholds {calibration.c1.threshold_nats:+.3f} nats for C1 and {calibration.c2.threshold_nats:+.3f} for C2, "
        f"fitted by {calibration.objective} on {calibration.n_items} items of {train_run}"
    )


def calibrated_arm(of: CardArm, files: Mapping[str, Path], base: JudgedRun, variant: str) -> Arm | None:
    """A calibrated arm, or the oracle, with its verdicts in a prompt variant; None where that has no thresholds.

    files: name of each → its thresholds.
    """
    untreated = untreated_panels(judge_of_run(base))
    if of.kind == ORACLE:
        found = [fit(base.model, panels, DDS, name) for name, panels in untreated.items()]
    else:
        found = calibrations_in(read_json(files[of.name]), files[of.name])
    panels = [as_untreated(panel) for panel in calibrated_panels(untreated, found)]
    if not any(variant_of(panel, base.panels) == variant for panel in panels):
        return None
    return replace(trained_arm(of, replace(base, panels=panels), base, variant), run=base, note=of.note)


def calibrations_in(found: Mapping[str, Any], file: Path) -> list[Calibration]:
    """The thresholds of a file's content. Raises DataError when a field is missing or there are others."""
    try:
        return [
            Calibration(
                **{**fields, "datasets": tuple(fields["datasets"])}
                | {key: Threshold(**fields[key]) for key in ("c1", "c2")}
            )
            for fields in found["calibrations"]
        ]
    except (KeyError, TypeError) as error:
        raise DataError(f"{file}: is no thresholds.json of `evenhand calibrate` ({error}); make it anew") from None


def calibrated_names(files: Sequence[Path]) -> dict[str, Path]:
    """Name of each calibrated arm → its file: "calibrated", and how it was fitted where there are several.

    Raises DataError when two would have one name.
    """
    names = (
        ["calibrated"] if len(files) == 1 else [f"calibrated ({read_json(file).get('objective')})" for file in files]
    )
    found = dict(zip(names, files, strict=True))
    if len(found) < len(files):
        raise DataError(f"--calibrated: two of {', '.join(map(str, files))} have the same objective; name one of them")
    return found
