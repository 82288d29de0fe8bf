"""Answers from any OpenAI-compatible server: `vllm serve`, a hosted API, llama.cpp and so on.

A request that fails for good is an error completion, which the same command asks again.
"""

import asyncio
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Self

from evenhand.chat_templates import LOOKS_SPECIAL
from evenhand.errors import ConfigError, ModelError
from evenhand.records import Completion, Prompt, failed
from evenhand.terminal import say
from inference.config import InferenceConfig, OpenAIConfig
from inference.engine import Further, PromptsTooLong
from inference.server import Server
from inference.server_messages import (
    REPLY_BYTES,
    TOKEN_BYTES,
    NoReply,
    StatusError,
    key_refused,
    read_reply,
    request_body,
    spellings_for,
)

# At least so many prompts that fail one after another mean that the server is gone, not that it is busy.
FAILURES_IN_A_ROW = 8

Request = asyncio.Task[list[Completion]]


class OpenAIEngine:
    """Asks a server, `concurrency` prompts at a time."""

    def __init__(self, config: InferenceConfig) -> None:
        assert isinstance(config.engine, OpenAIConfig)
        self.config, self.settings, self.place = config, config.engine, config.engine.base_url
        structured, json_mode = config.sampling.structured, self.settings.json_mode
        has_schemas = config.verdict == "reason" or config.study.has_schemas
        if has_schemas and (structured == "json") != (json_mode == "json_schema"):
            raise ConfigError(
                f"sampling.structured is '{structured}' and engine.json_mode '{json_mode}': "
                "a server is held to a prompt's schema by `structured: json` and `json_mode: json_schema` together"
            )
        # The server applies its chat template, or takes the bare text.
        self.path = "/chat/completions" if config.format == "chat" else "/completions"
        self.has_answered = False
        self.n_failed_in_a_row = 0

    def __enter__(self) -> Self:
        sampling = self.config.sampling
        self.server = Server(self.settings, REPLY_BYTES + TOKEN_BYTES * sampling.n * sampling.max_tokens)
        self.loop = asyncio.Runner()
        try:
            facts = self.server.facts(self.config.model.name, margin=self.config.verdict == "margin")
            self.facts = self.loop.run(facts)
        except BaseException:
            self.__exit__()
            raise
        self.spellings = spellings_for(self.config, self.facts)
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.run(self.server.client.close())
        self.loop.close()

    def generate(self, prompts: Sequence[Prompt], further: Further = tuple) -> Iterator[Completion]:
        """Yield the completions of each prompt as they arrive, in any order; see Engine.

        After an error that every prompt would meet nothing new is asked; what is under way is awaited and yielded, and
        then ModelError is raised. Prompts over the context window are named by PromptsTooLong at the end.
        """
        warn_of_special_tokens(prompts, self.place)
        waiting, running, too_long = deque(prompts), set[Request](), dict[Prompt, str]()
        fatal: ModelError | None = None
        try:
            while True:
                if not fatal:
                    waiting.extend(further())
                    while waiting and len(running) < self.settings.concurrency:
                        running.add(self.loop.get_loop().create_task(self.ask(waiting.popleft())))
                if not running:
                    break
                for task in self.loop.run(first_of(running)):
                    try:
                        completions = task.result()
                    except PromptsTooLong as error:
                        too_long |= error.reasons
                    except ModelError as error:
                        fatal = fatal or error
                    else:
                        yield from completions
                        fatal = fatal or self.gone(completions)
        finally:
            self.loop.run(cancel(running))
        if fatal:
            raise fatal
        if too_long:
            raise PromptsTooLong(too_long)

    async def ask(self, prompt: Prompt) -> list[Completion]:
        """A prompt's completions, or as many errors. Raises PromptsTooLong, and ModelError where all would fail."""
        body, n = request_body(self.config, self.facts, prompt), self.config.sampling.n_for(prompt)
        try:
            reply = await self.server.ask(self.path, body)
            completions = read_reply(reply, prompt.prompt_hash, n, self.spellings)
        except NoReply as error:
            if isinstance(error, StatusError):
                self.raise_if_hopeless(error, prompt)
            return failed(prompt, n, str(error))
        self.has_answered = True
        return completions

    def raise_if_hopeless(self, error: StatusError, prompt: Prompt) -> None:
        """Raise PromptsTooLong for a prompt over the context window, ModelError for what every prompt would meet."""
        words, place = str(error), self.place
        if error.status in (401, 403):
            raise key_refused(place, self.settings.api_key_env, error.status) from None
        if error.status == 404 or error.status < 400:  # redirects are not followed
            raise ModelError(
                f"{place}: knows no model '{self.config.model.name}' or no {self.path} ({words}); "
                "check model.name, format and engine.base_url"
            ) from None
        # llama.cpp says "exceeds the available context size".
        if error.code == "context_length_exceeded" or "context length" in words or "context size" in words:
            raise PromptsTooLong({prompt: words}) from None
        # A server that has answered others refuses this prompt, not this kind of request.
        if error.status in (400, 422) and not self.has_answered and error.code != "content_filter":
            raise ModelError(
                f"{place}: refuses the request ({words}). Change what the config asks for; engine.extra_body sets a "
                "field of the request, or takes it out with null"
            ) from None

    def gone(self, completions: Sequence[Completion]) -> ModelError | None:
        """The error to stop with when too many prompts have failed in a row."""
        self.n_failed_in_a_row = self.n_failed_in_a_row + 1 if completions[0].is_error else 0
        if self.n_failed_in_a_row < max(FAILURES_IN_A_ROW, self.settings.concurrency):
            return None
        return ModelError(
            f"{self.place}: {self.n_failed_in_a_row} prompts in a row got no answer, the last one "
            f"'{completions[0].finish_reason}'. See to the server, then run the same command again to continue"
        )


async def first_of(running: set[Request]) -> set[Request]:
    """What has finished, at least one; taken out of what runs."""
    done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    running -= done
    return done


async def cancel(running: set[Request]) -> None:
    """Stop what is under way and wait until it has stopped."""
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


def warn_of_special_tokens(prompts: Sequence[Prompt], address: str) -> None:
    """Say which items hold what looks like special tokens: a server may read them as such, and end the user's turn."""
    texts = ((prompt, "\n".join(message.content for message in prompt.messages)) for prompt in prompts)
    held = {prompt.item_id: dict.fromkeys(names) for prompt, text in texts if (names := LOOKS_SPECIAL.findall(text))}
    if held:
        named = "; ".join(f"{item_id}: {' '.join(names)}" for item_id, names in list(held.items())[:5])
        say(
            f"warning: {len(held)} items hold what looks like special tokens ({named}"
            f"{' ...' if len(held) > 5 else ''}). {address} may read them as the end of a turn; an engine "
            "that tokenises here (vllm, transformers) reads them as text",
            sys.stderr,
        )
