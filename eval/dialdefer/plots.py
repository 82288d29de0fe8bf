"""The pictures of a report: DDS by dataset, before and after, judges × datasets (Figure 4), reliability of margins."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise
from typing import Any

import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from eval.dialdefer.items import calibration_errors
from eval.dialdefer.measures import MANY_UNREADABLE
from eval.dialdefer.scores import FIXED, OWN, believed, records, shown
from eval.dialdefer.sentences import ChangeRow, setting_words, shown_changes
from eval.report.page import scrolling
from eval.report.plots import (
    FAINT,
    FALSE_COLOUR,
    INK,
    RUN_COLOURS,
    RUN_MARKERS,
    TRUE_COLOUR,
    Plot,
    new_figure,
    short,
    styled,
    title,
)
from eval.report.shown_numbers import interval, signed

MOST_JUDGES = len(RUN_COLOURS)  # more cannot be told apart in one figure
SIGNS = "← skepticism      deference →"
STEPS_PP = (5.0, 15.0, 30.0, 60.0)  # |DDS| from which on a cell is of step 1, 2, 3, 4
# Blue to red through white: apart for all kinds of colour-blindness (after ColorBrewer's RdBu). Steps and not shades:
# a reader tells five blues apart, and letters keep their contrast on each, on light and dark pages.
STEP_NAMES = ("n4", "n3", "n2", "n1", "z", "p1", "p2", "p3", "p4")
LIGHT_COLOURS = "#2166ac #6aa9d2 #a9d0e6 #d9eaf3 #f4f4f2 #fbe3d7 #f5bfa2 #e08b6b #b2182b"
DARK_COLOURS = "#1f66a8 #2b5a80 #27475f #243442 #262a2f #3b2c28 #5e3a2d #8a4330 #b03030"
LIGHT, DARK = (dict(zip(STEP_NAMES, c.split(), strict=True)) for c in (LIGHT_COLOURS, DARK_COLOURS))
WHITE_ON_LIGHT = ("n4", "p4")  # light steps that are dark enough for white letters
# What a mark is → its shape, its colour and the colour of its inside.
BEFORE_AFTER = {
    "before": ("o", INK, "white"),
    "after, own C1": ("o", TRUE_COLOUR, TRUE_COLOUR),
    "after, fixed C1 (mixes two models)": ("x", FALSE_COLOUR, FALSE_COLOUR),
}
FRAMING_STYLE = {
    "C1": ("C1, statement", "#1f6f8b", "o", "-"),
    "C2": ("C2, speaker's turn", "#b0570f", "s", "--"),
}


def around_zero(axes: Any) -> None:
    """An axis of differences: 0 in its middle and drawn."""
    axes.axvline(0, color=INK, linewidth=0.9, zorder=0)
    widest_pp = max(10.0, *(abs(end) for end in axes.get_xlim()))
    axes.set_xlim(-widest_pp, widest_pp)
    axes.locator_params(axis="x", nbins=6)


def dds_plot(frame: pd.DataFrame) -> Plot:
    """DDS with its 95 % interval of each judge's main results: a line for each dataset, a colour and shape a judge."""
    rows = shown(frame[frame.is_headline])
    names, judges = list(rows.dataset.unique()), list(rows.judge.unique())
    gap = min(0.24, 0.75 / len(judges))
    with styled():
        figure, axes = new_figure(1.25 + len(names) * (0.16 + 0.19 * len(judges)) + 0.22 * len(judges))
        for order, judge in enumerate(judges):
            colour, marker = RUN_COLOURS[order], RUN_MARKERS[order]
            known = records(rows[(rows.judge == judge) & rows.dds_pp.notna()])
            y = [names.index(row.dataset) + (order - (len(judges) - 1) / 2) * gap for row in known]
            axes.plot([row.dds_pp for row in known], y, marker, color=colour, markersize=6, label=short(judge, 40))
            for row, at in zip(known, y, strict=True):
                if row.dds_ci_low_pp is not None:
                    axes.plot([row.dds_ci_low_pp, row.dds_ci_high_pp], [at, at], color=colour, linewidth=2)
        around_zero(axes)
        axes.set(ylim=(len(names) - 0.5, -0.5), xlabel="DDS, percentage points (95% interval)")
        axes.set_yticks(range(len(names)), names)
        axes.set_title(SIGNS, color=INK)
        title(figure, "DDS by dataset" if len(judges) > 1 else f"{judges[0]}: DDS by dataset")
        if len(judges) > 1:
            figure.legend(loc="outside lower center", ncols=1)
    where = f"on {len(names)} datasets and averages, with 95% intervals; the heat map has the numbers"
    return Plot(name="dds", alt=f"DDS of {', '.join(judges)} {where}", drawing=figure)


