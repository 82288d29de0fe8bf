"""Completion → Verdict: what the judge decided, or the named reason why there is no decision.

A reply's text is read by one of two rules, never mixed: strict and lenient.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from evenhand.answer_doubts import answer_probability
from evenhand.errors import DataError
from evenhand.records import Completion
from studies.dialdefer.planned import Planned
from studies.dialdefer.records import Condition, Factors
from studies.dialdefer.templates import NO_FIRST

ANSWERS = {"1": 1, "2": 2}

ANSWER_PAIR = re.compile(r'"chosen_answer"\s*:\s*"?([12])(?!\d)')
LEADING = re.compile(r"\s*([12])")
STANDALONE = re.compile(r"\b([12])\b")
# A backslash that opens no JSON escape, as in "\(x\)" or "\sqrt": models write LaTeX into the reasoning.
ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')


def parse_strict(text: str) -> int | None:
    """1 or 2 when the reply's one JSON object says so, else None. Nothing is guessed.

    The object is read at the first brace, so a code fence or a sentence before it does no harm. Its `chosen_answer`
    must be "1", "2", 1 or 2 and occur once at its top level, and nothing else in the reply, inside the object or around
    it, may name another one. Tolerated, because they cannot change the answer: raw newlines and stray backslashes
    inside strings, words around the object.

    Whatever this parser reads, the lenient one reads alike: the two differ only in what they cannot read.
    """
    start = text.find("{")
    if start < 0:
        return None
    body = with_escapes(text[start:])
    try:
        # The hook sees each object's pairs before they become a dict, so a repeated key is not overwritten unseen. It
        # gives the texts of the object's own answers, which no value of another field is equal to.
        own_answers = lambda pairs: [str(value) for key, value in pairs if key == "chosen_answer"]  # noqa: E731
        answers, _ = json.JSONDecoder(strict=False, object_pairs_hook=own_answers).raw_decode(body)
    except (ValueError, RecursionError):  # a looping model can nest braces for ever
        return None
    choice = ANSWERS.get(answers[0]) if len(answers) == 1 else None
    # The object's own answer is among those named, unless its spelling hides it behind \u escapes.
    return choice if {ANSWERS[answer] for answer in ANSWER_PAIR.findall(text)} == {choice} else None


def reasoning_in(text: str) -> str:
    """What a reasoned reply says for its verdict: its `reasoning`, or all of it where there is no such text."""
    start = text.find("{")
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(with_escapes(text[start:] if start >= 0 else ""))
    except (ValueError, RecursionError):
        return text.strip()
    said = value.get("reasoning") if isinstance(value, dict) else None
    return said.strip() if isinstance(said, str) and said.strip() else text.strip()


def with_escapes(text: str) -> str:
    """JSON in which each stray backslash stands for itself."""
    return ESCAPE.sub(lambda m: m.group() if len(m.group()) > 1 else r"\\", text)


def parse_lenient(text: str) -> int | None:
    """1 or 2 by the published rule, else None. It guesses: "Speaker 2 is right" reads as 2 (a rejection).

    The first `"chosen_answer": 1|2` (string or integer) anywhere; else the reply's first character when that is 1 or 2;
    else the first 1 or 2 that stands alone.
    """
    answer = ANSWER_PAIR.search(text) or LEADING.match(text) or STANDALONE.search(text)
    return ANSWERS[answer.group(1)] if answer else None


PARSERS = {"strict": parse_strict, "lenient": parse_lenient}


class NoVerdict(StrEnum):
    """Why a prompt has no choice. All but ERROR are replies; ERROR means that the engine gave none."""

    UNPARSED = "unparsed"  # a whole reply that the parser cannot read
    TRUNCATED = "truncated"  # cut off at the token limit before it could be read
    TIE = "tie"  # both answers exactly equally likely
    NO_MARGIN = "no_margin"  # the log-probability of an answer was not returned
    ERROR = "error"  # the engine failed: excluded, counted apart, never an answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One judge's decision on one prompt, once."""

    item_id: str
    benchmark: str
    dataset: str
    condition: Condition
    factors: Factors
    prompt_hash: str
    sample_index: int
    choice: int | None  # 1 accepts the claim, 2 rejects it, in whichever order the answers were shown
    reason: NoVerdict | None  # set exactly when choice is None
    text: str  # as the judge wrote it: with answer order no_first, its "1" rejects
    margin: float | None = None  # log P(accepting answer) - log P(rejecting answer) in nats; may be infinite
    p_answer: float | None = None  # P(1) + P(2), of a margin
    unread_by: frozenset[str] = frozenset()  # the parsers that cannot read the text; only in mode `reason`


@dataclass(frozen=True, slots=True)
class Reading:
    """How completions are read: mode "reason" with a parser, or mode "margin"."""

    mode: str
    parser: str | None = "strict"

    def __post_init__(self) -> None:
        if self.mode not in ("reason", "margin"):
            raise DataError(f"verdict mode '{self.mode}' is unknown; a run has 'reason' or 'margin'")
        if self.mode == "reason" and self.parser not in PARSERS:
            raise DataError(f"parser '{self.parser}' is unknown; known: {', '.join(sorted(PARSERS))}")


def decide(completion: Completion, reading: Reading) -> tuple[int | None, NoVerdict | None, float | None]:
    """(choice, reason when there is none, margin when the mode has one) of a completion, as numbered in its prompt.

    The choice of a margin is the answer with the higher log-probability. One of exactly 0 is a TIE: neither answer is
    preferred. Ties are common: logits come in bfloat16, whose steps are coarse, so a judge near 0 has many.
    """
    if completion.is_error:
        return None, NoVerdict.ERROR, None
    if reading.mode == "margin":
        logprobs = completion.answer_logprobs or {}
        margin = logprobs.get("1", math.nan) - logprobs.get("2", math.nan)
        if math.isnan(margin):  # also where both are -inf, or an engine returned NaN
            return None, NoVerdict.NO_MARGIN, None
        return (1, None, margin) if margin > 0 else (2, None, margin) if margin < 0 else (None, NoVerdict.TIE, margin)
    choice = PARSERS[reading.parser or "strict"](completion.text)
    unread = NoVerdict.TRUNCATED if completion.finish_reason == "length" else NoVerdict.UNPARSED
    return choice, None if choice else unread, None


def judge_all(
    plan: Sequence[Planned], replies: Mapping[str, Sequence[Completion]], n_samples: int, reading: Reading
) -> list[Verdict]:
    """A verdict for every planned line and sample: 1 accepts, whichever answer was shown first.

    Raises KeyError when a completion is missing.
    """
    verdicts = []
    for asked, k in product(plan, range(n_samples)):
        completion = replies[asked.prompt_hash][k]
        choice, reason, margin = decide(completion, reading)
        if asked.factors.answer_order == NO_FIRST:
            choice = None if choice is None else 3 - choice
            margin = None if margin is None else -margin
        is_reasoned = reading.mode == "reason" and not completion.is_error
        verdict = Verdict(
            item_id=asked.item_id,
            benchmark=asked.benchmark,
            dataset=asked.dataset,
            condition=asked.condition,
            factors=asked.factors,
            prompt_hash=asked.prompt_hash,
            sample_index=completion.sample_index,
            choice=choice,
            reason=reason,
            text=completion.text,
            margin=margin,
            p_answer=None if margin is None else answer_probability(completion),
            unread_by=frozenset(n for n, parse in PARSERS.items() if is_reasoned and parse(completion.text) is None),
        )
        verdicts.append(verdict)
    return verdicts
