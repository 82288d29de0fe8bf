"""Prompts → rendered text and token ids for the engines that tokenise here, with the context window checked first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.chat import encode, render_chat
from benchmarks.options import Tokens, option_tokens
from benchmarks.records import Prompt
from inference.config import InferenceConfig
from inference.engine import PromptsTooLong

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
    options: Mapping[str, Tokens] = field(default_factory=dict)  # verdict options: the answer space, tokenised

    @property
    def n_tokens(self) -> int:
        """Tokens of the prompt and, where options are read, of the longest of them."""
        return len(self.token_ids) + max(map(len, self.options.values()), default=0)


def encode_prompts(
    tokenizer: Any, prompts: Sequence[Prompt], config: InferenceConfig, window: int, lead: tuple[int, ...] = ()
) -> list[Encoded]:
    """Every prompt rendered and tokenised, `lead` tokens (see AnswerTokens) behind it.

    Raises PromptsTooLong, before anything is computed, when prompts and their answers do not fit the window (tokens).
    """
    answer = {"margin": 1, "options": 0}.get(config.verdict, config.sampling.max_tokens)
    encoded = []
    for prompt in prompts:
        text = render_chat(tokenizer, prompt.messages, config.format, config.model.chat_template_args)
        options = {}
        if config.verdict == "options":
            options = option_tokens(tokenizer, prompt.answer_space, text, config.format)
        encoded.append(Encoded(prompt, text, [*encode(tokenizer, text, config.format), *lead], options))
    too_long = [e for e in encoded if e.n_tokens + answer > window]
    if too_long:
        worst = max(too_long, key=lambda e: e.n_tokens)
        size = len(worst.token_ids)
        raise PromptsTooLong(
            f"{len(too_long)} of {len(prompts)} prompts do not fit the context window of {window} tokens; the longest "
            f"is {worst.prompt.item_id} ({worst.prompt.condition}): {size} + {worst.n_tokens - size + answer} for the "
            "answer. Raise engine.max_model_len if the model allows it, lower sampling.max_tokens, or leave the "
            "dataset out",
            {e.prompt: f"{e.n_tokens + answer} tokens with the answer, window {window}" for e in too_long},
        )
    return encoded
