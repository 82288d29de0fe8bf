"""`evenhand scorecard BASE_RUN [NAME=]ARM_RUN...`: a base model and its arms, one row each."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eval.__main__ import read_options
from evenhand.terminal import say

if TYPE_CHECKING:  # these load pandas, which --help does without
    from eval.report.tables import TableSpec
    from eval.scorecard.arms import CardArm
    from eval.scorecard.card import StudyCard


def main(argv: Sequence[str]) -> None:
    """Print the recommendation, and the rest with --all; write page, rows, changes, tables."""
    options = read_options("scorecard", argv)
    from eval.estimates.comparability import differing
    from eval.report.tables import console, say_written, wrapped
    from eval.results import say_warnings
    from eval.scorecard.arms import patch_warnings, training_doubts
    from eval.scorecard.rows import cost_table, load_cards

    arms, cards = load_cards(options)
    cost, of_arms = cost_table(arms), [f"{arm.name}: {arm.note}." for arm in arms if arm.note]
    doubts = [f"{doubt}." for doubt in [*training_doubts(arms), *patch_warnings(arms)]]
    say("\n\n".join(part for card in cards.values() for part in card.texts(is_all=options.is_all)))
    first, *_ = cards.values()
    if options.is_all:
        say("\n" + wrapped([*first.sentences["method"], *of_arms]) + "\n\n" + console(cost))
    warnings = [*doubts, *(warning for card in cards.values() for warning in card.warnings)]
    notes = [note for card in cards.values() for note in differing(card.differences, is_serious=False)]
    say_warnings(warnings, notes, is_all=options.is_all)
    files = write_scorecard(options.out or options.sources[0] / "scorecard", arms, cards, cost, doubts, of_arms)
    say_written(files, is_all=options.is_all)


def write_scorecard(
    out: Path,
    arms: "Sequence[CardArm]",
    cards: "Mapping[str, StudyCard]",
    cost: "TableSpec",
    doubts: Sequence[str],
    of_arms: Sequence[str],
) -> list[Path]:
    """scorecard.html, .json and .csv, the changes, tables and plots in a folder; the paths written, the page's first.

    doubts, of_arms: warnings and notes about the rows, which stand on the page beside those of the first study.
    """
    from eval.report.page import figures, write_page
    from eval.report.tables import new_report, replace_report, write_long, write_rows, write_tables

    out, rows = new_report(out), [arm.fields() for arm in arms]
    for card in cards.values():
        rows = [{**row, **fields} for row, fields in zip(rows, card.fields(), strict=True)]
    files = write_long(out, "scorecard_changes", {study: card.every_change for study, card in cards.items()})
    if len({arm.arm for arm in arms}) < len(arms):
        pooled = {s: [change for f in card.figures for change in f.pooled.values()] for s, card in cards.items()}
        files += write_long(out, "scorecard_seeds", pooled)
    files += write_rows(out, "scorecard", rows)
    files += write_tables(out / "tables", [*(table for card in cards.values() for table in card.tables), cost])
    views = []
    for card in cards.values():
        drawn, written = figures(card.plots(), out)
        files += written
        views.append(card.view(drawn))
    views[0]["folded"].append(cost)
    views[0]["warnings"] = [*doubts, *views[0]["warnings"]]
    views[0]["method"] += of_arms
    n_arms = len({arm.arm for arm in arms[1:] if not arm.rule})
    title = f"Evenhand: {f'{n_arms} arms' if n_arms else 'free rules'} of {arms[0].path.name}"
    write_page(out / "scorecard.html", title, views)
    return replace_report([out / "scorecard.html", *files])
