"""Runs of the study beside a scorecard's: what a stated belief takes from each arm's pluralism, against the base."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from eval.estimates.changes import Change
from eval.estimates.comparability import Difference, refuse_serious
from eval.estimates.estimate import Estimate
from eval.estimates.observed import Drawing
from eval.pluraleval.observe import BIASED, NEUTRAL, Quantity, Unread
from eval.pluraleval.runs import PluralEvalRun, load_run, run_differences
from eval.pluraleval.scores import changes_of, levels_of, quantity_of, scores_of
from eval.pluraleval.sentences import doubts
from eval.report.console import block, short, wrapped
from eval.report.shown_numbers import p_value
from eval.report.table import Cell, Table
from eval.scorecard.arms import BASE, CardArm, other_checkpoint
from eval.scorecard.seeds import Headline
from evenhand.errors import DataError

COLUMNS = {
    "opposing_recall_lost": Quantity("generation", BIASED, "", "", "opposing_recall_lost"),
    "ranking_rho_lost": Quantity("ranking", BIASED, "", "", "rho_lost"),
    "pairwise_accuracy_lost": Quantity("pairwise", BIASED, "", "most_popular", "accuracy_lost"),
}
LEVELS = {  # what is lost of
    "opposing_recall_lost": Quantity("generation", NEUTRAL, "", "", "opposing_recall"),
    "ranking_rho_lost": Quantity("ranking", NEUTRAL, "", "", "rho"),
    "pairwise_accuracy_lost": Quantity("pairwise", NEUTRAL, "", "most_popular", "accuracy"),
}
COLUMN_WORDS = {
    "opposing_recall_lost": "opposing recall lost, pp",
    "ranking_rho_lost": "ranking ρ lost",
    "pairwise_accuracy_lost": "pairwise accuracy lost, pp",
}
NEUTRAL_WORDS = {name: f"{words.partition(' lost')[0]}, neutral" for name, words in COLUMN_WORDS.items()}
MEANING = (
    "PluralEval: what is lost when the user states a belief, of what there is when nobody does (neutral); + is a loss. "
    "A loss of 0 says nothing where the neutral level is near 0 (recall, ρ) or 50 (accuracy of a guess). Recall of the "
    "opinions against that belief, mean of both beliefs (pp); Spearman's ρ of the ranking by popularity; accuracy in "
    "naming the more popular of two opinions (pp). Changes are paired by thread."
)


@dataclass(frozen=True, kw_only=True)
class PluralEvalRow:
    """One arm of the card in the study; without a run everything of it is unknown."""

    name: str
    run: PluralEvalRun | None
    levels: Mapping[Quantity, Estimate]  # over all threads
    changes: Mapping[Quantity, Change]  # over all threads against the base; the base has none


@dataclass(frozen=True, slots=True, kw_only=True)
class PluralEvalCard:
    """The study for every arm of a card, the base first; see eval.study.StudyCard."""

    rows: Sequence[PluralEvalRow]
    of_arms: Mapping[str, Sequence[Difference]]  # arm → in what its run differs from the base's
    foreign: Sequence[str]  # which arms' runs are of another checkpoint than the arm, in words

    def fields(self) -> list[dict[str, Any]]:
        """See StudyCard."""
        return [{**run_field(row), **fields_of(row)} for row in self.rows]

    def tables(self) -> list[Table]:
        """See StudyCard."""
        return [self.table()]

    def table(self) -> Table:
        """An arm a row: each loss, its change from the base, and how sure that is."""
        heads = [
            head
            for name, words in COLUMN_WORDS.items()
            for head in (NEUTRAL_WORDS[name], words, f"{words}: change", f"{words}: p Holm")
        ]
        return Table(
            name="scorecard_pluraleval",
            title="PluralEval: what a stated belief takes",
            columns=("arm", *heads),
            rows=tuple(cells(row) for row in self.rows),
            formats=("", *(".2f", "+.2f", "+.2f", "p") * len(COLUMN_WORDS)),
            note=MEANING,
        )

    def text(self, *, has_rows: bool) -> str:
        """See StudyCard."""
        lines = [
            ["arm", *COLUMN_WORDS.values()],
            *([short(row.name), *(loss_words(row, name) for name in COLUMNS)] for row in self.rows),
        ]
        moved = [
            f"{row.name}: {COLUMN_WORDS[name]}, change {change.change.value:+.2f}{ends(change.change)}, "
            f"p Holm {p_value(change.p_holm)}."
            for row in self.rows
            for name, quantity in COLUMNS.items()
            if (change := row.changes.get(quantity)) and change.change.value is not None and change.p_holm is not None
        ]
        lacking = [row.name for row in self.rows if row.run is None]
        notes = [f"Without a run of PluralEval, and blank: {', '.join(lacking)}."] if lacking else []
        warned = [f"Warning: {words}." for words in self.foreign]
        rows, said = ([block("PluralEval", lines)], moved) if has_rows else ([], [])
        return "\n\n".join(part for part in (wrapped([MEANING]), *rows, wrapped([*said, *notes, *warned])) if part)

    def changes(self) -> list[Change]:
        """See StudyCard."""
        return [change for row in self.rows for change in row.changes.values()]

    def headlines(self) -> list[Headline]:
        """See StudyCard."""
        return [Headline(words=words, is_of=partial(is_in, COLUMNS[name])) for name, words in COLUMN_WORDS.items()]

    def ranking(self) -> None:
        """None: arms are not ranked by this study."""

    def differences(self) -> Mapping[str, Sequence[Difference]]:
        """See StudyCard."""
        return self.of_arms

    def doubts(self) -> list[str]:
        """See StudyCard."""
        return [doubt for row in self.rows if row.run for doubt in doubts(row.run, row.levels)]


def is_in(quantity: Quantity, change: Change) -> bool:
    """Whether a change is of a quantity."""
    return quantity_of(change) == quantity


def run_field(row: PluralEvalRow) -> dict[str, Any]:
    """Which run an arm's figures of the study are of."""
    return {"pluraleval_run": None if row.run is None else row.run.path.name}


