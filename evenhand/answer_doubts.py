"""What to know of a run's answers before believing a score over them: who gave them, and how likely they were."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean, median

from evenhand.records import Completion

# Total probability of the two answers, at the median prompt of a run or of a cell (dataset and framing), below which
# margins are of what a judge hardly ever says.
# Qwen2.5-Coder-1.5B has 0.98 on pocket (at least 0.92 on any prompt), the embedded 135M model 0.02 before training.
UNLIKELY = 0.1
WAY_OUT = (
    "See what it reads with `evenhand show`, switch a thinking mode off (model.chat_template_args), or use `verdict: "
    "reason`."
)
MOST_NAMED = 5
UNNAMED = "no name"


class Doubts:
    """Reasons to doubt the answers of a run, gathered answer by answer; errors are no answers."""

    def __init__(self, verdict: str = "") -> None:
        """verdict: of "margin" also how likely the answers are over the whole run is tested; scores test each cell."""
        self.verdict, self.answerers, self.totals = verdict, Counter[str](), list[float]()

    def add(self, completion: Completion) -> None:
        """Take an answer."""
        if completion.sample_index == 0:
            self.answerers[completion.answered_by or UNNAMED] += 1
        if self.verdict == "margin" and (total := answer_probability(completion)) is not None:
            self.totals.append(total)

    def sentences(self) -> list[str]:
        """One for each reason."""
        return [*mixed_answerers(self.answerers), *unlikely_answers(self.totals)]


def answer_doubts(completions: Iterable[Completion], verdict: str = "") -> list[str]:
    """A plain sentence for each reason to doubt the answers of one run."""
    doubts = Doubts(verdict)
    for completion in completions:
        if not completion.is_error:
            doubts.add(completion)
    return doubts.sentences()


def answer_probability(completion: Completion) -> float | None:
    """The probability of its answers together; None where their log-probabilities are unknown."""
    logprobs = completion.answer_logprobs
    return math.fsum(math.exp(min(value, 0.0)) for value in logprobs.values()) if logprobs else None


def mixed_answerers(counts: Counter[str]) -> list[str]:
    """That a server's replies name several models or fingerprints."""
    if len(counts) < 2:
        return []
    named = "; ".join(f"{name} ({n:,})" for name, n in counts.most_common(MOST_NAMED))
    more = f" and {len(counts) - MOST_NAMED} more" if len(counts) > MOST_NAMED else ""
    return [
        f"its prompts were answered by {len(counts)} models or versions of a server: {named}{more}. A score over them "
        "is no one judge's; sample anew from one of them, under another `name`."
    ]


def unlikely_answers(totals: Sequence[float]) -> list[str]:
    """That the two answers together have little probability, where margins are read."""
    if not totals or median(totals) >= UNLIKELY:
        return []
    return [
        f"the two answers together have a median probability of {median(totals):.2g} (mean {fmean(totals):.2g}): the "
        "judge would mostly begin its reply with something else, so its margins may say little of what it would "
        f"answer. {WAY_OUT}"
    ]
