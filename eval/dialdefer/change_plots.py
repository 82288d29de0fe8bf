"""Changes in DDS within a judge, with paired intervals: speaker labels (DialDefer Figure 7), arms and variants."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.lines import Line2D

from eval.dialdefer.change_rows import ChangeRow
from eval.dialdefer.label_shifts import LabelShift
from eval.dialdefer.row_groups import arm_words
from eval.dialdefer.score_groups import worth_showing
from eval.dialdefer.scores import FIXED, OWN
from eval.dialdefer.shift_plots import around_zero
from eval.estimates.changes import Change
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
from eval.report.shown_numbers import interval, signed

# What a mark is → its shape, its colour and the colour of its inside.
BEFORE_AFTER = {
    "before": ("o", INK, "white"),
    "after, own C1": ("o", TRUE_COLOUR, TRUE_COLOUR),
    "after, fixed C1 (mixes two models)": ("x", FALSE_COLOUR, FALSE_COLOUR),
}


@dataclass(frozen=True, slots=True)
class Bar:
    """What was changed, and what that did to DDS, in percentage points."""

    words: str
    change_pp: float
    low_pp: float | None
    high_pp: float | None


def before_after_plot(name: str, label: str, rows: Sequence[ChangeRow]) -> Plot:
    """DDS of the base and of a run after it, with own C1 (the one to believe) and with fixed C1; a line a dataset.

    rows: of one arm and prompt variant, with either source of C1.
    """
    own, fixed = ({row.dataset: row for row in worth_showing(rows) if row.c1_source == c1} for c1 in (OWN, FIXED))
    names = list(fixed | own)
    with styled():
        figure, axes = new_figure(1.75 + 0.36 * len(names))
        for line, dataset in enumerate(names):
            draw_before_after(axes, line, own.get(dataset), fixed.get(dataset))
        around_zero(axes)
        axes.set(ylim=(len(names) - 0.5, -0.5), xlabel="← skepticism    DDS, pp    deference →")
        axes.set_yticks(range(len(names)), names)
        title(figure, f"{label}: DDS before and after")
        handles = [Line2D([], [], marker=m, color=c, linestyle="", mfc=face) for m, c, face in BEFORE_AFTER.values()]
        figure.legend(handles, BEFORE_AFTER, loc="outside lower center", ncols=1)
    words = [f"{n} {before_after_words(own.get(n), fixed.get(n))}" for n in names]
    return Plot(name=name, alt=f"{label}: DDS before and after. {'; '.join(words)}", drawing=figure)


def before_after_words(own: ChangeRow | None, fixed: ChangeRow | None) -> str:
    """A line of the figure in words."""
    base = own or fixed
    parts = [f"{row.c1_source} C1 {signed(row['dds'].after.value)}" for row in (own, fixed) if row is not None]
    return f"{signed(base['dds'].before.value if base else None)} to {', '.join(parts)}"


def draw_before_after(axes: Any, line: int, own: ChangeRow | None, fixed: ChangeRow | None) -> None:
    """The marks of one dataset; a line joins the base and the after model with own C1."""
    base = own or fixed
    values = (
        base and base["dds"].before.value,
        own and own["dds"].after.value,
        fixed and fixed["dds"].after.value,
    )
    if values[0] is not None and values[1] is not None:
        axes.plot(values[:2], [line, line], color=BEFORE_AFTER["after, own C1"][1], linewidth=1.8, zorder=1)
    for value, (marker, colour, face) in zip(values, BEFORE_AFTER.values(), strict=True):
        if value is not None:
            axes.plot(value, line, marker, color=colour, markerfacecolor=face, markersize=7, zorder=2)


def label_plots(found: Sequence[LabelShift]) -> list[Plot]:
    """Figure 7 for each judge and dataset: ΔDDS under other speaker labels, the largest rise first."""
    subjects = dict.fromkeys((shift.judge, shift.dataset) for shift in found)
    plots = []
    for i, (judge, dataset) in enumerate(subjects):
        shifts = [s for s in found if (s.judge, s.dataset) == (judge, dataset) and s.dds.change.value is not None]
        changes = [
            Bar(f"{s.speaker1} / {s.speaker2}", s.dds.change.value or 0.0, s.dds.change.low, s.dds.change.high)
            for s in sorted(shifts, key=lambda s: -(s.dds.change.value or 0.0))
        ]
        if changes:
            heading = f"{judge}, {dataset}: ΔDDS under other speaker labels"
            plots.append(change_plot(f"labels-{i}", heading, changes))
    return plots


def setting_plot(name: str, judge: str, rows: Sequence[Change]) -> Plot | None:
    """ΔDDS of a judge's arms and prompt variants against its untreated main one; None when there is none."""
    changes = [
        Bar(setting_words(row), row.change.value, row.change.low, row.change.high)
        for row in rows
        if row.change.value is not None
    ]
    return change_plot(name, f"{judge}: ΔDDS under other arms and prompt variants", changes) if changes else None


def setting_words(row: Change) -> str:
    """What a line of the figure calls a setting."""
    arm, variant, roles = (str(row.setting[key]) for key in ("arm", "variant", "roles"))
    # A treated arm is held against the untreated one in the same prompt variant.
    parts = [arm_words(arm)] if arm != "none" else [variant] if variant else []
    parts += [f"roles {roles}"] if roles != "2->1" else []
    parts += ["fixed C1"] if row.setting["c1_source"] != OWN else []
    return f"{', '.join(parts) or 'asked again'} ({row.dataset})"


def change_plot(name: str, heading: str, changes: Sequence[Bar]) -> Plot:
    """A bar for each change; hatched ones lower DDS, so that direction shows without colour too."""
    names = [change.words for change in changes]
    with styled():
        figure, axes = new_figure(1.1 + line_height(names) * len(names))
        for line, change in enumerate(changes):
            is_rise = change.change_pp > 0
            colour, hatch = (FALSE_COLOUR, "") if is_rise else (TRUE_COLOUR, "////")
            axes.barh(line, change.change_pp, height=0.36, color=colour, hatch=hatch, edgecolor="white", linewidth=0)
            if change.low_pp is not None and change.high_pp is not None:
                axes.plot([change.low_pp, change.high_pp], [line, line], color=INK, linewidth=1.5)
        around_zero(axes)
        axes.set(ylim=first_and_last(names), xlabel="change in DDS, pp (95% interval, paired by item)")
        name_lines(axes, names)
        title(figure, heading)
    words = "; ".join(f"{c.words} {signed(c.change_pp)} {interval(c.low_pp, c.high_pp)}" for c in changes)
    return Plot(name=name, alt=f"{heading}. {words}", drawing=figure)
