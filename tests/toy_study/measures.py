"""What the answers mean: how many fruits' answers were taken back, with an interval over fruits."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eval.card_arms import CardArm
from eval.estimates.comparability import Difference, differences, refuse_serious, say_differences
from eval.estimates.resampling import FloatArray, percentile_interval, resampled_sums, rng_for
from eval.report.page import element
from eval.report.report_part import StudyPart
from eval.report.result_files import write_rows
from eval.report.shown_numbers import interval, signed
from eval.report.table import Table
from eval.sampling_runs import FinishedRun, load_finished
from evenhand.errors import DataError
from evenhand.terminal import say

TAKEN_BACK = "taken_back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The share of answers that were taken back, in percent, with its 95 % interval."""

    judge: str
    n_fruits: int
    taken_back: float
    low: float
    high: float


def taken_back(run: FinishedRun) -> FloatArray:
    """(fruits, 1) 1 where the two answers about a fruit differ, else 0; fruits in the order of the plan."""
    said: dict[str, list[str]] = {}
    for prompt in run.plan:
        said.setdefault(prompt.item_id, []).append(run.replies[prompt.prompt_hash][0].text.strip())
    return np.array([[float(first != second)] for first, second in said.values()])


def row_of(judge: str, values: FloatArray, options: argparse.Namespace) -> Row:
    """The mean of one column, and its percentile interval over resampled fruits."""
    draws = resampled_sums(values, options.draws, rng_for(options.seed, "fruits"))[:, 0] / len(values)
    low, high = percentile_interval(100 * draws) or (float("nan"), float("nan"))
    return Row(judge=judge, n_fruits=len(values), taken_back=100 * float(values.mean()), low=low, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyFound:
    """See eval.study.Found."""

    rows: Sequence[Row]
    changes: Sequence[Row]  # each run against the first, paired by fruit
    differences: Sequence[Sequence[Difference]]

    def say_scores(self) -> None:
        for row in self.rows:
            say(f"{row.judge}: {row.taken_back:.1f}% taken back {interval(row.low, row.high)}")

    def say_changes(self) -> None:
        for row, found in zip(self.changes, self.differences, strict=True):
            say(f"{row.judge}: {signed(row.taken_back)} pp taken back {interval(row.low, row.high)}")
            say_differences(found)

    def write(self, out: Path) -> list[Path]:
        return write_rows(out, "toy", [as_dict(row) for row in self.rows])

    def part(self, *, is_alone: bool) -> StudyPart:
        lines = tuple((row.judge, row.n_fruits, row.taken_back, row.low, row.high) for row in self.rows)
        table = Table(
            name="taken_back", title="Answers taken back", columns=("judge", "fruits", "%", "low", "high"), rows=lines
        )
        worst = max(self.rows, key=lambda row: row.taken_back)
        opening = [element("p", f"{worst.judge} takes {worst.taken_back:.0f}% of its answers back.", "headline")]
        return StudyPart(
            judges=[row.judge for row in self.rows],
            is_before_after=bool(self.changes),
            opening=opening,
            plots=[],
            sections=lambda _: [],
            tables=[table],
            folded=[table],
            left_out=[],
            method=[],
        )


class ToyEval:
    """See eval.study.StudyEval."""

    reads_files = False
    columns_help = ""

    def add_options(self, parser: argparse.ArgumentParser, verb: str) -> None:
        pass

    def score(self, paths: Sequence[Path], options: argparse.Namespace) -> None:
        for path in paths:
            found = self.find([path], options, is_before_after=False)
            found.say_scores()
            found.write(options.out or path / "scores")

    def score_files(self, options: argparse.Namespace) -> None:
        raise DataError("fruits are not read from files")

    def find(self, paths: Sequence[Path], options: argparse.Namespace, *, is_before_after: bool) -> ToyFound:
        base, *others = runs = [load_finished(path) for path in paths]
        found = [differences(base, run) for run in others]
        for run, of_run in zip(others, found, strict=True):
            if is_before_after and not options.allow_differences:
                refuse_serious(base, run, of_run)
        changes = [row_of(run.judge, taken_back(run) - taken_back(base), options) for run in others]
        rows = [row_of(run.judge, taken_back(run), options) for run in runs]
        return ToyFound(rows=rows, changes=changes if is_before_after else [], differences=found)

    def find_files(self, options: argparse.Namespace) -> ToyFound:
        raise DataError("fruits are not read from files")

    def beside(self, arms: Sequence[CardArm], words: Sequence[str], options: argparse.Namespace) -> "ToyBeside":
        named = {name: Path(path) for name, _, path in (word.partition("=") for word in words)}
        found = {name: row_of(name, taken_back(load_finished(path)), options) for name, path in named.items()}
        return ToyBeside([(arm.name, found.get(arm.name)) for arm in arms])


@dataclass(frozen=True, slots=True)
class ToyBeside:
    """One column of a scorecard; see eval.study.Beside."""

    rows: Sequence[tuple[str, Row | None]]

    def fields(self) -> list[dict[str, Any]]:
        return [{TAKEN_BACK: None if row is None else row.taken_back} for _, row in self.rows]

    def tables(self) -> list[Any]:
        lines = tuple((name, None if row is None else row.taken_back) for name, row in self.rows)
        return [Table(name="scorecard_toy", title="Answers taken back", columns=("arm", "%"), rows=lines)]

    def text(self) -> str:
        return "\n".join(
            f"{name}: {'–' if row is None else f'{row.taken_back:.1f}%'} taken back" for name, row in self.rows
        )

    def all_differences(self) -> dict[str, Sequence[Any]]:
        return {}


def as_dict(row: Row) -> dict[str, Any]:
    """A row as files have it."""
    return {"judge": row.judge, "n_fruits": row.n_fruits, TAKEN_BACK: row.taken_back, "low": row.low, "high": row.high}


EVALUATION = ToyEval()
