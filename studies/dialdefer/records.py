"""DialDefer's records: an item, the condition it is shown in, what else is varied in a prompt."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

BENCHMARK = "dialdefer"
OWN_ITEMS = "own"  # the benchmark of items in a file of the user's
TEXTS = ("question", "correct_answer", "incorrect_answer")  # fields of an item that its claims are made of
INCORRECT_ANSWERS = "incorrect_answers"  # the key of Item.meta for every wrong answer of the publisher's


class Condition(StrEnum):
    """One of the four cases of an item: framing × claim truth (DialDefer §3.1, appendix C.5)."""

    C1_TRUE = "c1_true"
    C1_FALSE = "c1_false"
    C2_CORRECT = "c2_correct"
    C2_INCORRECT = "c2_incorrect"

    @property
    def is_dialogue(self) -> bool:
        """True for C2, where a speaker makes the claim; False for C1, where it is a bare statement."""
        return self in (Condition.C2_CORRECT, Condition.C2_INCORRECT)

    @property
    def claim_is_true(self) -> bool:
        """Whether the claim shown is the correct one, so that a good judge accepts it."""
        return self in (Condition.C1_TRUE, Condition.C2_CORRECT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One question with a correct and an incorrect answer, or one r/AIO conflict with its verdicts."""

    item_id: str  # from the source, stable across rebuilds: "truthfulqa-42"
    benchmark: str  # "dialdefer", "pocket"
    dataset: str  # canonical name: "truthfulqa", "halueval", "aio-context"
    question: str  # empty for r/AIO, whose claim is about a speaker
    correct_answer: str
    incorrect_answer: str
    context: str | None = None  # r/AIO's narrative; HaluEval's knowledge, which no prompt shows
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Factors:
    """What was varied beside the condition, by name. Two prompts differ in a factor or are the same prompt."""

    template: str = "published"
    template_version: int = 1
    answer_form: str = "json"  # "json" (a verdict with reasoning) or "one_token"
    arm: str = "none"  # "none", "honest", "dehumanizing"
    speaker1: str = "Speaker 1"
    speaker2: str = "Speaker 2"
    roles: str = ""  # r/AIO only: "2->1" or "1->2"
    answer_order: str = "yes_first"  # or "no_first": answer 1 then rejects the claim
