"""Answers from any OpenAI-compatible server: `vllm serve`, a hosted API, llama.cpp and so on.

It is asked again after 408, 409, 429, 5xx, timeouts and broken connections, after pauses that double, with jitter, or
as long as Retry-After says. What fails for good is an error completion, which the same command asks again.
"""

import asyncio
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from evenhand.errors import ConfigError, ModelError
from evenhand.records import Completion, Prompt, failed
from evenhand.special_tokens import look_special
from evenhand.terminal import say
from inference.config import InferenceConfig, OpenAIConfig
from inference.drawing import n_samples
from inference.engine import Further, PromptsTooLong, nothing_further
from inference.server_client import NoReply, ServerClient, StatusError
from inference.server_facts import address, find_facts, key_refused
from inference.server_replies import BadReply, read_reply
from inference.server_requests import largest_reply, path_for, request_body, spellings_for

# At least so many prompts that fail one after another mean that the server is gone, not that it is busy.
FAILURES_IN_A_ROW = 8

Asked = asyncio.Task[list[Completion]]


class TooLong(Exception):
    """One prompt that does not fit into the server's context window, and what the server says of it."""

    def __init__(self, prompt: Prompt, words: str) -> None:
        super().__init__(words)
        self.prompt, self.words = prompt, words


class OpenAIEngine:
    """Asks a server, `concurrency` prompts at a time."""

    def __init__(self, config: InferenceConfig) -> None:
        assert isinstance(config.engine, OpenAIConfig)
        self.config = config
        self.server = config.engine
        structured, json_mode = config.sampling.structured, self.server.json_mode
        has_schemas = config.verdict == "reason" or config.study.has_schemas
        if has_schemas and (structured == "json") != (json_mode == "json_schema"):
            raise ConfigError(
                f"sampling.structured is '{structured}' and engine.json_mode '{json_mode}': "
                "a server is held to a prompt's schema by `structured: json` and `json_mode: json_schema` together"
            )
        self._answered = False
        self._failed_in_a_row = 0

    def __enter__(self) -> Self:
        self._client = ServerClient(self.server, largest_reply(self.config))
        self._place = self.server.base_url
        self._loop = asyncio.Runner()
        is_margin = self.config.verdict == "margin"
        try:
            facts = find_facts(self._client, self.server, self.config.model.name, margin=is_margin)
            self._facts = self._loop.run(facts)
        except BaseException:
            self._close()
            raise
        self._spellings = spellings_for(self.config, self._facts)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        self._loop.run(self._client.close())
        self._loop.close()

    def generate(self, prompts: Sequence[Prompt], further: Further = nothing_further) -> Iterator[Completion]:
        """Yield the completions of each prompt as they arrive, in any order; see Engine.

        After an error that every prompt would meet nothing new is asked; what is under way is awaited and yielded, and
        then ModelError is raised. Prompts over the context window are named by PromptsTooLong at the end.
        """
        special = warn_of_special_tokens(prompts, self._place)
        waiting, running, n_prompts = deque(prompts), set[Asked](), len(prompts)
        fatal: ModelError | None = None
        too_long: dict[Prompt, str] = {}
        try:
            while True:
                if not fatal:
                    waiting.extend(new := further())
                    n_prompts += len(new)
                    special = special or warn_of_special_tokens(new, self._place)  # once
                if not (running or (waiting and not fatal)):
                    break
                for task in self._loop.run(self._advance(waiting if not fatal else deque(), running)):
                    try:
                        completions = task.result()
                    except TooLong as error:
                        too_long[error.prompt] = error.words
                    except ModelError as error:
                        fatal = fatal or error
                    else:
                        yield from completions
                        fatal = fatal or self._gone(completions)
        finally:
            self._loop.run(cancel(running))
        if fatal:
            raise fatal
        if too_long:
            named = [f"{prompt.item_id} ({prompt.condition}): {words}" for prompt, words in too_long.items()]
            raise PromptsTooLong(
                f"{len(too_long)} of {n_prompts} prompts do not fit the context window of {self._place}: "
                f"{'; '.join(named[:3])}{' ...' if len(named) > 3 else ''}. Serve the model with a longer one "
                "(vLLM: --max-model-len), lower sampling.max_tokens, or leave the dataset out",
                too_long,
            )

    async def _advance(self, waiting: deque[Prompt], running: set[Asked]) -> set[Asked]:
        """Ask up to the concurrency limit and return what has finished, at least one; changes both arguments."""
        while waiting and len(running) < self.server.concurrency:
            running.add(asyncio.create_task(self._ask(waiting.popleft())))
        done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        running -= done
        return done

    async def _ask(self, prompt: Prompt) -> list[Completion]:
        """A prompt's completions, or as many error completions. Raises TooLong, and ModelError where all would fail."""
        body = request_body(self.config, self._facts, prompt)
        try:
            reply = await self._client.post(address(self._client, path_for(self.config)), body)
            completions = read_reply(
                reply, prompt.prompt_hash, n_samples(prompt, self.config.sampling), self._spellings
            )
        except (BadReply, NoReply) as error:
            return failed(prompt, n_samples(prompt, self.config.sampling), str(error))
        except StatusError as error:
            self._raise_if_hopeless(error, prompt)
            return failed(prompt, n_samples(prompt, self.config.sampling), str(error))
        self._answered = True
        return completions

    def _raise_if_hopeless(self, error: StatusError, prompt: Prompt) -> None:
        """Raise TooLong for a prompt over the context window, ModelError for what every other prompt would meet too."""
        words, place = str(error), self._place
        if error.status in (401, 403):
            raise key_refused(place, self.server.api_key_env, error.status) from None
        if error.status == 404 or error.status < 400:  # redirects are not followed
            raise ModelError(
                f"{place}: knows no model '{self.config.model.name}' or no {path_for(self.config)} ({words}); "
                "check model.name, format and engine.base_url"
            ) from None
        # llama.cpp says "exceeds the available context size".
        if error.code == "context_length_exceeded" or "context length" in words or "context size" in words:
            raise TooLong(prompt, words) from None
        # A server that has answered others refuses this prompt, not this kind of request.
        if error.status in (400, 422) and not self._answered and error.code != "content_filter":
            raise ModelError(
                f"{place}: refuses the request ({words}). Change what the config asks for; engine.extra_body sets a "
                "field of the request, or takes it out with null"
            ) from None

    def _gone(self, completions: Sequence[Completion]) -> ModelError | None:
        """The error to stop with when too many prompts have failed in a row."""
        self._failed_in_a_row = self._failed_in_a_row + 1 if completions[0].is_error else 0
        if self._failed_in_a_row < max(FAILURES_IN_A_ROW, self.server.concurrency):
            return None
        return ModelError(
            f"{self._place}: {self._failed_in_a_row} prompts in a row got no answer, the last one "
            f"'{completions[0].finish_reason}'. See to the server, then run the same command again to continue"
        )


async def cancel(running: set[Asked]) -> None:
    """Stop what is under way and wait until it has stopped."""
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


def warn_of_special_tokens(prompts: Sequence[Prompt], address: str) -> bool:
    """Say which items hold what looks like special tokens: a server may read them as such, and end the user's turn.

    Returns whether any does.
    """
    found = {prompt.item_id: names for prompt in prompts if (names := look_special(prompt.messages))}
    if found:
        named = "; ".join(f"{item_id}: {' '.join(names)}" for item_id, names in list(found.items())[:5])
        say(
            f"warning: {len(found)} items hold what looks like special tokens ({named}"
            f"{' ...' if len(found) > 5 else ''}). {address} may read them as the end of a turn; an engine "
            "that tokenises here (vllm, transformers) reads them as text",
            sys.stderr,
        )
    return bool(found)
