"""What one study puts into a report; a report of several studies has a part of each, one after the other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eval.report.page import element, pictures
from eval.report.table import Table
from eval.report.table_html import data_table

if TYPE_CHECKING:
    from eval.report.plots import Plot  # loads matplotlib, which scoring does not need

Section = tuple[str, str, list[str]]  # id, heading, HTML; one without HTML is left out


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPart:
    """One study's part. Opening, sections and method are HTML."""

    judges: Sequence[str]
    is_before_after: bool  # whether the judges after the first were made from it
    opening: Sequence[str]  # the findings in words, and what to know before believing them
    plots: "Sequence[Plot]"
    sections: Callable[[Mapping[str, str]], list[Section]]  # name of each plot → its HTML
    tables: Sequence[Any]  # all of them, for tables/
    folded: Sequence[Any]  # those that the list of tables shows; the sections have the others
    left_out: Sequence[str]  # what could not be made, and why
    method: Sequence[str]
    style: str = ""  # CSS of its own


def paragraphs(said: Sequence[str], warned: Sequence[str]) -> list[str]:
    """Findings in words, then what to be careful about."""
    return [*(element("p", line, "headline") for line in said), *(element("p", line, "warning") for line in warned)]


def one_section(
    named: tuple[str, str],
    words: Sequence[str],
    changes: tuple[str, Table],
    plots: "Sequence[Plot]",
    tables: Sequence[Table],
    inline: Mapping[str, str],
) -> list[Section]:
    """The section of a study that has one. named: its id and heading. words: HTML. changes: a heading and a table, left
    out where it is empty. inline: plot → its HTML."""
    parts = [*words, *(headed(*changes) if changes[1].rows else [])]
    parts += pictures([plot.name for plot in plots], inline)
    return [(*named, [*parts, *(part for table in tables for part in headed(table.title, table))])]


def headed(heading: str, table: Table) -> list[str]:
    """A table under a heading."""
    return [element("h3", heading), data_table(table)]