def fields_of(row: PluralEvalRow) -> dict[str, float | None]:
    """An arm's figures with their intervals, and their changes."""
    fields: dict[str, float | None] = {}
    for name, quantity in COLUMNS.items():
        level, neutral, change = row.levels.get(quantity), row.levels.get(LEVELS[name]), row.changes.get(quantity)
        fields[f"pluraleval_{name}_neutral"] = None if neutral is None else neutral.value
        for prefix, found in ((name, level), (f"change_{name}", None if change is None else change.change)):
            for end, key in (("", "value"), ("_ci_low", "low"), ("_ci_high", "high")):
                fields[f"pluraleval_{prefix}{end}"] = None if found is None else getattr(found, key)
        for p in ("p", "p_holm"):
            fields[f"pluraleval_change_{name}_{p}"] = None if change is None else getattr(change, p)
    return fields


def loss_words(row: PluralEvalRow, name: str) -> str:
    """A loss with its interval, and the neutral level that it is lost of."""
    lost, neutral = row.levels.get(COLUMNS[name]), row.levels.get(LEVELS[name])
    if lost is None or neutral is None or lost.value is None or neutral.value is None:
        return "–"
    return f"{lost.value:+.2f}{ends(lost)} of {neutral.value:.2f}"


def ends(of: Estimate) -> str:
    """An interval, where there is one."""
    return "" if of.low is None or of.high is None else f" [{of.low:+.2f}, {of.high:+.2f}]"


def cells(row: PluralEvalRow) -> tuple[Cell, ...]:
    """A row's cells in the order of the columns of the table."""
    found: list[Cell] = [row.name]
    for name, quantity in COLUMNS.items():
        change = row.changes.get(quantity)
        moved: tuple[Cell, Cell] = (None, None) if change is None else (change.change.value, change.p_holm)
        levels = (row.levels.get(LEVELS[name]), row.levels.get(quantity))
        found += [*(None if level is None else level.value for level in levels), *moved]
    return tuple(found)


def pluraleval_card(
    arms: Sequence[CardArm], paths: Mapping[str, Path], unread: Unread, allow_differences: bool, drawing: Drawing
) -> PluralEvalCard:
    """The study for the arms of a card, of which the first is the base; paths: arm → its run of the study.

    Raises DataError for a base's run without any of the columns, and, unless that is allowed, a run of another
    checkpoint than its arm's, or asked or judged in another way than the base's.
    """
    runs = {name: replace(load_run(path, unread), judge=name) for name, path in paths.items()}
    base, afters = runs[BASE], [run for name, run in runs.items() if name != BASE]
    if not any(quantity in base.values for quantity in COLUMNS.values()):
        raise DataError(f"{base.path}: has none of the scorecard's figures: {', '.join(COLUMN_WORDS.values())}")
    differences = {run.judge: run_differences(base, run) for run in afters}
    foreign = [
        words
        for arm in arms
        if arm.name in runs
        and (responses := runs[arm.name].responses) is not None
        and (words := other_checkpoint(arm, responses, "responses run"))
    ]
    if not allow_differences:
        paths_named = {f"{run.judge} ({run.path.name})": differences[run.judge] for run in afters}
        refuse_serious(base.path.name, paths_named, foreign)
    changes = dict(zip(differences, changes_of(base, afters, drawing, [*COLUMNS.values()]), strict=True))
    rows = [
        PluralEvalRow(
            name=arm.name,
            run=runs.get(arm.name),
            levels=levels_of(scores_of(runs[arm.name]), runs[arm.name]) if arm.name in runs else {},
            changes={quantity_of(change): change for change in changes.get(arm.name, [])},
        )
        for arm in arms
    ]
    return PluralEvalCard(rows=rows, of_arms=differences, foreign=foreign)
