"""`evenhand scorecard BASE_RUN [NAME=]ARM_RUN...`: a base model and its arms, one row each."""

import argparse
from collections.abc import Mapping, Sequence

from eval.estimates.comparability import Difference
from eval.options import verb_options
from eval.report.tables import TableSpec, console, with_rows, write_long, write_rows, write_tables
from eval.report.text import wrapped
from eval.results import evaluation_of
from eval.runs import runs_by_study
from eval.scorecard.arms import (
    BASE,
    CardArm,
    arm_of,
    runs_beside,
    sampled_arms,
    split_word,
    training_doubts,
    unknown_bases,
)
from eval.scorecard.card import NOTE, StudyCard, make_card
from evenhand.errors import DataError
from evenhand.terminal import say


def main(argv: Sequence[str]) -> None:
    """`evenhand scorecard`: print the scorecard; write scorecard.json and .csv, its changes, tables and figures."""
    options = verb_options("scorecard", argv)
    arms, cards = load_cards(options)
    rows = [arm.fields() for arm in arms]
    tables = [cost_table(arms)]
    for study, card in cards.items():
        rows = [{**row, **fields} for row, fields in zip(rows, card.fields(), strict=True)]
        tables += card.tables
        say(f"{study}: {options.base.name} and {len({arm.arm for arm in arms[1:]})} arms\n")
        for table in card.tables:
            if table.place == "console":
                say(console(table) + "\n")
        say(wrapped(card.sentences()) + "\n")
    say(wrapped([NOTE, *(f"{arm.name}: {arm.note}." for arm in arms if arm.note)]))
    say("\n" + console(tables[0]))
    warnings = [f"{doubt}." for doubt in training_doubts(arms)]
    warnings += [warning for card in cards.values() for warning in card.warnings()]
    first = next(iter(cards))
    of_rows = {
        name if study == first else f"{name}'s {study} run": differences
        for study, card in cards.items()
        for name, differences in card.of_rows.items()
    }
    say(wrapped([*difference_sentences(of_rows), *unknown_bases(arms), *(f"Warning: {line}" for line in warnings)]))
    out = options.out or options.base / "scorecard"
    files = write_long(out, "scorecard_changes", {study: card.every_change for study, card in cards.items()})
    pooled = {
        study: [change for figure in card.figures for change in figure.pooled.values()] for study, card in cards.items()
    }
    files += write_long(out, "scorecard_seeds", pooled) if len({arm.arm for arm in arms}) < len(arms) else []
    files += [*write_rows(out, "scorecard", rows), *write_tables(out, tables)]
    if ranked := [card for card in cards.values() if card.evaluation.lowest]:
        from eval.report.plots import finish  # loads matplotlib, which a card without figures does not need

        # Last: a figure that fails takes no table with it.
        files += [path for card in ranked for plot in card.plots() for path in finish(plot, out)[1]]
    say(wrapped([f"\nwritten to {out}: {', '.join(dict.fromkeys(file.stem for file in files))}"]))


def load_cards(options: argparse.Namespace) -> tuple[list[CardArm], dict[str, StudyCard]]:
    """(the rows, the card of each study, the base's own first). Raises DataError where runs are no like for like."""
    words = [split_word(word) for word in options.arms]
    (study, *others) = runs_by_study([options.base, *(path for _, path in words)])
    if others:
        raise DataError(f"the base and its arms are of two studies, {study} and {others[0]}; use --beside for a second")
    evaluation = evaluation_of(study)
    base = arm_of(BASE, BASE, BASE, options.base, evaluation.tested_run(options.base))
    made = evaluation.made_arms(base, options)
    sampled = sampled_arms(base, options.arms, evaluation.tested_run, taken=[arm.name for arm in made])
    if len(sampled) + len(made) < 2:
        raise DataError(f"{options.base}: is the only row; name at least one ARM_RUN")
    arms = [*sampled, *made]
    if (doubts := training_doubts(arms)) and not options.allow_differences:
        raise DataError("; ".join(doubts) + ".\n  Leave such arms out, or say --allow-differences; the card states it.")
    beside = runs_beside(options.beside, sampled)
    if study in beside:
        word = next(iter(beside[study].values()))
        raise DataError(f"--beside {word}: is of the scorecard's own study; name it as an arm")
    runs = {study: {arm.name: arm.path for arm in sampled}, **beside}
    return arms, {name: make_card(name, evaluation_of(name), arms, of_rows, options) for name, of_rows in runs.items()}


def cost_table(arms: Sequence[CardArm]) -> TableSpec:
    """What the training of each arm took."""
    heads = {"arm": "", "device": "", "processes": "d", "seconds": ",.0f", "device-seconds": ",.0f", "tokens": ",d"}
    names = ("device", "n_processes", "seconds", "device_seconds", "n_tokens", "peak_memory_gib")
    rows = [[arm.name, *(getattr(arm.cost, name) for name in names)] for arm in arms[1:]]
    note = "Device-seconds: seconds by the clock times processes. A dash: nothing was trained, or it is not recorded."
    return with_rows("scorecard_cost", "Cost of training", {**heads, "peak GiB": ".1f"}, rows, note=note)


def difference_sentences(of_rows: Mapping[str, Sequence[Difference]]) -> list[str]:
    """In what arms differ from the base beside the model: one sentence a difference, with the arms that have it."""
    arms: dict[Difference, list[str]] = {}
    for name, known in of_rows.items():
        for difference in known:
            arms.setdefault(difference, []).append(name)
    return [
        f"{'Warning' if difference.serious else 'Note'}: {', '.join(names)} differ{'s' * (len(names) == 1)} from the "
        f"{BASE} in {difference.what}: {difference.base} there, {difference.after} here."
        for difference, names in arms.items()
    ]
