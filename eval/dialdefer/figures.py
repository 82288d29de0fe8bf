"""The figures of a report, by the section that shows them."""

from collections.abc import Mapping
from dataclasses import dataclass

from eval.dialdefer.analyses import Analyses, headline_changes
from eval.dialdefer.change_plots import before_after_plot, label_plots, setting_plot
from eval.dialdefer.change_rows import change_rows
from eval.dialdefer.dds_plots import MOST_JUDGES, dds_plot, spread_plot
from eval.dialdefer.findings import Findings
from eval.dialdefer.heat_map import HeatMap
from eval.dialdefer.heat_plot import heat_map_plot
from eval.dialdefer.item_plot import item_plot
from eval.dialdefer.margin_plots import margin_limit, margin_plot, reliability_plot
from eval.dialdefer.score_groups import ScoreGroup, believed, main_groups, untreated_panels
from eval.dialdefer.shift_plots import overview_plots, shift_plot
from eval.report.plots import Plot

FEWEST_SPREAD = 3  # judges from which on quartiles say something


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """All figures. The heat map is a file only: the page has it as a table."""

    heat_map: Plot
    before_after: tuple[Plot, ...]  # one for each run after the base
    overview: tuple[Plot, ...]
    shifts: tuple[Plot, ...]  # one for each judge
    dds: tuple[Plot, ...]
    changes: tuple[Plot, ...]
    items: tuple[Plot, ...]
    margins: tuple[Plot, ...]
    reliability: tuple[Plot, ...]

    @property
    def all(self) -> list[Plot]:
        """Every figure."""
        several = (self.before_after, self.overview, self.shifts, self.dds, self.changes)
        return [self.heat_map, *(p for group in (*several, self.items, self.margins, self.reliability) for p in group)]


def draw(found: Findings, analyses: Analyses, heat: HeatMap) -> Figures:
    """All figures of some findings."""
    mains = main_groups(found.groups)
    lines = overview_lines(found)
    return Figures(
        heat_map=heat_map_plot(heat),
        before_after=tuple(before_after_figures(found)),
        overview=tuple(overview_plots(lines)) if len(lines) > 1 else (),
        shifts=tuple(shift_plot(f"shift-{i}", group) for i, group in enumerate(mains.values())),
        dds=tuple(dds_figures(mains, analyses)),
        changes=tuple(change_figures(analyses)),
        items=(item_plot(analyses.spreads),) if analyses.spreads else (),
        margins=tuple(margin_figures(found)),
        reliability=tuple(
            reliability_plot(f"reliability-{i}", judge, curves)
            for i, (judge, curves) in enumerate(analyses.reliability.items())
        ),
    )


def before_after_figures(found: Findings) -> list[Plot]:
    """DDS before and after for each run after the base, in the first arm and prompt variant that both have."""
    plots = []
    for i, (label, of) in enumerate(found.changes.items()):
        rows = change_rows(of)
        first = rows[0].arm, rows[0].roles, rows[0].variant
        same = [row for row in rows if (row.arm, row.roles, row.variant) == first]
        plots.append(before_after_plot(f"before-after-{i}", label, same))
    return plots


def overview_lines(found: Findings) -> list[tuple[str, ScoreGroup]]:
    """The groups worth a line of Figure 3: every judge's main one; of a single judge also its whole other arms."""
    mains = main_groups(found.groups)
    if len(mains) > 1:
        return list(mains.items())
    main = next(iter(mains.values()))
    return [
        (group.words, group) for group in believed(found.groups) if group.by_dataset.keys() == main.by_dataset.keys()
    ]


def dds_figures(mains: Mapping[str, ScoreGroup], analyses: Analyses) -> list[Plot]:
    """Intervals for few judges, the spread over several."""
    plots = [dds_plot(mains)] if len(mains) <= MOST_JUDGES else []
    if analyses.grid is not None and len(analyses.grid.judges) >= FEWEST_SPREAD:
        plots.append(spread_plot(analyses.grid))
    return plots


def change_figures(analyses: Analyses) -> list[Plot]:
    """Arms and prompt variants of each judge, and Figure 7."""
    relabelled = {(shift.judge, f"{shift.speaker1}/{shift.speaker2}") for shift in analyses.labels}
    plots = []
    for i, (judge, rows) in enumerate(analyses.changes.items()):
        others = [row for row in headline_changes(rows) if (judge, row.setting["variant"]) not in relabelled]
        plots.append(setting_plot(f"arms-{i}", judge, others))
    return [*filter(None, plots), *label_plots(analyses.labels)]


def margin_figures(found: Findings) -> list[Plot]:
    """The distribution of each judge's margins, all on one scale."""
    if found.mode != "margin":
        return []
    panels = {label: untreated_panels(judge.panels) for label, judge in found.judges.items()}
    limit = margin_limit([panel for of_judge in panels.values() for panel in of_judge])
    return [margin_plot(f"margins-{i}", label, of, limit) for i, (label, of) in enumerate(panels.items())]
