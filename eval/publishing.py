"""What `evenhand score` hands on: to a model card, to experiment trackers, and to a CI job as its exit code."""

import operator
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import pandas as pd

from eval.estimates.changes import SCORE_COLUMNS
from eval.options import Options
from eval.results import Results, varying
from evenhand.config import did_you_mean
from evenhand.errors import ConfigError, DataError
from evenhand.files import write_whole
from evenhand.terminal import harmless, say

OWN = ("study", "unparsed", "unparsed_in")  # of rows here, beside those of scores.json
FAILED, UNDECIDED = 4, 5  # exit codes: 1 and 2 are errors
PROJECT = "evenhand"  # of trackers
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
WORD = re.compile(r"""(\w+)=("[^"]*"|'[^']*'|\S+)\s+""")
CONDITION = re.compile(
    r"""((?:\w+=(?:"[^"]*"|'[^']*'|\S+)\s+)*)(\w+)(?:\.(value|low|high))?\s*([<>]=?)\s*([-+]?\d+(?:\.\d+)?)"""
)
Gate = Mapping[str, Callable[[Any], bool]]  # see eval.evaluation.Evaluation
RUN_NAME = {"wandb": "name", "trackio": "name", "mlflow": "run_name"}  # tracker → accelerate's word for it


def condition(text: str) -> re.Match[str]:
    """The parts of a word of --fail-if: name=value words, measure, end of the interval, comparison, bound."""
    parts = CONDITION.fullmatch(text.strip())
    if parts is None:
        raise DataError(f"--fail-if '{text}': write MEASURE.low > 10, with name=value words before it or none")
    return parts


def rows_meant(text: str, rows: Sequence[Mapping[str, Any]], gated: Gate) -> list[Mapping[str, Any]]:
    """The rows of one run that a condition is about. Raises DataError where a judge has none, unless one is named."""
    words, measure, *_ = condition(text).groups()
    where = {"measure": measure} | {name: value.strip("\"'") for name, value in WORD.findall(words)}
    meant = [row for row in rows if all(name in where or is_meant(row.get(name)) for name, is_meant in gated.items())]
    for name, value in where.items():
        if not any(name in row for row in rows):
            raise DataError(f"--fail-if '{text}': no row has a column {name}. {did_you_mean(name, [*rows[0]])}")
        known = sorted({str(row.get(name)) for row in meant})
        meant = [row for row in meant if str(row.get(name)) == value]
        if not meant:
            hint = did_you_mean(value, known)
            raise DataError(f"--fail-if '{text}': no row of {rows[0]['run']} has {name}={value}. {hint}")
    lacking = {row["judge"] for row in rows} - {row["judge"] for row in meant}
    if lacking and "judge" not in where:
        raise DataError(f"--fail-if '{text}': no row is of {', '.join(sorted(lacking))}; choose another by judge=NAME")
    return meant


def decided(text: str, rows: Sequence[Mapping[str, Any]], gated: Gate) -> tuple[list[str], list[str]]:
    """(what the rows of one run say that meet a condition, what those say of which that is not known).

    "dataset=pocket dds.low > 10" looks at that end of the interval. Without an end the whole interval must be above 10.
    What is met must be met however unparsed replies are counted.
    """
    *_, end, comparison, bound = condition(text).groups()
    names, met, open_ = varying_names(rows), list[str](), list[str]()
    for row in rows_meant(text, rows, gated):
        values = [row[each] for each in ([end] if end else ["value", "low", "high"]) if row[each] is not None]
        moves = (0.0, *row.get("unparsed", ()))
        ways = [[COMPARISONS[comparison](value + move, float(bound)) for value in values] for move in moves]
        where = f"{row['run']}: {row_name(row, names)}: {end or 'value'}"
        if not values:
            open_.append(f"{where} is not known")
        elif all(map(all, ways)):
            met.append(f"--fail-if '{text}' is met by {where} {row[end or 'value']:.4g}")
        elif any(map(any, ways)):
            is_interval = any(ways[0]) and not all(ways[0])
            hangs = "" if is_interval else f", depending on how unparsed replies are counted. {row['unparsed_in']}"
            ends = sorted(value + move for value in values for move in (moves[:1] if is_interval else moves))
            open_.append(f"{where} is {ends[0]:.4g} to {ends[-1]:.4g}{hangs}")
    return met, [f"--fail-if '{text}' cannot be decided: {line}" for line in open_]


def varying_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of what was asked and how it was read, what tells rows apart."""
    frame = pd.DataFrame(rows, dtype=object)
    return varying(frame, [name for name in frame if name == "judge" or name not in (*OWN, *SCORE_COLUMNS)])


def row_name(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """dataset/measure, with the setting as far as it varies, in characters that every tracker takes."""
    setting = [f"{name}-{row[name]}" for name in names if row.get(name) is not None]
    return re.sub(r"[^\w./ -]", "_", "/".join([str(row["dataset"]), *setting, str(row["measure"])]))


def hand_on(every: Sequence[Results], options: Options) -> None:
    """Do what the options of `score` say with the scores. Ends the program with code 4 where a condition is met by a
    run, else with 5 where one cannot be decided."""
    met, undecided, cases = list[str](), list[str](), Element("testsuite", name=PROJECT)
    for results in every:
        of_study = handed_rows(results)
        if options.card:
            write_card(options.card, of_study)
        for tracker in options.report_to:
            track(tracker, of_study)
        for text in options.fail_if:
            of_run = decided(text, of_study, results.evaluation.gated)
            met, undecided = met + of_run[0], undecided + of_run[1]
            case = SubElement(cases, "testcase", classname=str(of_study[0]["run"]), name=text)
            for kind, lines in zip(("failure", "skipped"), of_run, strict=True):
                if lines:
                    SubElement(case, kind, message=harmless("\n".join(lines)))
    if options.junit:
        write_whole(options.junit, tostring(cases, encoding="unicode", xml_declaration=True))
    if met or undecided:
        say("\n".join([*met, *undecided]), sys.stderr)
        sys.exit(FAILED if met else UNDECIDED)


def handed_rows(results: Results) -> list[dict[str, Any]]:
    """The scores of some results with what is handed on beside them."""
    words = {"study": results.study, "unparsed_in": results.unparsed_in(results.judges)}
    return [{**words, **row.as_dict(), "unparsed": row.estimate.unparsed} for row in results.score_rows]


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
    kind, name = LOGGER_TYPE_TO_CLASS[tracker], RUN_NAME.get(tracker)
    opened = kind(PROJECT, **{name: run}) if name else kind(run, logging_dir=Path("runs") / tracker)
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
