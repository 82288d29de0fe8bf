"""What sentences say of a run beside its answer: levels and losses over the same threads, and what to doubt."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from eval.estimates.estimate import Estimate, clustered
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
    return {
        "generation": generation_of(run),
        "ranking": with_loss(run, rho),
        "pairs": [(label, *with_loss(run, accuracy._replace(pairing=name))) for name, label in PAIRING_WORDS.items()],
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


def generation_of(run: PluralEvalRun) -> dict[str, Any] | None:
    """The shift toward the belief, with shifts and neutral levels over its threads; None where it is not known."""
    toward = estimate_over(run, TOWARD_BELIEF)
    if toward is None:
        return None
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
    neutral = [(group, estimate_over(run, RECALL._replace(opinions=group), threads)) for group in SIDES]
    return {"toward": toward, "shifts": shifts, "neutral": neutral}
