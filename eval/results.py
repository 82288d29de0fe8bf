"""What a study gives to have its runs scored, compared, reported and put on a scorecard; and the results of some runs.

completions → verdicts → observed columns → estimates and changes → one long frame → tables, sentences, plots.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from eval.estimates.changes import (
    Change,
    Compared,
    Score,
    adjusted,
    change_in,
    changes_frame,
    family,
    paired,
    scores_frame,
)
from eval.estimates.comparability import Difference, differences, refuse_serious
from eval.estimates.estimate import Drawn, Measure, Observed, Setting, drawing_of, estimate
from eval.report.tables import TableSpec, console, sentences, significance, wrapped
from eval.runs import SampledRun, Verdicts, judge_names, load_finished, refuse_repeated
from evenhand.errors import DataError
from evenhand.registry import STUDIES, load_part
from evenhand.terminal import say


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """What one judge did in one setting: the columns of each dataset, and the measures over them.

    averages: name → the datasets that it is over. Blocks of two judges are compared where their settings and measures
    are equal.
    """

    setting: Setting
    measures: Sequence[Measure]
    parts: Mapping[str, Observed]
    averages: Mapping[str, Sequence[str]]

    @property
    def key(self) -> tuple[Any, ...]:
        """What a block of another judge is compared by."""
        return *self.setting.items(), *(measure.name for measure in self.measures)

    @property
    def over(self) -> dict[str, Sequence[str]]:
        """Each dataset, then each average, with the datasets that it is over."""
        return {**{dataset: [dataset] for dataset in self.parts}, **self.averages}


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFigure:
    """A figure of the scorecard: the changes that have these values of measure, dataset or the setting."""

    name: str  # of its columns in scorecard.csv
    words: str
    where: Mapping[str, Any]
    is_main: bool = True  # its changes are printed; else its values alone
    is_absolute: bool = False  # a mean of absolute values, which noise raises
    digits: int = 1

    def is_of(self, change: Change) -> bool:
        """Whether a change is one in this figure."""
        row = {**change.setting, "measure": change.measure, "dataset": change.dataset}
        return all(row.get(name) == value for name, value in self.where.items())


class Evaluation:
    """A study's part of eval; a study overrides what is its own.

    A study's judges are what its `load` gives: by default a finished run. `words` is a jinja2 template, or its file,
    with parts behind lines `## scores` (sentences about levels; the first answers `heading` with Yes, No or Cannot
    tell), `## changes` (before and after), `## reading` (what the figures are) and `## method`; it sees what `facts`
    gives, and `results`.
    """

    layout: ClassVar[Any] = None  # of files of its verdicts; None: it reads none
    heading: ClassVar[str] = ""  # of its section of a report: the question that it answers
    words: ClassVar[str | Path] = ""
    measure_words: ClassVar[Mapping[str, str]] = {}  # measure → what tables call it
    headline: ClassVar[Mapping[str, Any]] = {}  # column of scores → value: the figures that another harness prints
    card_figures: ClassVar[Sequence[CardFigure]] = ()
    card_note: ClassVar[str] = ""  # what its figures are
    lowest: ClassVar[Sequence[str]] = ()  # figures to rank arms by, the lowest first: the first that is known
    kept: ClassVar[Sequence[str]] = ()  # figures in which a significant loss takes an arm out of the ranking
    mild_keys: ClassVar[Sequence[str]] = ()  # config keys that say which prompts were asked; see comparability

    def load(self, path: Path, options: argparse.Namespace) -> Any:
        """A complete run, as `observe` takes it; it has name, judge, config, provenance, plan and rendered."""
        return load_finished(path)

    def load_all(self, paths: Sequence[Path], options: argparse.Namespace) -> dict[str, Any]:
        """What tables call it → each judge of some runs, one a run unless a study says otherwise.

        Raises DataError for a run that is named twice.
        """
        refuse_repeated(paths)
        loaded = [self.load(path, options) for path in paths]
        names = judge_names([run.judge for run in loaded], [run.name for run in loaded])
        if len({*names}) < len(names):
            raise DataError(f"{paths[0]}: two of the runs are called alike, {names[0]}; give one folder another name")
        return dict(zip(names, loaded, strict=True))

    def load_files(self, options: argparse.Namespace) -> dict[str, Any]:
        """Judge → the same of files of verdicts."""
        raise DataError(f"{options.sources[0]}: verdicts of this study are not read from files")

    def observe(self, judge: Any, options: argparse.Namespace) -> Iterable[Block]:
        """What a judge did in each setting."""
        raise NotImplementedError

    def pooled(self, judges: Mapping[str, Any]) -> Mapping[str, Any]:
        """Judges side by side, and those that are made of several of them, which have scores alone."""
        return judges

    def scores(self, judges: Mapping[str, Any], options: argparse.Namespace) -> list[Score]:
        """Every measure of every judge in each setting, dataset and average."""
        drawing = drawing_of(options)
        return [
            Score(
                run=judge.name,
                judge=name,
                setting=block.setting,
                dataset=over,
                datasets=tuple(datasets),
                measure=measure.name,
                unit=measure.unit,
                estimate=estimate(measure, [Drawn(observed=block.parts[d], drawing=drawing) for d in datasets]),
                drawing=drawing,
            )
            for name, judge in judges.items()
            for block in self.observe(judge, options)
            for over, datasets in block.over.items()
            for measure in block.measures
        ]

    def changes(self, judges: Mapping[str, Any], options: argparse.Namespace) -> list[Change]:
        """Every measure's change between two judges, paired by unit, where both were asked."""
        (first, before), (second, after) = judges.items()
        drawing, changes = drawing_of(options), list[Change]()
        theirs = {block.key: block for block in self.observe(after, options)}
        for block in self.observe(before, options):
            other = theirs.get(block.key)
            shared = [dataset for dataset in block.parts if other and dataset in other.parts]
            pairs = {d: paired(block.parts[d], other.parts[d], drawing) for d in shared if other}
            compared = Compared(first, second, block.setting)
            for over, datasets in ({**other.over, **block.over} if other else {}).items():
                if parts := [pairs[dataset] for dataset in datasets if dataset in pairs]:
                    changes += [change_in(measure, parts, compared, over) for measure in block.measures]
        return changes

    def family(self, change: Change) -> tuple[Any, ...]:
        """p is adjusted over the changes that have this in common: one a run, unless a study says otherwise."""
        return family(change)

    def differences(self, base: SampledRun, after: SampledRun, *, is_before_after: bool) -> list[Difference]:
        """In what a run differs from the base beside the model; side by side nothing is compared."""
        return differences(base, after, self.mild_keys) if is_before_after else []

    def refuse(self, judges: Mapping[str, Any]) -> None:
        """Raises DataError for judges that are never put beside each other."""

    def tables(self, results: "Results") -> list[TableSpec]:
        """Tables over the long frames."""
        return [scores_table(results), changes_table(results)]

    def plots(self, results: "Results") -> list[Any]:
        """Figures, as eval.report.plots draws them."""
        return []

    def facts(self, results: "Results") -> dict[str, Any]:
        """What the template of its sentences sees beside `results`."""
        return {}

    def warnings(self, results: "Results") -> list[str]:
        """What to know of the judges' replies before believing a figure; the part `## warnings` of its template."""
        return results.sentences.get("warnings", [])

    def left_out(self, results: "Results") -> list[str]:
        """What could not be made, and why."""
        return []

    def write_items(self, results: "Results", folder: Path) -> list[Path]:
        """The browser of its items in a folder, if it has one: the paths written, the page first."""
        return []

    def verdicts(self, path: Path) -> Verdicts:
        """What each reply of a complete run was read as, by the study's defaults."""
        raise NotImplementedError

    def tested_run(self, path: Path) -> Path:
        """The sampling run of the model under test: the run itself, unless it is a judge's about another run."""
        return path

    def calibrate(self, options: argparse.Namespace) -> None:
        """Fit thresholds on options.train for options.test, print and write them; see eval.calibration."""
        raise DataError(f"{options.train}: is of a study that has no thresholds (docs/results.md)")

    def made_arms(self, base: Any, options: argparse.Namespace) -> list[Any]:
        """Further rows of a scorecard that its options ask for, made of the base's run."""
        if options.calibrated:
            raise DataError(f"--calibrated: {base.path} is of a study that has no thresholds; leave it out")
        return []

    def card_judges(
        self, arms: Sequence[Any], judges: Mapping[str, Any], options: argparse.Namespace
    ) -> dict[str, Any]:
        """Row of a scorecard → its judge as card_changes takes it, the base first. judges: those that have a run."""
        return dict(judges)

    def figures(self, judges: Mapping[str, Any]) -> Sequence[CardFigure]:
        """The figures of a card of these judges."""
        return self.card_figures

    def card_changes(self, judges: Mapping[str, Any], options: argparse.Namespace) -> list[Change]:
        """Changes between two rows of a scorecard."""
        return self.changes(judges, options)

    def card_notes(self, judges: Mapping[str, Any], options: argparse.Namespace) -> list[str]:
        """What the figures of a card are over, and how replies were read."""
        return [self.card_note] if self.card_note else []

    def card_warnings(self, judges: Mapping[str, Any], changes: Sequence[Change]) -> list[str]:
        """What to know of a card's rows beside what `warnings` says of their runs."""
        return []

    def unfit(self, judge: Any, options: argparse.Namespace) -> str:
        """Why an arm cannot be ranked, whatever its figures are; "" for one that can."""
        return ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Results:
    """Everything that is computed of some runs of one study, or of its files; the first judge is the base."""

    study: str
    evaluation: Evaluation
    judges: Mapping[str, Any]
    options: argparse.Namespace
    is_before_after: bool
    score_rows: Sequence[Score] = ()
    change_rows: Sequence[Change] = ()  # of each judge from the base; none where they stand side by side
    differences: Mapping[str, Sequence[Difference]] = field(default_factory=dict)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """The long frame of scores; see eval.estimates.frames."""
        return scores_frame(self.score_rows)

    @cached_property
    def changes(self) -> pd.DataFrame:
        """The long frame of changes."""
        return changes_frame(self.change_rows)

    @property
    def base(self) -> str:
        """The first judge."""
        return next(iter(self.judges))

    @cached_property
    def tables(self) -> list[TableSpec]:
        """All tables that have a row."""
        return [table for table in self.evaluation.tables(self) if len(table.frame)]

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What templates see."""
        return {"results": self, **self.evaluation.facts(self)}

    @cached_property
    def sentences(self) -> dict[str, list[str]]:
        """Part of the study's template → its sentences."""
        return sentences(self.evaluation.words, self.facts)

    @cached_property
    def warnings(self) -> list[str]:
        """What to be careful about, with what the runs differ in beside the model."""
        differing = [(name, each) for name, known in self.differences.items() for each in known]
        return [*self.evaluation.warnings(self), *(f"{name} differs in {d}" for name, d in differing if d.serious)]

    @cached_property
    def shown(self) -> list[TableSpec]:
        """The tables that are not for files alone, the one that tells most first."""
        return sorted((table for table in self.tables if table.place != "files"), key=lambda table: not table.is_change)

    @property
    def answer(self) -> list[str]:
        """The sentences that a report opens with."""
        return [line for part in ("scores", "changes") for line in self.sentences.get(part, [])]

    def say(self) -> None:
        """Print the answer, the first lines of the first table, and the first warning; with --all everything."""
        is_all = self.options.all
        say(wrapped(self.answer if is_all else self.answer[:MOST_PRINTED]))
        for table in self.shown if is_all else self.shown[:1]:
            say("\n" + (f"{console(table)}\n{wrapped([table.note])}" if is_all else console(table, MOST_PRINTED)))
        differing = [(name, each) for name, known in self.differences.items() for each in known]
        notes = [f"Note: {name} differs in {difference}" for name, difference in differing if not difference.serious]
        say_warnings(self.warnings, notes, is_all=is_all)


