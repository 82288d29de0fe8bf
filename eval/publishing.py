"""What `evenhand score` hands on: to a model card, to experiment trackers, and to a CI job as its exit code."""

import operator
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from eval.estimates.changes import SCORE_COLUMNS
from eval.options import Options
from eval.results import Results, varying
from evenhand.config import did_you_mean
from evenhand.errors import ConfigError, DataError
from evenhand.files import write_whole
from evenhand.terminal import say

OWN = ("study", "unparsed", "unparsed_in")  # of rows here, beside those of scores.json
FAILED = 4  # exit code: 1 and 2 are errors
PROJECT = "evenhand"  # of trackers
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
CONDITION = re.compile(r"((?:\w+=\S+\s+)*)(\w+)(?:\.(value|low|high))?\s*([<>]=?)\s*([-+]?\d+(?:\.\d+)?)")
RUN_NAME = {"wandb": "name", "trackio": "name", "mlflow": "run_name"}  # tracker → accelerate's word for it


def condition(text: str) -> re.Match[str]:
    """The parts of a word of --fail-if: name=value words, measure, end of the interval, comparison, bound."""
    parts = CONDITION.fullmatch(text.strip())
    if parts is None:
        raise DataError(f"--fail-if '{text}': write MEASURE.low > 10, with name=value words before it or none")
    return parts


def rows_met(text: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the rows say that meet a condition, however unparsed replies are counted.

    Raises DataError where no row is meant, or none is met and one is unknown or depends on how they are counted.

    "dataset=pocket dds.low > 10" is met by rows with these values of which that end of the interval is above 10.
    """
    words, measure, end, comparison, bound = condition(text).groups()
    where = {"measure": measure} | dict(word.split("=", 1) for word in words.split())
    meant = list(rows)
    for name, value in where.items():
        known = sorted({str(row.get(name)) for row in meant})
        meant = [row for row in meant if str(row.get(name)) == value]
        if not meant:
            raise DataError(f"--fail-if '{text}': no row has {name}={value}. {did_you_mean(value, known)}")
    names, end = varying_names(rows), end or "value"
    is_met = COMPARISONS[comparison]
    met, hangs = list[Mapping[str, Any]](), list[str]()
    for row in meant:
        ends = [] if row[end] is None else [row[end] + added for added in (0.0, *row.get("unparsed", ()))]
        ways = {is_met(value, float(bound)) for value in ends}
        if ways == {True}:
            met.append(row)
        elif True in ways:
            hangs.append(f"{row_name(row, names)} is {ends[1]:.4g} to {ends[2]:.4g}. {row['unparsed_in']}")
    if hangs and not met:
        raise DataError(
            f"--fail-if '{text}': whether it is met depends on how unparsed replies are counted: "
            f"{end} of {'; '.join(hangs)}"
        )
    unknown = [row_name(row, names) for row in meant if row[end] is None]
    if unknown and not met:
        raise DataError(f"--fail-if '{text}': {end} is not known of {', '.join(unknown)}; leave that out")
    return [f"--fail-if '{text}' is met by {row['run']}: {row_name(row, names)}: {end} {row[end]:.4g}" for row in met]


def varying_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of what was asked and how it was read, what tells rows apart."""
    frame = pd.DataFrame(rows, dtype=object)
    return varying(frame, [name for name in frame if name == "judge" or name not in (*OWN, *SCORE_COLUMNS)])


def row_name(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """dataset/measure, with the setting as far as it varies, in characters that every tracker takes."""
    setting = [f"{name}-{row[name]}" for name in names if row.get(name) is not None]
    return re.sub(r"[^\w./ -]", "_", "/".join([str(row["dataset"]), *setting, str(row["measure"])]))


def hand_on(every: Sequence[Results], options: Options) -> None:
    """Do what the options of `score` say with the scores. Ends the program with code 4 where a condition is met."""
    rows = []
    for results in every:
        words = {"study": results.study, "unparsed_in": results.unparsed_in(results.judges)}
        of_study = [{**words, **row.as_dict(), "unparsed": row.estimate.unparsed} for row in results.score_rows]
        if options.card:
            write_card(options.card, of_study)
        for tracker in options.report_to:
            track(tracker, of_study)
        rows += of_study
    if met := [line for text in options.fail_if for line in rows_met(text, rows)]:
        say("\n".join(met), sys.stderr)
        sys.exit(FAILED)


def track(tracker: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Log every value and both ends of its interval as metrics of a tracker's run, which is called as the run is."""
    from accelerate import PartialState
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS, get_available_trackers

    if tracker not in map(str, get_available_trackers()):
        raise ConfigError(f"--report-to {tracker}: is not installed; `pip install` it, or leave it out")
    PartialState(cpu=True)  # its trackers ask which process they are in
    run, names, metrics = str(rows[0]["run"]), varying_names(rows), dict[str, float]()
    for row in rows:
        for end in ("value", "low", "high"):
            if row[end] is not None:
                metrics[f"{row_name(row, names)}.{end}".removesuffix(".value")] = float(row[end])
    kind = LOGGER_TYPE_TO_CLASS[tracker]
    if tracker in RUN_NAME:
        opened = kind(PROJECT, **{RUN_NAME[tracker]: run})
    else:
        opened = kind(run, logging_dir=Path("runs") / tracker)
    opened.start()
    opened.log(metrics, step=0)
    opened.finish()
    say(f"{len(metrics)} metrics of {run} are in {tracker}")


def write_card(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Put shares, shifts and scores, over as many datasets as there are, into the results in a model card's metadata.

    Results of others stay, and so do those of other settings and datasets.
    """
    from huggingface_hub import EvalResult, ModelCard

    if not path.is_file():
        raise DataError(f"{path}: is no file; name a model card, such as README.md of a merged checkpoint")
    most, names = max(len(row["datasets"]) for row in rows), varying_names(rows)
    new = [
        EvalResult(
            task_type="text-generation",
            dataset_type=str(row["dataset"]),
            dataset_name=f"{row['study']}: {', '.join(row['datasets'])}",
            dataset_config=", ".join(f"{name}={row[name]}" for name in names if row.get(name) is not None) or None,
            metric_type=str(row["measure"]),
            metric_name=f"{row['measure']} ({row['unit']})",
            metric_value=float(row["value"]),
            metric_args={end: float(row[end]) for end in ("low", "high") if row[end] is not None} or None,
        )
        for row in rows
        if row["value"] is not None and row["unit"] not in ("count", "p") and len(row["datasets"]) == most
    ]
    card = ModelCard.load(path)
    card.data.model_name = card.data.model_name or path.resolve().parent.name
    ours = {(each.unique_identifier, each.metric_type) for each in new}
    kept = [old for old in card.data.eval_results or () if (old.unique_identifier, old.metric_type) not in ours]
    card.data.eval_results = [*kept, *new]
    write_whole(path, str(card))
    say(f"{len(new)} results are in {path}")
