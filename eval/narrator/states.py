"""What became of the replies, by perspective: how many name an option, and of the others why not.

M is of the replies that name an option. Where fewer do under one perspective than under another, those that are left
may be another kind of replies, and that difference is a bias of PR.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import Any

from eval.estimates.estimate import Estimate, clustered
from eval.estimates.observed import Observed, Row, added_up
from eval.narrator.answers import STATES, State
from eval.narrator.judged_runs import Judgment
from eval.narrator.observe import PERSPECTIVES, Asked, by_setting, rise
from studies.narrator.records import OptionOrder, Perspective, Task, Visibility

LEVEL = 0.05  # of the tests of a judge's states together
SMALLEST_BIAS = 1.0  # percentage points by which the share of a state differs, from which on a warning is worth it
COMPARED: tuple[tuple[Perspective, Perspective], ...] = (
    ("attacker", "neutral"),
    ("non_attacker", "neutral"),
    ("non_attacker", "attacker"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRates:
    """Shares of the completions to some prompts, in percent; they add up to 100. Of exact runs: of the probability."""

    judge: str
    task: Task
    visibility: Visibility
    option_order: OptionOrder
    perspective: Perspective
    n_prompts: int
    chosen: float
    ambiguous: float
    negated_only: float
    continues_transcript: float
    refusal: float
    off_list: float
    cut_off: float
    empty: float
    error: float
    tied: float  # prompts on whose one answer the replies do not agree, in percent
    unanswered: float  # prompts none of whose replies names an option, in percent


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDifference:
    """How much more of the replies have a state under one perspective than under another, in one setting."""

    judge: str
    asked: Asked
    state: State
    perspective: Perspective
    against: Perspective
    difference: Estimate  # in percentage points, paired within conversations


def state_differences(judge: str, judgments: Sequence[Judgment]) -> list[StateDifference]:
    """The differences of every state between the perspectives whose M is compared, in every setting."""
    return [
        StateDifference(
            judge=judge,
            asked=asked,
            state=state,
            perspective=perspective,
            against=against,
            difference=clustered(rise(state, perspective, against), shares_of(i, of_setting)),
        )
        for asked, of_setting in by_setting(judgments).items()
        for i, state in enumerate(STATES)
        if state != "error" and any(judgment.states[i] for judgment in of_setting)
        for perspective, against in COMPARED
        if {perspective, against} <= {judgment.factors.perspective for judgment in of_setting}
    ]


def clear_differences(found: Sequence[StateDifference]) -> list[StateDifference]:
    """Those that are no chance, the largest first: their 95 % intervals, widened by Bonferroni's rule, exclude 0."""
    wider = NormalDist().inv_cdf(1 - LEVEL / 2 / max(len(found), 1)) / NormalDist().inv_cdf(1 - LEVEL / 2)
    clear = [
        one
        for one in found
        if one.difference.value is not None
        and one.difference.half is not None
        and abs(one.difference.value) >= max(SMALLEST_BIAS, wider * one.difference.half)
    ]
    return sorted(clear, key=lambda one: -abs(one.difference.value or 0.0))


def shares_of(state: int, judgments: Sequence[Judgment]) -> Observed:
    """How much of the replies to each prompt has a state, by perspective; prompts that the engine failed left out."""
    shares: dict[tuple[Perspective, str], list[float]] = defaultdict(list)
    for one in judgments:
        if one.n_replies:
            of = one.factors.perspective, f"{one.judge}: {one.conversation}"
            shares[of].append(one.states[state] / (1 - one.states[STATES.index("error")]))
    parts: list[list[Row]] = [
        [(unit, fmean(values), 1.0) for (of, unit), values in shares.items() if of == perspective]
        for perspective in PERSPECTIVES
    ]
    return added_up(judgments[0].dataset, parts)


def state_rates(judge: str, judgments: Sequence[Judgment]) -> list[StateRates]:
    """The rates of every setting and perspective."""
    found = []
    for asked, of_setting in by_setting(judgments).items():
        for perspective in PERSPECTIVES:
            members = [judgment for judgment in of_setting if judgment.factors.perspective == perspective]
            if not members:
                continue
            rates: dict[str, Any] = {state: 100 * fmean(j.states[i] for j in members) for i, state in enumerate(STATES)}
            found.append(
                StateRates(
                    judge=judge,
                    **asked._asdict(),
                    perspective=perspective,
                    n_prompts=len(members),
                    tied=100 * fmean(len(j.leaders) > 1 for j in members),
                    unanswered=100 * fmean(not j.leaders for j in members),
                    **rates,
                )
            )
    return found
