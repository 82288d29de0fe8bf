"""Prompts → rendered text and token ids, for the engines that tokenise here; never all of a run's at once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from evenhand.chat_templates import encode_batch, render_chat
from evenhand.option_tokens import Tokens, option_tokens
from evenhand.records import Prompt
from inference.config import InferenceConfig

# Prompts tokenised in one call: enough for all cores, and little memory even where each fills a long context window.
BATCH = 64


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


@dataclass(frozen=True, slots=True)
class Encoder:
    """Renders and tokenises prompts as a config asks for them."""

    tokenizer: Any
    config: InferenceConfig
    lead: tuple[int, ...] = ()  # tokens put behind every prompt, see AnswerTokens

    def encode(self, prompts: Iterable[Prompt]) -> Iterator[Encoded]:
        """Each prompt in its order, encoded when it is asked for, at most a batch ahead."""
        for batch in batches(prompts):
            yield from self.encode_batch(batch)

    def encode_batch(self, prompts: Sequence[Prompt]) -> list[Encoded]:
        """Each of at least one prompt. Raises ModelError when the chat template or the tokenizer refuses one."""
        config = self.config
        texts = [
            render_chat(self.tokenizer, prompt.messages, config.format, config.model.chat_template_args)
            for prompt in prompts
        ]
        found = []
        tokens = encode_batch(self.tokenizer, texts, config.format)
        for prompt, text, token_ids in zip(prompts, texts, tokens, strict=True):
            options: Mapping[str, Tokens] = {}
            if config.verdict == "options":
                options = option_tokens(self.tokenizer, prompt.answer_space, text, config.format)
            found.append(Encoded(prompt, text, [*token_ids, *self.lead], options))
        return found


def batches(prompts: Iterable[Prompt]) -> Iterator[list[Prompt]]:
    """The prompts in their order, BATCH at a time."""
    rest = iter(prompts)
    while batch := list(islice(rest, BATCH)):
        yield batch
