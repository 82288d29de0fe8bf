"""The figures of the narrator paper: flips (Figure 2), and gains by number of speakers (Figure 3)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from matplotlib.lines import Line2D

from eval.estimates.estimate import Estimate
from eval.narrator.observe import DETECTION
from eval.narrator.scores import StudyResults
from eval.narrator.sentences import rows_by_size
from eval.narrator.words import TASK_WORDS, count, first_order, nth, tasks_of
from eval.report.plots import FALSE_COLOUR, INK, TRUE_COLOUR, Plot, new_figure, styled, title
from eval.report.shown_numbers import signed
from studies.narrator.records import Task, Visibility

# Hidden is dark, as in the paper; both stand out 3:1 on the light page and on the dark one.
DARK_LIGHT: dict[Visibility, str] = {"hidden": "#17364a", "visible": "#5b98b0"}
SHIFT: dict[Visibility, float] = {"hidden": -0.1, "visible": 0.1}  # intervals of one size stand beside each other

Measures = dict[str, Estimate]


def narrator_plots(found: StudyResults) -> list[Plot]:
    """Every figure that has something to show."""
    plots: list[Plot] = []
    for i, judge in enumerate(found.shown):
        drawn = [stability_plot(found, judge)]
        drawn += [size_plot(found, judge, task) for task in tasks_of(found) if task != DETECTION]
        plots += [replace(plot, name=f"{plot.name}{nth(i)}") for plot in drawn if plot is not None]
    return plots


def stability_plot(found: StudyResults, judge: str) -> Plot | None:
    """Figure 2: how many pairs flip in either direction, and the corruption rate; None without pairs."""
    settings = [(task, side) for task in tasks_of(found) for side in DARK_LIGHT]
    lines = {
        setting: of
        for setting in settings
        if (of := found.of(judge, *setting, first_order(found))) and "n_pairs" in of and n_counted(of)
    }
    if not lines:
        return None
    with styled():
        figure, axes = new_figure(1.45 + 0.38 * len(lines))
        for line, of in enumerate(lines.values()):
            draw_flips(axes, line, of)
        widest = max(5.0, *(rate for of in lines.values() for rate in flip_rates(of)))
        axes.set(xlim=(-2.5 * widest, 2.2 * widest), ylim=(len(lines) - 0.5, -0.6))
        axes.set_yticks(range(len(lines)), [f"{task} {side[0].upper()}" for task, side in lines])
        axes.xaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
        axes.axvline(0, color=INK, linewidth=0.9)
        axes.set_xlabel("← C→I   pairs that flip, % (pairs)   I→C →")
        for line, of in enumerate(lines.values()):
            axes.text(1.02, line, corruption_words(of), transform=axes.get_yaxis_transform(), va="center", fontsize=9)
        axes.text(1.02, -0.62, "corruption", transform=axes.get_yaxis_transform(), va="bottom", fontsize=8)
        title(figure, f"{judge}: from Neutral to the attacker as Me")
    words = "; ".join(
        f"{task} {side}: of {n_counted(of):,} pairs {flip_rates(of)[0]:.1f}% ({count(of, 'n_corrupted'):,}) from "
        f"correct to incorrect, {flip_rates(of)[1]:.1f}% ({count(of, 'n_restored'):,}) back, corruption rate "
        f"{corruption_words(of)}"
        for (task, side), of in lines.items()
    )
    return Plot(name="narrator_figure2", alt=f"{judge}: judgment stability. {words}", drawing=figure)


def n_counted(of: Measures) -> int:
    """The pairs with a verdict under both perspectives."""
    return sum(count(of, f"n_{kind}") for kind in ("stable_correct", "corrupted", "restored", "stable_incorrect"))


def flip_rates(of: Measures) -> tuple[float, float]:
    """(C→I, I→C) in percent of the counted pairs."""
    return 100 * count(of, "n_corrupted") / n_counted(of), 100 * count(of, "n_restored") / n_counted(of)


def corruption_words(of: Measures) -> str:
    """A corruption rate as the figure prints it."""
    n_right = count(of, "n_corrupted") + count(of, "n_stable_correct")
    rate = of["corruption"].value
    return "–" if rate is None else f"{rate:.1f}% ({count(of, 'n_corrupted'):,}/{n_right:,})"


def draw_flips(axes: Any, line: int, of: Measures) -> None:
    """Both bars of one line, with their numbers."""
    corrupted, restored = flip_rates(of)
    axes.barh(line, -corrupted, height=0.62, color=FALSE_COLOUR)
    axes.barh(line, restored, height=0.62, color=TRUE_COLOUR)
    for x, name, offset, align in ((-corrupted, "n_corrupted", -3, "right"), (restored, "n_restored", 3, "left")):
        text = f"{abs(x):.1f} ({count(of, name):,})"
        axes.annotate(text, (x, line), (offset, 0), textcoords="offset points", ha=align, va="center", fontsize=8)


def size_plot(found: StudyResults, judge: str, task: Task) -> Plot | None:
    """Figure 3 of one judge and task; None where sentences.why_absent says why."""
    rows = rows_by_size(found, judge, task)
    sizes = sorted({size for size, _ in rows})
    if len(sizes) < 2:
        return None
    with styled():
        figure, (above, below) = new_figure(4.9, 2, sharex=True)
        sides = [side for side in DARK_LIGHT if any(side == of_row for _, of_row in rows)]
        for side in sides:
            of_side = {size + SHIFT[side]: of for (size, of_row), of in rows.items() if of_row == side}
            draw_line(above, of_side, "eliminator_gain", "--", "", DARK_LIGHT[side])
            draw_line(above, of_side, "delta_non_att", "-", "s", DARK_LIGHT[side])
            draw_line(below, of_side, "far", "-", "^", DARK_LIGHT[side])
        for axes, words in ((above, "gain over Neutral, pp"), (below, "FAR, %")):
            axes.axhline(0, color=INK, linewidth=0.9, zorder=0)
            axes.set_ylabel(words)
        below.set_xticks(sizes)
        below.set_xlabel("number of speakers")
        title(figure, f"{judge}: {TASK_WORDS[task].lower()} by number of speakers")
        handles = [
            Line2D([], [], color=DARK_LIGHT[side], marker=marker, linestyle=style, label=f"{words}, {side}")
            for words, marker, style in (("judge", "o", "-"), ("eliminator", "", "--"))
            for side in sides
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8.5)
    words = "; ".join(f"{size} {side}: {size_words(of)}" for (size, side), of in rows.items())
    return Plot(name=f"narrator_figure3-{task}", alt=f"{judge}: {task} by number of speakers. {words}", drawing=figure)


def draw_line(axes: Any, places: Mapping[float, Measures], measure: str, style: str, marker: str, colour: str) -> None:
    """One measure over sizes; with intervals where it has markers."""
    known = {x: of[measure] for x, of in places.items() if measure in of and of[measure].value is not None}
    axes.plot([*known], [e.value for e in known.values()], marker=marker, color=colour, linestyle=style, markersize=5)
    for x, estimate in known.items():
        if marker and estimate.low is not None and estimate.high is not None:
            axes.plot([x, x], [estimate.low, estimate.high], color=colour, linewidth=1.2)


def size_words(of: Measures) -> str:
    """A size in words."""
    gain, eliminator = (
        "unknown" if (value := of[name].value) is None else f"{signed(value)} pp"
        for name in ("delta_non_att", "eliminator_gain")
    )
    far = "unknown" if of["far"].value is None else f"{of['far'].value:.1f}%"
    return f"gain {gain} (an option-eliminator's {eliminator}), FAR {far}"
