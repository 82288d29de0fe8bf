"""The four shapes of a figure, each drawn from a frame: interval, dumbbell, heat, line.

A figure says in its alt text what it shows, number by number. Unknown values are left blank.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.lines import Line2D

from eval.report.numbers import interval, is_unknown, printed, signed
from eval.report.plots import (
    FAINT,
    INK,
    RUN_COLOURS,
    RUN_MARKERS,
    TRUE_COLOUR,
    Plot,
    first_and_last,
    line_height,
    name_lines,
    new_figure,
    styled,
    title,
)


def interval_plot(
    name: str, heading: str, frame: pd.DataFrame, x_label: str, *, digits: int = 1, zero: float | None = 0
) -> Plot:
    """Values with their 95 % intervals, a line a label, marks of a series beside each other.

    frame: label, value, low, high; and series, where there are several. zero: where a vertical line stands.
    """
    frame = frame.assign(series=frame.get("series", ""))
    labels, series = list(dict.fromkeys(frame["label"])), list(dict.fromkeys(frame["series"]))
    with styled():
        figure, axes = new_figure(1.1 + 0.3 * (len(series) > 1) + line_height(labels) * len(labels))
        for row in frame.itertuples():
            number = series.index(row.series)
            line = labels.index(row.label) + 0.5 * ((number + 0.5) / len(series) - 0.5)
            colour = RUN_COLOURS[(number + (len(series) == 1)) % len(RUN_COLOURS)]
            if not is_unknown(row.low) and not is_unknown(row.high):
                axes.plot([row.low, row.high], [line, line], color=colour, linewidth=1.6)
            axes.plot(row.value, line, RUN_MARKERS[number % len(RUN_MARKERS)], color=colour, markersize=5)
        if zero is not None:
            axes.axvline(zero, color=INK, linewidth=0.9)
        axes.set(ylim=first_and_last(labels), xlabel=x_label)
        axes.grid(axis="x", color=FAINT, linewidth=0.5)
        name_lines(axes, labels)
        legend(figure, {one: (i, "") for i, one in enumerate(series)} if len(series) > 1 else {})
        title(figure, heading)
    words = "; ".join(
        f"{' '.join(filter(None, [row.label, row.series]))} {signed(row.value, digits)} "
        f"{interval(row.low, row.high, digits)}"
        for row in frame.itertuples()
    )
    return Plot(name=name, alt=f"{heading}. {words}", drawing=figure)


def dumbbell_plot(
    name: str, heading: str, frame: pd.DataFrame, x_label: str, ends: tuple[str, str], *, zero: float | None = 0
) -> Plot:
    """Two values a line, a ring and an arrow's head. frame: label, before, after. ends: what the two are."""
    labels = list(frame["label"])
    with styled():
        figure, axes = new_figure(1.4 + line_height(labels) * len(labels))
        for line, row in enumerate(frame.itertuples()):
            if not is_unknown(row.before) and not is_unknown(row.after):
                arrow = {"arrowstyle": "-|>", "color": TRUE_COLOUR, "linewidth": 1.6, "shrinkA": 3, "shrinkB": 0}
                axes.annotate("", (row.after, line), (row.before, line), arrowprops=arrow)
            for value, face in ((row.before, "white"), (row.after, TRUE_COLOUR)):
                axes.plot(value, line, "o", color=TRUE_COLOUR, markerfacecolor=face, markersize=5)
        if zero is not None:
            axes.axvline(zero, color=INK, linewidth=0.9)
        axes.set(ylim=first_and_last(labels), xlabel=x_label)
        name_lines(axes, labels)
        handles = [Line2D([], [], marker="o", color=TRUE_COLOUR, linestyle="", mfc=f) for f in ("white", TRUE_COLOUR)]
        figure.legend(handles, ends, loc="outside lower center", ncols=2)
        title(figure, heading)
    words = "; ".join(f"{row.label} {printed(row.before)} to {printed(row.after)}" for row in frame.itertuples())
    return Plot(name=name, alt=f"{heading}, {ends[0]} to {ends[1]}. {words}", drawing=figure)


def heat_plot(
    name: str, heading: str, values: pd.DataFrame, texts: pd.DataFrame, label: str, *, span: float | None = None
) -> Plot:
    """A field of numbers, around 0, each with its text.

    values, texts: alike in index and columns. span: the value at full colour.
    """
    reach = span or max(1.0, float(values.abs().max(axis=None)))
    with styled():
        figure, axes = new_figure(1.2 + 0.5 * len(values), width=max(4.4, 1.8 + 0.8 * values.shape[1]))
        axes.imshow(values.astype(float), cmap="RdBu_r", vmin=-reach, vmax=reach, aspect="auto")
        for i, row in enumerate(values.itertuples(index=False)):
            for j, value in enumerate(row):
                colour = "white" if not is_unknown(value) and abs(value) > 0.6 * reach else INK
                axes.text(j, i, texts.iat[i, j], ha="center", va="center", fontsize=8, color=colour)
        axes.set_xticks(range(values.shape[1]), values.columns, rotation=35, ha="right")
        axes.set_yticks(range(len(values)), values.index)
        axes.set_xlabel(label)
        title(figure, heading)
    words = "; ".join(f"{i}: {', '.join(f'{j} {texts.at[i, j]}' for j in texts.columns)}" for i in texts.index)
    return Plot(name=name, alt=f"{heading}. {label}: {words}", drawing=figure)


def line_plot(
    name: str,
    heading: str,
    frame: pd.DataFrame,
    labels: tuple[str, str],
    *,
    dashed: Sequence[str] = (),
    diagonal: bool = False,
) -> Plot:
    """Lines with shaded intervals. frame: x, value, low, high, series. dashed: series without marks."""
    series = list(dict.fromkeys(frame["series"]))
    with styled():
        figure, axes = new_figure(3.2)
        for number, one in enumerate(series):
            part, colour = frame[frame["series"] == one], RUN_COLOURS[(number + 1) % len(RUN_COLOURS)]
            style: dict[str, Any] = {"linestyle": "--"} if one in dashed else {"marker": RUN_MARKERS[number % 6]}
            axes.plot(part["x"], part["value"], color=colour, markersize=4, label=one, **style)
            if one not in dashed:
                axes.fill_between(part["x"].astype(float), part["low"], part["high"], color=colour, alpha=0.15)
        if diagonal:
            axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1)
        axes.set(xlabel=labels[0], ylabel=labels[1])
        if (frame["x"].astype(float) % 1 == 0).all():  # counts
            axes.set_xticks(sorted({*frame["x"]}))
        figure.legend(loc="outside lower center", ncols=2)
        title(figure, heading)
    words = "; ".join(
        f"{row.series} at {printed(row.x)}: {printed(row.value)} {interval(row.low, row.high)}"
        for row in frame.itertuples()
    )
    return Plot(name=name, alt=f"{heading}. {words}", drawing=figure)


def legend(figure: Any, series: Mapping[str, tuple[int, str]]) -> None:
    """Names of the series under the figure."""
    handles = [
        Line2D([], [], marker=RUN_MARKERS[i % 6], color=RUN_COLOURS[i % len(RUN_COLOURS)], linestyle="")
        for i, _ in series.values()
    ]
    if handles:
        figure.legend(handles, list(series), loc="outside lower center", ncols=min(3, len(handles)))
