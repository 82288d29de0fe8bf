"""The study as plain text for the console."""

import textwrap
from collections.abc import Sequence

from eval.narrator.scores import StudyResults
from eval.narrator.tables import judge_table, reply_table, table_2
from eval.narrator.words import definition_words
from eval.report.table import Table, printed

WIDTH = 118  # of sentences


def study_text(found: StudyResults) -> str:
    """Table 2 of every judge, FAR, flips and states."""
    parts = [run_lines(found)]
    for judge in found.judges:
        parts += [plain_table(table_2(found, judge)), plain_table(judge_table(found, judge))]
    parts.append(plain_table(reply_table(found)))
    parts.append(textwrap.fill(definition_words(found.definitions), WIDTH))
    return "\n\n".join(parts) + "\n"


def run_lines(found: StudyResults) -> str:
    """What was read."""
    lines = []
    for run in found.runs:
        warmth = "" if run.temperature is None else f" at temperature {run.temperature:g}"
        sampled = f"{run.n_samples} samples a prompt{warmth}"
        way = "exact probabilities of the options" if run.verdict == "options" else sampled
        lines.append(f"{run.judge} ({run.name}): {len(run.conversations):,} conversations, {way}")
    return "\n".join(lines)


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
