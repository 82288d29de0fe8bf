"""`evenhand scorecard BASE_RUN [NAME=]ARM_RUN...`: a base model and its arms, one row each."""

import argparse
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.estimates.changes import Change
from eval.estimates.comparability import Difference
from eval.estimates.result_files import write_changes
from eval.options import scorecard_options
from eval.report.console import WIDTH, wrapped
from eval.report.result_files import write_rows
from eval.report.table import write_tables
from eval.report.tables import TableSpec, console
from eval.report.tables import write_tables as write_specs
from eval.results import Evaluation
from eval.run_studies import runs_by_study
from eval.scorecard.arms import (
    BASE,
    CardArm,
    base_arm,
    runs_beside,
    sampled_arms,
    split_word,
    training_doubts,
    unknown_bases,
)
from eval.scorecard.card import NOTE as FIGURES_NOTE
from eval.scorecard.card import StudyCard as FiguresOfStudy
from eval.scorecard.card import make_card
from eval.scorecard.seeds import NOTE as SEEDS_NOTE
from eval.scorecard.seeds import Headline, SeedTable, has_seeds, ranking_sentences, seed_tables, seeds_table, seeds_text
from eval.study import StudyCard, evaluation_of
from evenhand.errors import DataError
from evenhand.terminal import say


def main(argv: Sequence[str]) -> None:
    """`evenhand scorecard`: print the scorecard, write scorecard.json, scorecard.csv and its tables."""
    options = scorecard_options(argv)
    arms, cards = load_cards(options)
    rows = [arm.fields() for arm in arms]
    is_pooled = has_seeds([arm.arm for arm in arms])
    seeds = {
        study: seed_tables(arms, card.headlines(), card.changes())
        for study, card in cards.items()
        if is_pooled and not isinstance(card, FigureCard)
    }
    for study, card in cards.items():
        rows = [{**row, **fields} for row, fields in zip(rows, card.fields(), strict=True)]
        say(card.text(has_rows=not seeds.get(study)) + "\n")
    for sentence in difference_sentences(
        {name: of for card in cards.values() for name, of in card.differences().items()}
    ):
        say(wrapped([sentence]))
    if notes := [*(f"Warning: {doubt}." for doubt in training_doubts(arms)), *unknown_bases(arms)]:
        say(wrapped(notes))
    doubts = list(dict.fromkeys(doubt for card in cards.values() for doubt in card.doubts()))
    for doubt in told_once(doubts, [arm.name for arm in arms]) if seeds else doubts:
        say(wrapped([f"Warning: {doubt}"]))
    if seeds:
        say("\n" + wrapped([SEEDS_NOTE]))
    for study, of_study in seeds.items():
        ranking = cards[study].ranking()
        say("\n" + seeds_text(of_study, ranking_sentences(of_study, ranking, arms) if ranking else []))
    out = options.out or options.base / "scorecard"
    files = write_changes(out, "scorecard_changes", {study: card.changes() for study, card in cards.items()})
    pooled = {study: [one for of in found for one in of.pooled.values()] for study, found in seeds.items()}
    files += write_changes(out, "scorecard_seeds", pooled)
    tables: list[Any] = [table for card in cards.values() for table in card.tables()]
    tables += [seeds_table([one for of_study in seeds.values() for one in of_study])] if seeds else []
    files += [*write_rows(out, "scorecard", rows)]
    files += write_tables(out, [table for table in tables if not isinstance(table, TableSpec)])
    files += write_specs(out, [table for table in tables if isinstance(table, TableSpec)])
    files += seed_figures(seeds, cards, out)  # last: a figure that fails takes no table with it
    names = ", ".join(sorted({file.stem for file in files} - {"scorecard", "scorecard_changes"}))
    say(f"\nwritten to {out}: scorecard.json and .csv, scorecard_changes.json and .csv, and as .md, .csv and .tex")
    say(textwrap.fill(names, WIDTH, initial_indent="  ", subsequent_indent="  "))


def seed_figures(seeds: Mapping[str, Sequence[SeedTable]], cards: Mapping[str, StudyCard], out: Path) -> list[Path]:
    """The figures of studies that rank arms; the paths written."""
    ranked = {study: ranking for study in seeds if (ranking := cards[study].ranking())}
    if not ranked:
        return []
    from eval.report.plots import finish  # brings matplotlib, which a card without seeds does not wait for
    from eval.scorecard.seed_plot import seed_plot

    plots = [plot for study, ranking in ranked.items() if (plot := seed_plot(seeds[study], ranking))]
    return [path for plot in plots for path in finish(plot, out)[1]]


