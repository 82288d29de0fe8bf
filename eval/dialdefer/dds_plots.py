"""DDS with its intervals for a few judges, and its spread over many (DialDefer Figure 5)."""

from collections.abc import Mapping

from eval.dialdefer.domain_grid import DomainGrid
from eval.dialdefer.score_groups import ScoreGroup
from eval.dialdefer.shift_plots import around_zero
from eval.report.plots import (
    INK,
    RUN_COLOURS,
    RUN_MARKERS,
    TRUE_COLOUR,
    Plot,
    new_figure,
    short,
    styled,
    title,
)
from eval.report.shown_numbers import signed

MOST_JUDGES = len(RUN_COLOURS)  # more are no longer told apart; the spread over judges is drawn instead
SIGNS = "← skepticism      deference →"


def dds_plot(groups: Mapping[str, ScoreGroup]) -> Plot:
    """DDS with its 95 % interval, a line for each dataset, a colour and a shape for each judge."""
    names = list(dict.fromkeys(row.dataset for group in groups.values() for row in group.rows))
    gap = min(0.24, 0.75 / len(groups))
    with styled():
        figure, axes = new_figure(1.25 + len(names) * (0.16 + 0.19 * len(groups)) + 0.22 * len(groups))
        for order, (judge, group) in enumerate(groups.items()):
            colour, marker = RUN_COLOURS[order % MOST_JUDGES], RUN_MARKERS[order % MOST_JUDGES]
            known = [row for row in group.rows if row.dds_pp is not None]
            y = [names.index(row.dataset) + (order - (len(groups) - 1) / 2) * gap for row in known]
            axes.plot([row.dds_pp for row in known], y, marker, color=colour, markersize=6, label=short(judge, 40))
            for row, at in zip(known, y, strict=True):
                if row.dds_ci_low_pp is not None and row.dds_ci_high_pp is not None:
                    axes.plot([row.dds_ci_low_pp, row.dds_ci_high_pp], [at, at], color=colour, linewidth=2)
        around_zero(axes)
        axes.set(ylim=(len(names) - 0.5, -0.5), xlabel="DDS, percentage points (95% interval)")
        axes.set_yticks(range(len(names)), names)
        axes.set_title(SIGNS, color=INK)
        title(figure, "DDS by dataset" if len(groups) > 1 else f"{next(iter(groups))}: DDS by dataset")
        if len(groups) > 1:
            figure.legend(loc="outside lower center", ncols=1)
    where = f"on {len(names)} datasets and averages, with 95% intervals; the heat map has the numbers"
    alt = f"DDS of {', '.join(groups)} {where}"
    return Plot(name="dds", alt=alt, drawing=figure)


def spread_plot(grid: DomainGrid) -> Plot:
    """Figure 5: every judge's DDS on each dataset, with the quartiles and the median over judges."""
    names = [domain.dataset for domain in grid.domains]
    with styled():
        figure, axes = new_figure(1.3 + 0.42 * len(names))
        for line, domain in enumerate(grid.domains):
            known = [dds for dds in domain.dds_pp if dds is not None]
            box = [domain.lower_quartile_pp, domain.upper_quartile_pp]
            axes.plot(box, [line, line], color="#b9d3dc", linewidth=13, solid_capstyle="butt", zorder=1)
            axes.plot([domain.median_pp] * 2, [line - 0.27, line + 0.27], color=INK, linewidth=2, zorder=2)
            axes.plot(known, [line] * len(known), "o", color=TRUE_COLOUR, markersize=5, alpha=0.75, zorder=3)
        around_zero(axes)
        axes.set(ylim=(len(names) - 0.5, -0.5), xlabel="DDS, pp  (bar: quartiles, line: median)")
        axes.set_yticks(range(len(names)), names)
        axes.set_title(SIGNS, color=INK)
        title(figure, f"DDS of {len(grid.judges)} judges by dataset")
    medians = "; ".join(f"{domain.dataset} median {signed(domain.median_pp)}" for domain in grid.domains)
    return Plot(name="dds-by-dataset", alt=f"DDS over {len(grid.judges)} judges by dataset: {medians}", drawing=figure)
