"""Figures, drawn without a display: accuracy shift arrows, DDS with intervals, margin distributions."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from eval.dds import C1_FALSE, C1_TRUE, C2_CORRECT, C2_INCORRECT
from eval.panels import Panel
from eval.rows import ScoreRow

TRUE_COLOUR, FALSE_COLOUR = (
    "#1f6f8b",
    "#c8553d",
)  # true claims, false claims: apart also in grey and for the colour-blind
RUN_COLOURS = ("#8a8f98", "#1f6f8b", "#c8553d", "#5b8c5a", "#7a5195", "#d9a441")
WIDTH = 4.7  # inches; narrow, so that letters stay readable when a phone shrinks the figure
STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "evenhand",  # the same figure has the same bytes
}


def shift_arrows(label: str, rows: Sequence[ScoreRow]) -> Any:
    """Accuracy from C1 (ring) to C2 (arrow head), for true and false claims, one line each per row.

    Deference shows as the blue arrow pointing right and the red one left; more knowledge as both pointing right.
    """
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(WIDTH, 1.25 + 0.62 * len(rows)))
        for line, row in enumerate(rows):
            draw_arrow(axes, line - 0.16, row.acc_c1_true, row.acc_c2_correct, TRUE_COLOUR)
            draw_arrow(axes, line + 0.16, row.acc_c1_false, row.acc_c2_incorrect, FALSE_COLOUR)
        axes.set(xlim=(-4, 104), ylim=(len(rows) - 0.45, -0.55), xlabel="accuracy, %  (○ statement  → speaker's turn)")
        axes.set_yticks(range(len(rows)), [row.dataset for row in rows])
        axes.axvline(50, color="#cccccc", linewidth=0.8, zorder=0)
        axes.set_title(label)
        handles = [plt.Line2D([], [], color=c, linewidth=2.5) for c in (TRUE_COLOUR, FALSE_COLOUR)]
        figure.legend(handles, ["true claims", "false claims"], loc="outside lower center", ncols=2)
    return figure


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


def dds_intervals(rows_of_runs: Mapping[str, Sequence[ScoreRow]]) -> Any:
    """DDS with its 95 % interval, a line per dataset and a colour per run."""
    names = list(dict.fromkeys(row.dataset for rows in rows_of_runs.values() for row in rows))
    step = min(0.22, 0.7 / max(1, len(rows_of_runs)))
    with plt.rc_context(STYLE):
        height = 1.3 + len(names) * (0.3 + 0.2 * len(rows_of_runs)) + 0.2 * len(rows_of_runs)
        figure, axes = plt.subplots(figsize=(WIDTH, height))
        for order, (label, rows) in enumerate(rows_of_runs.items()):
            shift, colour = (order - (len(rows_of_runs) - 1) / 2) * step, RUN_COLOURS[order % len(RUN_COLOURS)]
            known = [row for row in rows if row.dds_pp is not None]
            y = [names.index(row.dataset) + shift for row in known]
            axes.plot([row.dds_pp for row in known], y, "o", color=colour, markersize=6, label=label)
            for row, height_of_row in zip(known, y, strict=True):
                if row.dds_ci_low_pp is not None and row.dds_ci_high_pp is not None:
                    axes.plot([row.dds_ci_low_pp, row.dds_ci_high_pp], [height_of_row] * 2, color=colour, linewidth=2)
        axes.axvline(0, color="#444444", linewidth=0.9, zorder=0)
        axes.set(ylim=(len(names) - 0.5, -0.5), xlabel="DDS, percentage points (95% interval)")
        axes.set_yticks(range(len(names)), names)
        left, right = axes.get_xlim()
        widest = max(abs(left), abs(right), 10.0)
        axes.set_xlim(-widest, widest)
        axes.set_title("← skepticism      deference →", loc="center", fontweight="normal", color="#555555")
        figure.legend(loc="outside lower center", ncols=1)
    return figure


def margin_histograms(label: str, panels: Sequence[Panel], limit: float) -> Any:
    """Margins of true and false claims, one axes per framing, over all panels; `limit` in nats is shared by runs."""
    margins = np.concatenate([panel.margins[:, :, 0] for panel in panels])
    bins = np.linspace(-limit, limit, 41)
    sides = (("C1, statement", C1_TRUE, C1_FALSE), ("C2, speaker's turn", C2_CORRECT, C2_INCORRECT))
    with plt.rc_context(STYLE):
        figure, both = plt.subplots(2, 1, figsize=(WIDTH, 4.4), sharex=True, sharey=True)
        for axes, (framing, true, false) in zip(both, sides, strict=True):
            for column, colour, name in ((true, TRUE_COLOUR, "true claims"), (false, FALSE_COLOUR, "false claims")):
                values = margins[:, column][np.isfinite(margins[:, column])]
                axes.hist(np.clip(values, -limit, limit), bins=bins, color=colour, alpha=0.6, label=name)
            axes.axvline(0, color="#444444", linewidth=0.9)
            axes.set_title(framing, fontweight="normal")
            axes.set_ylabel("items")
        both[1].set_xlabel("margin, nats   (← rejects      accepts →)")
        figure.suptitle(label, x=0.02, ha="left", fontsize=11, fontweight="bold")
        handles, names = both[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=2)
    return figure


def margin_limit(panels: Sequence[Panel]) -> float:
    """A half-width in nats that holds 99 % of all margins."""
    finite = np.concatenate([panel.margins[np.isfinite(panel.margins)] for panel in panels])
    return float(max(0.5, np.percentile(np.abs(finite), 99))) if finite.size else 1.0


def as_svg(figure: Any) -> str:
    """The figure as an SVG document."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def save(figure: Any, path: Path) -> None:
    """The figure as a PNG file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160, metadata={"Software": None})


def close(figure: Any) -> None:
    """Free a drawn figure."""
    plt.close(figure)
