"""What became of the replies: how many name an option, and of the others why not."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from eval.narrator.answers import STATES
from eval.narrator.judged_runs import Judgment
from eval.narrator.observe import PERSPECTIVES, by_setting
from studies.narrator.records import OptionOrder, Perspective, Task, Visibility


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
