"""DialDefer's part of a report: what speaking does to a claim's acceptance."""

from collections.abc import Mapping, Sequence
from functools import partial

from eval.dialdefer.analyses import analyse
from eval.dialdefer.figures import Figures, draw
from eval.dialdefer.findings import Findings
from eval.dialdefer.flip_cards import flip_section
from eval.dialdefer.heat_map import HeatMap, heat_css, heat_map_of, html_heat_map, html_legend
from eval.dialdefer.method import method_section
from eval.dialdefer.opening import opening
from eval.dialdefer.report_tables import report_tables
from eval.dialdefer.table_sections import change_section, score_section
from eval.report.page import element, pictures
from eval.report.plots import Plot
from eval.report.report_part import Section, StudyPart

# How to read the figures of each section.
SCORES = (
    "The rise in acceptance from statement to speaker's turn, in percentage points: + defers to the speaker, - doubts "
    "the speaker. Under each number its 95% interval; bold where that excludes 0. s: saturated, nearly all answers are "
    "the same in both framings, so that a DDS near 0 says little; u: many replies cannot be read."
)
ARROWS = "A ring is accuracy on statements (C1), the arrow's head accuracy on speakers' turns (C2)."
SETTINGS = (
    "Change in DDS against the untreated main prompt variant over the same items; own C1 unless a line says otherwise."
)
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


def dialdefer_part(found: Findings) -> StudyPart:
    """Everything that a report shows of DDS."""
    analyses = analyse(found)
    tables, left_out = report_tables(found, analyses)
    heat = heat_map_of(found.groups)
    figures = draw(found, analyses, heat)
    return StudyPart(
        judges=list(found.judges),
        is_before_after=bool(found.changes),
        opening=opening(found),
        plots=figures.all,
        sections=partial(sections_of, found, heat, figures),
        tables=tables,
        folded=tables,
        left_out=[*(found.files.left_out if found.files else ()), *analyses.left_out, *left_out],
        method=method_section(found, analyses),
        style=heat_css(),
    )


def sections_of(found: Findings, heat: HeatMap, figures: Figures, inline: Mapping[str, str]) -> list[Section]:
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
        ("settings", "Arms, prompt variants and speaker labels", noted(SETTINGS, shown(figures.changes))),
        ("items", "Item by item", noted(ITEMS, shown(figures.items))),
        ("margins", "Margins", margins),
        ("flips", "Flips side by side", flip_section(found)),
        ("scores", "Scores", score_section(found)),
    ]


def noted(words: str, parts: list[str]) -> list[str]:
    """Figures under the words that say how to read them; nothing without figures."""
    return [element("p", words, "note"), *parts] if parts else []
