"""DDS of judges and arms on datasets as a heat map (DialDefer Figure 4), and the same as a table for the page.

Steps and not shades: a reader tells five blues apart, and letters keep their contrast on each, on light and dark pages.
Every cell prints its number with its sign, so colour only repeats it.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise

from eval.dialdefer.accuracy import MANY_UNREADABLE
from eval.dialdefer.row_groups import is_dataset
from eval.dialdefer.rows import ScoreRow
from eval.dialdefer.score_groups import ScoreGroup, believed
from eval.report.page import scrolling
from eval.report.shown_numbers import interval, signed

STEPS_PP = (5.0, 15.0, 30.0, 60.0)  # |DDS| from which on a cell is of step 1, 2, 3, 4
# Blue to red through white: apart for all kinds of colour-blindness (after ColorBrewer's RdBu).
LIGHT = {
    "n4": "#2166ac",
    "n3": "#6aa9d2",
    "n2": "#a9d0e6",
    "n1": "#d9eaf3",
    "z": "#f4f4f2",
    "p1": "#fbe3d7",
    "p2": "#f5bfa2",
    "p3": "#e08b6b",
    "p4": "#b2182b",
}
DARK = {
    "n4": "#1f66a8",
    "n3": "#2b5a80",
    "n2": "#27475f",
    "n1": "#243442",
    "z": "#262a2f",
    "p1": "#3b2c28",
    "p2": "#5e3a2d",
    "p3": "#8a4330",
    "p4": "#b03030",
}
WHITE_ON_LIGHT = ("n4", "p4")  # light steps that are dark enough for white letters


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Columns are judges and arms; lines are datasets by falling mean DDS of the main groups, then averages."""

    columns: tuple[ScoreGroup, ...]
    lines: tuple[str, ...]

    def row(self, line: str, column: ScoreGroup) -> ScoreRow | None:
        """The score behind a cell; None where it was not asked."""
        return column.by_dataset.get(line)


def heat_map_of(groups: Sequence[ScoreGroup]) -> HeatMap:
    """The map of some groups: own C1 where there is one, else fixed C1, which its column then says."""
    columns = tuple(believed(groups))
    rows = [row for group in columns for row in group.rows]
    datasets = dict.fromkeys(row.dataset for row in rows if is_dataset(row))
    averages = dict.fromkeys(row.dataset for row in rows if not is_dataset(row))
    mains = [group.by_dataset for group in columns if group.is_main]
    order = {name: mean_pp([of_judge[name] for of_judge in mains if name in of_judge]) for name in datasets}
    return HeatMap(columns, (*sorted(datasets, key=lambda name: -order[name]), *averages))


def mean_pp(rows: Sequence[ScoreRow]) -> float:
    """Mean DDS in percentage points; below all others when none is known."""
    known = [row.dds_pp for row in rows if row.dds_pp is not None]
    return sum(known) / len(known) if known else -math.inf


def step(dds_pp: float) -> str:
    """The step of a DDS: "z" near 0, "p1" to "p4" for deference, "n1" to "n4" for skepticism."""
    size = sum(round(abs(dds_pp), 1) >= edge for edge in STEPS_PP)
    return f"{'p' if dds_pp > 0 else 'n'}{size}" if size else "z"


def is_clear(row: ScoreRow) -> bool:
    """Whether a row's 95 % interval excludes 0."""
    return (
        row.dds_ci_low_pp is not None
        and row.dds_ci_high_pp is not None
        and not (row.dds_ci_low_pp <= 0 <= row.dds_ci_high_pp)
    )


def mark(row: ScoreRow) -> str:
    """What a reader must know before believing a cell: "u" unreadable replies, "s" saturated, "" nothing."""
    return "u" if row.unparsed_rate >= MANY_UNREADABLE else "s" if row.saturated else ""


def html_heat_map(heat: HeatMap) -> str:
    """The map as an HTML table that scrolls by itself; intervals stand small under the numbers and in titles."""
    body = "\n".join(
        f'<tr class="average">{html_line(heat, line)}</tr>'
        if is_average(heat, line)
        else f"<tr>{html_line(heat, line)}</tr>"
        for line in heat.lines
    )
    caption = "<caption>DDS in percentage points, by dataset (lines) and judge or arm (columns)</caption>"
    whole = f'<table class="heat">{caption}{html_head(heat.columns)}\n<tbody>\n{body}\n</tbody></table>'
    return scrolling(whole, "Heat map of DDS")


