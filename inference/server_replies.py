"""What an OpenAI-compatible server sent back → Completions. No network here: a reply is a string to be doubted."""

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from evenhand.records import Completion
from evenhand.sources.record_fields import LONE_SURROGATE

# vLLM writes this in the place of minus infinity, which JSON lacks.
NO_PROBABILITY = -9999.0
ROUNDING = 0.01  # nats that a log-probability may be above 0
MOST_TOKENS = 10**9  # of one reply; a server that counts more is wrong


class BadReply(Exception):
    """A reply that is none: not JSON, no choices, no text. Its words become the completion's finish reason."""


class Spellings(NamedTuple):
    """How a reply writes the tokens at which a margin is read."""

    lead: tuple[str, ...]  # tokens that come before the answer; empty for most tokenizers
    answers: tuple[dict[str, str], ...]  # answer → its token; the first way that shows the most answers is taken


def read_reply(body: str, prompt_hash: str, n: int, spellings: Spellings | None = None) -> list[Completion]:
    """The n completions in the body of a chat or text completion response.

    spellings: of the answers whose log-probabilities are wanted; None when none are.
    Raises BadReply when the body is no such response or holds another number of choices.
    """
    reply = parse_object(body)
    choices = reply.get("choices")
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise BadReply(f"reply without choices: {excerpt(body)}")
    if len(choices) != n:
        raise BadReply(f"asked for {n} samples, got {len(choices)}")
    usage = reply.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    generated = count(counts, "completion_tokens")
    rendered = reply.get("prompt_text")  # vLLM only
    who = answered_by(reply)
    return [
        Completion(
            prompt_hash=prompt_hash,
            sample_index=index,
            text=read_text(choice, generated),
            finish_reason=excerpt(str(choice.get("finish_reason") or "unknown")),
            answer_logprobs=None if spellings is None else read_answers(choice, spellings),
            prompt_tokens=count(counts, "prompt_tokens"),
            # The server counts all samples together; what one of them took is then not known.
            completion_tokens=generated if n == 1 else None,
            rendered=rendered if isinstance(rendered, str) and index == 0 else None,
            answered_by=who if index == 0 else None,
        )
        for index, choice in enumerate(choices)
    ]


def parse_object(body: str) -> dict[str, Any]:
    """The JSON object in a body, its texts whole. Raises BadReply when it is something else."""
    try:
        parsed = whole(json.loads(body))
    except (ValueError, RecursionError):
        raise BadReply(f"reply is not JSON: {excerpt(body)}") from None
    if not isinstance(parsed, dict):
        raise BadReply(f"reply is no JSON object: {excerpt(body)}")
    return parsed


def whole(value: Any) -> Any:
    """A JSON value without halves of surrogate pairs, which no file can hold: a model may stop within a character.

    Each becomes U+FFFD, as broken bytes do.
    """
    if isinstance(value, str):
        return LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [whole(part) for part in value]
    if isinstance(value, dict):
        return {whole(key): whole(part) for key, part in value.items()}
    return value


def answered_by(reply: Mapping[str, Any]) -> str | None:
    """The model that the server says has answered, and its fingerprint; None where it says neither."""
    parts = (reply.get("model"), reply.get("system_fingerprint"))
    return " ".join(excerpt(part) for part in parts if isinstance(part, str) and part) or None


def read_text(choice: Mapping[str, Any], generated: int | None) -> str:
    """The text of a chat choice or a text choice; a refusal's words where the server keeps them apart.

    Empty text is an answer only when the server counts generated tokens: the model said nothing, or only thought.
    Raises BadReply otherwise.
    """
    message = choice.get("message")
    found = [message.get("content"), message.get("refusal")] if isinstance(message, dict) else [choice.get("text")]
    for text in found:
        if isinstance(text, str) and text:
            return text
    if not generated:
        raise BadReply("reply without text")
    return ""


def read_answers(choice: Mapping[str, Any], spellings: Spellings) -> dict[str, float]:
    """Answer → natural log-probability, of the answers that the server listed at the answer position.

    One spelling is taken for all answers: "1" beside " 2" are no pair. An answer that is not listed has a probability
    which is not known, so it is left out. Raises BadReply when there are no log-probabilities, one is none, or the lead
    is missing.
    """
    logprobs: Any = choice.get("logprobs")
    position = len(spellings.lead)
    try:
        if "content" in logprobs:  # chat
            entries = logprobs["content"]
            tokens = [entry["token"] for entry in entries]
            top = {e["token"]: float(e["logprob"]) for e in [entries[position], *entries[position]["top_logprobs"]]}
        else:
            tokens = logprobs["tokens"]
            top = {token: float(value) for token, value in logprobs["top_logprobs"][position].items()}
    except (TypeError, KeyError, IndexError, ValueError, AttributeError, OverflowError):
        raise BadReply("reply without log-probabilities") from None
    if tuple(tokens[:position]) != spellings.lead:
        raise BadReply(f"the answer's lead {spellings.lead} was not generated, but {tokens[:position]}")
    seen = {token: value for token, value in top.items() if math.isfinite(value) and value > NO_PROBABILITY}
    if max(seen.values(), default=0.0) > ROUNDING:
        raise BadReply(f"log-probability of {max(seen.values()):g}, which is above 0")
    readings = [{answer: seen[t] for answer, t in spelled.items() if t in seen} for spelled in spellings.answers]
    return max(readings, key=len)


def count(usage: Mapping[str, Any], key: str) -> int | None:
    """A token count, or None when the server gives none."""
    value = usage.get(key)
    return value if isinstance(value, int) and 0 <= value <= MOST_TOKENS else None


def excerpt(text: str, limit: int = 80) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
