"""What a study gives to have its runs scored, compared, reported and put on a scorecard, as a record of functions.

A study's `Run` is what it makes of a finished run, or of one model's rows in files of verdicts. The machinery calls, in
this order, where V is an `Evaluation[Run]`:

1. V.read, or V.read_files: finished runs or files → Run, each under the name that tables call it by
2. V.check, V.differences (of a base and what was made of it) or V.differences_beside: may these stand together?
3. V.scores and V.changes, which `from_blocks` makes of what a study observes; V.family for p-values
4. V.facts → the sentences of V.words; V.tables, V.plots, V.left_out, V.write_items show the results

A scorecard calls V.card instead of 4: tested_run, rules and calibrated for its rows, then rows, figures, changes,
unrankable, notes and warnings. `evenhand calibrate` calls V.calibrate, `evenhand compare` V.verdicts of a run and its
re-run.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from eval.estimates.changes import Change, Compared, Score, change_in, paired
from eval.estimates.changes import family as family_of
from eval.estimates.comparability import Difference
from eval.estimates.comparability import differences as run_differences
from eval.estimates.estimate import Measure, Observed, Setting, estimate
from eval.options import Options
from eval.runs import FinishedRun, Verdicts
from evenhand.errors import DataError
from evenhand.registry import STUDIES, load_part

if TYPE_CHECKING:
    from eval.calibration import Fit
    from eval.report.plots import Plot
    from eval.report.tables import TableSpec
    from eval.scorecard.arms import CardArm
    from eval.shift.answer import Answer
    from eval.verdict_files import Layout

Run = TypeVar("Run")
Row = TypeVar("Row")  # of a scorecard: mostly a Run
Results = Any  # eval.results.Results, which holds an Evaluation


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


Observe = Callable[[Run, Options], Iterable[Block]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFigure:
    """A figure of the scorecard: the changes that have these values of measure, dataset or the setting."""

    name: str  # of its columns in scorecard.csv
    words: str
    where: Mapping[str, Any]
    is_main: bool = True  # its changes are printed; else its values alone
    is_absolute: bool = False  # a mean of absolute values, which noise raises
    is_square: bool = False  # a mean of squares: its level is printed as the root, its changes are those of squares
    digits: int = 1
    margin: float = 10.0  # points by which it may change, where it must be held

    def among(self, changes: Sequence[Change]) -> Change | None:
        """The change in this figure. A sole dataset's stands there again as that of the average: the last is taken."""
        for change in reversed(changes):
            row = {**change.setting, "measure": change.measure, "dataset": change.dataset}
            if all(row.get(name) == value for name, value in self.where.items()):
                return change
        return None

    def shown(self, level: float | None) -> float | None:
        """A level as it is printed. A mean of squares without its noise may lie below 0, where the root is 0."""
        return math.sqrt(max(0.0, level)) if self.is_square and level is not None else level


