"""report.html: what was found, in words, tables and figures, with the method, in one file that needs nothing else."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.jsonl import write_whole
from eval.analyses import analyse
from eval.figures import Figures, draw
from eval.findings import Findings
from eval.flip_cards import flip_section
from eval.heat_map import HeatMap, heat_css, heat_map_of, html_heat_map, html_legend
from eval.method import method_section
from eval.opening import opening
from eval.page import box, contents, element, page, picture, section, unfolding
from eval.plots import Plot, finish
from eval.report_tables import report_tables
from eval.table import write_tables
from eval.table_sections import change_section, score_section, table_section

# How to read the figures of each section.
SCORES = (
    "The rise in acceptance from statement to speaker's turn, in percentage points: + defers to the speaker, - doubts "
    "the speaker. Under each number its 95% interval; bold where that excludes 0. s: saturated, nearly all answers of "
    "a framing are the same, so that a DDS near 0 says little; u: many replies cannot be read."
)
ARROWS = "A ring is accuracy on statements (C1), the arrow's head accuracy on speakers' turns (C2)."
RATIOS = (
    "DDS over the benchmarks (ring) and on r/AIO's conversations (arrow's head), with the ratio of their magnitudes "
    "where the benchmarks' interval excludes 0."
)
SETTINGS = "Change in DDS against the untreated main wording over the same items; own C1 unless a line says otherwise."
ITEMS = (
    "An item has two claims, so its own DDS is -200 to 200 pp. Most items do not move; DDS is the balance of those "
    "that do, to the right of 0 less those to the left."
)
HILLS = (
    "Two hills side by side: the judge tells true from false. The same hills further right in C2: it accepts more "
    "readily from a speaker, without knowing less. Values beyond the axis are in its last bar."
)
CURVES = (
    "Reliability: of the claims that a judge gives a probability, how many are true. On the diagonal probabilities "
    "mean what they say; a point below it is over-confident acceptance. Bars: how many claims there are."
)

MOST_INLINE = 13  # figures of one kind on the page, which is to stay small enough to be sent; all are in plots/
MOST_OPEN = 3  # figures of one kind that are shown at once; the others are folded away behind them


def write_report(found: Findings, folder: Path) -> list[Path]:
    """report.html, plots/*.png and *.svg, tables/*.md, *.csv and *.tex in a folder; the paths written."""
    analyses = analyse(found)
    tables, left_out = report_tables(found, analyses)
    heat = heat_map_of(found.groups)
    figures = draw(found, analyses, heat)
    written, inline = list[Path](), dict[str, str]()
    for plot in figures.all:
        svg, files = finish(plot, folder / "plots")
        inline[plot.name] = picture(svg, plot.alt)
        written += files
    sections = [
        *sections_of(found, heat, figures, inline),
        ("tables", "All tables", table_section(tables, [*analyses.left_out, *left_out])),
        ("method", "Method", method_section(found, analyses)),
    ]
    shown = [(name, heading, parts) for name, heading, parts in sections if parts]
    parts = [
        element("h1", "Does the judge bend to who is speaking?"),
        *opening(found),
        contents({name: heading for name, heading, _ in shown}),
        *(section(name, heading, parts) for name, heading, parts in shown),
    ]
    write_whole(folder / "report.html", page(title_of(found), parts, heat_css()))
    return [folder / "report.html", *written, *write_tables(folder / "tables", tables)]


def title_of(found: Findings) -> str:
    """The report's title."""
    labels = list(found.judges)
    others = f" and {len(labels) - 1} {'after' if found.changes else 'more'}" if len(labels) > 1 else ""
    return f"Evenhand: {labels[0]}{others}"


def sections_of(
    found: Findings, heat: HeatMap, figures: Figures, inline: Mapping[str, str]
) -> list[tuple[str, str, list[str]]]:
    """(id, heading, HTML) of every section that shows findings, in order; one without HTML is left out.

    inline: figure's name → its HTML.
    """

    def shown(plots: Sequence[Plot]) -> list[str]:
        return pictures([plot.name for plot in plots], inline)

    heat_map = [html_heat_map(heat), html_legend()]
    margins = [*noted(HILLS, shown(figures.margins)), *noted(CURVES, shown(figures.reliability))]
    return [
        ("changes", "Before and after", change_section(found, shown(figures.before_after))),
        ("dds", "Dialogic Deference Score", noted(SCORES, [*heat_map, *shown(figures.dds)])),
        ("shifts", "Accuracy shifts", noted(ARROWS, [*shown(figures.overview), *shown(figures.shifts)])),
        ("amplification", "From benchmarks to natural conversations", noted(RATIOS, shown(figures.amplification))),
        ("settings", "Arms, wordings and speaker labels", noted(SETTINGS, shown(figures.changes))),
        ("items", "Item by item", noted(ITEMS, shown(figures.items))),
        ("margins", "Margins", margins),
        ("flips", "Flips side by side", flip_section(found)),
        ("scores", "Scores", score_section(found)),
    ]


def noted(words: str, parts: list[str]) -> list[str]:
    """Figures under the words that say how to read them; nothing without figures."""
    return [element("p", words, "note"), *parts] if parts else []


def pictures(names: Sequence[str], inline: Mapping[str, str]) -> list[str]:
    """Figures beside each other; those beyond the first few behind a line that opens them."""
    kept = [inline[name] for name in names[:MOST_INLINE]]
    more = kept[MOST_OPEN:]
    parts = [box("figures", kept[:MOST_OPEN])] if kept else []
    parts += [unfolding(f"{len(more)} more figures", [box("figures", more)])] if more else []
    left = ", ".join(names[MOST_INLINE:])
    return [*parts, *([element("p", f"In plots/ only: {left}.", "note")] if left else [])]