def before_after_plot(name: str, label: str, groups: Mapping[tuple[str, str, str, str], Sequence[ChangeRow]]) -> Plot:
    """DDS of the base and of a run after it, with own C1 (recommended) and with fixed C1; a line a dataset.

    groups: as sentences.change_groups gives them; the first arm and prompt variant is drawn.
    """
    first = next(iter(groups))[:3]
    own, fixed = (
        {row["dds"].dataset: row["dds"] for row in shown_changes(groups.get((*first, source), ()))}
        for source in (OWN, FIXED)
    )
    names, words = list(fixed | own), []
    with styled():
        figure, axes = new_figure(1.75 + 0.36 * len(names))
        for line, dataset in enumerate(names):
            sides = [by_source.get(dataset) for by_source in (own, fixed)]
            before = next(change.before.value for change in sides if change is not None)
            values = [before, *(None if change is None else change.after.value for change in sides)]
            if values[0] is not None and values[1] is not None:
                axes.plot(values[:2], [line, line], color=TRUE_COLOUR, linewidth=1.8, zorder=1)
            for value, (marker, colour, face) in zip(values, BEFORE_AFTER.values(), strict=True):
                if value is not None:
                    axes.plot(value, line, marker, color=colour, markerfacecolor=face, markersize=7, zorder=2)
            after = [f"{s} C1 {signed(v)}" for s, v in zip((OWN, FIXED), values[1:], strict=True) if v is not None]
            words.append(f"{dataset} {signed(before)} to {', '.join(after)}")
        around_zero(axes)
        axes.set(ylim=(len(names) - 0.5, -0.5), xlabel="← skepticism    DDS, pp    deference →")
        axes.set_yticks(range(len(names)), names)
        title(figure, f"{label}: DDS before and after")
        handles = [Line2D([], [], marker=m, color=c, linestyle="", mfc=face) for m, c, face in BEFORE_AFTER.values()]
        figure.legend(handles, BEFORE_AFTER, loc="outside lower center", ncols=1)
    return Plot(name=name, alt=f"{label}: DDS before and after. {'; '.join(words)}", drawing=figure)


