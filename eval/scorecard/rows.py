"""The rows of a scorecard, sampled and made of their runs, with the changes between them → a card of each study."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from eval.calibration import read_fits
from eval.estimates.comparability import check_comparable
from eval.evaluation import Card, Evaluation, evaluation_of
from eval.options import Options
from eval.report.tables import TABLES, TableSpec, table_from
from eval.results import judges_of, load_runs
from eval.runs import runs_by_study
from eval.scorecard.arms import (
    BASE,
    CALIBRATED,
    FREE,
    TRAINED,
    CardArm,
    arm_of,
    other_checkpoint,
    runs_beside,
    sampled_arms,
    split_word,
    training_doubts,
)
from eval.scorecard.card import StudyCard, changes_against
from eval.scorecard.rules import RULES
from evenhand.errors import DataError


def make_card(
    study: str, arms: Sequence[CardArm], runs: Mapping[str, Path], options: Options, *, is_beside: bool = False
) -> StudyCard:
    """The card of some rows, the base first. runs: row → its run of this study. Behind the rows that were sampled stand
    those that are made of their runs; beside another study's card, which has them, only its free rules are filled in.

    Raises DataError where runs are no like for like, for an unknown --reference, and where the base has no figure.
    """
    evaluation = evaluation_of(study)
    card = evaluation.own_card
    of_runs = judges_of(evaluation, load_runs(evaluation, list(runs.values())), options)
    loaded = dict(zip(runs, of_runs.values(), strict=True))
    base = loaded[BASE]
    evaluation.check(loaded)
    others = [(name, run) for name, run in loaded.items() if name != BASE]
    differences = {f"{name}'s {study} run {run.name}": evaluation.differences(base, run) for name, run in others}
    if not options.allow_differences:
        mismatched = [other_checkpoint(arm, loaded[arm.name], study) for arm in arms if arm.name in loaded]
        check_comparable(base.name, differences, [*filter(None, mismatched)])
    made = made_rows(arms, loaded, card, options, is_beside=is_beside)
    judged = {**loaded, **{arm.name: run for arm, run in made}}
    rows = [*arms, *(arm for arm, _ in made if not is_beside)]
    of_rows = compared_rows(evaluation, rows, judged, options)
    arms = [*arms, *(arm for arm in rows[len(arms) :] if arm.name in of_rows["judges"])]
    if len(arms) < 2:
        raise DataError(f"{runs[BASE]}: is the only row; name at least one ARM_RUN")
    whole = StudyCard(
        study=study, evaluation=evaluation, arms=arms, runs=loaded, differences=differences, options=options, **of_rows
    )
    if not whole.figures:
        figures = ", ".join(figure.words for figure in card.figures(whole.judges) if figure.is_main)
        raise DataError(f"{base.name}: no row has one of the scorecard's figures in common with it: {figures}")
    return with_trained_rules(whole) if made and not is_beside else whole


def made_rows(
    arms: Sequence[CardArm], runs: Mapping[str, Any], card: Card[Any, Any], options: Options, *, is_beside: bool
) -> list[tuple[CardArm, Any]]:
    """The prompt arms in the rows' runs, and the base's run under thresholds of a file, if the options name some, and
    under each free rule. Raises DataError where one has the name of a sampled row. is_beside: the free rules alone."""
    arm, run = arms[0], runs[BASE]
    rules = card.rules(run, options)
    if is_beside:
        return [(row, rules[row.rule]) for row in arms if row.kind == FREE and row.rule in rules]
    made = [
        (row.patched(patch, runs[row.name].name), patched)
        for row in arms
        for patch, patched in card.prompt_arms(runs[row.name]).items()
    ]
    if options.calibrated and card.calibrated:
        fits, source = read_fits(options.calibrated, run.name)
        made.append((arm.under(CALIBRATED, CALIBRATED, f"thresholds {source}"), card.calibrated(run, fits)))
    made += [(arm.under(rule, FREE), ruled) for rule, ruled in rules.items()]
    if twice := {row.name for row, _ in made} & {name for row in arms for name in (row.name, row.arm)}:
        raise DataError(f"two rows would be called '{min(twice)}'; give the arm another name")
    return made


def with_trained_rules(card: StudyCard) -> StudyCard:
    """The card with a further row for each training: under the rule that is the best of the base's free ones."""
    rule, own = card.best_free, card.evaluation.own_card
    trained = [arm for arm in card.arms if rule in RULES and arm.kind == TRAINED and arm.name in card.runs]
    of_rows = [(arm, own.rules(card.runs[arm.name], card.options, [rule]).values()) for arm in trained]
    made = [(arm.under(rule, TRAINED), run) for arm, runs in of_rows for run in runs]
    if not made:
        return card
    arms = [arm for arm, _ in made]
    judged = {BASE: card.runs[BASE], **{arm.name: run for arm, run in made}}
    compared = compared_rows(card.evaluation, [card.arms[0], *arms], judged, card.options, {BASE: card.judges[BASE]})
    whole: dict[str, Any] = {name: {**further, **getattr(card, name)} for name, further in compared.items()}
    return replace(card, arms=[*card.arms, *arms], **whole)


def compared_rows(
    evaluation: Evaluation[Any],
    arms: Sequence[CardArm],
    runs: Mapping[str, Any],
    options: Options,
    judges: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """judges, unranked and changes of StudyCard for some rows, the base first. judges: those that are known."""
    card = evaluation.own_card
    judges = {**(card.rows(arms, runs, options) if card.rows else runs), **(judges or {})}
    unranked = {name: card.unrankable(judge) for name, judge in judges.items()}
    changes = changes_against(evaluation, arms[0], arms[1:], judges, unranked, options)
    return {"judges": judges, "unranked": unranked, "changes": changes}


def load_cards(options: Options) -> tuple[Sequence[CardArm], dict[str, StudyCard]]:
    """(the rows, the card of each study, the base's own first). Raises DataError where runs are no like for like."""
    words = [split_word(word) for word in options.arms]
    (base_run,) = options.sources
    (study, *others) = runs_by_study([base_run, *(path for _, path in words)])
    if others:
        raise DataError(f"the base and its arms are of two studies, {study} and {others[0]}; use --with for a second")
    card = evaluation_of(study).own_card
    base = arm_of(BASE, base_run, card.tested_run(base_run))
    if options.calibrated and card.calibrated is None:
        raise DataError(f"--calibrated: {base_run} is of a study that has no thresholds; leave it out")
    sampled = sampled_arms(base, words, card.tested_run, taken=(CALIBRATED, *RULES))
    if (doubts := training_doubts(sampled)) and not options.allow_differences:
        raise DataError("; ".join(doubts) + ".\n  Leave such arms out, or say --allow-differences; the card states it.")
    beside = runs_beside(options.with_runs, sampled)
    if study in beside:
        word = next(iter(beside[study].values()))
        raise DataError(f"--with {word}: is of the scorecard's own study; name it as an arm")
    first = make_card(study, sampled, {arm.name: arm.path for arm in sampled}, options)
    return first.arms, {
        study: first,
        **{name: make_card(name, first.arms, of_rows, options, is_beside=True) for name, of_rows in beside.items()},
    }


def cost_table(arms: Sequence[CardArm]) -> TableSpec:
    """What each arm's training cost."""
    costs = pd.DataFrame([{"arm": arm.name, **arm.cost} for arm in arms[1:] if arm.is_named], dtype=object)
    return table_from(TABLES, "scorecard_cost", costs)
