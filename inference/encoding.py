"""Prompts → rendered text and token ids, for the engines that tokenise here; never all of a run's at once."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from evenhand.chat_templates import Tokens, encode_batch, option_tokens, render_chat
from evenhand.records import Completion, Prompt
from inference.config import InferenceConfig
from inference.engine import Further, PromptsTooLong

# Prompts tokenised in one call: enough for all cores, and little memory even where each fills a long context window.
BATCH = 64


@dataclass(frozen=True, slots=True)
class Encoded:
    """A prompt as an engine takes it."""

    prompt: Prompt
    rendered: str
    token_ids: list[int]
    options: Mapping[str, Tokens] = field(default_factory=dict)  # verdict options: the answer space, tokenised

    def completion(self, index: int, text: str, finish_reason: str | None, n_tokens: int, **more: Any) -> Completion:
        """A reply with the facts of its prompt."""
        return Completion(
            prompt_hash=self.prompt.prompt_hash,
            sample_index=index,
            text=text,
            finish_reason=str(finish_reason),
            prompt_tokens=len(self.token_ids),
            completion_tokens=n_tokens,
            rendered=self.rendered if index == 0 else None,  # once per prompt: ten copies would fill the disk
            **more,
        )

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
        rest = iter(prompts)
        while batch := list(islice(rest, BATCH)):
            yield from self.encode_batch(batch)

    def encode_batch(self, prompts: Sequence[Prompt]) -> list[Encoded]:
        """Each of at least one prompt. Raises ModelError when the chat template or the tokenizer refuses one."""
        config = self.config
        texts = [
            render_chat(self.tokenizer, prompt.messages, config.format, config.model.chat_template_args)
            for prompt in prompts
        ]
        encoded = []
        tokens = encode_batch(self.tokenizer, texts, config.format)
        for prompt, text, token_ids in zip(prompts, texts, tokens, strict=True):
            options: Mapping[str, Tokens] = {}
            if config.verdict == "options":
                options = option_tokens(self.tokenizer, prompt.answer_space, text, config.format)
            encoded.append(Encoded(prompt, text, [*token_ids, *self.lead], options))
        return encoded


class Supply:
    """Encoded prompts on demand, none that does not fit the context window."""

    def __init__(self, encoder: Encoder, prompts: Sequence[Prompt], further: Further, window: int) -> None:
        """window: tokens of a prompt and its answer."""
        self.encoder, self.further, self.window = encoder, further, window
        self.waiting = deque(prompts)
        self.too_long: dict[Prompt, str] = {}

    def take(self, at_most: int = BATCH) -> list[Encoded]:
        """The next prompts, at most so many and at most BATCH; none where there are none for now."""
        fitting: list[Encoded] = []
        while not fitting:
            self.waiting.extend(self.further())
            batch = [self.waiting.popleft() for _ in range(min(at_most, BATCH, len(self.waiting)))]
            if not batch:
                return []
            for encoded in self.encoder.encode_batch(batch):
                needed = encoded.n_tokens + answer_room(encoded.prompt, self.encoder.config)
                if needed > self.window:
                    self.too_long[encoded.prompt] = f"{needed} tokens with the answer, window {self.window}"
                else:
                    fitting.append(encoded)
        return fitting

    def refuse_too_long(self) -> None:
        """Raises PromptsTooLong when a prompt was passed over."""
        if self.too_long:
            first = next(iter(self.too_long))
            raise PromptsTooLong(
                f"{len(self.too_long)} prompts do not fit the context window of {self.window} tokens, the first of "
                f"them of {first.item_id} ({first.condition}): {self.too_long[first]}. The others are answered. Raise "
                "engine.max_model_len if the model allows it, lower sampling.max_tokens, or leave the dataset out",
                self.too_long,
            )


def answer_room(prompt: Prompt, config: InferenceConfig) -> int:
    """Tokens of the context window that a prompt's answer may take beside what is counted with the prompt."""
    return {"margin": 1, "options": 0}.get(config.verdict, config.sampling.for_prompt(prompt).max_tokens)