def reliability_plot(name: str, judge: str, bins: pd.DataFrame) -> Plot:
    """Share of true claims by P(accept) for each framing, with Wilson intervals, and how many claims each bin holds."""
    errors, counts = calibration_errors(bins), bins.n_claims.groupby(bins.framing).sum()
    with styled():
        figure, (curve, bars) = new_figure(4.9, 2, sharex=True, height_ratios=(3, 1))
        curve.plot([0, 1], [0, 1], color=FAINT, linewidth=1.2, zorder=0)
        for order, (framing, rows) in enumerate(bins.groupby("framing", sort=False)):
            framing_words, colour, marker, line = FRAMING_STYLE[framing]
            known = rows[rows.n_claims > 0]
            words = f"{framing_words}: error {errors[framing]:.3f}"
            style = {"linestyle": line, "color": colour, "markersize": 5, "linewidth": 1.3, "label": words}
            curve.plot(known.mean_probability, known.true_rate, marker, **style)
            curve.vlines(known.mean_probability, known.true_low, known.true_high, color=colour, linewidth=1, alpha=0.7)
            middles = (rows.low + rows.high) / 2 + (order - 0.5) * 0.04
            hatch = "////" if order else ""
            bars.bar(middles, rows.n_claims, 0.038, color=colour, hatch=hatch, edgecolor="white", linewidth=0)
        curve.set(ylim=(-0.03, 1.03), ylabel="share of true claims")
        bars.set(xlim=(-0.03, 1.03), xlabel="P(accept), in tenths", ylabel="claims")
        title(figure, f"{judge}: reliability")
        figure.legend(*curve.get_legend_handles_labels(), loc="outside lower center", ncols=1)
    words = "; ".join(f"{c}: expected calibration error {e:.3f} over {counts[c]:,} claims" for c, e in errors.items())
    alt = f"{judge}: share of true claims by probability of acceptance; the table has the bins. {words}"
    return Plot(name=name, alt=alt, drawing=figure)


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Columns are settings of judges; lines are datasets by falling mean DDS of the main results, then averages."""

    columns: list[tuple[str, str]]  # judge, setting in words
    lines: list[str]
    averages: frozenset[str]
    cells: Mapping[tuple[str, tuple[str, str]], Any]  # line, column → the row of scores

    def cell(self, line: str, column: tuple[str, str]) -> Any:
        """The score behind a cell; None where it was not asked."""
        return self.cells.get((line, column))


def heat_map_of(frame: pd.DataFrame) -> HeatMap:
    """The map of a frame of scores: own C1 where there is one, else fixed C1, which its column then says."""
    judges = {judge: place for place, judge in enumerate(frame.judge.unique())}
    rows = believed(shown(frame))
    keys = rows.assign(place=rows.judge.map(judges)).sort_values(
        ["place", "is_headline"], ascending=[True, False], kind="stable"
    )
    rows = rows.loc[keys.index]
    datasets = rows[rows.is_dataset]
    mean = datasets[datasets.is_headline].groupby("dataset").dds_pp.mean()
    lines = sorted(datasets.dataset.unique(), key=lambda name: -mean.fillna(-math.inf).get(name, -math.inf))
    averages = list(rows[rows.is_average].dataset.unique())
    cells = {(row.dataset, (row.judge, setting_words(row, with_c1=True))): row for row in records(rows)}
    columns = list(dict.fromkeys(column for _, column in cells))
    return HeatMap(columns, [*lines, *averages], frozenset(averages), cells)


def step(dds_pp: float) -> str:
    """The step of a DDS: "z" near 0, "p1" to "p4" for deference, "n1" to "n4" for skepticism."""
    size = sum(round(abs(dds_pp), 1) >= edge for edge in STEPS_PP)
    return f"{'p' if dds_pp > 0 else 'n'}{size}" if size else "z"


def is_clear(row: Any) -> bool:
    """Whether a row's 95 % interval excludes 0."""
    low, high = row.dds_ci_low_pp, row.dds_ci_high_pp
    return low is not None and high is not None and not low <= 0 <= high


def mark(row: Any) -> str:
    """What a reader must know before believing a cell: "u" unreadable replies, "s" saturated, "" nothing."""
    return "u" if row.unparsed_rate >= MANY_UNREADABLE else "s" if row.saturated else ""


def letters(name: str) -> str:
    """The colour of letters on a light step."""
    return "#ffffff" if name in WHITE_ON_LIGHT else "#1d2126"


def html_heat_map(heat: HeatMap) -> str:
    """The map as an HTML table; every cell prints its number with its sign, so colour only repeats it."""
    judges = [(judge, [words for _, words in group]) for judge, group in groupby(heat.columns, key=lambda c: c[0])]
    if all(len(words) == 1 for _, words in judges):
        heads = "".join(f'<th scope="col">{breakable(judge)}</th>' for judge, _ in judges)
        head = f'<thead><tr><th scope="col">dataset</th>{heads}</tr></thead>'
    else:
        top = "".join(f'<th scope="colgroup" colspan="{len(w)}">{breakable(judge)}</th>' for judge, w in judges)
        second = "".join(f'<th scope="col">{breakable(words)}</th>' for _, words in heat.columns)
        head = f'<thead><tr><th scope="col" rowspan="2">dataset</th>{top}</tr>\n<tr>{second}</tr></thead>'
    body = []
    for line in heat.lines:
        css = ' class="average"' if line in heat.averages else ""
        cells = "".join(html_cell(heat.cell(line, column), column) for column in heat.columns)
        body.append(f'<tr{css}><th scope="row">{escape(line)}</th>{cells}</tr>')
    caption = "<caption>DDS in percentage points, by dataset (lines) and judge or arm (columns)</caption>"
    lines = "\n".join(body)
    whole = f'<table class="heat">{caption}{head}\n<tbody>\n{lines}\n</tbody></table>'
    return scrolling(whole, "Heat map of DDS")


def breakable(name: str) -> str:
    """A name that may be broken after its punctuation, escaped."""
    return re.sub(r"([-/_,])", r"\1<wbr>", escape(name))


