"""Margins: how they lie for true and for false claims in both framings, and how reliable they are."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from eval.dialdefer.dds import C1_FALSE, C1_TRUE, C2_CORRECT, C2_INCORRECT
from eval.dialdefer.panels import Panel
from eval.dialdefer.reliability import Reliability
from eval.report.plots import FAINT, FALSE_COLOUR, INK, TRUE_COLOUR, Plot, new_figure, styled, title

FRAMING_WORDS = {"C1": "C1, statement", "C2": "C2, speaker's turn"}
FRAMING_STYLE = {"C1": ("#1f6f8b", "o", "-"), "C2": ("#b0570f", "s", "--")}


def margin_plot(name: str, judge: str, panels: Sequence[Panel], limit: float) -> Plot:
    """Margins of true and of false claims, one axes for each framing; `limit` in nats is shared by all judges."""
    margins = np.concatenate([panel.margins[:, :, 0] for panel in panels])
    bins = np.linspace(-limit, limit, 41)
    sides = (("C1", C1_TRUE, C1_FALSE), ("C2", C2_CORRECT, C2_INCORRECT))
    with styled():
        figure, both = new_figure(4.4, 2, sharex=True, sharey=True)
        for axes, (framing, true, false) in zip(both, sides, strict=True):
            for column, colour, words in ((true, TRUE_COLOUR, "true claims"), (false, FALSE_COLOUR, "false claims")):
                values = np.clip(margins[:, column][~np.isnan(margins[:, column])], -limit, limit)
                axes.hist(values, bins=bins, histtype="stepfilled", color=colour, alpha=0.45)
                # The outlines tell the hills apart where they overlap, and where colours look alike.
                dashed = "-" if column == true else (0, (3, 1.5))
                axes.hist(values, bins=bins, histtype="step", color=colour, linestyle=dashed, label=words)
            axes.axvline(0, color=INK, linewidth=0.9)
            axes.set_title(FRAMING_WORDS[framing], loc="left")
            axes.set_ylabel("claims")
        both[1].set_xlabel("margin, nats   (← rejects      accepts →)")
        title(figure, judge)
        handles, names = both[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=2)
    alt = f"{judge}: distribution of margins of true and of false claims in both framings. {median_words(margins)}"
    return Plot(name=name, alt=alt, drawing=figure)


def median_words(margins: Any) -> str:
    """The four medians."""
    names = ("C1 true", "C1 false", "C2 correct", "C2 incorrect")
    known = [margins[:, i][~np.isnan(margins[:, i])] for i in range(4)]
    return "Medians in nats: " + ", ".join(
        f"{n} {np.median(v):+.2f}" for n, v in zip(names, known, strict=True) if len(v)
    )


def margin_limit(panels: Sequence[Panel]) -> float:
    """A half-width in nats that holds 99 % of all margins."""
    finite = np.concatenate([panel.margins[np.isfinite(panel.margins)] for panel in panels])
    return float(max(0.5, np.percentile(np.abs(finite), 99))) if finite.size else 1.0


def reliability_plot(name: str, judge: str, framings: Sequence[Reliability]) -> Plot:
    """Share of true claims by P(accept) for each framing, with Wilson intervals, and how many claims each bin holds."""
    with styled():
        figure, (curve, counts) = new_figure(4.9, 2, sharex=True, height_ratios=(3, 1))
        curve.plot([0, 1], [0, 1], color=FAINT, linewidth=1.2, zorder=0)
        for order, found in enumerate(framings):
            colour, marker, line = FRAMING_STYLE[found.framing]
            shown = [b for b in found.bins if b.n_claims]
            x, y = [b.mean_probability for b in shown], [b.true_rate for b in shown]
            words = f"{FRAMING_WORDS[found.framing]}: error {found.calibration_error:.3f}"
            curve.plot(x, y, marker, linestyle=line, color=colour, markersize=5, linewidth=1.3, label=words)
            for b in shown:
                curve.plot([b.mean_probability] * 2, [b.true_low, b.true_high], color=colour, linewidth=1, alpha=0.7)
            middles = [(b.low + b.high) / 2 + (order - 0.5) * 0.04 for b in found.bins]
            hatch = "////" if order else ""
            counts.bar(
                middles,
                [b.n_claims for b in found.bins],
                0.038,
                color=colour,
                hatch=hatch,
                edgecolor="white",
                linewidth=0,
            )
        curve.set(ylim=(-0.03, 1.03), ylabel="share of true claims")
        counts.set(xlim=(-0.03, 1.03), xlabel="P(accept), in tenths", ylabel="claims")
        title(figure, f"{judge}: reliability")
        figure.legend(*curve.get_legend_handles_labels(), loc="outside lower center", ncols=1)
    return Plot(name=name, alt=reliability_alt(judge, framings), drawing=figure)


def reliability_alt(judge: str, framings: Sequence[Reliability]) -> str:
    """The curve in words."""
    words = [
        f"{f.framing}: expected calibration error {f.calibration_error:.3f} over {f.n_claims:,} claims"
        for f in framings
        if f.calibration_error is not None
    ]
    return f"{judge}: share of true claims by probability of acceptance; the table has the bins. {'; '.join(words)}"
