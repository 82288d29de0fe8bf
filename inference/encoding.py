"""Prompts → rendered text and token ids, for the engines that tokenise here; never all of a run's at once."""

import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from evenhand.chat_templates import (
    AnswerTokens,
    Tokens,
    answer_tokens,
    check_answers_at_once,
    check_switches_thinking,
    encode_batch,
    option_tokens,
    render_chat,
    reply_contract,
)
from evenhand.records import Completion, Prompt
from evenhand.terminal import say
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
    options: Mapping[str, Tokens]  # the answers whose probabilities are read, tokenised; none where a reply is written
    n_tokens: int  # of the context window, with the longest answer

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


class Encoder:
    """Renders and tokenises prompts as a config asks for them."""

    def __init__(self, tokenizer: Any, config: InferenceConfig) -> None:
        """Raises ModelError where a margin is wanted and an answer has no token of its own, or where thinking is to be
        switched and the chat template has no switch."""
        self.tokenizer, self.config = tokenizer, config
        if config.patch and config.patch.thinking is not None:
            check_switches_thinking(tokenizer)
        if config.self_read:  # before replies are paid for
            read = reply_contract(tokenizer, config.chat_template, config.template_args(True))
            check_answers_at_once(read, tokenizer.name_or_path)
        self.answers = AnswerTokens((), {})
        self.contract = reply_contract(tokenizer, config.chat_template, config.template_args())
        if config.verdict == "margin":
            self.answers = answer_tokens(tokenizer, contract=self.contract)

    def encode(self, prompts: Iterable[Prompt]) -> Iterator[Encoded]:
        """Each prompt in its order, encoded when it is asked for, at most a batch ahead.

        Raises ModelError when the chat template or the tokenizer refuses one.
        """
        config, rest = self.config, iter(prompts)
        while batch := list(islice(rest, BATCH)):
            texts = [
                render_chat(self.tokenizer, prompt.messages, config.chat_template, config.template_args(prompt.reads))
                for prompt in batch
            ]
            rows = zip(batch, texts, encode_batch(self.tokenizer, texts, config.chat_template), strict=True)
            yield from [self.encoded(prompt, text, [*ids, *self.answers.lead]) for prompt, text, ids in rows]

    def encoded(self, prompt: Prompt, text: str, token_ids: list[int]) -> Encoded:
        """A prompt with the answers that are read behind it. Raises ModelError where they cannot be."""
        config = self.config
        options: Mapping[str, Tokens] = {answer: (token,) for answer, token in self.answers.ids.items()}
        if config.verdict in ("margin", "options"):  # a turn that reads itself has thinking switched off
            check_answers_at_once(self.contract, self.tokenizer.name_or_path)
        if config.verdict == "options" or prompt.reads:
            options = option_tokens(
                self.tokenizer, prompt.answer_space, text, config.chat_template, self.contract.before
            )
        longest = max(map(len, options.values())) if options else config.sampling.for_prompt(prompt).max_tokens
        return Encoded(prompt, text, token_ids, options, len(token_ids) + longest)


def warn_of_marks(prompts: Sequence[Prompt], marks: re.Pattern[str], reader: str) -> None:
    """Say which items hold what looks like the end of a turn."""
    texts = ((prompt.item_id, "\n".join(message.content for message in prompt.messages)) for prompt in prompts)
    held = {item_id: " ".join(dict.fromkeys(names)) for item_id, text in texts if (names := marks.findall(text))}
    if held:
        named = "; ".join(f"{item_id}: {names}" for item_id, names in list(held.items())[:5])
        what = f"what looks like the end of a turn ({named}{' ...' if len(held) > 5 else ''})"
        say(f"warning: {len(held)} items hold {what}: {reader} may read it so", sys.stderr)


class Supply:
    """Encoded prompts on demand, none that does not fit the context window."""

    def __init__(self, encoder: Encoder, prompts: Sequence[Prompt], further: Further, window: int) -> None:
        """window: tokens of a prompt and its answer."""
        self.encoder, self.further, self.window = encoder, further, window
        self.waiting = deque(prompts)
        if encoder.contract.marks:
            warn_of_marks(prompts, encoder.contract.marks, "the judge")
        self.too_long: dict[Prompt, str] = {}

    def take(self, at_most: int = BATCH) -> list[Encoded]:
        """The next prompts, at most so many and at most BATCH; none where there are none for now."""
        fitting: list[Encoded] = []
        while not fitting:
            self.waiting.extend(self.further())
            batch = [self.waiting.popleft() for _ in range(min(at_most, BATCH, len(self.waiting)))]
            if not batch:
                return []
            for encoded in self.encoder.encode(batch):
                if encoded.n_tokens > self.window:
                    self.too_long[encoded.prompt] = f"{encoded.n_tokens} tokens with the answer, window {self.window}"
                else:
                    fitting.append(encoded)
        return fitting

    def check_prompt_lengths(self) -> None:
        """Raises PromptsTooLong when a prompt was passed over."""
        if self.too_long:
            raise PromptsTooLong(self.too_long)
