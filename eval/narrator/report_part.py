"""The narrator study's part of a report: numbers and our own words, no conversation's text and no speaker's name."""

from collections.abc import Mapping, Sequence
from functools import partial

from eval.estimates.comparability import serious_sentence
from eval.narrator.change_tables import change_sentence, narrator_change_table
from eval.narrator.changes import NarratorFindings
from eval.narrator.method import narrator_method
from eval.narrator.plots import narrator_plots
from eval.narrator.scores import StudyResults
from eval.narrator.sentences import doubts, notes, sentence_about, short_sentence, why_absent
from eval.narrator.tables import judge_table, narrator_tables, reply_table
from eval.report.page import element, pictures, unfolding
from eval.report.plots import Plot
from eval.report.report_part import Section, StudyPart, paragraphs
from eval.report.table import Table
from eval.report.table_html import data_table

READING = (
    "Conflicts that end in one annotated personal attack, shown with nobody called Me (Neutral), with the attacker as "
    "Me, and with each other speaker as Me. M: how often the answer is the attacker (in detection: Yes). Perspective "
    "Range PR is M with a non-attacker as Me less M with the attacker as Me: + protects the narrator, - accuses it. "
    "FAR: how often an innocent Me is named. Hidden: the attack itself is not shown."
)
FIGURE_WORDS = (
    "Bars: conversations whose one answer goes wrong (to the left) or right (to the right) when the attacker becomes "
    "Me, in percent and their number; corruption is the share of the right ones that goes wrong. Lines: what a "
    "non-attacker's perspective gains over Neutral, and FAR, by number of speakers. Dashed: what the judge would gain "
    "if it answered as under Neutral but struck Me off its options, which needs no evidence. H: the attack is hidden, "
    "V: visible."
)
MOST_SENTENCES = 6  # judges that have a sentence each in the opening
MOST_OPEN = 3  # judges whose tables are shown unfolded
SHOWN = tuple(f"narrator_table{n}" for n in (1, 2, 3, 4))  # beginnings of the names of tables in the section


def narrator_part(found: NarratorFindings, *, is_alone: bool) -> StudyPart:
    """Everything that a report shows of the study. is_alone: no other study's findings open the report."""
    plots = narrator_plots(found.study)
    changes = narrator_change_table(found.changes, found.study.definitions)
    tables = [*([changes] if changes.rows else []), *narrator_tables(found.study)]
    moved = [element("p", change_sentence(judge, of), "headline") for judge, of in found.changes.items()]
    whole = statements(found)
    return StudyPart(
        judges=[run.judge for run in found.study.runs],
        is_before_after=bool(found.changes),
        opening=[*moved, *whole] if is_alone else moved or in_short(found.study),
        plots=plots,
        sections=partial(sections_of, found, plots, tables, [] if is_alone else whole),
        tables=tables,
        folded=[table for table in tables if not table.name.startswith(SHOWN)],
        left_out=why_absent(found.study),
        method=narrator_method(found),
    )


def statements(found: NarratorFindings) -> list[str]:
    """What each judge does, and what to be careful about."""
    results = found.study
    sentences = [sentence_about(results, judge) for judge in results.judges]
    warned = [sentence for judge in results.judges for sentence in doubts(results, judge)]
    base = results.runs[0].judge
    for judge, differences in found.differences.items():
        if sentence := serious_sentence(base, judge, differences):
            warned.append(sentence)
    return [
        *paragraphs(sentences, warned),
        *(element("p", sentence, "note") for sentence in notes(results)),
    ]


def in_short(results: StudyResults) -> list[str]:
    """A sentence in few words for each judge, or for the first of many."""
    sentences = [short_sentence(results, judge) for judge in results.shown]
    return [element("p", sentence, "headline") for sentence in sentences[:MOST_SENTENCES]]


def sections_of(
    found: NarratorFindings,
    plots: Sequence[Plot],
    tables: Sequence[Table],
    words: Sequence[str],
    inline: Mapping[str, str],
) -> list[Section]:
    """The study's one section. words: the statements, where they do not open the report. inline: plot → its HTML."""
    results = found.study
    by_kind = {kind: [table for table in tables if table.name.startswith(kind)] for kind in SHOWN}
    parts = [*words, element("p", READING, "note")]
    short = narrator_change_table(found.changes, results.definitions, is_short=True)
    if short.rows:
        parts += [element("h3", "Before and after"), data_table(short)]
    parts += [
        *first_few(by_kind["narrator_table1"]),
        *first_few(by_kind["narrator_table2"]),
        *noted_pictures(plots, inline),
    ]
    parts += [*first_few(by_kind["narrator_table3"]), *first_few(by_kind["narrator_table4"])]
    parts += first_few([judge_table(results, judge) for judge in results.shown], has_files=False)
    parts += first_few([reply_table(results)], has_files=False)
    return [("narrator", "Who is called Me", parts)]


def first_few(tables: Sequence[Table], *, has_files: bool = True) -> list[str]:
    """Tables under their titles; those of many judges behind a line that opens them."""
    html = [[element("h3", table.title), data_table(table, has_files=has_files)] for table in tables]
    more = [part for parts in html[MOST_OPEN:] for part in parts]
    shown = [part for parts in html[:MOST_OPEN] for part in parts]
    return [*shown, *([unfolding(f"{len(html) - MOST_OPEN} more", more)] if more else [])]


def noted_pictures(plots: Sequence[Plot], inline: Mapping[str, str]) -> list[str]:
    """The figures under the words that say how to read them."""
    return [element("p", FIGURE_WORDS, "note"), *pictures([plot.name for plot in plots], inline)] if plots else []
