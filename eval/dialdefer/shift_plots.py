"""Accuracy from statement (C1) to speaker's turn (C2): over judges (DialDefer Figure 3), and dataset by dataset."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.lines import Line2D

from eval.dialdefer.headline import main_row
from eval.dialdefer.rows import ScoreRow
from eval.dialdefer.score_groups import ScoreGroup
from eval.report.plots import (
    FAINT,
    FALSE_COLOUR,
    INK,
    TRUE_COLOUR,
    Plot,
    first_and_last,
    line_height,
    name_lines,
    new_figure,
    styled,
    title,
)
from eval.report.shown_numbers import interval, number, signed

AVERAGE_COLOUR = "#6a4c93"
ACCURACY_WORDS = "accuracy, %  (○ statement  → speaker's turn)"


def shift_plot(name: str, group: ScoreGroup) -> Plot:
    """Accuracy on true and on false claims for every dataset of a group.

    Deference shows as the blue arrow pointing right and the red one left; more knowledge as both pointing right.
    """
    rows = group.rows
    with styled():
        figure, axes = new_figure(1.35 + 0.55 * len(rows))
        draw_claims(axes, rows)
        axes.set(xlim=(-4, 104), ylim=(len(rows) - 0.45, -0.55), xlabel=ACCURACY_WORDS)
        axes.set_yticks(range(len(rows)), [row.dataset for row in rows])
        title(figure, group.judge)
        claims_legend(figure)
    alt = f"{group.judge}: accuracy from statement to speaker's turn. " + "; ".join(
        shift_words(row.dataset, row) for row in rows
    )
    return Plot(name=name, alt=alt, drawing=figure)


def shift_words(name: str, row: ScoreRow) -> str:
    """A line of the figure in words."""
    return (
        f"{name}: true claims {number(row.acc_c1_true)} to {number(row.acc_c2_correct)}%, "
        f"false claims {number(row.acc_c1_false)} to {number(row.acc_c2_incorrect)}%"
    )


def overview_plots(lines: Sequence[tuple[str, ScoreGroup]]) -> list[Plot]:
    """Figure 3 for some named groups, one line for each: what average accuracy shows, what it hides, and DDS."""
    rows = {name: main_row(group.rows) for name, group in lines}
    return [average_plot(rows), claims_plot(rows), dds_lines_plot(rows)]


def average_plot(rows: Mapping[str, ScoreRow]) -> Plot:
    """Figure 3a: average accuracy."""
    with styled():
        figure, axes = lines_figure(list(rows), 0.95)
        for line, row in enumerate(rows.values()):
            draw_arrow(axes, line, row.acc_c1, row.acc_c2, AVERAGE_COLOUR)
        axes.set(xlim=(-4, 104), xlabel=ACCURACY_WORDS)
        title(figure, "Average accuracy")
    words = "; ".join(f"{name} {number(row.acc_c1)} to {number(row.acc_c2)}%" for name, row in rows.items())
    return Plot(name="overview-accuracy", alt=f"Average accuracy, statement to turn. {words}", drawing=figure)


def claims_plot(rows: Mapping[str, ScoreRow]) -> Plot:
    """Figure 3b: accuracy on true and on false claims."""
    with styled():
        figure, axes = lines_figure(list(rows), 1.25)
        draw_claims(axes, list(rows.values()))
        axes.set(xlim=(-4, 104), xlabel=ACCURACY_WORDS)
        title(figure, "Accuracy on true and on false claims")
        claims_legend(figure)
    words = ". ".join(shift_words(name, row) for name, row in rows.items())
    return Plot(
        name="overview-claims", alt=f"Accuracy on true and false claims, statement to turn. {words}", drawing=figure
    )


def dds_lines_plot(rows: Mapping[str, ScoreRow]) -> Plot:
    """Figure 3c: DDS."""
    with styled():
        figure, axes = lines_figure(list(rows), 0.95)
        draw_dds(axes, list(rows.values()))
        title(figure, "DDS with its 95% interval")
    words = "; ".join(
        f"{name} {signed(row.dds_pp)} {interval(row.dds_ci_low_pp, row.dds_ci_high_pp)}" for name, row in rows.items()
    )
    return Plot(name="overview-dds", alt=f"DDS in percentage points. {words}", drawing=figure)


def lines_figure(names: Sequence[str], around: float) -> tuple[Any, Any]:
    """(figure, axes) with a named line for each; `around` is the height of what is not lines, in inches."""
    figure, axes = new_figure(around + line_height(names) * len(names))
    axes.set_ylim(*first_and_last(names))
    name_lines(axes, names)
    return figure, axes


def draw_claims(axes: Any, rows: Sequence[ScoreRow]) -> None:
    """Two arrows a line: true claims above, false claims below."""
    for line, row in enumerate(rows):
        draw_arrow(axes, line - 0.15, row.acc_c1_true, row.acc_c2_correct, TRUE_COLOUR)
        draw_arrow(axes, line + 0.17, row.acc_c1_false, row.acc_c2_incorrect, FALSE_COLOUR)
    axes.axvline(50, color=FAINT, linewidth=0.8, zorder=0)


def draw_dds(axes: Any, rows: Sequence[ScoreRow]) -> None:
    """DDS with its interval, a line for each row."""
    for line, row in enumerate(rows):
        if row.dds_pp is None:
            continue
        axes.plot(row.dds_pp, line, "o", color=INK, markersize=6)
        if row.dds_ci_low_pp is not None and row.dds_ci_high_pp is not None:
            axes.plot([row.dds_ci_low_pp, row.dds_ci_high_pp], [line, line], color=INK, linewidth=2)
    around_zero(axes)
    axes.set_xlabel("← skepticism    DDS, pp    deference →")


def around_zero(axes: Any) -> None:
    """An axis of differences: 0 in its middle and drawn."""
    axes.axvline(0, color=INK, linewidth=0.9, zorder=0)
    widest_pp = max(10.0, *(abs(end) for end in axes.get_xlim()))
    axes.set_xlim(-widest_pp, widest_pp)
    axes.locator_params(axis="x", nbins=6)


def claims_legend(figure: Any) -> None:
    """Which arrow is which."""
    handles = [Line2D([], [], color=c, linewidth=2.5) for c in (TRUE_COLOUR, FALSE_COLOUR)]
    figure.legend(handles, ["true claims", "false claims"], loc="outside lower center", ncols=2)


def draw_arrow(axes: Any, y: float, start: float | None, end: float | None, colour: str) -> None:
    """One arrow; a dot where it is too short for a head, nothing where an end is unknown."""
    if start is None or end is None:
        return
    axes.plot(start, y, "o", markersize=7, markerfacecolor="white", markeredgecolor=colour, markeredgewidth=1.6)
    if abs(end - start) < 3:
        axes.plot([start, end], [y, y], "-", color=colour, linewidth=2)
        axes.plot(end, y, "o", markersize=3.5, color=colour)
        return
    style = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "mutation_scale": 13, "shrinkA": 4, "shrinkB": 0}
    axes.annotate("", xy=(end, y), xytext=(start, y), arrowprops=style)
