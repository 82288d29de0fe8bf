"""The words of `evenhand score | compare | report | scorecard`: what all studies share, and the named studies' own."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.estimates.resampling import N_DRAWS, SEED
from eval.runs import is_verdict_file, study_of_run
from evenhand.item_files import HUB, downloaded
from evenhand.registry import STUDIES, load_part
from evenhand.run_directory import CONFIG_FILE, PLAN_FILE


def positive(text: str) -> int:
    """A whole number above zero."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not above zero")
    return number


MAPPING: dict[str, Any] = {
    "type": Path,
    "metavar": "FILE",
    "help": "a YAML file that says which verdicts the samples of a harness's log are, for tasks that "
    "`evenhand export` did not write",
}
FILES = "or .jsonl, .csv (both also .gz) and .parquet files of verdicts, also hf://datasets/..., read together; or "
FILES += "logs of inspect (.eval, .json) and lm-eval (samples_*.jsonl)"
DRAWING: dict[str, dict[str, Any]] = {
    "--draws": {"type": positive, "default": N_DRAWS, "help": f"bootstrap draws (default: {N_DRAWS})"},
    "--all": {"action": "store_true", "help": "print every table, warning and file, not the answer alone"},
    "--seed": {"type": int, "default": SEED, "help": f"seed of the bootstrap (default: {SEED})"},
}
ALLOW: dict[str, Any] = {
    "action": "store_true",
    "help": "compare runs whose prompts, rendering, engine or precision differ, and say so in the results",
}


SOURCES = {
    "nargs": "+",
    "type": Path,
    "metavar": "RUN|FILE",
    "help": f"run directories, the base first; {FILES}",
}
BASE_RUN = {"type": Path, "metavar": "BASE_RUN", "help": "the run of the untrained model"}


def out(default: str) -> dict[str, Any]:
    """--out."""
    return {"type": Path, "help": f"folder for the results (default: {default})"}


def condition(text: str) -> Any:
    """What a word of --fail-if says."""
    from eval.publishing import condition  # loads pandas

    return condition(text)


HANDED_ON: dict[str, dict[str, Any]] = {
    "--fail-if": {
        "action": "append",
        "default": [],
        "type": condition,
        "metavar": "CONDITION",
        "help": "exit with code 4 where a row of scores.json meets it: 'dds.low > 10', or 'dataset=pocket acc < 80'; "
        "may be repeated",
    },
    "--report-to": {
        "action": "append",
        "default": [],
        "choices": ("mlflow", "tensorboard", "trackio", "wandb"),
        "help": "log the scores to a tracker that is installed; may be repeated",
    },
    "--card": {"type": Path, "metavar": "README.md", "help": "a model card whose metadata the scores are put into"},
}
VERBS: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {  # verb → description, its words
    "score": (
        "Each study's measures with 95% intervals, of finished sampling runs.",
        {"sources": SOURCES, "--out": out("RUN/scores"), "--mapping": MAPPING, **HANDED_ON},
    ),
    "compare": (
        "What changed from a base run to one or more runs after it: each measure with its interval, paired by unit. "
        "Runs of several studies may be named together, the base of each before those after it. Refuses runs that "
        "differ in more than the model.",
        {
            "base": BASE_RUN,
            "after": {"nargs": "+", "type": Path, "metavar": "AFTER_RUN", "help": "runs of models made from it"},
            "--out": out("LAST_RUN/compare"),
            "--allow-differences": ALLOW,
        },
    ),
    "report": (
        "report.html, its plots as PNG and SVG, its tables as Markdown, CSV and LaTeX, and scores: of one run, of a "
        "base run and those after it, or of different models side by side. Runs of several studies may stand in it.",
        {
            "sources": SOURCES,
            "--out": out("LAST_RUN/report"),
            "--mapping": MAPPING,
            "--side-by-side": {
                "action": "store_true",
                "help": "the runs are of different models, none of which was made from another: no before and after",
            },
            "--allow-differences": ALLOW,
        },
    ),
    "scorecard": (
        "One row for a base model and each arm made from it: the figures of each study, such as accuracy and |DDS|, "
        "and what the training took, with changes against the base paired by unit. Refuses runs that differ in more "
        "than the model. The cost is read from the training run in which the sampled checkpoint lies.",
        {
            "base": BASE_RUN,
            "arms": {
                "nargs": "*",
                "metavar": "[NAME=]ARM_RUN",
                "help": "sampling runs of checkpoints made from it; without NAME= they are called by their label or "
                "training run; runs of one NAME are seeds of one arm",
            },
            "--against": {
                "action": "append",
                "default": [],
                "metavar": "ARM",
                "help": "also the changes of the other arms against this one; may be repeated",
            },
            "--beside": {
                "action": "append",
                "default": [],
                "metavar": "NAME=RUN",
                "help": "an arm's run of another study, by the name of its row (the base's is `base`): adds that "
                "study's figures; once for each arm that has one",
            },
            "--calibrated": {
                "type": Path,
                "metavar": "FILE",
                "help": "thresholds.json of `evenhand calibrate` for BASE_RUN, as a further arm",
            },
            "--out": out("BASE_RUN/scorecard"),
            "--allow-differences": ALLOW,
        },
    ),
}


