"""The frozen records that the stages hand to each other: Item → Prompt → Completion → Verdict.

A stage reads one record type and writes the next; none is changed afterwards to hold a later stage's result.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from types import UnionType
from typing import Any

from studies.narrator.records import NarratorFactors


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
class Message:
    """One chat turn, before any chat template."""

    role: str  # "system" or "user"
    content: str


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One item under one condition, as the model will read it, before the chat template."""

    item_id: str
    benchmark: str
    dataset: str
    condition: str  # a Condition; in the narrator study the perspective
    factors: Factors | NarratorFactors
    messages: tuple[Message, ...]
    answer_space: tuple[str, ...] = ("1", "2")  # "1" accepts the claim, "2" rejects it; no_first: the other way round

    @property
    def prompt_hash(self) -> str:
        """16 hex digits of what the model is asked: messages, answer space and template version.

        Two arms that share a prompt share its hash, so that it is asked once.
        """
        content = {
            "messages": [asdict(m) for m in self.messages],
            "answer_space": list(self.answer_space),
            "template_version": self.factors.template_version,
        }
        return digest(content, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What an engine answered to one prompt, once."""

    prompt_hash: str
    sample_index: int
    text: str
    finish_reason: str  # "stop", "length", or "error: ..." when the engine gave no reply at all
    answer_logprobs: Mapping[str, float] | None = None  # natural log P(answer) at the answer position
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    rendered: str | None = None  # the chat template's output, with sample 0; None when a server rendered it unseen
    answered_by: str | None = None  # the model and fingerprint that a server's reply names, with sample 0

    @property
    def is_error(self) -> bool:
        """True when the engine failed: no reply, which is asked again and never counted as an answer."""
        return self.finish_reason.startswith("error")


FIELD_TYPES: dict[str, type | UnionType] = {
    **dict.fromkeys(("prompt_hash", "text", "finish_reason"), str),
    "sample_index": int,
    "answer_logprobs": dict | None,
    **dict.fromkeys(("prompt_tokens", "completion_tokens"), int | None),
    **dict.fromkeys(("rendered", "answered_by"), str | None),
}


def completion_from(record: Mapping[str, Any]) -> Completion:
    """A line of a shard as a record. Raises TypeError naming a field that lacks, is unknown or of another type."""
    completion = Completion(**record)
    for name, kind in FIELD_TYPES.items():
        if not isinstance(getattr(completion, name), kind):
            raise TypeError(f"its {name} is {json.dumps(getattr(completion, name))[:40]}")
    for answer, value in (completion.answer_logprobs or {}).items():
        if not isinstance(value, float | int):
            raise TypeError(f"its log-probability of '{answer}' is {json.dumps(value)[:40]}")
    return completion


def digest(content: object, n_hex: int = 64) -> str:
    """The first n_hex hex digits of the SHA-256 of the content's canonical JSON."""
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:n_hex]