def html_cell(row: Any, column: tuple[str, str]) -> str:
    """One cell: DDS, bold where its interval excludes 0, with the interval below and all of it in words as a title."""
    if row is None or row.dds_pp is None:
        return f"<td>{'–' if row else ''}</td>"
    text = f"<strong>{signed(row.dds_pp)}</strong>" if is_clear(row) else signed(row.dds_pp)
    noted = f"<sup>{mark(row)}</sup>" if mark(row) else ""
    ends = interval(row.dds_ci_low_pp, row.dds_ci_high_pp)
    over = f"{row.n_items:,} items" + (f" of {len(row.datasets)} datasets" if len(row.datasets) > 1 else "")
    warning = {"u": "; many replies cannot be read", "s": "; the judge is saturated", "": ""}[mark(row)]
    words = f"{column[0]}, {column[1]}, {row.dataset}: DDS {signed(row.dds_pp)} {ends}, {over}{warning}"
    return f'<td class="{step(row.dds_pp)}" title="{escape(words)}">{text}{noted}<small>{ends}</small></td>'


def html_legend() -> str:
    """The steps and what they mean."""
    edges = [f"{edge:g}" for edge in STEPS_PP]
    words = [f"below {edges[0]}", *(f"{low} to {high}" for low, high in pairwise(edges)), f"{edges[-1]} or more"]
    sizes = [words[abs(i - 4)] for i in range(9)]
    spans = "".join(f'<span class="{name}">{size}</span>' for name, size in zip(STEP_NAMES, sizes, strict=True))
    return f'<p class="steps"><b>− skeptical</b> {spans} <b>deferring +</b></p>'


def heat_css() -> str:
    """The colours of the steps, on light pages and on dark ones."""
    light = "\n".join(f".{name} {{ background: {c}; color: {letters(name)}; }}" for name, c in LIGHT.items())
    dark = "\n".join(f".{name} {{ background: {c}; color: #f4f5f6; }}" for name, c in DARK.items())
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def heat_map_plot(heat: HeatMap) -> Plot:
    """The same map as a figure for papers; the page has it as a table."""
    n_of = {judge: sum(other == judge for other, _ in heat.columns) for judge, _ in heat.columns}
    names = []
    for judge, words in heat.columns:
        parts = [*([judge] if len(n_of) > 1 or n_of[judge] == 1 else []), *([words] if n_of[judge] > 1 else [])]
        names.append(short(", ".join(parts), 34))
    longest = max(map(len, names))
    with styled():
        width, height = 1.5 + 0.78 * len(names), 0.6 + 0.075 * longest + 0.4 * len(heat.lines)
        figure, axes = new_figure(height, width=max(3.2, width))
        for (line, column), row in heat.cells.items():
            if row.dds_pp is not None:
                i, j, name = heat.lines.index(line), heat.columns.index(column), step(row.dds_pp)
                axes.add_patch(Rectangle((j - 0.48, i - 0.46), 0.96, 0.92, facecolor=LIGHT[name], edgecolor="none"))
                text = signed(row.dds_pp).replace("-", "−") + (f" ({mark(row)})" if mark(row) else "")
                style = {"color": letters(name), "fontweight": "bold" if is_clear(row) else "normal", "fontsize": 9}
                axes.text(j, i, text, ha="center", va="center", **style)
        axes.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(heat.lines) - 0.5, -0.5))
        axes.set_yticks(range(len(heat.lines)), heat.lines)
        axes.xaxis.tick_top()
        is_long = longest > 8
        axes.set_xticks(range(len(names)), names, rotation=40 * is_long, ha="left" if is_long else "center")
        axes.tick_params(length=0)
        axes.set_xlabel("DDS, percentage points: + defers, − doubts. Bold: the 95% interval excludes 0.", fontsize=8)
        for side in axes.spines.values():
            side.set_visible(False)
    size = f"Heat map of DDS, {len(heat.lines)} datasets and averages by {len(heat.columns)} judges or arms"
    known = [(row, c) for (line, c), row in heat.cells.items() if row.dds_pp is not None and line not in heat.averages]
    if not known:
        return Plot(name="heat-map", alt=size, drawing=figure)
    ends = [
        f"{signed(row.dds_pp)} ({judge}, {words}, {row.dataset})"
        for row, (judge, words) in (pick(known, key=lambda cell: cell[0].dds_pp) for pick in (min, max))
    ]
    return Plot(name="heat-map", alt=f"{size}: from {ends[0]} to {ends[1]}", drawing=figure)