def results_of(
    study: str,
    evaluation: Evaluation,
    judges: Mapping[str, Any],
    options: argparse.Namespace,
    *,
    is_before_after: bool = False,
) -> Results:
    """The results of some judges, the base first. Raises DataError where runs are not alike, unless that is allowed."""
    (base, first), *others = judges.items()
    runs = others if hasattr(first, "config") else []
    compared = {name: evaluation.differences(first, judge, is_before_after=is_before_after) for name, judge in runs}
    evaluation.refuse(judges)
    if compared and not getattr(options, "allow_differences", False):
        refuse_serious(base, compared)
    moves = [evaluation.changes({base: first, name: judge}, options) for name, judge in others if is_before_after]
    return Results(
        study=study,
        evaluation=evaluation,
        judges=judges,
        options=options,
        is_before_after=is_before_after,
        score_rows=evaluation.scores(judges if is_before_after else evaluation.pooled(judges), options),
        change_rows=[
            change for changes in (adjusted(moves, family=evaluation.family) if moves else []) for change in changes
        ],
        # Side by side most studies compare nothing.
        differences={name: known for name, known in compared.items() if is_before_after or known},
    )


def say_warnings(warnings: Sequence[str], notes: Sequence[str], *, is_all: bool) -> None:
    """Print the first warning and how many more there are; with is_all each of them, and the notes."""
    more = f" ({len(warnings) - 1} more: --all)" if warnings[1:] and not is_all else ""
    lines = [f"Warning: {warning}{more}" for warning in (warnings if is_all else warnings[:1])]
    if lines := [*lines, *(notes if is_all else [])]:
        say("\n" + wrapped(lines))


