"""DDS with its intervals for a few judges, its spread over many (DialDefer Figure 5), and what r/AIO does to it."""

from collections.abc import Mapping, Sequence

from eval.dialdefer.amplification import Amplification
from eval.dialdefer.domain_grid import DomainGrid
from eval.dialdefer.score_groups import ScoreGroup
from eval.dialdefer.shift_plots import around_zero, draw_arrow
from eval.report.plots import (
    INK,
    RUN_COLOURS,
    RUN_MARKERS,
    TRUE_COLOUR,
    Plot,
    first_and_last,
    line_height,
    name_lines,
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


def amplification_plot(found: Sequence[Amplification]) -> Plot:
    """Insight 3: each judge's DDS from its benchmark average to r/AIO."""
    names = [amplification.judge for amplification in found]
    with styled():
        figure, axes = new_figure(1.15 + line_height(names) * len(names))
        axes.set_xlim(*data_limits([value for a in found for value in (a.bench_dds_pp, a.aio_dds_pp)]))
        for line, a in enumerate(found):
            draw_arrow(axes, line, a.bench_dds_pp, a.aio_dds_pp, TRUE_COLOUR)
            if a.ratio is not None:
                is_left = a.aio_dds_pp < a.bench_dds_pp
                place = {"xytext": (-6 if is_left else 6, -3), "ha": "right" if is_left else "left"}
                axes.annotate(f"{a.ratio:.1f}×", (a.aio_dds_pp, line), textcoords="offset points", fontsize=9, **place)
        around_zero(axes)
        axes.set(ylim=first_and_last(names), xlabel="DDS, pp  (○ Bench Avg  → r/AIO)")
        name_lines(axes, names)
        title(figure, "DDS from benchmarks to r/AIO")
    words = "; ".join(f"{a.judge} {signed(a.bench_dds_pp)} to {signed(a.aio_dds_pp)}" for a in found)
    return Plot(name="amplification", alt=f"DDS from the benchmarks' average to r/AIO: {words}", drawing=figure)


def data_limits(values: Sequence[float]) -> tuple[float, float]:
    """Limits around some values, with room for words beside them."""
    widest_pp = 1.25 * max(10.0, *(abs(value) for value in values))
    return -widest_pp, widest_pp
