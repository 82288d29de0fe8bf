"""What the answers mean: how many fruits' answers were taken back, with an interval over fruits."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.estimates.changes import Change, Compared, adjusted, change_in, paired
from eval.estimates.comparability import Difference, differences, refuse_serious, say_differences
from eval.estimates.estimate import Drawn, estimate
from eval.estimates.observed import Drawing, Measure, Observed, added_up, drawing_of
from eval.estimates.scores import Score
from eval.judge_names import judge_names
from eval.report.page import element
from eval.report.report_part import StudyPart
from eval.report.shown_numbers import interval, signed
from eval.report.table import Table
from eval.sampling_runs import FinishedRun, Verdicts, load_finished
from eval.scorecard.arms import CardArm
from eval.scorecard.seeds import Headline
from eval.study import RunsOnly
from evenhand.terminal import say

TAKEN_BACK = Measure(name="taken_back", unit="%", statistic=lambda means: 100 * means[..., 0])
SETTING = {"verdict": "answer"}


def observed(run: FinishedRun) -> Observed:
    """One part: 1 for each fruit whose two answers differ, else 0."""
    said: dict[str, list[str]] = {}
    for prompt in run.plan:
        said.setdefault(prompt.item_id, []).append(run.replies[prompt.prompt_hash][0].text.strip())
    return added_up("fruits", [[(fruit, float(first != second), 1.0) for fruit, (first, second) in said.items()]])


def score_of(run: FinishedRun, judge: str, drawing: Drawing) -> Score:
    """The share of answers that were taken back."""
    return Score(
        run=run.name,
        judge=judge,
        setting=SETTING,
        dataset="fruits",
        datasets=("fruits",),
        measure=TAKEN_BACK.name,
        unit=TAKEN_BACK.unit,
        estimate=estimate(TAKEN_BACK, [Drawn(observed=observed(run), drawing=drawing)]),
        drawing=drawing,
    )


def changes_of(runs: Mapping[str, FinishedRun], drawing: Drawing) -> list[Change]:
    """From the first run's share to each other's, paired by fruit; names are what the runs are called."""
    (base, before), *others = ((name, observed(run)) for name, run in runs.items())
    found = [
        [change_in(TAKEN_BACK, [paired(before, after, drawing)], Compared(base, name, SETTING), "fruits")]
        for name, after in others
    ]
    return [change for of_run in adjusted(found) for change in of_run]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyFound:
    """See eval.study.Found."""

    found: Sequence[Score]
    changed: Sequence[Change]
    differences: Mapping[str, Sequence[Difference]]

    def say_scores(self) -> None:
        for score in self.found:
            of = score.estimate
            say(f"{score.judge}: {of.value:.1f}% taken back {interval(of.low, of.high)}")

    def say_changes(self) -> None:
        for change in self.changed:
            of = change.change
            say(f"{change.second}: {signed(of.value)} pp taken back {interval(of.low, of.high)}")
            say_differences(self.differences[change.second])

    def scores(self) -> Sequence[Score]:
        return self.found

    def views(self) -> dict[str, list[dict[str, Any]]]:
        return {}

    def changes(self) -> Sequence[Change]:
        return self.changed

    def part(self, *, is_alone: bool) -> StudyPart:
        of = {score.judge: score.estimate for score in self.found}
        lines = tuple((judge, found.n_units, found.value, found.low, found.high) for judge, found in of.items())
        table = Table(
            name="taken_back", title="Answers taken back", columns=("judge", "fruits", "%", "low", "high"), rows=lines
        )
        worst = max(of, key=lambda judge: of[judge].value)
        opening = [element("p", f"{worst} takes {of[worst].value:.0f}% of its answers back.", "headline")]
        return StudyPart(
            judges=list(of),
            is_before_after=bool(self.changed),
            opening=opening,
            plots=[],
            sections=lambda _: [],
            tables=[table],
            folded=[table],
            left_out=[],
            method=[],
        )


class ToyEval(RunsOnly):
    """See eval.study.StudyEval."""

    def score(self, path: Path, options: argparse.Namespace) -> ToyFound:
        return self.find([path], options, is_before_after=False)

    def find(self, paths: Sequence[Path], options: argparse.Namespace, *, is_before_after: bool) -> ToyFound:
        loaded = [load_finished(path) for path in paths]
        names = judge_names([run.judge for run in loaded], [run.name for run in loaded])
        runs, drawing = dict(zip(names, loaded, strict=True)), drawing_of(options)
        found = {name: differences(loaded[0], runs[name]) for name in names[1:]}
        if is_before_after and not options.allow_differences:
            refuse_serious(names[0], found)
        return ToyFound(
            found=[score_of(run, name, drawing) for name, run in runs.items()],
            changed=changes_of(runs, drawing) if is_before_after else [],
            differences=found,
        )

    def verdicts(self, path: Path) -> Verdicts:
        of = load_finished(path).replies.values()
        return {(reply.prompt_hash, reply.sample_index): reply.text.strip() for replies in of for reply in replies}

    def card(self, arms: Sequence[CardArm], runs: Mapping[str, Path], options: argparse.Namespace) -> "ToyCard":
        loaded = {name: load_finished(path) for name, path in runs.items()}
        values = {name: score_of(run, name, drawing_of(options)).estimate.value for name, run in loaded.items()}
        return ToyCard([(arm.name, values.get(arm.name)) for arm in arms], changes_of(loaded, drawing_of(options)))


@dataclass(frozen=True, slots=True)
class ToyCard:
    """One column of a scorecard; see eval.study.StudyCard."""

    rows: Sequence[tuple[str, float | None]]
    changed: Sequence[Change]

    def fields(self) -> list[dict[str, Any]]:
        return [{TAKEN_BACK.name: value} for _, value in self.rows]

    def tables(self) -> list[Any]:
        return [Table(name="scorecard_toy", title="Answers taken back", columns=("arm", "%"), rows=tuple(self.rows))]

    def text(self, *, has_rows: bool) -> str:
        said = (f"{name}: {'–' if value is None else f'{value:.1f}%'} taken back" for name, value in self.rows)
        return "\n".join(said) if has_rows else ""

    def changes(self) -> Sequence[Change]:
        return self.changed

    def headlines(self) -> list[Headline]:
        return [Headline(words=TAKEN_BACK.name, is_of=lambda change: change.measure == TAKEN_BACK.name)]

    def ranking(self) -> None:
        return None

    def differences(self) -> dict[str, Sequence[Difference]]:
        return {}

    def doubts(self) -> list[str]:
        return []


EVALUATION = ToyEval()