@dataclass(frozen=True, kw_only=True, eq=False)
class Card(Generic[Run, Row]):
    """A study's part of a scorecard. lowest: figures to rank arms by, the lowest first: the first that is known.

    kept: what an arm gets right, which must not fall by the margin of the options or more: the first that is known.
    held: in place of it where it is not known: must stay within the figure's margin on either side.
    """

    figures: Callable[[Mapping[str, Row]], Sequence[CardFigure]]
    lowest: Sequence[str] = ()
    kept: Sequence[str] = ()
    held: str = ""
    # A run → the sampling run of the model under test: another one where the run is a judge's about that.
    tested_run: Callable[[Path], Path] = lambda path: path
    # A run → the prompt arms in it, each as a run: rows beside its own.
    prompt_arms: Callable[[Run], Mapping[str, Run]] = lambda _: {}
    # A run → what each free rule makes of it, or each of those named; {} where there are no margins.
    rules: Callable[..., Mapping[str, Run]] = lambda *_: {}
    # A run under thresholds that were fitted on another one; None: the study has none.
    calibrated: "Callable[[Run, Sequence[Fit]], Run] | None" = None
    # All rows, and the Run of those that have one → what `changes` compares, the base first.
    rows: "Callable[[Sequence[CardArm], Mapping[str, Run], Options], Mapping[str, Row]] | None" = None  # None: the Runs
    # Two rows → their changes; None: as compare has them.
    changes: Callable[[Mapping[str, Row], Options], list[Change]] | None = None
    unrankable: Callable[[Row], str] = lambda _: ""  # why it cannot be ranked, whatever its figures are
    notes: Callable[[Mapping[str, Row], Options], list[str]] = lambda _, __: []  # what the figures are
    warnings: Callable[[Mapping[str, Row], Sequence[Change]], list[str]] = lambda _, __: []  # beside the Runs' own


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation(Generic[Run]):
    """A study's part of eval; see the module.

    words: a jinja2 template, or its file, with parts behind lines `## scores` (sentences about levels; the first
    answers `heading` with Yes, No or Cannot tell), `## changes` (before and after), `## reading` (what the figures
    are), `## warnings` and `## method`; it sees what `facts` gives, and `results`.
    """

    heading: str  # of its section of a report: the question that it answers
    words: str | Path
    read: Callable[[FinishedRun, Options], Sequence[Run]]  # a run → its judges, mostly one
    with_errors: bool = False  # whether its measures count engine errors; else a run with one is not complete
    layout: "Layout | None" = None  # of its files of verdicts from anywhere; None: it reads none
    # Files → (judge → its Run, columns without a meaning, what was left out and why)
    read_files: Callable[[Options], tuple[dict[str, Run], Iterable[str], Iterable[str]]] | None = None
    check: Callable[[Mapping[str, Run]], None] = lambda _: None  # raises DataError for Runs that never stand together
    differences: Callable[[Any, Any], list[Difference]] = run_differences  # in what a run differs beside the model
    differences_beside: Callable[[Any, Any], list[Difference]] = lambda _, __: []  # of models side by side
    scores: Callable[[Mapping[str, Run], Options], list[Score]]
    changes: Callable[[Mapping[str, Run], Options], list[Change]]  # between two Runs, paired by unit
    family: Callable[[Change], tuple[Any, ...]] = family_of  # p is adjusted over the changes that have this in common
    headline: Mapping[str, Any] | None = None  # column of scores → value: the figures that another harness prints
    # Column of scores → which of its values --fail-if looks at, where a condition does not name the column
    gated: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    measure_words: Mapping[str, str] | None = None  # measure → what tables call it
    facts: "Callable[[Results], dict[str, Any]]" = lambda _: {}
    answers: "Callable[[Results], Mapping[str, Answer]] | None" = None  # of each judge; None: not by eval.shift.answer
    tables: "Callable[[Results], list[TableSpec]] | None" = None  # over the long frames; None: every score and change
    plots: "Callable[[Results], list[Plot]]" = lambda _: []
    left_out: "Callable[[Results], list[str]]" = lambda _: []  # what could not be made, and why
    write_items: "Callable[[Results, Path], list[Path]]" = lambda _, __: []  # a browser of items; the page's path first
    verdicts: Callable[[FinishedRun], Verdicts]  # what each reply was read as, by the study's defaults
    unparsed: Callable[[Run], Mapping[str, float]] = lambda _: {}  # framing or condition → % of its replies
    # Fits thresholds on the first run for the second; see eval.calibration. None: the study has none.
    calibrate: Callable[[Any, Any, Options], None] | None = None
    card: Card[Any, Any] | None = None

    @property
    def own_card(self) -> Card[Any, Any]:
        """Its part of a scorecard. Raises DataError where it has none."""
        if self.card is None:
            raise DataError(f"'{self.heading}' has no part of a scorecard or of --drift; use `evenhand compare` alone")
        return self.card


def from_blocks(observe: Observe[Any]) -> dict[str, Any]:
    """`scores` and `changes` of an Evaluation: every measure of what each judge did, and its paired changes."""
    return {"scores": partial(observed_scores, observe), "changes": partial(observed_changes, observe)}


def observed_scores(observe: Observe[Run], judges: Mapping[str, Any], options: Options) -> list[Score]:
    """The scores of what each judge did."""
    return [
        Score(
            run=judge.name,
            judge=name,
            setting=block.setting,
            dataset=over,
            datasets=tuple(datasets),
            measure=measure.name,
            unit=measure.unit,
            estimate=estimate(measure, [block.parts[dataset] for dataset in datasets], options.drawing),
            drawing=options.drawing,
        )
        for name, judge in judges.items()
        for block in observe(judge, options)
        for over, datasets in block.over.items()
        for measure in block.measures
    ]


def observed_changes(observe: Observe[Run], judges: Mapping[str, Run], options: Options) -> list[Change]:
    """The changes between two judges in the blocks that both have, paired by unit."""
    (first, before), (second, after) = judges.items()
    changes = list[Change]()
    blocks_after = {block.key: block for block in observe(after, options)}
    for block in observe(before, options):
        if other := blocks_after.get(block.key):
            shared = [dataset for dataset in block.parts if dataset in other.parts]
            pairs = {dataset: paired(block.parts[dataset], other.parts[dataset], options.drawing) for dataset in shared}
            compared = Compared(first, second, block.setting)
            for over, datasets in {**other.over, **block.over}.items():
                if parts := [pairs[dataset] for dataset in datasets if dataset in pairs]:
                    changes += [change_in(measure, parts, compared, over) for measure in block.measures]
    return changes


def evaluation_of(study: str) -> Evaluation[Any]:
    """A study's part of eval."""
    evaluation: Evaluation[Any] = load_part(study, STUDIES[study].evaluation)
    return evaluation
