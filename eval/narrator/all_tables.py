"""Every table of the study that has a row."""

from dataclasses import replace

from eval.narrator.perspective_tables import table_1, table_2, table_3
from eval.narrator.study import StudyResults
from eval.narrator.table_4 import table_4
from eval.narrator.tables import (
    agreement_table,
    effect_table,
    flip_table,
    nth,
    size_table,
    state_table,
)
from eval.report.table import Table


def narrator_tables(found: StudyResults) -> list[Table]:
    """Every table of the study that has a row."""
    tables = [
        table_1(found),
        *(replace(table_2(found, judge), name=f"narrator_table2{nth(i)}") for i, judge in enumerate(found.shown)),
        table_3(found),
        *(replace(table_4(found, judge), name=f"narrator_table4{nth(i)}") for i, judge in enumerate(found.shown)),
        effect_table(found),
        flip_table(found),
        size_table(found),
        state_table(found),
        agreement_table(found),
    ]
    return [table for table in tables if table.rows]
