"""Figures 2 and 3 of the narrator paper."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from matplotlib.lines import Line2D

from eval.estimates.estimate import Estimate
from eval.narrator.flips import Flips
from eval.narrator.measures import Effect
from eval.narrator.observe import DETECTION
from eval.narrator.study import StudyResults
from eval.narrator.tables import TASK_WORDS, first_order, nth, tasks_of
from eval.report.plots import FALSE_COLOUR, INK, TRUE_COLOUR, Plot, new_figure, styled, title
from eval.report.shown_numbers import signed
from studies.narrator.records import Task, Visibility

# Hidden is dark, as in the paper; both stand out 3:1 on the light page and on the dark one.
DARK_LIGHT: dict[Visibility, str] = {"hidden": "#17364a", "visible": "#5b98b0"}
GAIN_MARKER, FAR_MARKER = "s", "^"


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
        axes.set(xlim=(-1.45 * widest, 1.45 * widest), ylim=(len(lines) - 0.5, -0.6))
        axes.set_yticks(range(len(lines)), [f"{row.task} {row.visibility[0].upper()}" for row in lines])
        axes.xaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
        axes.axvline(0, color=INK, linewidth=0.9)
        axes.set_xlabel("← C→I   pairs that flip, %   I→C →")
        for line, row in enumerate(lines):
            axes.text(1.02, line, corruption_words(row), transform=axes.get_yaxis_transform(), va="center", fontsize=9)
        axes.text(1.02, -0.62, "corruption", transform=axes.get_yaxis_transform(), va="bottom", fontsize=8)
        title(figure, f"{judge}: from Neutral to the attacker as Me")
    words = "; ".join(
        f"{row.task} {row.visibility}: {flip_rates(row)[0]:.1f}% from correct to incorrect, {flip_rates(row)[1]:.1f}% "
        f"back, corruption rate {corruption_words(row)}"
        for row in lines
    )
    return Plot(name="narrator_figure2", alt=f"{judge}: judgment stability. {words}", drawing=figure)


def flip_rates(row: Flips) -> tuple[float, float]:
    """(C→I, I→C) in percent of the counted pairs."""
    return 100 * row.n_corrupted / row.n_counted, 100 * row.n_restored / row.n_counted


def corruption_words(row: Flips) -> str:
    """A corruption rate as the figure prints it."""
    return "–" if row.corruption.value is None else f"{row.corruption.value:.1f}%"


def draw_flips(axes: Any, line: int, row: Flips) -> None:
    """Both bars of one line, with their numbers."""
    corrupted, restored = flip_rates(row)
    axes.barh(line, -corrupted, height=0.62, color=FALSE_COLOUR)
    axes.barh(line, restored, height=0.62, color=TRUE_COLOUR)
    axes.annotate(f"{corrupted:.1f}", (-corrupted, line), (-3, 0), textcoords="offset points", ha="right", va="center")
    axes.annotate(f"{restored:.1f}", (restored, line), (3, 0), textcoords="offset points", ha="left", va="center")


def size_plot(found: StudyResults, judge: str, task: Task) -> Plot | None:
    """Figure 3: gain of the non-attacker's perspective and FAR by number of speakers; None below two sizes."""
    order, fewest = first_order(found), found.definitions.fewest_conversations
    rows = [
        row
        for row in found.sizes
        if (row.judge, row.task, row.option_order) == (judge, task, order) and row.n_conversations >= fewest
    ]
    sizes = sorted({row.n_speakers for row in rows if row.n_speakers is not None})
    if len(sizes) < 2:
        return None
    with styled():
        figure, axes = new_figure(3.4)
        for side, colour in DARK_LIGHT.items():
            shift = -0.09 if side == "hidden" else 0.09
            of_side = [row for row in rows if row.visibility == side]
            draw_line(axes, of_side, [row.delta_non_att for row in of_side], shift, colour, GAIN_MARKER)
            draw_line(axes, of_side, [row.far for row in of_side], shift, colour, FAR_MARKER)
        axes.axhline(0, color=INK, linewidth=0.9, zorder=0)
        axes.set_xticks(sizes)
        axes.set(xlabel="number of speakers", ylabel="pp (gain), % (FAR)")
        title(figure, f"{judge}: {TASK_WORDS[task].lower()} by number of speakers")
        handles = [
            Line2D([], [], color=colour, marker=marker, linestyle=style, label=f"{words}, {side}")
            for words, marker, style in (("gain over Neutral", GAIN_MARKER, "-"), ("FAR", FAR_MARKER, ":"))
            for side, colour in DARK_LIGHT.items()
            if any(row.visibility == side for row in rows)
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8.5)
    words = "; ".join(size_words(row) for row in rows)
    return Plot(name=f"narrator_figure3-{task}", alt=f"{judge}: {task} by number of speakers. {words}", drawing=figure)


def draw_line(
    axes: Any, rows: Sequence[Effect], values: Sequence[Estimate | None], shift: float, colour: str, marker: str
) -> None:
    """One measure over sizes, with intervals."""
    at = [(row.n_speakers, value) for row, value in zip(rows, values, strict=True) if value and value.value is not None]
    x = [(size or 0) + shift for size, _ in at]
    style = "-" if marker == GAIN_MARKER else ":"
    axes.plot(x, [value.value for _, value in at], marker=marker, color=colour, linestyle=style, markersize=6)
    for place, (_, value) in zip(x, at, strict=True):
        if value.low is not None and value.high is not None:
            axes.plot([place, place], [value.low, value.high], color=colour, linewidth=1.2)


def size_words(row: Effect) -> str:
    """A size in words."""
    gain = "unknown" if row.delta_non_att.value is None else f"{signed(row.delta_non_att.value)} pp"
    far = "unknown" if row.far is None or row.far.value is None else f"{row.far.value:.1f}%"
    return f"{row.n_speakers} {row.visibility}: gain {gain}, FAR {far}"
