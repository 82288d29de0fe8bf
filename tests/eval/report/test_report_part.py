"""The section of a study that has one: what stands in it, and in which order."""

import re

from eval.report.plots import Plot
from eval.report.report_part import one_section
from eval.report.table import Table


def table_of(name: str, *numbers: int) -> Table:
    return Table(name=name, title=f"title of {name}", columns=("n",), rows=tuple((number,) for number in numbers))


def test_words_changes_figures_and_tables_follow_each_other_and_changes_without_a_row_are_left_out() -> None:
    def marks(changes: Table) -> list[str]:
        plot, inline = Plot(name="one", alt="", drawing=None), {"one": "<svg></svg>"}
        ((key, heading, html),) = one_section(
            ("key", "Heading"), ["<p>words</p>"], ("Changes", changes), [plot], [table_of("first", 11)], inline
        )
        assert (key, heading) == ("key", "Heading")
        return re.findall(r"words|(?<=<h3>)[^<]+|<svg>|(?<=>)\d+(?=<)", "".join(html))

    found = ["words", "Changes", "10", "<svg>", "title of first", "11"]
    assert marks(table_of("changes", 10)) == found
    assert marks(table_of("changes")) == ["words", *found[3:]]
