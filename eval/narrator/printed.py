"""The study as plain text for the console."""

from collections.abc import Sequence
from statistics import fmean

from eval.narrator.answers import STATES
from eval.narrator.flips import Flips
from eval.narrator.measures import ALL
from eval.narrator.study import StudyResults, run_facts
from eval.narrator.tables import first_order, plus_minus, table_2, tasks_of
from eval.table import Cell, Table, printed


def study_text(found: StudyResults) -> str:
    """Table 2 of every judge, FAR, flips and states."""
    parts = [run_lines(found)]
    for judge in found.judges:
        parts += [plain_table(table_2(found, judge)), plain_table(judge_table(found, judge))]
    parts.append(plain_table(reply_table(found)))
    return "\n\n".join(parts) + "\n"


def run_lines(found: StudyResults) -> str:
    """What was read."""
    lines = []
    for facts in map(run_facts, found.runs):
        if facts["verdict"] == "options":
            way = "exact probabilities of the options"
        else:
            way = f"{facts['n_samples']} samples a prompt at temperature {facts['temperature']:g}"
        lines.append(f"{facts['judge']} ({facts['run']}): {facts['n_conversations']:,} conversations, {way}")
    return "\n".join(lines)


def judge_table(found: StudyResults, judge: str) -> Table:
    """FAR and flips of one judge in the main option order, and those with unseen attackers apart."""
    order = first_order(found)
    flips = {(f.task, f.visibility): f for f in found.flips if (f.judge, f.option_order) == (judge, order)}
    rows: list[tuple[Cell, ...]] = []
    of_judge = [effect for effect in found.effects if (effect.judge, effect.option_order) == (judge, order)]
    for effect in sorted(of_judge, key=lambda effect: tasks_of(found).index(effect.task)):
        flip = flips.get((effect.task, effect.visibility)) if effect.group == ALL else None
        head = (effect.task, effect.visibility, effect.group, effect.n_conversations)
        rows.append((*head, plus_minus(effect.pr, "+.1f"), plus_minus(effect.far), *flip_cells(flip)))
    columns = ("task", "attack", "group", "conversations", "PR, pp", "FAR, %", "corruption, %")
    return Table(
        name="judge",
        title=f"False accusations and flips from Neutral to the attacker as Me: {judge}",
        columns=(*columns, "C→I", "I→C", "C→C", "I→I", "no verdict"),
        rows=tuple(rows),
        note="Conversations × models by their one answer, correct (C) or incorrect (I), under Neutral → with the "
        "attacker as Me; no verdict: a tie or no answer under either. Attacker unseen: it says only what is hidden.",
    )


def flip_cells(flip: Flips | None) -> tuple[Cell, ...]:
    """Corruption, the four counts, and the pairs without a verdict."""
    if flip is None:
        return (None,) * 6
    counts = (flip.n_corrupted, flip.n_restored, flip.n_stable_correct, flip.n_stable_incorrect)
    return (plus_minus(flip.corruption), *counts, flip.n_tied + flip.n_unanswered)


def reply_table(found: StudyResults) -> Table:
    """What became of the replies, by judge and task."""
    rows: list[tuple[Cell, ...]] = []
    for run in found.runs:
        for task in tasks_of(found):
            rates = [row for row in found.states if (row.judge, row.task) == (run.judge, task)]
            if rates:
                cells = (fmean(getattr(row, state) for row in rates) for state in STATES)
                rows.append((run.judge, task, *cells, fmean(row.tied for row in rates)))
    return Table(
        name="replies",
        title="Replies, %",
        columns=("model", "task", *STATES, "tied prompts"),
        rows=tuple(rows),
        note="Chosen: names one option, ambiguous: several, off_list: none; error: the engine gave none. Tied: no one "
        "option has most of a prompt's replies.",
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
