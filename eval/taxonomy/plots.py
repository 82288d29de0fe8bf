"""Figure 6 of the DialDefer paper: categories of deference and skepticism flips."""

import pandas as pd
from matplotlib.patches import Patch

from eval.report.plots import FALSE_COLOUR, INK, TRUE_COLOUR, Plot, line_height, name_lines, new_figure, styled, title
from eval.taxonomy.findings import TaxonomyFindings
from eval.taxonomy.tables import by_label, ranked
from studies.flips import LENIENT, STRICT

COLOURS = {LENIENT: FALSE_COLOUR, STRICT: TRUE_COLOUR}
OFFSETS = {LENIENT: -0.17, STRICT: 0.17}


def taxonomy_plots(found: TaxonomyFindings) -> list[Plot]:
    """One for each model with a coded flip."""
    by_name = ranked(by_label(found, "category")).groupby("name", sort=False)
    number = {name: place for place, name in enumerate(found.flips["name"].unique(), start=1)}
    return [category_plot(name, shares, number[name]) for name, shares in by_name]


def category_plot(name: str, shares: pd.DataFrame, number: int) -> Plot:
    """Shares of the categories in each direction, with intervals."""
    labels, rows = shares["label"].tolist(), shares.to_dict("records")
    with styled():
        figure, axes = new_figure(1.5 + line_height(labels) * len(labels))
        for way, colour in COLOURS.items():
            for line, row in enumerate(rows):
                place, value, *ends = line + OFFSETS[way], *(row[f"{end}_{way}"] for end in ("value", "low", "high"))
                axes.barh(place, value, height=0.32, color=colour)
                if not any(map(pd.isna, ends)):
                    axes.plot(ends, [place, place], color=INK, linewidth=1.0)
        axes.set(ylim=(len(labels) - 0.5, -0.8), xlabel="% of the flips of a direction")
        name_lines(axes, labels)
        handles = [
            Patch(color=colour, label=f"{way} ({shares[f'n_{way}'].sum()} flips)") for way, colour in COLOURS.items()
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8.5)
        title(figure, f"Why verdicts flip: {name}")
    words = "; ".join(
        f"{row['label']}: " + ", ".join(f"{way} {row[f'value_{way}']:.1f}%" for way in COLOURS)
        for row in shares.fillna(0.0).to_dict("records")
    )
    return Plot(name=f"taxonomy_figure6-{number}", alt=f"Failure categories of {name}. {words}", drawing=figure)