def varying(frame: pd.DataFrame, names: Iterable[str]) -> list[str]:
    """The columns that have several values, and so tell rows apart."""
    return [name for name in names if name in frame and frame[name].map(str).nunique() > 1]


def scores_table(results: Results) -> TableSpec:
    """Every score as a line: what was asked as far as it varies, the measure, its value and interval."""
    words = results.evaluation.measure_words
    frame = results.scores.assign(words=lambda f: [words.get(measure, measure) for measure in f["measure"]])
    asked = varying(frame, [*dict.fromkeys(name for row in results.score_rows for name in row.setting), "dataset"])
    columns: dict[str, Any] = {"judge": ("judge", ""), **{name: (name, "") for name in asked}, "measure": ("words", "")}
    columns |= {"units": ("n_units", "d"), "value": ("value", ".1f"), "95% interval": (("low", "high"), ".1f")}
    name, title = f"{results.study}_scores", f"{results.study}: scores"
    return TableSpec(name=name, title=title, frame=frame, columns=columns, place="console")


def changes_table(
    results: Results, frame: pd.DataFrame | None = None, *, digits: int = 1, always: Sequence[str] = (), **keys: Any
) -> TableSpec:
    """Every change as a line; p is adjusted over the runs (Holm). frame: some of the long frame of changes.

    Of the setting it shows what varies, and the columns in `always`.
    """
    words = results.evaluation.measure_words
    frame = results.changes if frame is None else frame
    frame = frame.assign(
        words=[words.get(measure, measure) for measure in frame["measure"]],
        significance=[significance(None if pd.isna(d) else int(d)) for d in frame["direction"]],
    )
    names = [*dict.fromkeys(name for row in results.change_rows for name in row.setting), "dataset"]
    shown, form = {*varying(frame, names), *always}, f".{digits}f"
    columns: dict[str, Any] = {"run": ("second", ""), **{name: (name, "") for name in names if name in shown}}
    columns |= {"measure": ("words", ""), "units": ("n_units", "d")}
    columns |= {"before": ("before", form), "after": ("after", form), "change": ("change", f"+{form}")}
    columns |= {"95% interval": (("change_low", "change_high"), f"+{form}")}
    columns |= {"p": ("p", "p"), "p (Holm)": ("p_holm", "p"), "": ("significance", "")}
    settings = {"name": f"{results.study}_changes", "title": f"{results.study}: before and after", "place": "console"}
    return TableSpec(frame=frame, columns=columns, is_change=True, **{"note": CHANGES_NOTE, **settings, **keys})


MOST_PRINTED = 5  # sentences, and lines of a table, without --all
CHANGES_NOTE = (
    "Changes are paired by unit, with 95% intervals. p: sign-flip test, adjusted over the runs (Holm). higher, lower: "
    "significant after correction, that is the interval excludes 0 and p < .05."
)


def evaluation_of(study: str) -> Evaluation:
    """A study's part of eval."""
    evaluation: Evaluation = load_part(study, STUDIES[study].evaluation)
    return evaluation


def study_of_files(paths: Sequence[Path]) -> str:
    """The study that files of verdicts are of: of whose required columns the first file has most; else the first."""
    from eval.verdict_files import column_names  # where files are named

    there = column_names(paths[0])
    layouts = {study: layout for study in STUDIES if (layout := evaluation_of(study).layout) is not None}
    needed = {study: layout.required for study, layout in layouts.items()}
    return max(needed, key=lambda study: len(there.intersection(needed[study])) / len(needed[study]))
