"""`evenhand scorecard BASE_RUN [NAME=]ARM_RUN...`: a base model and its arms, one row each."""

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from eval.card_arms import refuse_repeated
from eval.command_options import add_reading_options, add_report_options
from eval.dialdefer.findings import refuse_several_readings
from eval.dialdefer.runs import JudgedRun, load_run, say_warnings
from eval.dialdefer.score_files import STUDY
from eval.dialdefer.scorecard.arms import Arm, arm_names, base_arm, split_word, trained_arm
from eval.dialdefer.scorecard.calibrated import calibrated_arm, calibrated_names
from eval.dialdefer.scorecard.card import make_scorecard
from eval.dialdefer.scorecard.printed import scorecard_text
from eval.dialdefer.scorecard.tables import all_tables
from eval.dialdefer.scorecard.words import difference_sentences
from eval.estimates.changes import Change
from eval.estimates.comparability import Difference, differences, refuse_serious
from eval.estimates.observed import drawing_of
from eval.estimates.result_files import write_changes
from eval.report.console import WIDTH, wrapped
from eval.report.result_files import write_rows
from eval.report.table import write_tables
from eval.run_studies import runs_by_study
from eval.study import Beside, evaluation_of
from evenhand.terminal import say


def main(argv: Sequence[str]) -> None:
    """`evenhand scorecard`: print the scorecard, write scorecard.json, scorecard.csv and its tables."""
    options = scorecard_options(argv)
    arms, found = load_arms(options)
    card = make_scorecard(arms, options.against, options.denominator, drawing_of(options))
    rows, tables = card.as_rows(), all_tables(card)
    say(scorecard_text(card))
    changes: dict[str, Sequence[Change]] = {STUDY: card.every_change()}
    for study, beside in beside_cards(arms, options).items():
        rows = [{**row, **fields} for row, fields in zip(rows, beside.fields(), strict=True)]
        tables += beside.tables()
        say(f"\n{beside.text()}")
        found = {**found, **beside.all_differences()}
        changes[study] = beside.changes()
    for sentence in difference_sentences(found):
        say(wrapped([sentence]))
    say_warnings({arm.name: arm.run for arm in arms if arm.kind != "calibrated"})  # thresholds are on the base's run
    out = options.out or options.base / "scorecard"
    files = write_changes(out, "scorecard_changes", changes)
    files += [*write_rows(out, "scorecard", rows), *write_tables(out, tables)]
    names = ", ".join(sorted({file.stem for file in files} - {"scorecard", "scorecard_changes"}))
    say(f"\nwritten to {out}: scorecard.json and .csv, scorecard_changes.json and .csv, and as .md, .csv and .tex")
    say(textwrap.fill(names, WIDTH, initial_indent="  ", subsequent_indent="  "))


def beside_cards(arms: Sequence[Arm], options: argparse.Namespace) -> dict[str, Beside]:
    """The columns of every other study of which runs were named with --beside."""
    words: dict[str, list[str]] = {}
    for word in options.beside:
        # An arm's name may hold "=" itself: the run is the longest rest that is a run.
        path = next((p for p in map(Path, rests(word)) if p.is_dir()), Path(word.partition("=")[2]))
        (study,) = runs_by_study([path])
        words.setdefault(study, []).append(word)
    return {study: evaluation_of(study).beside(arms, of_study, options) for study, of_study in words.items()}


def rests(word: str) -> list[str]:
    """What stands behind each "=" of a word."""
    return [word[i + 1 :] for i, letter in enumerate(word) if letter == "="]


def load_arms(options: argparse.Namespace) -> tuple[list[Arm], Mapping[str, Sequence[Difference]]]:
    """(the base and its arms, in what their runs differ). Raises DataError where they are no like for like."""
    words = [split_word(word) for word in options.arms]
    refuse_repeated([options.base, *(path for _, path in words)])
    base, *runs = (load_run(path, options.parser) for path in [options.base, *(path for _, path in words)])
    refuse_several_readings([base, *runs])
    thresholds = calibrated_names(options.calibrated)
    names = arm_names([*(name for name, _ in words)], runs, taken=thresholds)
    by_name: dict[str, JudgedRun] = dict(zip(names, runs, strict=True))
    found = {name: differences(base, run) for name, run in by_name.items()}
    if not options.allow_differences:
        refuse_serious(base.name, {f"{name} ({by_name[name].name})": of for name, of in found.items()})
    trained = [trained_arm(name, run, base, options.wording) for name, run in by_name.items()]
    calibrated = [calibrated_arm(name, file, base) for name, file in thresholds.items()]
    return [base_arm(base, options.wording), *trained, *calibrated], found


def scorecard_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand scorecard`."""
    parser = argparse.ArgumentParser(
        prog="evenhand scorecard",
        description="One row for a base model and each arm made from it: accuracy, |DDS| with own and with fixed C1, "
        "over-corrections, r/AIO where it was asked, and what the training took, with changes against the base paired "
        "by item. Refuses runs that differ in more than the model.",
        epilog="The cost is read from the training run in which the sampled checkpoint lies (merged-bf16, merged-nf4).",
    )
    add_arms(parser)
    parser.add_argument(
        "--wording",
        default="",
        help="the wording to compare where several were sampled, as tables call it: both_orders, v1, ... (default: the "
        "main one)",
    )
    parser.add_argument("--out", type=Path, help="folder for the results (default: BASE_RUN/scorecard)")
    add_reading_options(parser, "scorecard")
    add_report_options(parser)
    options = parser.parse_args(argv)
    if not (options.arms or options.calibrated):
        parser.error("name at least one ARM_RUN, or --calibrated FILE")
    if options.wording and options.calibrated:
        parser.error("--calibrated is about the main wording; leave --wording out")
    return options


def add_arms(parser: argparse.ArgumentParser) -> None:
    """The base, its arms, and what is known of them beside their own runs."""
    parser.add_argument("base", type=Path, metavar="BASE_RUN", help="the sampling run of the untrained model")
    parser.add_argument(
        "arms",
        nargs="*",
        metavar="[NAME=]ARM_RUN",
        help="sampling runs of checkpoints made from it; without NAME= they are called by their label or training run",
    )
    parser.add_argument(
        "--calibrated",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="thresholds.json of `evenhand calibrate TRAIN_RUN BASE_RUN`, as a further arm; may be repeated",
    )
    parser.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="ARM",
        help="also the changes of the other arms against this one; may be repeated",
    )
    parser.add_argument(
        "--beside",
        action="append",
        default=[],
        metavar="NAME=RUN",
        help="an arm's run of another study, by the name of its row (the base's is `base`): adds that study's figures "
        "and their changes; once for each arm that has one",
    )
