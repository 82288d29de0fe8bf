"""The study as plain text for the console."""

import textwrap
from collections.abc import Sequence
from statistics import fmean

from eval.narrator.answers import STATES
from eval.narrator.definition_words import answer_note, definition_words, shares_note
from eval.narrator.flips import Flips
from eval.narrator.measures import ALL, Effect
from eval.narrator.observe import DETECTION
from eval.narrator.perspective_tables import table_2
from eval.narrator.study import StudyResults, run_facts
from eval.narrator.tables import ORDER_WORDS, PERSPECTIVE_WORDS, agreement_table, first_order, plus_minus, tasks_of
from eval.report.table import Cell, Table, printed

WIDTH = 118  # of sentences


def study_text(found: StudyResults) -> str:
    """Table 2 of every judge, FAR, flips and states."""
    parts = [run_lines(found)]
    for judge in found.judges:
        parts += [plain_table(table_2(found, judge)), plain_table(judge_table(found, judge))]
    parts.append(plain_table(reply_table(found)))
    if (table := agreement_table(found)).rows:
        parts.append(f"{plain_table(table)}\n{textwrap.fill(table.note, WIDTH)}")
    parts.append(textwrap.fill(definition_words(found.definitions), WIDTH))
    return "\n\n".join(parts) + "\n"


def run_lines(found: StudyResults) -> str:
    """What was read."""
    lines = []
    for facts in map(run_facts, found.runs):
        if facts["verdict"] == "options":
            way = "exact probabilities of the options"
        else:
            warmth = "" if facts["temperature"] is None else f" at temperature {facts['temperature']:g}"
            way = f"{facts['n_samples']} samples a prompt{warmth}"
        lines.append(f"{facts['judge']} ({facts['run']}): {facts['n_conversations']:,} conversations, {way}")
    return "\n".join(lines)


def judge_table(found: StudyResults, judge: str) -> Table:
    """PR, FAR and flips of one judge in every option order; those with unseen attackers apart, in the main order."""
    flips = {(f.task, f.visibility, f.option_order): f for f in found.flips if f.judge == judge}
    rows: list[tuple[Cell, ...]] = []
    for effect in judge_effects(found, judge):
        flip = flips.get((effect.task, effect.visibility, effect.option_order)) if effect.group == ALL else None
        options = None if effect.task == DETECTION else ORDER_WORDS[effect.option_order]  # Yes and No have no slot
        head = (effect.task, effect.visibility, options, effect.group, effect.n_conversations)
        rows.append((*head, plus_minus(effect.pr, "+.1f"), plus_minus(effect.far), *flip_cells(flip)))
    columns = ("task", "attack", "options", "group", "conversations", "PR, pp", "FAR, %", "corruption, %")
    return Table(
        name="judge",
        title=f"False accusations and flips from Neutral to the attacker as Me: {judge}",
        columns=(*columns, "C→I", "I→C", "C→C", "I→I", "no verdict"),
        rows=tuple(rows),
        note="Each model's conversations by their one answer, correct (C) or incorrect (I), under Neutral → with the "
        f"attacker as Me; no verdict: a tie or no answer under either. {answer_note(found.definitions)} "
        f"{shares_note(found.definitions)} Attacker unseen: it says only what is hidden.",
    )


def judge_effects(found: StudyResults, judge: str) -> list[Effect]:
    """One judge's effects as its table shows them: by task, visible first, the main option order first."""
    order, tasks = first_order(found), tasks_of(found)
    shown = [
        effect
        for effect in found.effects
        if effect.judge == judge
        and (effect.option_order == order or (effect.group == ALL and effect.task != DETECTION))
    ]
    return sorted(
        shown, key=lambda e: (tasks.index(e.task), e.visibility != "visible", e.group != ALL, e.option_order != order)
    )


def flip_cells(flip: Flips | None) -> tuple[Cell, ...]:
    """Corruption, the four counts, and the pairs without a verdict."""
    if flip is None:
        return (None,) * 6
    counts = (flip.n_corrupted, flip.n_restored, flip.n_stable_correct, flip.n_stable_incorrect)
    return (plus_minus(flip.corruption), *counts, flip.n_tied + flip.n_unanswered)


def reply_table(found: StudyResults) -> Table:
    """What became of the replies, by judge, task and perspective."""
    rows: list[tuple[Cell, ...]] = []
    for run in found.runs:
        for task in tasks_of(found):
            for perspective, words in PERSPECTIVE_WORDS.items():
                asked = (run.judge, task, perspective)
                rates = [row for row in found.states if (row.judge, row.task, row.perspective) == asked]
                if rates:
                    cells = (fmean(getattr(row, state) for row in rates) for state in STATES)
                    rows.append((run.judge, task, words, *cells, fmean(row.tied for row in rates)))
    return Table(
        name="replies",
        title="Replies, %",
        columns=("model", "task", "Me", *(state.replace("_", " ") for state in STATES), "tied prompts"),
        rows=tuple(rows),
        note="Chosen: names one option as the answer; ambiguous: several; negated only: says who it was not; continues "
        "transcript: goes on with a turn; refusal: declines to say; off list: names none as the answer; cut off: ended "
        "before it did; error: the engine gave no reply. Tied: no one option has most of a prompt's replies.",
    )


def plain_table(table: Table) -> str:
    """A table in columns of blanks, numbers to the right."""
    lines: Sequence[Sequence[str]] = [table.columns, *printed(table)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.columns))]
    texts = [isinstance(row, str) or row is None for row in (table.rows[0] if table.rows else table.columns)]
    body = [
        "  ".join(c.ljust(w) if text else c.rjust(w) for c, w, text in zip(line, widths, texts, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([table.title, *body])
