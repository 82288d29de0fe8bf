"""The study as plain text for the console."""

from collections.abc import Sequence

from eval.estimates.changes import Change
from eval.pluraleval.findings import PluralEvalFindings
from eval.pluraleval.observe import ALL
from eval.pluraleval.reply_states import state_lines
from eval.pluraleval.sentences import change_sentences, doubts, sentences_about
from eval.pluraleval.tables import (
    change_table,
    gaps_table,
    lists_table,
    metrics_table,
    pairwise_table,
    ranking_table,
    shifts_table,
)
from eval.report.console import block, wrapped
from eval.report.table import Table, printed


def findings_text(found: PluralEvalFindings) -> str:
    """Everything that is printed of some runs: over all threads; files have the communities."""
    tables = [metrics_table, lists_table, shifts_table, ranking_table, pairwise_table, gaps_table]
    parts = [plain_table(whole_only(make(found))) for make in tables]
    for one in found.measured:
        parts.append("\n".join([f"{one.run.name}: states of the replies", *state_lines(one.run.states)]))
        parts.append(wrapped(sentences_about(one)))
        parts.append(wrapped([f"Warning: {sentence}" for sentence in doubts(one)]))
    return "\n\n".join(part for part in parts if part)


def whole_only(table: Table) -> Table:
    """A table without its communities' lines, where it has lines over all threads."""
    whole = tuple(row for row in table.rows if row[0] == ALL)
    return Table(
        name=table.name, title=table.title, columns=table.columns, rows=whole or table.rows, formats=table.formats
    )


def plain_table(table: Table) -> str:
    """A table as text; empty without rows. The first column, the same in every line, stands in the title."""
    if not table.rows:
        return ""
    heads = {str(row[0]) for row in table.rows}
    first = 1 if len(heads) == 1 else 0
    title = f"{table.title}: {heads.pop()}" if first else table.title
    return block(title, [list(line[first:]) for line in [table.columns, *printed(table)]])


def changes_text(name: str, changes: Sequence[Change]) -> str:
    """The main changes of one run, and what they come to."""
    table = change_table({name: changes}, is_short=True)
    return "\n\n".join(part for part in (plain_table(table), wrapped(change_sentences(name, changes))) if part)
