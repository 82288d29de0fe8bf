"""How DDS is spread over a judge's items (DialDefer Tables 25 and 29 in a figure)."""

from collections.abc import Sequence

from matplotlib.patches import Rectangle

from eval.dialdefer.heat_map import LIGHT, letters
from eval.dialdefer.item_scores import ItemSpread
from eval.report.plots import INK, Plot, first_and_last, line_height, name_lines, new_figure, styled, title
from eval.report.shown_numbers import signed

# What an item's DDS may be: 0/1 verdicts give steps of 100; ties and several samples lie between.
CLASSES = {
    "below −100": "n4",
    "−100 to below 0": "n2",
    "0": "z",
    "above 0 to 100": "p2",
    "above 100": "p4",
}


def class_shares(spread: ItemSpread) -> list[float]:
    """The share of items in each of CLASSES, in percent; zeros without items."""
    counts = [0] * len(CLASSES)
    for dds_pp, n in spread.histogram:
        counts[2 if dds_pp == 0 else 2 + (1 if dds_pp > 0 else -1) * (2 if abs(dds_pp) > 100 else 1)] += n
    return [100 * count / max(1, spread.n_items) for count in counts]


def item_plot(spreads: Sequence[ItemSpread]) -> Plot:
    """A bar for each judge: the share of its items by item-level DDS, from those that lost most acceptance."""
    names = [spread.judge for spread in spreads]
    with styled():
        figure, axes = new_figure(1.75 + line_height(names) * len(names))
        for line, spread in enumerate(spreads):
            left = 0.0
            for share, colour in zip(class_shares(spread), CLASSES.values(), strict=True):
                axes.barh(line, share, left=left, height=0.44, color=LIGHT[colour], edgecolor="#888888", linewidth=0.5)
                if share >= 8:
                    place = {"ha": "center", "va": "center", "fontsize": 8.5, "color": letters(colour)}
                    axes.text(left + share / 2, line, f"{share:.0f}", **place)
                left += share
        axes.set(xlim=(0, 100), ylim=first_and_last(names), xlabel="share of items, %")
        name_lines(axes, names)
        title(figure, "Items by their own DDS")
        handles = [Rectangle((0, 0), 1, 1, facecolor=LIGHT[c], edgecolor="#888888") for c in CLASSES.values()]
        figure.legend(handles, CLASSES, loc="outside lower center", ncols=2, fontsize=8.5, labelcolor=INK)
    words = "; ".join(
        f"{s.judge}: mean {signed(s.mean_dds_pp)}, "
        + ", ".join(f"{name} {share:.0f}%" for name, share in zip(CLASSES, class_shares(s), strict=True))
        for s in spreads
    )
    return Plot(name="items", alt=f"Share of items by item-level DDS in percentage points. {words}", drawing=figure)
