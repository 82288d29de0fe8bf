"""What `evenhand score` hands on: to a model card, to experiment trackers, and to a CI job as its exit code."""

import operator
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.estimates.changes import SCORE_COLUMNS
from eval.options import Options
from eval.results import Results, varying
from evenhand.config import did_you_mean
from evenhand.errors import ConfigError, DataError
from evenhand.files import write_whole
from evenhand.terminal import say

FAILED = 4  # exit code: 1 and 2 are errors
PROJECT = "evenhand"  # of trackers
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
CONDITION = re.compile(r"((?:\w+=\S+\s+)*)(\w+)(?:\.(value|low|high))?\s*([<>]=?)\s*([-+]?\d+(?:\.\d+)?)")
RUN_NAME = {"wandb": "name", "trackio": "name", "mlflow": "run_name"}  # tracker → accelerate's word for it


@dataclass(frozen=True, slots=True)
class Condition:
    """ "dataset=pocket dds.low > 10": of the rows with these values, one whose end of the interval is above 10."""

    text: str
    where: Mapping[str, str]
    measure: str
    end: str
    is_met: Callable[[float, float], bool]
    bound: float

    def rows_met(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """What the rows that meet it say. Raises DataError where no row is meant, or none is met and one unknown."""
        known = sorted({row["measure"] for row in rows})
        if self.measure not in known:
            raise DataError(f"--fail-if '{self.text}': no measure is called so. {did_you_mean(self.measure, known)}")
        meant = [row for row in rows if self.measure == row["measure"]]
        for name, value in self.where.items():
            there = sorted({str(row.get(name)) for row in meant})
            meant = [row for row in meant if str(row.get(name)) == value]
            if not meant:
                raise DataError(f"--fail-if '{self.text}': no row has {name}={value}; there are {', '.join(there)}")
        names = varying_names(rows)
        met = [row for row in meant if row[self.end] is not None and self.is_met(row[self.end], self.bound)]
        unknown = [row_name(row, names) for row in meant if row[self.end] is None]
        if unknown and not met:
            raise DataError(f"--fail-if '{self.text}': {self.end} is not known of {', '.join(unknown)}; leave that out")
        return [f"{row['run']}: {row_name(row, names)}: {self.end} {row[self.end]:.4g}" for row in met]


def condition(text: str) -> Condition:
    """What a word of --fail-if says. Raises DataError."""
    parts = CONDITION.fullmatch(text.strip())
    if parts is None:
        raise DataError(f"--fail-if '{text}': write MEASURE.low > 10, with name=value words before it or none")
    where = dict(word.split("=", 1) for word in parts[1].split())
    return Condition(text, where, parts[2], parts[3] or "value", COMPARISONS[parts[4]], float(parts[5]))


def rows_of(results: Results) -> list[dict[str, Any]]:
    """The rows of scores.json."""
    return [{"study": results.study, **row.as_dict()} for row in results.score_rows]


def varying_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of what was asked and how it was read, what tells rows apart."""
    import pandas as pd

    frame = pd.DataFrame(rows, dtype=object)
    return varying(frame, [name for name in frame if name == "judge" or name not in ("study", *SCORE_COLUMNS)])


def row_name(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """dataset/measure, with the setting as far as it varies, in characters that every tracker takes."""
    setting = [f"{name}-{row[name]}" for name in names if row.get(name) is not None]
    return re.sub(r"[^\w./ -]", "_", "/".join([str(row["dataset"]), *setting, str(row["measure"])]))


def hand_on(every: Sequence[Results], options: Options) -> None:
    """Do what the options of `score` say with the scores. Ends the program with code 4 where a condition is met."""
    for results in every:
        rows = rows_of(results)
        if options.card:
            write_card(options.card, rows)
        for tracker in options.report_to:
            track(tracker, rows)
    rows = [row for results in every for row in rows_of(results)]
    met = [
        f"--fail-if '{each.text}' is met by {row}"
        for each in map(condition, options.fail_if)
        for row in each.rows_met(rows)
    ]
    if met:
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