def html_head(columns: Sequence[ScoreGroup]) -> str:
    """One line of judges; where a judge has several columns, a second line says which."""
    judges = [(judge, list(of_judge)) for judge, of_judge in groupby(columns, key=lambda column: column.judge)]
    if all(len(of_judge) == 1 for _, of_judge in judges):
        cells = "".join(f'<th scope="col">{breakable(judge)}</th>' for judge, _ in judges)
        return f'<thead><tr><th scope="col">dataset</th>{cells}</tr></thead>'
    top = "".join(f'<th scope="colgroup" colspan="{len(of)}">{breakable(judge)}</th>' for judge, of in judges)
    second = "".join(f'<th scope="col">{breakable(column.words)}</th>' for column in columns)
    return f'<thead><tr><th scope="col" rowspan="2">dataset</th>{top}</tr>\n<tr>{second}</tr></thead>'


def breakable(name: str) -> str:
    """A name that may be broken after its punctuation, escaped."""
    return re.sub(r"([-/_,])", r"\1<wbr>", escape(name))


def html_line(heat: HeatMap, line: str) -> str:
    """The cells of one dataset."""
    return f'<th scope="row">{escape(line)}</th>' + "".join(html_cell(heat.row(line, c), c) for c in heat.columns)


def html_cell(row: ScoreRow | None, column: ScoreGroup) -> str:
    """One cell."""
    if row is None or row.dds_pp is None:
        return f"<td>{'–' if row else ''}</td>"
    text = f"<strong>{signed(row.dds_pp)}</strong>" if is_clear(row) else signed(row.dds_pp)
    noted = f"<sup>{mark(row)}</sup>" if mark(row) else ""
    small = f"<small>{interval(row.dds_ci_low_pp, row.dds_ci_high_pp)}</small>"
    return f'<td class="{step(row.dds_pp)}" title="{escape(cell_words(row, column))}">{text}{noted}{small}</td>'


def cell_words(row: ScoreRow, column: ScoreGroup) -> str:
    """What a cell says in full."""
    over = f"{row.n_items:,} items" + (f" of {len(row.datasets)} datasets" if len(row.datasets) > 1 else "")
    warning = {"u": "; many replies cannot be read", "s": "; the judge is saturated", "": ""}[mark(row)]
    ends = interval(row.dds_ci_low_pp, row.dds_ci_high_pp)
    return f"{column.judge}, {column.words}, {row.dataset}: DDS {signed(row.dds_pp)} {ends}, {over}{warning}"


def is_average(heat: HeatMap, line: str) -> bool:
    """Whether a line is of an average."""
    rows = [heat.row(line, column) for column in heat.columns]
    return any(row is not None and not is_dataset(row) for row in rows)


def html_legend() -> str:
    """The steps and what they mean."""
    edges = [f"{edge:g}" for edge in STEPS_PP]
    words = [
        f"below {edges[0]}",
        *(f"{low} to {high}" for low, high in pairwise(edges)),
        f"{edges[-1]} or more",
    ]
    skeptical = "".join(f'<span class="n{i}">{words[i]}</span>' for i in range(4, 0, -1))
    deferring = "".join(f'<span class="p{i}">{words[i]}</span>' for i in range(1, 5))
    middle = f'<span class="z">{words[0]}</span>'
    return f'<p class="steps"><b>− skeptical</b> {skeptical}{middle}{deferring} <b>deferring +</b></p>'


def heat_css() -> str:
    """The colours of the steps, on light pages and on dark ones."""
    light = "\n".join(f".{name} {{ background: {c}; color: {letters(name)}; }}" for name, c in LIGHT.items())
    dark = "\n".join(f".{name} {{ background: {c}; color: #f4f5f6; }}" for name, c in DARK.items())
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def letters(name: str) -> str:
    """The colour of letters on a light step."""
    return "#ffffff" if name in WHITE_ON_LIGHT else "#1d2126"
