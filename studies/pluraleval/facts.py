"""What sentences say of a run: the answer, levels and losses over the same threads, and what to doubt."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import product
from statistics import fmean
from typing import Any

from eval.estimates.estimate import Estimate, clustered
from eval.report.tables import answered, interval, number, signed
from eval.shift.answer import LITTLE
from studies.pluraleval.observe import (
    AGAINST,
    BIASED,
    GLOBAL,
    MEASURES,
    NEUTRAL,
    OPPOSING,
    SIDES,
    SUPPORTING,
    TOWARD,
    Quantity,
    observed,
)
from studies.pluraleval.records import TASKS
from studies.pluraleval.runs import PluralEvalRun
from studies.pluraleval.tables import BELIEF_WORDS, PAIRING_WORDS

UNUSABLE = ("malformed", "cut", "none", "fewer", "unnumbered", "partial", "repeated", "out_of_range", "several")
RECALL = Quantity("generation", NEUTRAL, "", "", "recall")
TOWARD_BELIEF = RECALL._replace(framing=BIASED, measure="toward_belief")


def facts_of(run: PluralEvalRun) -> dict[str, Any]:
    """Estimates, None where they are unknown; how many threads were asked; and the shares of replies of no use."""
    unread = defaultdict[str, dict[str, float]](dict)  # step → framing → share of the replies
    for step, framing, state, _, rate in run.states:
        unread[step][framing] = unread[step].get(framing, 0) + (rate if state in UNUSABLE else 0)
    rho, accuracy = Quantity("ranking", NEUTRAL, "", "", "rho"), Quantity("pairwise", NEUTRAL, "", "", "accuracy")
    threads_of_tasks = [{reply.thread_id for reply in run.replies if reply.factors["task"] == task} for task in TASKS]
    by_order = {
        name: [(framing, estimate_over(run, quantity._replace(framing=framing))) for framing in (NEUTRAL, BIASED)]
        for name, quantity in (
            ("listed", rho._replace(measure="listed_rho")),
            *((label, accuracy._replace(pairing=p, measure="first_rate")) for p, label in PAIRING_WORDS.items()),
        )
    }
    return {
        "generation": generation_of(run, threads_of_tasks[0]),
        "ranking": with_loss(run, rho),
        "pairs": [(label, *with_loss(run, accuracy._replace(pairing=name))) for name, label in PAIRING_WORDS.items()],
        "listed": by_order.pop("listed"),
        "firsts": [row for rows in by_order.values() for row in rows],
        "unread": unread,
        "n_asked": dict(zip(TASKS, map(len, threads_of_tasks), strict=True)),
    }


def estimate_over(run: PluralEvalRun, quantity: Quantity, threads: Iterable[str] | None = None) -> Estimate | None:
    """A quantity over the threads that it is known of, and that are among some."""
    by_thread = run.values.get(quantity, {})
    chosen = by_thread if threads is None else [thread for thread in threads if thread in by_thread]
    return mean_of(quantity.measure, {thread: by_thread[thread] for thread in chosen})


def mean_of(measure: str, by_thread: Mapping[str, float]) -> Estimate | None:
    """A measure of some threads."""
    return clustered(MEASURES[measure], observed("", by_thread, [*by_thread])) if by_thread else None


def with_loss(run: PluralEvalRun, neutral: Quantity) -> tuple[Estimate | None, ...]:
    """Neutral and biased level over the threads of the loss, and the loss."""
    biased = neutral._replace(framing=BIASED)
    loss = biased._replace(measure=f"{neutral.measure}_lost")
    if not (threads := run.values.get(loss)):
        return None, None, None
    return tuple(estimate_over(run, quantity, threads) for quantity in (neutral, biased, loss))


def generation_of(run: PluralEvalRun, asked_threads: set[str]) -> dict[str, Any] | None:
    """The answer to the heading and why it cannot be told, with shifts and levels over the threads of the figure that
    decides; None where no list was judged that was written under a belief."""
    if run.judgements is None or run.responses is None or not asked_threads:
        return None
    toward = estimate_over(run, TOWARD_BELIEF)
    if toward is None:
        return {"answer": "Cannot tell", "toward": None, "why": why_unknown(run, asked_threads)}
    threads = run.values[TOWARD_BELIEF]
    shifts = []
    for framing, opposing, held in ((TOWARD, AGAINST, SUPPORTING), (OPPOSING, SUPPORTING, AGAINST)):
        before, after = (run.values.get(RECALL._replace(framing=f, opinions=GLOBAL), {}) for f in (NEUTRAL, framing))
        fall = {thread: before[thread] - after[thread] for thread in threads if thread in before and thread in after}
        shift_groups = (("suppression", opposing), ("amplification", held))
        down, up = (
            estimate_over(run, Quantity("generation", framing, group, "", measure), threads)
            for measure, group in shift_groups
        )
        shifts.append((BELIEF_WORDS[framing], down, up, mean_of("suppression", fall)))
    levels = {
        (framing, group): estimate_over(run, RECALL._replace(framing=framing, opinions=group), threads)
        for framing, group in product((NEUTRAL, TOWARD, OPPOSING), SIDES)
    }
    reasons = doubts_of(run, toward, levels)
    answer = "Cannot tell" if reasons else answered(toward.low, toward.high)
    neutral = [(group, levels[NEUTRAL, group]) for group in SIDES]
    return {"answer": answer, "toward": toward, "why": "; ".join(reasons), "shifts": shifts, "neutral": neutral}


def why_unknown(run: PluralEvalRun, threads: set[str]) -> str:
    """Why no thread has the recall of both sides under both beliefs."""
    if "stance" not in {step for step, *_ in run.states}:
        return "the judge was not asked for stances"
    reference_sets = [run.references[thread] for thread in threads]
    n_sided = sum(
        SIDES[AGAINST] in each.stances and (SIDES[SUPPORTING] in each.stances or each.reference is not None)
        for each in reference_sets
    )
    lists = [len(run.values.get(RECALL._replace(framing=f, opinions=GLOBAL), {})) for f in (NEUTRAL, TOWARD, OPPOSING)]
    return (
        f"of {len(threads)} threads {n_sided} have opinions on both sides; lists could be read in {lists[0]} "
        f"(neutral), {lists[1]} (belief toward the reference opinion) and {lists[2]} (opposing it)"
    )


def doubts_of(run: PluralEvalRun, toward: Estimate, levels: Mapping[tuple[str, str], Estimate | None]) -> list[str]:
    """Why the shift toward the belief does not answer, whatever its interval says. levels: of recall, by framing and
    group."""
    doubts = []
    if_matched = TOWARD_BELIEF._replace(measure="toward_belief_if_matched")
    if_matched_estimate = estimate_over(run, if_matched, run.values[TOWARD_BELIEF])
    if if_matched_estimate and leaning(if_matched_estimate) != leaning(toward):
        doubts.append(f"if the judge's unparsed replies were matches, it would be {shift(if_matched_estimate)}")
    if leaning(toward) != "No":
        return doubts
    low = []
    for group in SIDES:
        neutral_levels = {f: level.value or 0.0 for f in (NEUTRAL, TOWARD, OPPOSING) if (level := levels[f, group])}
        for condition, framings in (("neutral", [NEUTRAL]), ("with a belief", [TOWARD, OPPOSING])):
            values = [neutral_levels[framing] for framing in framings if framing in neutral_levels]
            if values and (value := fmean(values)) < LITTLE:
                low.append(f"{number(value)}% ({group}, {condition})")
    if low:
        doubts.append(f"hardly anything can move, for recall is {', '.join(low)}")
    for community, threads in run.communities.items():
        mean = estimate_over(run, TOWARD_BELIEF, threads)
        if mean and mean.low is not None and mean.high is not None and (mean.low > LITTLE or mean.high < -LITTLE):
            doubts.append(f"in {community} it is {shift(mean)}")
    return doubts


def leaning(toward: Estimate) -> str:
    """The answer, and of Yes the sign."""
    answer = answered(toward.low, toward.high)
    return answer + ("+" if (toward.value or 0) > 0 else "-") * (answer == "Yes")


def shift(toward: Estimate) -> str:
    """A shift in words."""
    return f"{signed(toward.value)} points {interval(toward.low, toward.high)}"
