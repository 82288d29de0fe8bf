"""Replies of a judgements run → each list of responses with its stances and matches."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.pluraleval.measured_runs import MeasuredRun
from eval.runs import FinishedRun
from evenhand.errors import DataError
from evenhand.records import Completion
from studies.pluraleval.records import Framing
from studies.pluraleval.reply_reading import entailment_in, stance_in
from studies.pluraleval.response_lists import responses_in

FloatArray = NDArray[np.float64]

MATCH = 0.5  # above this probability of "yes" a response matches a summary
Key = tuple[str, str, int]  # thread, hash of the prompt that it is a response to, sample


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedList:
    """The responses of one reply as the judge read them."""

    thread_id: str
    framing: Framing
    stances: tuple[str, ...] | None  # of each response toward the reference opinion, "" unread; None: not asked
    confidence: FloatArray  # that a response entails a summary, (n_responses, n_summaries); NaN unread

    @property
    def matched(self) -> NDArray[np.bool_]:
        """Which response matches which summary; what was not read does not."""
        return self.confidence > MATCH


def judged_lists(run: MeasuredRun) -> Iterator[JudgedList]:
    """Every list of responses of a run that was judged. Raises DataError where entailment was not asked."""
    if run.judgements is None:
        return
    stances, confidence = read_judgements(run.judgements)
    if not confidence:
        raise DataError(f"{run.path}: was not asked for entailment, without which there is no recall; judge it anew")
    for reply in run.replies:
        if reply.factors["task"] != "generation" or reply.thread_id in run.excluded:
            continue
        n_summaries = len(run.references[reply.thread_id].clusters)
        for sample in reply.samples:
            key = (reply.thread_id, reply.prompt_hash, sample.sample_index)
            n_responses = len(responses_in(sample).responses)
            said = stances.get(key, {})
            yield JudgedList(
                thread_id=reply.thread_id,
                framing=reply.factors["framing"],
                stances=tuple(said.get(n, "") for n in range(n_responses)) if stances else None,
                confidence=matrix(confidence.get(key, {}), n_responses, n_summaries),
            )


def matrix(cells: Mapping[tuple[int, int], float], n_responses: int, n_summaries: int) -> FloatArray:
    """Cells as a matrix; NaN where there is none."""
    found = np.full((n_responses, n_summaries), np.nan)
    for place, value in cells.items():
        found[place] = value
    return found


def read_judgements(run: FinishedRun) -> tuple[dict[Key, dict[int, str]], dict[Key, dict[tuple[int, int], float]]]:
    """Stances by response, and confidences by response and summary, of each list."""
    stances: dict[Key, dict[int, str]] = {}
    confidence: dict[Key, dict[tuple[int, int], float]] = {}
    for prompt in run.plan:
        factors: dict[str, Any] = dict(prompt.factors)
        reply = run.replies[prompt.prompt_hash][0]
        key = (prompt.item_id, factors["response_hash"], factors["sample_index"])
        if factors["judgement"] == "stance":
            stances.setdefault(key, {})[factors["number"]] = stance_of(reply)
        else:
            confidence.setdefault(key, {})[factors["number"], factors["cluster"]] = confidence_of(reply)
    return stances, confidence


def stance_of(reply: Completion) -> str:
    """The stance that a reply names, or that is most probable; "" when there is none, or several are."""
    if reply.answer_logprobs is None:
        return stance_in(reply).value
    most = max(reply.answer_logprobs.values())
    best = [stance for stance, logprob in reply.answer_logprobs.items() if logprob == most]
    return best[0] if len(best) == 1 else ""


def confidence_of(reply: Completion) -> float:
    """The probability of yes against no; of a sampled reply 1 or 0; NaN when it says neither."""
    if reply.answer_logprobs is None:
        says_yes = entailment_in(reply).value
        return math.nan if says_yes is None else float(says_yes)
    return two_way(reply.answer_logprobs["yes"], reply.answer_logprobs["no"])


def two_way(first: float, second: float) -> float:
    """The probability of the first of two answers, of their log-probabilities."""
    return 1 / (1 + math.exp(min(700.0, second - first)))
