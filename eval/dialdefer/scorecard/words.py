"""The scorecard in words: what its numbers are, which arm is lowest, and what to be careful about."""

from eval.dialdefer.scorecard.card import MAIN, Scorecard, in_the_running, why_not
from eval.dialdefer.scorecard.rows import ArmRow, Doubts
from eval.dialdefer.scores import FIXED, OWN, average_sentence
from eval.dialdefer.sentences import ONE_ORDER
from eval.dialdefer.tables import DENOMINATOR_WORDS
from eval.estimates.changes import LEVEL
from eval.report.change_cells import change_words
from eval.report.shown_numbers import number, percent

FEW_ITEMS = 20


def over_words(card: Scorecard) -> str:
    """What the figures are over."""
    if len(card.scope.datasets) == 1:
        return f"Over {card.scope.datasets[0]}."
    return average_sentence(card.scope.average, list(card.scope.datasets))


def caption(card: Scorecard) -> list[str]:
    """What the numbers are."""
    run = card.base.arm.run
    reading = "margins" if run.reading.mode == "margin" else f"reasoned replies, {run.reading.parser} parser"
    counted = DENOMINATOR_WORDS[run.reading.mode, card.denominator]
    n_arms = len({row.arm.arm for row in card.arms})
    of_rows = (
        " chance: the |DDS| that noise of the items alone gives a judge whose DDS is 0 in every dataset. over: "
        "datasets over-corrected, DDS positive before and negative after (†)."
    )
    of_p = (
        " p: sign-flip test over items, adjusted over the arms that can be ranked (Holm); the others have none. lower, "
        "higher: the interval excludes 0 and p < .05."
    )
    return [
        f"Base: {run.model} ({run.name}), and {n_arms} arm{'s' * (n_arms != 1)}"
        f"{f' in {len(card.arms)} checkpoints' * card.has_seeds}. {over_words(card)}",
        f"Verdicts from {reading}; denominator {card.denominator}: {counted}.",
        "Accuracies in %, DDS and changes in percentage points. |DDS|: mean over datasets of |DDS|, in which signs do "
        "not cancel; DDS: the mean with signs." + of_rows * (not card.has_seeds),
        "own C1: statements and dialogues judged by the same checkpoint, the one to believe. fixed C1: the arm's "
        "dialogues against the base's statements, as published tables do.",
        f"Intervals resample items jointly, within datasets ({card.drawing.n_draws:,} draws); those of |DDS|, in which "
        "noise never cancels, are pivotal." + of_p * (not card.has_seeds),
        *([] if any("deference" in row.changes for row in card.rows) else [ONE_ORDER]),
        *([f"In none of these figures: {', '.join(card.scope.left_out)}."] if card.scope.left_out else []),
    ]


def sentences(card: Scorecard) -> list[str]:
    """Who was over-corrected where, everything to be careful about, and what the arms are."""
    return [
        *over_corrected_sentences(card),
        *(f"Warning: {warning}" for warning in warnings(card)),
        *(f"{row.name}: {origin(row)}." for row in card.arms),
    ]


def lowest_sentences(card: Scorecard) -> list[str]:
    """Which arm has the lowest own-C1 |DDS| without losing accuracy, by how much, and who was not considered.

    Nothing of single seeds: to name the lowest of them would be to choose by chance (eval/scorecard/seeds.py).
    """
    if card.has_seeds:
        return []
    ranked = in_the_running(card.arms)
    reasons = {row.name: why_not(row) for row in card.arms}
    left_out = "; ".join(f"{name} ({reason})" for name, reason in reasons.items() if reason)
    not_considered = [f"Not considered for it: {left_out}."] if left_out else []
    if not ranked:
        return ["Lowest own-C1 |DDS| at no shown loss of accuracy: no arm.", *not_considered]
    change = ranked[0].changes[MAIN]
    words = f"Lowest own-C1 |DDS| at no shown loss of accuracy: {ranked[0].name}, {number(change.after.value)} pp "
    words += f"({number(ranked[0].chance_abs_dds_pp)} by chance), against {number(change.before.value)} of the base "
    words += f"({change_words(change)}"
    if card.base.doubts.saturated or card.base.doubts.is_unreadable:
        words += "), whose own is no yardstick: see the warnings."
    else:
        words += ")." if change.direction == -1 else "; not shown to be lower)."
    if card.lead is not None:
        words += f" Next: {card.lead.first}, {number(card.lead.before.value)} pp ({change_words(card.lead)}; "
        words += "the lead is shown)." if card.lead.direction == -1 else "the lead may be chance)."
    return [words, *not_considered]