def verb_options(verb: str, argv: Sequence[str]) -> argparse.Namespace:
    """The words of a verb, with the options of each study that is named. Ends the program for words that do not fit."""
    description, words = VERBS[verb]
    argv = [str(downloaded(word)) if word.startswith(HUB) else word for word in argv]
    parser = argparse.ArgumentParser(
        prog=f"evenhand {verb}",
        description=description,
        epilog="docs/verdict-files.md lists the columns that files of verdicts have.",
    )
    for study in named_studies(argv):
        add_options(parser, study, verb)
    for name, keys in {**DRAWING, **words}.items():
        parser.add_argument(name, **keys)
    options = parser.parse_args(argv)
    are_files = {is_verdict_file(path) for path in getattr(options, "sources", ())}
    if len(are_files) > 1:
        parser.error(f"{verb} runs and files of verdicts apart: they were not asked alike")
    if True in are_files and not options.out:
        parser.error("files of verdicts need --out DIR")
    if verb == "score" and False in are_files and options.out and len(options.sources) > 1:
        parser.error("--out takes one run; without it each run's scores go into RUN/scores")
    return options


def calibrate_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `calibrate`. Ends the program for words that do not fit."""
    parser = argparse.ArgumentParser(
        prog="evenhand calibrate",
        description="A mitigation without training: for each way of asking the threshold on the margin, such as "
        "log P(1) - log P(2), that serves a run over train items best, for a run over test items (`evenhand scorecard "
        "--calibrated` scores it). Both runs need margins and the same model; no item may be in both.",
    )
    parser.add_argument("train", type=Path, metavar="TRAIN_RUN", help="the run that thresholds are fitted on")
    parser.add_argument("test", type=Path, metavar="TEST_RUN", help="the run that they are for")
    words = "dds: each accepts as much as the baseline (C1), which stays as it is; acceptance: each accepts half"
    parser.add_argument("--objective", choices=("dds", "acceptance"), default="dds", help=f"{words} (default: dds)")
    words = "one pair of thresholds, for the baseline and for all else, over everything that TRAIN_RUN was asked: what "
    words += "a threshold is worth in wordings that it was not fitted in"
    parser.add_argument("--pooled", action="store_true", help=words)
    parser.add_argument("--out", type=Path, help="folder for thresholds.json (default: TEST_RUN/calibrated)")
    return parser.parse_args(argv)


def add_options(parser: argparse.ArgumentParser, study: str, verb: str) -> None:
    """Add a study's own options of a verb."""
    if where := STUDIES[study].options:
        load_part(study, where)(parser, verb)


def named_studies(argv: Sequence[str]) -> list[str]:
    """The studies of the runs and files that stand among the words; all of them where none does, as for --help."""
    pieces = [word.split("=") for word in argv]  # RUN, NAME=RUN, --beside=NAME=RUN
    paths = [Path("=".join(parts[i:])) for parts in pieces for i in range(len(parts)) if "".join(parts[i:])]
    runs = {study_of_run(path) for path in paths if (path / PLAN_FILE).is_file() and (path / CONFIG_FILE).is_file()}
    files = [path for path in paths if is_verdict_file(path) and path.exists()]
    if files and not runs:
        from eval.results import study_of_files  # loads pandas, which --help does without

        runs = {study_of_files(files)}
    return [study for study in STUDIES if study in runs] or list(STUDIES)
