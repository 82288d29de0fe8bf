"""Prompts → rendered text and token ids for the engines that tokenise here, with the context window checked first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.chat import encode, render_chat
from benchmarks.errors import ModelError
from benchmarks.records import Prompt
from inference.config import InferenceConfig

# The two keys of a reasoned verdict (DialDefer C.2), for engines that can constrain decoding.
VERDICT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"chosen_answer": {"type": "string", "enum": ["1", "2"]}, "reasoning": {"type": "string"}},
    "required": ["chosen_answer", "reasoning"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Encoded:
    """A prompt as an engine takes it."""

    prompt: Prompt
    rendered: str
    token_ids: list[int]


def encode_prompts(
    tokenizer: Any, prompts: Sequence[Prompt], config: InferenceConfig, window: int, lead: tuple[int, ...] = ()
) -> list[Encoded]:
    """Every prompt rendered and tokenised, `lead` tokens (see AnswerTokens) behind it.

    Raises ModelError, before anything is computed, when a prompt and its answer do not fit the window (in tokens).
    """
    answer = 1 if config.verdict == "margin" else config.sampling.max_tokens
    encoded = []
    for prompt in prompts:
        text = render_chat(tokenizer, prompt.messages, config.format, config.model.chat_template_args)
        encoded.append(Encoded(prompt, text, [*encode(tokenizer, text, config.format), *lead]))
    too_long = [e for e in encoded if len(e.token_ids) + answer > window]
    if too_long:
        worst = max(too_long, key=lambda e: len(e.token_ids))
        raise ModelError(
            f"{len(too_long)} of {len(prompts)} prompts do not fit the context window of {window} tokens; the longest "
            f"is {worst.prompt.item_id} ({worst.prompt.condition}): {len(worst.token_ids)} + {answer} for the answer. "
            "Raise engine.max_model_len if the model allows it, lower sampling.max_tokens, or leave the dataset out"
        )
    return encoded
