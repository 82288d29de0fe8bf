"""thresholds.json of `evenhand calibrate`, applied to the base run: the arm that needs no training."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.dialdefer.calibration import Calibration, calibrated, untreated_panels
from eval.dialdefer.judges import judge_of_run
from eval.dialdefer.runs import JudgedRun
from eval.dialdefer.scorecard.arms import Arm, arm_panels, as_untreated
from eval.dialdefer.thresholds import Threshold
from eval.scorecard.arms import CardArm
from eval.scorecard.cost import Cost
from evenhand.errors import DataError
from evenhand.run_directory import read_json

CALIBRATED = "calibrated"  # what such an arm is


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
        note = note_of(calibration_in(found, file), str(found.get("train_run")))
        arms.append(replace(base, name=name, arm=name, kind=CALIBRATED, cost=Cost(), note=note))
    return arms


def note_of(calibration: Calibration, train_run: str) -> str:
    """Where thresholds come from."""
    return (
        f"thresholds {calibration.c1.threshold_nats:+.3f} nats for C1 and {calibration.c2.threshold_nats:+.3f} for C2, "
        f"fitted by {calibration.objective} on {calibration.n_items} items of {train_run}"
    )


def calibrated_arm(of: CardArm, files: Mapping[str, Path], base: JudgedRun) -> Arm:
    """A calibrated arm with its verdicts; files: name of each → its thresholds."""
    calibration = calibration_in(read_json(files[of.name]), files[of.name])
    panels = [as_untreated(calibrated(panel, calibration)) for panel in untreated_panels(judge_of_run(base))]
    with_c1 = arm_panels(of.name, base, panels, variant="")
    return Arm(name=of.name, kind=of.kind, run=base, panels=with_c1, orders={}, cost=of.cost, arm=of.arm, note=of.note)


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
