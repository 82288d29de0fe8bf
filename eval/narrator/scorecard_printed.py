"""The narrator study of a scorecard as plain text, 120 columns wide."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from eval.estimates.changes import Change
from eval.estimates.comparability import Difference
from eval.narrator.change_tables import change_sentence
from eval.narrator.changes import Key, key_of
from eval.narrator.judged_runs import NarratorRun
from eval.narrator.scorecard import HIDDEN_FIRST, MEASURES, TASKS, NarratorCard, NarratorRow
from eval.narrator.scorecard_tables import MEANING, SHORT_WORDS, narrator_tables
from eval.narrator.scores import StudyResults, study
from eval.narrator.sentences import LEAN_WORDS, ONE_ORDER, doubts, lean_words, left_out, main_setting
from eval.narrator.words import ORDER_WORDS, TASK_WORDS, changes_note
from eval.report.change_cells import change_cells
from eval.report.console import Lines, block, short, wrapped
from eval.report.shown_numbers import number, signed
from eval.report.table import Table
from eval.scorecard.seeds import Headline


def narrator_text(card: NarratorCard, *, has_rows: bool) -> str:
    """Everything that is printed of the study."""
    said = [caption(card), notes(card)]
    return "\n\n".join(row_blocks(card) if has_rows else [wrapped(lines) for lines in said if lines])


def row_blocks(card: NarratorCard) -> list[str]:
    """A line an arm, under each task."""
    asked = [task for task in TASKS if any(key[0] == task for row in card.rows for key in row.levels)]
    blocks = [wrapped(caption(card))]
    for task in asked:
        words = TASK_WORDS[task].lower()
        blocks.append(block(f"Narrator study, {words}", level_lines(card, task)))
        blocks.append(block(f"Narrator study, {words}: changes against the base", change_lines(card, task)))
    moved = [change_sentence(row.name, list(row.changes.values())) for row in card.rows[1:] if row.run is not None]
    return [*blocks, *(wrapped(lines) for lines in (moved, notes(card)) if lines)]


def caption(card: NarratorCard) -> list[str]:
    """What the numbers are."""
    base = card.base
    way = "exact probabilities" if base.verdict == "options" else f"{base.n_samples} samples a prompt"
    lacking = [row.name for row in card.rows if row.run is None]
    return [
        f"Narrator study: {len(base.conversations):,} conversations, {way}, options: {ORDER_WORDS[card.order]}.",
        f"{MEANING} {changes_note(card.definitions)}",
        f"Changes are paired by conversation, with cluster-robust 95% intervals; p: sign-flip test over conversations "
        f"({card.n_draws:,} draws), adjusted over the arms (Holm). lower, higher: the interval excludes 0 and p < .05.",
        *([f"Without a run of the study, and blank: {', '.join(lacking)}."] if lacking else []),
    ]


def level_lines(card: NarratorCard, task: str) -> Lines:
    """A line an arm: its values, hidden and visible."""
    lines = [["arm", *(f"{SHORT_WORDS[m]}{f' {v}' * (m == MEASURES[0])}" for v in HIDDEN_FIRST for m in MEASURES)]]
    return [*lines, *([short(row.name), *(level(row, key) for key in keys_of(card, task))] for row in card.rows)]


def keys_of(card: NarratorCard, task: str) -> list[Key]:
    """A task's figures in the main option order."""
    return [key for key in card.keys().values() if key[0] == task and key[2] == card.order]


def level(row: NarratorRow, key: Key) -> str:
    """An arm's value; PR has a sign."""
    value = row.levels[key].value if key in row.levels else None
    return signed(value) if key[3] == "pr" else number(value)


def change_lines(card: NarratorCard, task: str) -> Lines:
    """A line an arm and measure: its change with the attack hidden and visible."""
    lines = [["arm", "measure", *(cell for v in HIDDEN_FIRST for cell in (v, "95% interval", "p Holm", "shown"))]]
    for row in card.rows[1:]:
        for measure in MEASURES:
            keys = [key for key in keys_of(card, task) if key[3] == measure]
            cells = [cell for key in keys for cell in change_cells(row.changes.get(key))]
            lines.append([short(row.name), SHORT_WORDS[measure], *cells])
    return lines


def warnings(card: NarratorCard) -> list[str]:
    """What makes an arm's numbers less than they seem."""
    results = study(runs_of(card), card.definitions, is_pooled=False)
    doubted = [(*doubts(results, judge), *slot(results, judge)) for judge in results.judges]
    return [*(f"{words}." for words in card.foreign), *(words for of_judge in doubted for words in of_judge)]


def notes(card: NarratorCard) -> list[str]:
    """What was left out."""
    return [f"Note: {left_out(run.judge, len(run.excluded))}" for run in runs_of(card) if run.excluded]


def runs_of(card: NarratorCard) -> list[NarratorRun]:
    """The runs that there are."""
    return [row.run for row in card.rows if row.run is not None]


def slot(results: StudyResults, judge: str) -> list[str]:
    """Whether a judge's PR may come from where Me stands among the options."""
    words = lean_words(results, main_setting(results, judge))
    doubted = (LEAN_WORDS["slot"], LEAN_WORDS["reversed"], ONE_ORDER)
    return [f"{judge}: {words}."] if words.endswith(doubted) else []


def is_in(key: Key, change: Change) -> bool:
    """Whether a change is of a figure."""
    return key_of(change) == key


class NarratorStudyCard:
    """The card by the names that the machinery asks for; see eval.results.StudyCard."""

    def __init__(self, card: NarratorCard) -> None:
        self.card = card

    def fields(self) -> list[dict[str, Any]]:
        """See StudyCard."""
        return self.card.fields()

    def tables(self) -> list[Table]:
        """See StudyCard."""
        return narrator_tables(self.card)

    def text(self, *, has_rows: bool) -> str:
        """See StudyCard."""
        return narrator_text(self.card, has_rows=has_rows)

    def changes(self) -> list[Change]:
        """See StudyCard."""
        return [change for row in self.card.rows for change in row.changes.values()]

    def headlines(self) -> list[Headline]:
        """See StudyCard: PR, and how often the attacker is named when nobody is Me, with the attack shown."""
        return [
            Headline(
                words=f"{SHORT_WORDS[measure]}, {TASK_WORDS[task].lower()}",
                is_of=partial(is_in, (task, "visible", self.card.order, measure)),
            )
            for task in TASKS
            for measure in ("pr", "neutral")
        ]

    def ranking(self) -> None:
        """None: arms are not ranked by this study."""

    def differences(self) -> dict[str, Sequence[Difference]]:
        """See StudyCard."""
        return {f"the narrator run of {name}": of for name, of in self.card.differences.items() if of}

    def doubts(self) -> list[str]:
        """See StudyCard."""
        return warnings(self.card)
