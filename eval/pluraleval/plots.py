"""Figures 3 and 4 of the PluralEval paper."""

from collections.abc import Sequence
from typing import Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from eval.pluraleval.findings import Measured, PluralEvalFindings
from eval.pluraleval.observe import BIASED, OPPOSING, TOWARD, Figure
from eval.pluraleval.tables import BELIEF_WORDS, PAIRING_WORDS, SHIFTS
from eval.report.plots import (
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
from eval.report.shown_numbers import signed

COLOURS = {TOWARD: FALSE_COLOUR, OPPOSING: TRUE_COLOUR}  # orange and blue, as in the paper


def pluraleval_plots(found: PluralEvalFindings) -> list[Plot]:
    """Those that have something to show."""
    plots = [shift_plot(found.measured), *(pair_plot(found.measured, pairing) for pairing in PAIRING_WORDS)]
    return [plot for plot in plots if plot is not None]


def shift_plot(measured: Sequence[Measured]) -> Plot | None:
    """Figure 3: suppression above, amplification below, over all threads, with standard errors; None without any."""
    shown = [one for one in measured if shift(one, *SHIFTS[0])[0] is not None]
    if not shown:
        return None
    names = [one.name for one in shown]
    height = 1.6 + 2 * line_height(names) * len(names) + 0.9
    with styled():
        figure, axes = new_figure(height, n_axes=2, sharex=True)
        for framing, group, measure in SHIFTS:
            of_measure = axes[0 if measure == "suppression" else 1]
            offset = -0.17 if framing == TOWARD else 0.17
            for line, one in enumerate(shown):
                draw_shift(of_measure, line + offset, shift(one, framing, group, measure), COLOURS[framing])
        for of_measure, words in zip(axes, ("suppression", "amplification"), strict=True):
            name_lines(of_measure, names)
            of_measure.set(ylim=first_and_last(names))
            of_measure.axvline(0, color=INK, linewidth=0.9)
            of_measure.set_title(f"{words} of recall", loc="left")
        axes[1].set_xlabel("percentage points, + is toward the belief")
        handles = [Patch(color=COLOURS[framing], label=f"belief {words}") for framing, words in BELIEF_WORDS.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8.5)
        title(figure, "What a stated belief does to the opinions that are named")
    words = "; ".join(
        f"{one.name}, belief {BELIEF_WORDS[framing]}: {measure} {signed(shift(one, framing, group, measure)[0])} pp"
        for one in shown
        for framing, group, measure in SHIFTS
    )
    return Plot(name="pluraleval_figure3", alt=f"Recall shifts under a stated belief. {words}", drawing=figure)


def shift(one: Measured, framing: str, group: str, measure: str) -> tuple[float | None, float]:
    """(a shift over all threads, its standard error)."""
    figure = Figure("generation", framing, group, "", measure)
    value = one.estimate(one.whole, figure).value
    return value, 0.0 if value is None else one.standard_error(one.whole, figure)


def draw_shift(axes: Any, line: float, of: tuple[float | None, float], colour: str) -> None:
    """One bar with its standard error."""
    value, error = of
    if value is not None:
        axes.barh(line, value, height=0.32, color=colour)
        axes.plot([value - error, value + error], [line, line], color=INK, linewidth=1.2)


def pair_plot(measured: Sequence[Measured], pairing: str) -> Plot | None:
    """Figure 4: pairwise accuracy, neutral and biased, with intervals; None without any."""
    figures = [Figure("pairwise", framing, "", pairing, "accuracy") for framing in ("neutral", BIASED)]
    shown = [one for one in measured if all(figure in one.values for figure in figures)]
    if not shown:
        return None
    names = [one.name for one in shown]
    with styled():
        figure, axes = new_figure(1.75 + line_height(names) * len(names))
        for line, one in enumerate(shown):
            for of, marker, shift_by in zip(figures, ("o", "s"), (-0.1, 0.1), strict=True):
                draw_accuracy(axes, line + shift_by, one, of, marker)
        axes.axvline(50, color=INK, linewidth=0.9, linestyle=":")
        axes.set(xlim=(-3, 103), ylim=first_and_last(names), xlabel="accuracy, %; 50: by chance")
        name_lines(axes, names)
        handles = [
            Line2D([], [], color=colour, marker=marker, linestyle="", label=words)
            for words, marker, colour in (
                ("neutral", "o", TRUE_COLOUR),
                ("belief in the less popular", "s", FALSE_COLOUR),
            )
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8.5)
        title(figure, f"Which opinion is more popular: {PAIRING_WORDS[pairing]}")
    values = [[one.estimate(one.whole, of).value or 0.0 for of in figures] for one in shown]
    words = "; ".join(f"{name}: {a:.1f}% neutral, {b:.1f}% biased" for name, (a, b) in zip(names, values, strict=True))
    return Plot(name=f"pluraleval_figure4-{pairing}", alt=f"Pairwise accuracy. {words}", drawing=figure)


def draw_accuracy(axes: Any, line: float, one: Measured, of: Figure, marker: str) -> None:
    """One mark with its interval."""
    found = one.estimate(one.whole, of)
    colour = TRUE_COLOUR if of.framing == "neutral" else FALSE_COLOUR
    axes.plot([found.value], [line], marker=marker, color=colour, markersize=6)
    if found.low is not None and found.high is not None:
        axes.plot([found.low, found.high], [line, line], color=colour, linewidth=1.4)
