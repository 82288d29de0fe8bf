"""The report's tables: before and after, scores, and every other as it lies in tables/."""

from collections.abc import Sequence

from eval.dialdefer import change_tables
from eval.dialdefer import score_text as tables
from eval.dialdefer.averages import average_sentence
from eval.dialdefer.change_rows import ChangeRow, change_rows
from eval.dialdefer.findings import Findings
from eval.dialdefer.score_groups import ScoreGroup, worth_showing
from eval.dialdefer.scores import FIXED
from eval.report.page import element, table, unfolding

MOST_OPEN_GROUPS = 4  # judges whose scores are shown unfolded


def score_section(found: Findings) -> list[str]:
    """The table of each judge, own C1; prompted arms and other prompt variants folded away after it."""
    parts = [element("p", score_caption(found), "note")]
    mains = [group for group in found.groups if group.is_main]
    shown = [part for group in mains[:MOST_OPEN_GROUPS] for part in score_table(group)]
    more = [part for group in mains[MOST_OPEN_GROUPS:] for part in score_table(group)]
    parts += [*shown, *([unfolding(f"{len(mains) - MOST_OPEN_GROUPS} more judges", more)] if more else [])]
    averages = {(r.dataset, r.datasets): r for group in mains for r in group.rows if len(r.datasets) > 1}
    parts += [element("p", average_sentence(r.dataset, list(r.datasets)), "note") for r in averages.values()]
    treated = [part for group in found.groups if not group.is_main for part in score_table(group)]
    return [*parts, unfolding("Arms and other prompt variants", treated)] if treated else parts


def score_table(group: ScoreGroup) -> list[str]:
    """A heading and a table."""
    margins = any(row.soft_dds_pp is not None for row in group.rows)
    header = tables.score_header(group.rows)
    heading = group.judge if group.is_main else f"{group.judge}, {group.setting}: {group.c1_source} C1"
    return [element("h3", heading), table(header, [tables.cells(row, margins) for row in group.rows], label=heading)]


def score_caption(found: Findings) -> str:
    """What the numbers of the score tables are."""
    return (
        f"Verdicts {reading_words(found)}; denominator {found.denominator}: "
        f"{tables.DENOMINATOR_WORDS[found.mode, found.denominator]}; own C1 unless a heading says otherwise. "
        "Accuracies in % (C1 T, C1 F: true and false claims as statements; C2 C, C2 I: correct and incorrect turns), Δ "
        f"and DDS in percentage points. Flips: deference/skepticism. {tables.ORDERS_NOTE}"
    )


def reading_words(found: Findings) -> str:
    """Where verdicts come from."""
    if found.files is not None:
        parsers = {parser for parser in found.files.parsers.values() if parser}
        return "as given in files" + "".join(f"; replies without a choice read by the {p} parser" for p in parsers)
    reading = next(iter(found.runs.values())).reading
    return "from margins" if reading.mode == "margin" else f"from reasoned replies read by the {reading.parser} parser"


def change_section(found: Findings, figures: Sequence[str]) -> list[str]:
    """What changed from the base run to each other one, own C1 first; fixed C1 and treated arms folded away."""
    parts, fixed, treated = list(figures), list[str](), list[str]()
    rows_of = {label: change_rows(of) for label, of in found.changes.items()}
    for label, rows in rows_of.items():
        groups: dict[tuple[str, str, str, str], list[ChangeRow]] = {}
        for row in rows:
            groups.setdefault((row.arm, row.roles, row.variant, row.c1_source), []).append(row)
        first = rows[0].arm, rows[0].roles, rows[0].variant
        for key, group in groups.items():
            place = treated if key[:3] != first else fixed if key[3] == FIXED else parts
            place.extend(change_table(label, group))
    if any(row.over_corrected for rows in rows_of.values() for row in rows):
        parts.append(element("p", "†: over-corrected, DDS was positive before and is negative after.", "note"))
    folded = {"With fixed C1, as published tables are scored": fixed, "Arms and other prompt variants": treated}
    return [*parts, *(unfolding(words, shown) for words, shown in folded.items() if shown)]


def change_table(label: str, rows: Sequence[ChangeRow]) -> list[str]:
    """A heading, what the source of C1 means, and a table."""
    row = rows[0]
    arm = [tables.ARM_WORDS.get(row.arm, row.arm)] if row.arm != "none" else []
    roles = [f"roles {row.roles}"] if row.roles != "2->1" else []
    header = [cell if cell != "→" else "after" for cell in change_tables.HEADER]
    heading = f"{', '.join(filter(None, [label, *arm, row.variant, *roles]))}: {row.c1_source} C1"
    further = change_tables.further_lines(rows)
    return [
        element("h3", heading),
        element("p", change_tables.C1_WORDS[row.c1_source].partition(": ")[2] + ".", "note"),
        table(header, [change_tables.cells(row) for row in worth_showing(rows)], label=heading),
        *([table(further[0], further[1:], label=f"{heading}, further measures")] if further else []),
    ]
