"""`evenhand calibrate TRAIN_RUN TEST_RUN`: thresholds fitted on one run, applied to another, scored as an arm."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from eval.dialdefer.calibration import DDS, OBJECTIVES, calibrate, calibration_table
from eval.dialdefer.differences import arm_differences, difference_table
from eval.dialdefer.findings import score_run
from eval.dialdefer.judges import judge_of_run
from eval.dialdefer.rows import wide_rows
from eval.dialdefer.runs import JudgedRun, load_run, say_warnings
from eval.dialdefer.score_files import write_all
from eval.dialdefer.score_text import score_tables
from eval.dialdefer.scores import OWN
from eval.estimates.comparability import config_differences
from eval.estimates.observed import drawing_of
from eval.estimates.resampling import N_DRAWS, SEED
from eval.options import positive
from eval.report.table import to_markdown, write_tables
from evenhand.errors import DataError
from evenhand.jsonl import write_json
from evenhand.terminal import say


def main(argv: Sequence[str]) -> None:
    """`evenhand calibrate`: print and write the thresholds, the scores with and without them, and the differences."""
    options = calibrate_options(argv)
    train, test = load_run(options.train), load_run(options.test)
    refuse_other_settings(train, test)
    judge, found = calibrate(judge_of_run(train), judge_of_run(test), options.objective)
    scores = score_run(replace(test, panels=judge.panels), ("published",), drawing_of(options))
    rows = wide_rows(scores)
    differences = arm_differences(judge, "published", drawing_of(options))
    tables = [calibration_table(found), difference_table(differences)]
    shown = [row for row in differences if row.setting["c1_source"] == OWN and row.measure in ("dds", "acc")]
    say("\n".join([to_markdown(tables[0]), score_tables(rows), "", to_markdown(difference_table(shown))]))
    say_warnings({run.name: run for run in (train, test)})
    out = options.out or test.path / "calibrated"
    files = [*write_all(out, scores, rows), *write_tables(out, tables)]
    write_json(
        out / "thresholds.json",
        {
            "train_run": train.name,
            "test_run": test.name,
            "objective": options.objective,
            "calibrations": [asdict(calibration) for calibration in found],
        },
    )
    say("written: " + ", ".join(map(str, [*files, out / "thresholds.json"])))


def refuse_other_settings(train: JudgedRun, test: JudgedRun) -> None:
    """Raises DataError when the runs differ in what moves a margin: format, precision, templates."""
    found = [d for d in config_differences(train.config, test.config) if d.serious]
    # Other items are the point; `calibrate` takes the prompt variants that both were asked.
    serious = [
        d
        for d in found
        if not d.what.startswith(
            tuple(f"dialdefer.{key}" for key in ("benchmarks", "prompts.variants", "prompts.arms"))
        )
    ]
    if serious:
        listed = "\n".join(f"  {d.what}: {d.base} when fitted, {d.after} when scored" for d in serious)
        raise DataError(
            f"{train.name} and {test.name} differ in more than their items:\n{listed}\n  Sample both alike."
        )


def calibrate_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand calibrate`."""
    parser = argparse.ArgumentParser(
        prog="evenhand calibrate",
        description="A mitigation without training: for each framing the threshold on log P(1) - log P(2) that serves "
        "a run over train items best, applied to a run over test items and scored as arm `calibrated`. Both runs need "
        "`verdict: margin` and the same model; no item may be in both.",
    )
    parser.add_argument("train", type=Path, metavar="TRAIN_RUN", help="the run that thresholds are fitted on")
    parser.add_argument("test", type=Path, metavar="TEST_RUN", help="the run that they are applied to")
    parser.add_argument(
        "--objective",
        choices=sorted(OBJECTIVES),
        default=DDS,
        help="dds: C1 as it is, and one number on C2's threshold so that it accepts as much, DDS 0 on the train items; "
        "acceptance: half of each framing's claims; accuracy: most claims right, for judges that know (default: dds)",
    )
    parser.add_argument("--out", type=Path, help="folder for the results (default: TEST_RUN/calibrated)")
    parser.add_argument("--draws", type=positive, default=N_DRAWS, help=f"bootstrap draws (default: {N_DRAWS})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"seed of the draws (default: {SEED})")
    return parser.parse_args(argv)