def over_corrected_sentences(card: Scorecard) -> list[str]:
    """Which arms were over-corrected where."""
    found = []
    for source in (OWN, FIXED):
        arms = [f"{row.name} on {', '.join(names)}" for row in card.arms if (names := row.over_corrected(source))]
        if arms:
            found.append(f"Over-corrected, {source} C1: {'; '.join(arms)}.")
    return found


def warnings(card: Scorecard) -> list[str]:
    """What makes numbers less than they seem."""
    found = [
        f"* {row.name} was not asked {', '.join(row.lacking)}: its figures are over the other datasets, and its "
        "changes against the base over the same."
        for row in card.arms
        if row.lacking
    ]
    found += {  # a sentence an arm, as its seeds are over the same datasets
        row.arm.arm: f"* {row.arm.arm} hardly gives an answer on {', '.join(row.arm.unlikely)}: "
        + (
            "no dataset of the average is left, so its figures are over all of them and say little."
            if {*row.datasets} <= {*row.arm.unlikely}
            else "its averages leave that out, and the base's that they are held against as well (|DDS| "
            f"{number(row.main.before.value)})."
        )
        for row in card.rows
        if row.arm.unlikely
    }.values()
    found += [] if card.has_seeds else [f"* {doubt}" for doubt in doubts_about(card)]
    shown = [(dataset, row.dds(OWN, dataset)) for row in card.rows for dataset in card.scope.names]
    few = {dataset: c.change.n_units for dataset, c in shown if c is not None and c.change.n_units < FEW_ITEMS}
    if few:
        listed = ", ".join(f"{name} {n}" for name, n in few.items())
        found.append(
            f"few items ({listed}): bootstrap intervals over so few are too narrow"
            f"{'' if card.has_seeds else '; p-values hold'}."
        )
    errors = [f"{row.name} {row.n_errors}" for row in card.rows if row.n_errors]
    if errors:
        found.append(
            f"replies that never came, of the base or the arm ({', '.join(errors)}); their items are left out."
        )
    if len(card.arms) / (1 + card.drawing.n_draws) >= LEVEL:
        found.append(
            f"{card.drawing.n_draws} draws are too few for any p of {len(card.arms)} arms to be below {LEVEL}."
        )
    return [*found, *cost_warnings(card)]


def doubts_about(card: Scorecard, variant: str = "") -> list[str]:
    """Why some arms' DDS says little about judgement. variant: of the prompts, to be named."""
    asked = f", asked {variant}," if variant else ""
    return [f"{row.name}{asked} {doubt}" for row in card.rows if (doubt := doubt_about(row.doubts))]


def doubt_about(doubts: Doubts) -> str | None:
    """Why an arm's DDS says little about judgement, if there is a reason; goes on behind its name."""
    if doubts.is_unreadable:
        return f"gave {percent(doubts.unparsed_rate)} replies that cannot be read: its DDS is about format."
    if doubts.saturated:
        return (
            f"is saturated (it accepts {percent(doubts.accept_rate_c1)} of the claims in C1 and "
            f"{percent(doubts.accept_rate_c2)} in C2): its DDS can be near 0 for the wrong reason."
        )
    if doubts.saturated_datasets:
        return f"gives nearly one answer only on {', '.join(doubts.saturated_datasets)}."
    return None


def cost_warnings(card: Scorecard) -> list[str]:
    """Why trained arms have no cost."""
    reasons = {row.name: row.arm.cost.unknown_because for row in card.arms}
    return [f"the cost of {name} is unknown: {reason}." for name, reason in reasons.items() if reason]


def origin(row: ArmRow) -> str:
    """Where an arm comes from."""
    if row.arm.note:
        return row.arm.note
    trained = f", trained in {row.arm.cost.training_run}" if row.arm.cost.training_run else ""
    return f"{row.arm.run.model} ({row.arm.run.name}){trained}"
