"""thresholds.json of `evenhand calibrate`, applied to the base run: the arm that needs no training."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.dialdefer.calibration import Calibration, calibrated, untreated_panels
from eval.dialdefer.judges import judge_of_run
from eval.dialdefer.runs import JudgedRun
from eval.dialdefer.scorecard.arms import Arm, arm_panels, as_untreated
from eval.dialdefer.scorecard.cost import Cost
from eval.dialdefer.thresholds import Threshold
from evenhand.errors import DataError
from evenhand.run_directory import read_json


def calibrated_arm(name: str, file: Path, base: JudgedRun) -> Arm:
    """The base run judged with thresholds of its own for C1 and C2, as an arm. Training costs it nothing.

    Raises DataError when the file is no thresholds.json, or was made for another run: that no item was fitted on and is
    scored, `evenhand calibrate` has checked for the test run that it was given, and for no other.
    """
    found = read_json(file)
    for_run = found.get("test_run")
    if for_run != base.name:
        raise DataError(
            f"{file}: its thresholds were checked against run {for_run}, not {base.name}; make them for this one with "
            f"`evenhand calibrate TRAIN_RUN {base.path}`"
        )
    calibration = calibration_in(found, file)
    panels = [as_untreated(calibrated(panel, calibration)) for panel in untreated_panels(judge_of_run(base))]
    return Arm(
        name=name,
        kind="calibrated",
        run=base,
        panels=arm_panels(name, base, panels, wording=""),
        cost=Cost(),
        note=f"thresholds {calibration.c1.threshold_nats:+.3f} nats for C1 and {calibration.c2.threshold_nats:+.3f} "
        f"for C2, fitted by {calibration.objective} on {calibration.n_items} items of {found.get('train_run')}",
    )


def calibration_in(found: Mapping[str, Any], file: Path) -> Calibration:
    """The thresholds of a file's content. Raises DataError when a field is missing or there are others."""
    fields = {key: value for key, value in found.items() if key not in ("train_run", "test_run")}
    try:
        framings = {key: Threshold(**fields[key]) for key in ("c1", "c2")}
        return Calibration(**{**fields, "datasets": tuple(fields["datasets"]), **framings})
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
