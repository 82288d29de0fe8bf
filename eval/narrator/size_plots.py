"""Figure 3 of the narrator paper: what a non-attacker's perspective gains, and FAR, by number of speakers."""

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.lines import Line2D

from eval.estimates.estimate import Estimate
from eval.narrator.measures import Effect
from eval.narrator.sizes import rows_by_size
from eval.narrator.study import StudyResults
from eval.narrator.tables import TASK_WORDS, first_order
from eval.report.plots import INK, Plot, new_figure, styled, title
from eval.report.shown_numbers import signed
from studies.narrator.records import Task, Visibility

# Hidden is dark, as in the paper; both stand out 3:1 on the light page and on the dark one.
DARK_LIGHT: dict[Visibility, str] = {"hidden": "#17364a", "visible": "#5b98b0"}
SHIFT: dict[Visibility, float] = {"hidden": -0.1, "visible": 0.1}  # intervals of one size stand beside each other
GAIN_MARKER, FAR_MARKER = "s", "^"


def size_plot(found: StudyResults, judge: str, task: Task) -> Plot | None:
    """Figure 3 of one judge and task; None where eval.narrator.sizes.why_absent says why."""
    rows = rows_by_size(found, judge, task, first_order(found))
    sizes = sorted({row.n_speakers for row in rows if row.n_speakers is not None})
    if len(sizes) < 2:
        return None
    with styled():
        figure, (above, below) = new_figure(4.9, 2, sharex=True)
        for side, colour in DARK_LIGHT.items():
            of_side = [row for row in rows if row.visibility == side]
            draw_line(above, of_side, lambda row: row.eliminator_gain, "--", "", colour)
            draw_line(above, of_side, lambda row: row.delta_non_att, "-", GAIN_MARKER, colour)
            draw_line(below, of_side, lambda row: row.far, "-", FAR_MARKER, colour)
        for axes, words in ((above, "gain over Neutral, pp"), (below, "FAR, %")):
            axes.axhline(0, color=INK, linewidth=0.9, zorder=0)
            axes.set_ylabel(words)
        below.set_xticks(sizes)
        below.set_xlabel("number of speakers")
        title(figure, f"{judge}: {TASK_WORDS[task].lower()} by number of speakers")
        handles = [
            Line2D([], [], color=colour, marker=marker, linestyle=style, label=f"{words}, {side}")
            for words, marker, style in (("judge", "o", "-"), ("eliminator", "", "--"))
            for side, colour in DARK_LIGHT.items()
            if any(row.visibility == side for row in rows)
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8.5)
    words = "; ".join(size_words(row) for row in rows)
    return Plot(name=f"narrator_figure3-{task}", alt=f"{judge}: {task} by number of speakers. {words}", drawing=figure)


def draw_line(
    axes: Any, rows: Sequence[Effect], value: Callable[[Effect], Estimate | None], style: str, marker: str, colour: str
) -> None:
    """One measure over sizes; with intervals where it has markers."""
    at = [(row, found) for row in rows if (found := value(row)) is not None and found.value is not None]
    x = [(row.n_speakers or 0) + SHIFT[row.visibility] for row, _ in at]
    axes.plot(x, [found.value for _, found in at], marker=marker, color=colour, linestyle=style, markersize=5)
    for place, (_, found) in zip(x, at, strict=True):
        if marker and found.low is not None and found.high is not None:
            axes.plot([place, place], [found.low, found.high], color=colour, linewidth=1.2)


def size_words(row: Effect) -> str:
    """A size in words."""
    gain, eliminator = (
        "unknown" if found is None or found.value is None else f"{signed(found.value)} pp"
        for found in (row.delta_non_att, row.eliminator_gain)
    )
    far = "unknown" if row.far is None or row.far.value is None else f"{row.far.value:.1f}%"
    return f"{row.n_speakers} {row.visibility}: gain {gain} (an option-eliminator's {eliminator}), FAR {far}"
