"""The heat map of DDS as a figure for papers (DialDefer Figure 4); the page has it as a table."""

from typing import Any

from matplotlib.patches import Rectangle

from eval.dialdefer.heat_map import LIGHT, HeatMap, is_clear, letters, mark, step
from eval.dialdefer.row_groups import is_dataset
from eval.dialdefer.rows import ScoreRow
from eval.dialdefer.score_groups import ScoreGroup
from eval.report.plots import Plot, new_figure, short, styled
from eval.report.shown_numbers import signed


def heat_map_plot(heat: HeatMap) -> Plot:
    """The same map as a figure."""
    names = [column_name(heat, column) for column in heat.columns]
    longest = max(map(len, names))
    with styled():
        width, height = 1.5 + 0.78 * len(names), 0.6 + 0.075 * longest + 0.4 * len(heat.lines)
        figure, axes = new_figure(height, width=max(3.2, width))
        for i, line in enumerate(heat.lines):
            for j, column in enumerate(heat.columns):
                draw_cell(axes, i, j, heat.row(line, column))
        axes.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(heat.lines) - 0.5, -0.5))
        axes.set_yticks(range(len(heat.lines)), heat.lines)
        axes.xaxis.tick_top()
        axes.set_xticks(
            range(len(names)), names, rotation=40 if longest > 8 else 0, ha="left" if longest > 8 else "center"
        )
        axes.tick_params(length=0)
        axes.set_xlabel("DDS, percentage points: + defers, − doubts. Bold: the 95% interval excludes 0.", fontsize=8)
        for side in axes.spines.values():
            side.set_visible(False)
    return Plot(name="heat-map", alt=heat_alt(heat), drawing=figure)


def column_name(heat: HeatMap, column: ScoreGroup) -> str:
    """What a figure calls a column."""
    n_of_judge = sum(other.judge == column.judge for other in heat.columns)
    n_judges = len({other.judge for other in heat.columns})
    parts = [*([column.judge] if n_judges > 1 or n_of_judge == 1 else []), *([column.words] if n_of_judge > 1 else [])]
    return short(", ".join(parts), 34)


def draw_cell(axes: Any, i: int, j: int, row: ScoreRow | None) -> None:
    """One square with its number."""
    if row is None or row.dds_pp is None:
        return
    name = step(row.dds_pp)
    axes.add_patch(Rectangle((j - 0.48, i - 0.46), 0.96, 0.92, facecolor=LIGHT[name], edgecolor="none"))
    weight = "bold" if is_clear(row) else "normal"
    text = signed(row.dds_pp).replace("-", "−") + (f" ({mark(row)})" if mark(row) else "")
    axes.text(j, i, text, ha="center", va="center", fontsize=9, color=letters(name), fontweight=weight)


def heat_alt(heat: HeatMap) -> str:
    """The map's extremes in words."""
    known = [
        (row.dds_pp, row.dataset, column)
        for column in heat.columns
        for line in heat.lines
        if (row := heat.row(line, column)) is not None and row.dds_pp is not None and is_dataset(row)
    ]
    size = f"Heat map of DDS, {len(heat.lines)} datasets and averages by {len(heat.columns)} judges or arms"
    if not known:
        return size
    (low, low_at, low_by), (high, high_at, high_by) = (pick(known, key=lambda k: k[0]) for pick in (min, max))
    return (
        f"{size}: from {signed(low)} ({low_by.judge}, {low_by.words}, {low_at}) "
        f"to {signed(high)} ({high_by.judge}, {high_by.words}, {high_at})"
    )
