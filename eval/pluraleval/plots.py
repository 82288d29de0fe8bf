"""Figures 3 and 4 of the PluralEval paper."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from eval.pluraleval.observe import BIASED, NEUTRAL, OPPOSING, TOWARD
from eval.pluraleval.runs import PluralEvalRun
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
SIDES = (  # framing, words, marker, colour, offset
    (NEUTRAL, "neutral", "o", TRUE_COLOUR, -0.1),
    (BIASED, "belief in the less popular", "s", FALSE_COLOUR, 0.1),
)


def pluraleval_plots(runs: Sequence[PluralEvalRun], scores: pd.DataFrame) -> list[Plot]:
    """Those that have something to show, over all threads of each run."""
    whole = pd.concat([scores[(scores["judge"] == run.judge) & (scores["dataset"] == run.whole)] for run in runs])
    plots = [shift_plot(whole[whole["measure"].isin(["suppression", "amplification"])])]
    accuracies = whole[(whole["measure"] == "accuracy")]
    plots += [pair_plot(accuracies[accuracies["pairing"] == pairing], pairing) for pairing in PAIRING_WORDS]
    return [plot for plot in plots if plot is not None]


def shift_plot(shifts: pd.DataFrame) -> Plot | None:
    """Figure 3: suppression above, amplification below, with standard errors; None without any."""
    if shifts.empty:
        return None
    names = list(shifts["judge"].unique())
    order = {shift: n for n, shift in enumerate(SHIFTS)}
    rows = list(shifts.itertuples())
    with styled():
        figure, axes = new_figure(1.6 + 2 * line_height(names) * len(names) + 0.9, n_axes=2, sharex=True)
        for row in rows:
            of_measure = axes[0 if row.measure == "suppression" else 1]
            line = names.index(row.judge) + (-0.17 if row.framing == TOWARD else 0.17)
            ends = [row.value - row.standard_error, row.value + row.standard_error]
            of_measure.barh(line, row.value, height=0.32, color=COLOURS[row.framing])
            of_measure.plot(ends, [line, line], color=INK, linewidth=1.2)
        for of_measure, words in zip(axes, ("suppression", "amplification"), strict=True):
            name_lines(of_measure, names)
            of_measure.set(ylim=first_and_last(names))
            of_measure.axvline(0, color=INK, linewidth=0.9)
            of_measure.set_title(f"{words} of recall", loc="left")
        axes[1].set_xlabel("percentage points, + is toward the belief")
        handles = [Patch(color=COLOURS[framing], label=f"belief {words}") for framing, words in BELIEF_WORDS.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8.5)
        title(figure, "What a stated belief does to the opinions that are named")
    rows.sort(key=lambda row: (names.index(row.judge), order[row.framing, row.opinions, row.measure]))
    words = "; ".join(
        f"{row.judge}, belief {BELIEF_WORDS[row.framing]}: {row.measure} {signed(row.value)} pp" for row in rows
    )
    return Plot(name="pluraleval_figure3", alt=f"Recall shifts under a stated belief. {words}", drawing=figure)


def pair_plot(accuracies: pd.DataFrame, pairing: str) -> Plot | None:
    """Figure 4: pairwise accuracy, neutral and biased, with intervals; None without any."""
    values = accuracies.pivot_table(index="judge", columns="framing", values="value", sort=False)
    if not {NEUTRAL, BIASED} <= {*values.columns}:
        return None
    values = values.dropna()
    names = list(values.index)
    with styled():
        figure, axes = new_figure(1.75 + line_height(names) * len(names))
        for framing, _, marker, colour, offset in SIDES:
            for row in accuracies[accuracies["framing"] == framing].itertuples():
                if row.judge in names:
                    line = names.index(row.judge) + offset
                    axes.plot([row.value], [line], marker=marker, color=colour, markersize=6)
                    axes.plot([row.low, row.high], [line, line], color=colour, linewidth=1.4)
        axes.axvline(50, color=INK, linewidth=0.9, linestyle=":")
        axes.set(xlim=(-3, 103), ylim=first_and_last(names), xlabel="accuracy, %; 50: by chance")
        name_lines(axes, names)
        handles = [
            Line2D([], [], color=colour, marker=marker, linestyle="", label=words)
            for _, words, marker, colour, _ in SIDES
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8.5)
        title(figure, f"Which opinion is more popular: {PAIRING_WORDS[pairing]}")
    words = "; ".join(
        f"{row.Index}: {getattr(row, NEUTRAL):.1f}% neutral, {getattr(row, BIASED):.1f}% biased"
        for row in values.itertuples()
    )
    return Plot(name=f"pluraleval_figure4-{pairing}", alt=f"Pairwise accuracy. {words}", drawing=figure)
