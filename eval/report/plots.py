"""Figures: two shapes, each drawn from a frame (interval, line), in one look.

A figure says in its alt text what it shows, number by number. Files have no dates; colours are told apart without
colour vision. Unknown values are left blank.
"""

import io
import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from eval.report.tables import interval, is_unknown, printed, shortened, signed
from evenhand.files import whole_file, write_whole

RUN_COLOURS = ("#6b7280", "#1f6f8b", "#c8553d", "#5b8c5a", "#7a5195", "#b07d12")
RUN_MARKERS = ("o", "s", "^", "D", "v", "P")
INK, FAINT = "#444444", "#cccccc"
FLOOR = {"color": FAINT, "alpha": 0.55, "linewidth": 0, "zorder": 0}
WIDTH = 4.4  # inches; narrow, so that letters stay readable when a phone shrinks the figure
LONGEST_TITLE = 42  # characters of a title's line
LEGEND_WIDTH, LEGEND_MARK = 58, 7  # characters: of a legend's line, of the mark and the gap beside a label
LONGEST_TICK = 13  # characters of a name that fits beside an axis; longer ones stand above their line
STYLE = str(Path(__file__).parent / "templates" / "figures.mplstyle")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A drawn figure: `<name>.png` and `<name>.svg` beside a report, and what it shows in words."""

    name: str
    alt: str
    drawing: Any


@contextmanager
def new_figure(heading: str, height: float) -> Iterator[tuple[Any, Any]]:
    """(figure, its axes), in inches, in the look of all figures; its title is broken into lines rather than cut off."""
    with matplotlib.rc_context(fname=STYLE):
        figure = Figure(figsize=(WIDTH, height))  # pyplot would keep every figure until it is closed
        yield figure, figure.subplots()
        lines = textwrap.wrap(heading, LONGEST_TITLE, break_long_words=True)
        figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=10.5, fontweight="bold")


def name_lines(axes: Any, names: Sequence[str]) -> None:
    """Names of the lines 0, 1, ... from the top, beside the axis; above the lines where one is too long for a phone."""
    is_short = max(map(len, names)) <= LONGEST_TICK
    axes.set(ylim=(len(names) - 0.5, -0.5 if is_short else -0.75))
    axes.set_yticks(range(len(names)) if is_short else [], names if is_short else None)
    axes.spines["left"].set_visible(is_short)
    for line, name in enumerate([] if is_short else names):
        axes.text(0, line - 0.3, shortened(name, 44), transform=axes.get_yaxis_transform(), va="bottom", fontsize=9)


def add_legend(figure: Any, handles: Iterable[Any], labels: Iterable[str]) -> None:
    """A legend below the axes, of as many columns as its labels leave room for."""
    names = list(labels)
    n_columns = min(len(names), max(1, LEGEND_WIDTH // (max(map(len, names)) + LEGEND_MARK)))
    figure.legend(list(handles), names, loc="outside lower center", ncols=n_columns)


def finish(plot: Plot, folder: Path) -> tuple[str, list[Path]]:
    """(the figure for a page, the paths of its PNG and SVG files in a folder)."""
    png, svg = folder / f"{plot.name}.png", folder / f"{plot.name}.svg"
    text, image = io.StringIO(), io.BytesIO()
    with warnings.catch_warnings(), matplotlib.rc_context(fname=STYLE):
        # Of a name that the font lacks letters for the figure has boxes; its words and the tables have the name.
        warnings.filterwarnings("ignore", r"Glyph \d+", UserWarning)
        plot.drawing.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        plot.drawing.set_layout_engine("none")  # it is laid out; doing so again takes as long as drawing
        plot.drawing.savefig(image, format="png", dpi=160, metadata={"Software": None})
    with whole_file(png) as partial:
        partial.write_bytes(image.getvalue())
    write_whole(svg, text.getvalue())
    return for_page(text.getvalue()), [png, svg]


def for_page(svg: str) -> str:
    """An SVG transparent and small: what draws nothing is left out, 0.01 points are exact enough."""
    bare = re.sub(r'<g id="patch_1">.*?</g>', "", svg, count=1, flags=re.DOTALL)  # the white ground
    drawn = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", bare, flags=re.DOTALL)
    paths = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), drawn)
    return re.sub(r">\s+<", "><", paths)


def interval_plot(
    name: str, heading: str, frame: pd.DataFrame, x_label: str, *, zero: float | None = 0, is_joined: bool = False
) -> Plot:
    """Values with their 95 % intervals, a line a label, marks of a series beside each other.

    frame: label, value, low, high; series, where there are several; floor_low and floor_high, drawn as a band behind a
    mark. zero: where a vertical line stands. is_joined: the marks of a label are shares in percent on one line, which
    joins them.
    """
    frame = pd.DataFrame({"series": "", "floor_low": None, "floor_high": None, **frame})
    labels, series = list(dict.fromkeys(frame["label"])), list(dict.fromkeys(frame["series"]))
    line_height = 0.42 if max(map(len, labels)) <= LONGEST_TICK else 0.62  # inches
    height = 1.1 + 0.3 * (len(series) > 1) + line_height * len(labels)
    with new_figure(heading, height) as (figure, axes):
        for row in frame.itertuples():
            number = series.index(row.series)
            line = labels.index(row.label) + (0 if is_joined else 0.5 * ((number + 0.5) / len(series) - 0.5))
            colour = RUN_COLOURS[(number + (len(series) == 1)) % len(RUN_COLOURS)]
            if not is_unknown(row.low) and not is_unknown(row.high):
                axes.plot([row.low, row.high], [line, line], color=colour, linewidth=1.6)
            marker = RUN_MARKERS[number % len(RUN_MARKERS)]
            axes.plot(row.value, line, marker, color=colour, markersize=5, label=row.series)
            if not is_unknown(row.floor_low):
                half = 0.5 if len(series) == 1 else 0.25 / len(series)
                axes.fill_betweenx([line - half, line + half], row.floor_low, row.floor_high, **FLOOR)
        for line, label in enumerate(labels if is_joined else []):
            axes.plot(frame["value"][frame["label"] == label], [line] * len(series), color=INK, linewidth=0.8, zorder=0)
        if zero is not None:
            axes.axvline(zero, color=INK, linewidth=0.9)
        band = "" if frame["floor_low"].isna().all() else "\nband: rewordings"
        axes.set(xlabel=x_label + band, **({"xlim": (0, 100)} if is_joined else {}))
        axes.grid(axis="x", color=FAINT, linewidth=0.5)
        name_lines(axes, labels)
        if len(series) > 1:
            handles, names = axes.get_legend_handles_labels()
            marks = dict(zip(names, handles, strict=True))  # a mark for each series
            add_legend(figure, marks.values(), marks)
    words = "; ".join(mark_words(row) for row in frame.itertuples())
    return Plot(name=name, alt=f"{heading}. {words}", drawing=figure)


def mark_words(row: Any) -> str:
    """A mark of interval_plot in words."""
    name = " ".join(filter(None, [row.label, row.series]))
    floor = "" if is_unknown(row.floor_low) else f", floor {interval(row.floor_low, row.floor_high)}"
    return f"{name} {signed(row.value)} {interval(row.low, row.high)}{floor}"


def line_plot(
    name: str, heading: str, frame: pd.DataFrame, labels: tuple[str, str], *, dashed: Sequence[str] = ()
) -> Plot:
    """Lines with shaded intervals. frame: x, value, low, high, series. dashed: series without marks."""
    series = list(dict.fromkeys(frame["series"]))
    with new_figure(heading, 2.8 + 0.2 * len(series)) as (figure, axes):
        for number, label in enumerate(series):
            part, colour = frame[frame["series"] == label], RUN_COLOURS[(number + 1) % len(RUN_COLOURS)]
            style: dict[str, Any] = {"linestyle": "--"} if label in dashed else {"marker": RUN_MARKERS[number % 6]}
            axes.plot(part["x"], part["value"], color=colour, markersize=4, label=label, **style)
            if label not in dashed:
                axes.fill_between(part["x"].astype(float), part["low"], part["high"], color=colour, alpha=0.15)
        axes.set(xlabel=labels[0], ylabel=labels[1])
        if (frame["x"].astype(float) % 1 == 0).all():  # counts
            axes.set_xticks(sorted({*frame["x"]}))
        add_legend(figure, *axes.get_legend_handles_labels())
    words = "; ".join(
        f"{row.series} at {printed(row.x)}: {printed(row.value)} {interval(row.low, row.high)}"
        for row in frame.itertuples()
    )
    return Plot(name=name, alt=f"{heading}. {words}", drawing=figure)
