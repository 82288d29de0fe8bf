"""Figure 6 of the DialDefer paper: categories of deference and skepticism flips."""

from collections.abc import Sequence
from typing import Any

from matplotlib.patches import Patch

from eval.report.plots import FALSE_COLOUR, INK, TRUE_COLOUR, Plot, line_height, name_lines, new_figure, styled, title
from eval.taxonomy.coded_flips import CodedRun
from eval.taxonomy.shares import Shares, in_direction
from studies.flips import LENIENT, STRICT

COLOURS = {LENIENT: FALSE_COLOUR, STRICT: TRUE_COLOUR}
OFFSETS = {LENIENT: -0.17, STRICT: 0.17}


def taxonomy_plots(shown: Sequence[CodedRun]) -> list[Plot]:
    """One for each model with a coded flip."""
    return [category_plot(one, number) for number, one in enumerate(shown, start=1) if one.flips]


def category_plot(one: CodedRun, number: int) -> Plot:
    """Shares of the categories in each direction, with intervals."""
    ways = {way: Shares(flips=in_direction(one.flips, way), what="category") for way in (LENIENT, STRICT)}
    labels = Shares(flips=one.flips, what="category").ranked()
    with styled():
        figure, axes = new_figure(1.5 + line_height(labels) * len(labels))
        for way, shares in ways.items():
            for line, label in enumerate(labels):
                draw_share(axes, line + OFFSETS[way], shares, label, COLOURS[way])
        axes.set(ylim=(len(labels) - 0.5, -0.8), xlabel="% of the flips of a direction")
        name_lines(axes, labels)
        handles = [
            Patch(color=COLOURS[way], label=f"{way} ({len(shares.flips)} flips)") for way, shares in ways.items()
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8.5)
        title(figure, f"Why verdicts flip: {one.name}")
    words = "; ".join(
        f"{label}: {', '.join(f'{way} {shares.estimate(label).value or 0:.1f}%' for way, shares in ways.items())}"
        for label in labels
    )
    return Plot(name=f"taxonomy_figure6-{number}", alt=f"Failure categories of {one.name}. {words}", drawing=figure)


def draw_share(axes: Any, line: float, shares: Shares, label: str, colour: str) -> None:
    """One bar with its interval."""
    of = shares.estimate(label)
    if of.value is not None:
        axes.barh(line, of.value, height=0.32, color=colour)
        if of.low is not None and of.high is not None:
            axes.plot([of.low, of.high], [line, line], color=INK, linewidth=1.0)
