"""The figures of the narrator paper; Figure 2, and Figure 3 from eval.narrator.size_plots."""

from dataclasses import replace
from typing import Any

from eval.narrator.flips import Flips
from eval.narrator.observe import DETECTION
from eval.narrator.size_plots import size_plot
from eval.narrator.study import StudyResults
from eval.narrator.tables import first_order, nth, tasks_of
from eval.report.plots import FALSE_COLOUR, INK, TRUE_COLOUR, Plot, new_figure, styled, title


def narrator_plots(found: StudyResults) -> list[Plot]:
    """Every figure that has something to show."""
    plots: list[Plot | None] = []
    for i, judge in enumerate(found.shown):
        drawn = [stability_plot(found, judge)]
        drawn += [size_plot(found, judge, task) for task in tasks_of(found) if task != DETECTION]
        plots += [plot and replace(plot, name=f"{plot.name}{nth(i)}") for plot in drawn]
    return [plot for plot in plots if plot is not None]


def stability_plot(found: StudyResults, judge: str) -> Plot | None:
    """Figure 2: how many pairs flip in either direction, and the corruption rate; None without pairs."""
    order = first_order(found)
    rows = [row for row in found.flips if row.judge == judge and row.option_order == order and row.n_counted]
    lines = sorted(rows, key=lambda row: (tasks_of(found).index(row.task), row.visibility))
    if not lines:
        return None
    with styled():
        figure, axes = new_figure(1.45 + 0.38 * len(lines))
        for line, row in enumerate(lines):
            draw_flips(axes, line, row)
        widest = max(5.0, *(flip_rates(row)[i] for row in lines for i in (0, 1)))
        axes.set(xlim=(-2.5 * widest, 2.2 * widest), ylim=(len(lines) - 0.5, -0.6))
        axes.set_yticks(range(len(lines)), [f"{row.task} {row.visibility[0].upper()}" for row in lines])
        axes.xaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
        axes.axvline(0, color=INK, linewidth=0.9)
        axes.set_xlabel("← C→I   pairs that flip, % (pairs)   I→C →")
        for line, row in enumerate(lines):
            axes.text(1.02, line, corruption_words(row), transform=axes.get_yaxis_transform(), va="center", fontsize=9)
        axes.text(1.02, -0.62, "corruption", transform=axes.get_yaxis_transform(), va="bottom", fontsize=8)
        title(figure, f"{judge}: from Neutral to the attacker as Me")
    words = "; ".join(
        f"{row.task} {row.visibility}: of {row.n_counted:,} pairs {flip_rates(row)[0]:.1f}% ({row.n_corrupted:,}) from "
        f"correct to incorrect, {flip_rates(row)[1]:.1f}% ({row.n_restored:,}) back, corruption rate "
        f"{corruption_words(row)}"
        for row in lines
    )
    return Plot(name="narrator_figure2", alt=f"{judge}: judgment stability. {words}", drawing=figure)


def flip_rates(row: Flips) -> tuple[float, float]:
    """(C→I, I→C) in percent of the counted pairs."""
    return 100 * row.n_corrupted / row.n_counted, 100 * row.n_restored / row.n_counted


def corruption_words(row: Flips) -> str:
    """A corruption rate as the figure prints it."""
    n_right = row.n_corrupted + row.n_stable_correct
    return "–" if row.corruption.value is None else f"{row.corruption.value:.1f}% ({row.n_corrupted:,}/{n_right:,})"


def draw_flips(axes: Any, line: int, row: Flips) -> None:
    """Both bars of one line, with their numbers."""
    corrupted, restored = flip_rates(row)
    axes.barh(line, -corrupted, height=0.62, color=FALSE_COLOUR)
    axes.barh(line, restored, height=0.62, color=TRUE_COLOUR)
    for x, n, offset, align in ((-corrupted, row.n_corrupted, -3, "right"), (restored, row.n_restored, 3, "left")):
        text = f"{abs(x):.1f} ({n:,})"
        axes.annotate(text, (x, line), (offset, 0), textcoords="offset points", ha=align, va="center", fontsize=8)
