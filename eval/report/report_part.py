"""What one study puts into a report; a report of several studies has a part of each, one after the other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from eval.report.plots import Plot
from eval.report.table import Table

Section = tuple[str, str, list[str]]  # id, heading, HTML; one without HTML is left out


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPart:
    """One study's part. Opening, sections and method are HTML."""

    judges: Sequence[str]
    is_before_after: bool  # whether the judges after the first were made from it
    opening: Sequence[str]  # the findings in words, and what to know before believing them
    plots: Sequence[Plot]
    sections: Callable[[Mapping[str, str]], list[Section]]  # name of each plot → its HTML
    tables: Sequence[Table]  # all of them, for tables/
    folded: Sequence[Table]  # those that the list of tables shows; the sections have the others
    left_out: Sequence[str]  # what could not be made, and why
    method: Sequence[str]
    style: str = ""  # CSS of its own
