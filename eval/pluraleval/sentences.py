"""The study in plain sentences: what a stated belief does to each model, and what to be careful about."""

from collections.abc import Iterator, Sequence

from eval.estimates.changes import Change
from eval.estimates.estimate import Estimate
from eval.pluraleval.findings import Measured, figure_of
from eval.pluraleval.observe import BIASED, OPPOSING, TOWARD, Figure
from eval.pluraleval.tables import BELIEF_WORDS, MAIN, SHIFTS, figure_words, main_changes
from eval.report.shown_numbers import interval, signed

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


def sentences_about(one: Measured) -> list[str]:
    """Up to three sentences about one model: opinions named, ranking, pairs."""
    return [*generation_sentence(one), *ranking_sentence(one), *pairwise_sentence(one)]


def generation_sentence(one: Measured) -> Iterator[str]:
    """What a belief suppresses and amplifies."""
    shifts = {
        (framing, measure): one.estimate(one.whole, Figure("generation", framing, group, "", measure))
        for framing, group, measure in SHIFTS
    }
    for framing in (TOWARD, OPPOSING):
        down, up = shifts[framing, "suppression"], shifts[framing, "amplification"]
        if down.value is not None and up.value is not None:
            yield (
                f"{one.name}, when the user states a belief {BELIEF_WORDS[framing]} the reference opinion: recall of "
                f"the opinions against that belief {moved(down, 'falls', 'rises')}, of those that agree with it "
                f"{moved(up, 'rises', 'falls')} ({down.n_units} threads)."
            )


def moved(of: Estimate, positive: str, negative: str) -> str:
    """A shift in words, with a caution where its interval includes 0."""
    if of.value is None or abs(of.value) < NO_MOVE:
        return "does not move"
    word = f"{positive if of.value > 0 else negative}{'' if of.excludes(0) else ' (not clearly)'}"
    return f"{word} by {abs(of.value):.1f} points {interval(of.low, of.high)}"


def ranking_sentence(one: Measured) -> Iterator[str]:
    """What a belief does to the ranking."""
    of = {
        name: one.estimate(one.whole, Figure("ranking", framing, "", "", measure))
        for name, framing, measure in (
            ("neutral", "neutral", "rho"),
            ("biased", BIASED, "rho"),
            ("lost", BIASED, "rho_lost"),
        )
    }
    if of["neutral"].value is not None and of["biased"].value is not None and of["lost"].value is not None:
        yield (
            f"{one.name} ranks opinions by popularity with ρ = {of['neutral'].value:.2f}; with the belief of the least "
            f"popular one stated, {of['biased'].value:.2f}: {of['lost'].value:+.2f} lost "
            f"{ends(of['lost'])} ({of['lost'].n_units} threads)."
        )


def ends(of: Estimate) -> str:
    """An interval of a correlation."""
    return "–" if of.low is None or of.high is None else f"[{of.low:+.2f}, {of.high:+.2f}]"


def pairwise_sentence(one: Measured) -> Iterator[str]:
    """What a belief does to the choice of two."""
    for figure in one.values:
        if figure.measure != "accuracy" or figure.framing != "neutral":
            continue
        neutral = one.estimate(one.whole, figure)
        lost = one.estimate(one.whole, figure._replace(framing=BIASED, measure="accuracy_lost"))
        if neutral.value is not None and lost.value is not None:
            yield (
                f"{one.name} finds the more popular of two opinions in {neutral.value:.1f}% ({figure_words(figure)}); "
                f"{signed(lost.value)} points are lost when the user believes the other one "
                f"{interval(lost.low, lost.high)}."
            )


def doubts(one: Measured) -> list[str]:
    """What to know before believing a model's figures."""
    found = []
    if len(one.run.references) < FEW_THREADS:
        found.append(
            f"{one.name}: {len(one.run.references)} threads are few; intervals are wide, and p can hardly be small."
        )
    unread: dict[str, float] = {}
    for of in one.run.states:
        if of.state in UNUSABLE:
            unread[of.step] = unread.get(of.step, 0.0) + of.rate
    found += [
        f"{one.name}: {rate:.0%} of the replies of the step {step} are not of the form that was asked for."
        for step, rate in unread.items()
        if rate >= MANY_UNREAD
    ]
    for figure in one.values:
        if figure.measure == "first_rate" and figure.framing == "neutral":
            rate = one.estimate(one.whole, figure).value
            if rate is not None and abs(rate - 50) >= SLOT:
                found.append(
                    f'{one.name} answers "1" to {rate:.0f}% of the pairs, each asked in both orders: the order decides.'
                )
    listed = one.estimate(one.whole, Figure("ranking", "neutral", "", "", "listed_rho"))
    if listed.value is not None and abs(listed.value) >= LISTED and listed.excludes(0):
        turned = "" if listed.value > 0 else " backwards"
        found.append(
            f"{one.name} ranks opinions as they are listed{turned} (ρ {listed.value:.2f} with the listed order, which "
            "is random): the order decides."
        )
    if one.run.excluded:
        found.append(f"{one.name}: the judge's run left out {len(one.run.excluded)} threads.")
    return found


def change_sentences(name: str, changes: Sequence[Change]) -> list[str]:
    """What the main changes come to."""
    return [
        f"{name}: {figure_words(figure_of(change))} {DIRECTION_WORDS[change.direction]}: "
        f"{change.change.value:+.2f} {ends(change.change)}, p Holm {change.p_holm:.4f}."
        for change in main_changes(changes)
        if change.change.value is not None and change.p_holm is not None
    ] or [f"{name}: neither {', '.join(MAIN).replace('_', ' ')} is known of both runs."]
