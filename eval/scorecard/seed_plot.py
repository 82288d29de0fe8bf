"""Arms as points: what is kept (accuracy) against what is to be low (own-C1 |DDS|), with their seeds."""

from collections.abc import Sequence
from typing import Any

from eval.estimates.estimate import Estimate
from eval.report.plots import FAINT, INK, RUN_COLOURS, RUN_MARKERS, Plot, new_figure, styled, title
from eval.scorecard.seeds import Ranking, SeedTable

HEIGHT, WIDTH = 4.6, 6.4  # inches


def seed_plot(tables: Sequence[SeedTable], ranking: Ranking) -> Plot | None:
    """The figure; None where one of the two was not measured."""
    by_words = {table.headline.words: table for table in tables}
    if ranking.lowest not in by_words or ranking.kept[0] not in by_words:
        return None
    low, kept = by_words[ranking.lowest], by_words[ranking.kept[0]]
    with styled():
        figure, axes = new_figure(HEIGHT, width=WIDTH)
        for number, arm in enumerate(low.pooled):
            if arm in kept.pooled:
                draw_arm(axes, number, arm, low, kept)
        draw_point(axes, low.base, kept.base, marker="*", markersize=13, color=INK, label="base", zorder=4)
        axes.set(xlabel=f"{ranking.lowest}, pp", ylabel=f"{ranking.kept[0]}, %")
        axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
        axes.grid(color=FAINT, linewidth=0.5)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)
        title(figure, "Arms over their seeds")
    arms = f"{len(low.pooled)} arms and the base"
    alt = f"{ranking.kept[0]} against {ranking.lowest} of {arms}, with their seeds and 95% intervals."
    return Plot(name="scorecard_seeds", alt=alt, drawing=figure)


def draw_arm(axes: Any, number: int, arm: str, low: SeedTable, kept: SeedTable) -> None:
    """An arm's mean over its seeds, and they as small points."""
    colour, marker = RUN_COLOURS[number % len(RUN_COLOURS)], RUN_MARKERS[number // len(RUN_COLOURS) % len(RUN_MARKERS)]
    height = {change.second: change.after.value for change in kept.seeds[arm]}
    points = [(change.after.value, height.get(change.second)) for change in low.seeds[arm]]
    axes.plot(*zip(*points, strict=True), marker=marker, markersize=3, color=colour, linestyle="", alpha=0.6)
    draw_point(axes, low.pooled[arm].after, kept.pooled[arm].after, marker=marker, color=colour, label=arm, zorder=3)


def draw_point(axes: Any, x: Estimate, y: Estimate, **look: Any) -> None:
    """A point with its 95 % intervals, where it is known."""
    if x.value is None or y.value is None:
        return
    bars = {
        name: [[max(0.0, of.value - of.low)], [max(0.0, of.high - of.value)]]  # a pivotal interval may miss its value
        for name, of in (("xerr", x), ("yerr", y))
        if of.value is not None and of.low is not None and of.high is not None
    }
    if "xerr" in bars:  # nothing lies below 0
        bars["xerr"][0] = [min(bars["xerr"][0][0], x.value)]
    axes.errorbar(x.value, y.value, **bars, linewidth=0.8, linestyle="", **look)