def load_cards(options: argparse.Namespace) -> tuple[list[CardArm], dict[str, StudyCard]]:
    """(the rows, the card of each study, the base's own first). Raises DataError where runs are no like for like."""
    words = [split_word(word) for word in options.arms]
    (study, *others) = runs_by_study([options.base, *(path for _, path in words)])
    if others:
        raise DataError(f"the base and its arms are of two studies, {study} and {others[0]}; use --beside for a second")
    of_study = evaluation_of(study)
    base = base_arm(options.base, of_study.tested_run)
    made = of_study.made_arms(base, options)
    sampled = sampled_arms(base, options.arms, of_study.tested_run, taken=[arm.name for arm in made])
    if len(sampled) + len(made) < 2:
        raise DataError(f"{options.base}: is the only row; name at least one ARM_RUN")
    arms = [*sampled, *made]
    if (others := training_doubts(arms)) and not options.allow_differences:
        raise DataError("; ".join(others) + ".\n  Leave such arms out, or say --allow-differences; the card states it.")
    beside = runs_beside(options.beside, sampled)
    if study in beside:
        word = next(iter(beside[study].values()))
        raise DataError(f"--beside {word}: is of the scorecard's own study; name it as an arm")
    runs = {study: {arm.name: arm.path for arm in sampled}, **beside}
    return arms, {name: card_of(name, arms, of, options) for name, of in runs.items()}


def card_of(study: str, arms: Sequence[CardArm], runs: Mapping[str, Path], options: argparse.Namespace) -> StudyCard:
    """A study's part of the card."""
    evaluation = evaluation_of(study)
    if isinstance(evaluation, Evaluation):
        return FigureCard(make_card(study, evaluation, arms, runs, options))
    card: StudyCard = evaluation.card(arms, runs, options)
    return card


class FigureCard:
    """A study's figures by the names of StudyCard."""

    def __init__(self, card: FiguresOfStudy) -> None:
        self.card = card

    def fields(self) -> list[dict[str, Any]]:
        return self.card.fields()

    def changes(self) -> Sequence[Change]:
        return self.card.every_change

    def tables(self) -> Sequence[Any]:
        return self.card.tables

    def text(self, *, has_rows: bool) -> str:
        tables = [console(table) for table in self.card.tables if table.place == "console"]
        return "\n\n".join([*tables, wrapped([FIGURES_NOTE, *self.card.sentences()])])

    def headlines(self) -> list[Any]:
        return [Headline(words=one.words, is_of=one.is_of) for one in self.card.evaluation.card_figures if one.is_main]

    def ranking(self) -> None:
        return None

    def differences(self) -> Mapping[str, Sequence[Difference]]:
        return self.card.of_rows

    def doubts(self) -> list[str]:
        return self.card.warnings()


def difference_sentences(found: Mapping[str, Sequence[Difference]]) -> list[str]:
    """In what arms differ from the base beside the model: one sentence a difference, with the arms that have it."""
    arms: dict[Difference, list[str]] = {}
    for name, of_arm in found.items():
        for difference in of_arm:
            arms.setdefault(difference, []).append(name)
    return [
        f"{'Warning' if difference.serious else 'Note'}: {', '.join(names)} differ{'s' * (len(names) == 1)} from the "
        f"{BASE} in {difference.what}: {difference.base} there, {difference.after} here."
        for difference, names in arms.items()
    ]


def told_once(doubts: Sequence[str], rows: Sequence[str]) -> list[str]:
    """Sentences that differ in their row and in figures alone as one: the first of them, and of whom it holds too."""
    alike: dict[str, dict[str, str]] = {}  # what is doubted → row → the sentence
    for doubt in doubts:
        row = max((name for name in rows if re.match(rf"{re.escape(name)}(?!\w)", doubt)), key=len, default="")
        of_rows = alike.setdefault(re.sub(r"\d+", "", doubt.removeprefix(row)), {})
        if row in of_rows:  # the same of another of its figures
            of_rows = alike.setdefault(doubt, {})
        of_rows[row] = doubt
    told = []
    for of_rows in alike.values():
        first, *others = of_rows
        same = f" The same, with figures of their own, of {', '.join(others)}." if others else ""
        told.append(of_rows[first] + same)
    return told
