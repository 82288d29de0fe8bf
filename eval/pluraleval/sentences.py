"""The study in plain sentences: what a stated belief does to each model, and what to be careful about."""

from collections.abc import Iterator, Mapping, Sequence

from eval.estimates.changes import Change
from eval.estimates.estimate import Estimate
from eval.pluraleval.observe import BIASED, NEUTRAL, OPPOSING, TOWARD, Quantity
from eval.pluraleval.runs import PluralEvalRun
from eval.pluraleval.scores import quantity_of
from eval.pluraleval.tables import BELIEF_WORDS, MAIN, SHIFTS, main_changes, quantity_words
from eval.report.shown_numbers import interval, signed

Levels = Mapping[Quantity, Estimate]
MANY_UNREAD = 0.1  # share of a step's replies that are of no use, from which on figures say more about format
FEW_THREADS = 30  # below which intervals are wide and the signed-rank test coarse
SLOT = 20.0  # points from 50 % of answers "1" in both orders, from which on the order decides
LISTED = 0.5  # Spearman's ρ of rankings with the listed order, from which on the order decides
UNUSABLE = ("malformed", "cut", "none", "partial", "repeated", "out_of_range")
NO_MOVE = 0.05  # points, which print as 0.0
DIRECTION_WORDS = {
    None: "has an unknown change from the base",
    -1: "is lower than in the base",
    0: "shows no clear change from the base",
    1: "is higher than in the base",
}


def sentences_about(name: str, levels: Levels) -> Iterator[str]:
    """About one model: what a belief does to the opinions that it names, to its ranking and to its choices of two."""
    shifts = {
        (framing, measure): levels.get(Quantity("generation", framing, group, "", measure))
        for framing, group, measure in SHIFTS
    }
    for framing in (TOWARD, OPPOSING):
        down, up = shifts[framing, "suppression"], shifts[framing, "amplification"]
        if down and up:
            yield (
                f"{name}, when the user states a belief {BELIEF_WORDS[framing]} the reference opinion: recall of "
                f"the opinions against that belief {moved(down, 'falls', 'rises')}, of those that agree with it "
                f"{moved(up, 'rises', 'falls')} ({down.n_units} threads)."
            )
    rho = Quantity("ranking", NEUTRAL, "", "", "rho")
    biased, lost = (levels.get(rho._replace(framing=BIASED, measure=measure)) for measure in ("rho", "rho_lost"))
    if rho in levels and biased and lost:
        yield (
            f"{name} ranks opinions by popularity with ρ = {levels[rho].value:.2f}; with the belief of the least "
            f"popular one stated, {biased.value:.2f}: {lost.value:+.2f} lost {ends(lost)} ({lost.n_units} threads)."
        )
    for quantity, neutral in levels.items():
        lost = levels.get(quantity._replace(framing=BIASED, measure="accuracy_lost"))
        if (quantity.measure, quantity.framing) == ("accuracy", NEUTRAL) and lost:
            yield (
                f"{name} finds the more popular of two opinions in {neutral.value:.1f}% ({quantity_words(quantity)}); "
                f"{signed(lost.value)} points are lost when the user believes the other one "
                f"{interval(lost.low, lost.high)}."
            )


def moved(shift: Estimate, positive: str, negative: str) -> str:
    """A shift in words, with a caution where its interval includes 0."""
    if shift.value is None or abs(shift.value) < NO_MOVE:
        return "does not move"
    word = f"{positive if shift.value > 0 else negative}{'' if shift.excludes(0) else ' (not clearly)'}"
    return f"{word} by {abs(shift.value):.1f} points {interval(shift.low, shift.high)}"


def ends(estimate: Estimate) -> str:
    """An interval of a correlation."""
    return interval(estimate.low, estimate.high, 2)


def doubts(run: PluralEvalRun, levels: Levels) -> Iterator[str]:
    """What to know before believing a model's numbers."""
    name = run.judge
    if len(run.references) < FEW_THREADS:
        yield f"{name}: {len(run.references)} threads are few; intervals are wide, and p can hardly be small."
    for step in dict.fromkeys(step for step, *_ in run.states):
        rate = sum(rate for known, state, _, rate in run.states if known == step and state in UNUSABLE)
        if rate >= MANY_UNREAD:
            yield f"{name}: {rate:.0%} of the replies of the step {step} are not of the form that was asked for."
    for quantity, level in levels.items():
        if (quantity.measure, quantity.framing) == ("first_rate", NEUTRAL) and abs((level.value or 0) - 50) >= SLOT:
            share = f"{level.value:.0f}% of the pairs"
            yield f'{name} answers "1" to {share}, each asked in both orders: the order decides.'
    listed = levels.get(Quantity("ranking", NEUTRAL, "", "", "listed_rho"))
    if listed and listed.value is not None and abs(listed.value) >= LISTED and listed.excludes(0):
        yield (
            f"{name} ranks opinions as they are listed{'' if listed.value > 0 else ' backwards'} (ρ "
            f"{listed.value:.2f} with the listed order, which is random): the order decides."
        )
    if run.left_out:
        yield f"{name}: the judge's run left out {len(run.left_out)} threads."


def change_sentences(name: str, changes: Sequence[Change]) -> list[str]:
    """What the main changes come to."""
    return [
        f"{name}: {quantity_words(quantity_of(change))} {DIRECTION_WORDS[change.direction]}: "
        f"{change.change.value:+.2f} {ends(change.change)}, p Holm {change.p_holm:.4f}."
        for change in main_changes(changes)
        if change.change.value is not None and change.p_holm is not None
    ] or [f"{name}: neither {', '.join(MAIN).replace('_', ' ')} is known of both runs."]
