"""Answers from any OpenAI-compatible server through the `openai` client: `vllm serve`, a hosted API, llama.cpp, others.

The client asks again after 408, 409, 429, 5xx, timeouts and broken connections, with pauses that double, or after the
time that Retry-After gives, up to two minutes. Redirects are not followed: they would take the key and the texts along.
A request that fails for good is an error completion, which the same command asks again.
"""

import asyncio
import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Self

import openai

from evenhand.chat_templates import LOOKS_SPECIAL, AnswerTokens, check_no_open_thought, single_tokens
from evenhand.errors import ConfigError, ModelError, NotReached
from evenhand.records import Completion, Prompt, failed
from inference.config import InferenceConfig, OpenAIConfig
from inference.encoding import warn_of_marks
from inference.engine import Further, PromptsTooLong
from inference.server_messages import (
    ANSWERS,
    NoReply,
    ServerFacts,
    StatusError,
    excerpt,
    parse_object,
    read_reply,
    request_body,
)

# At least so many prompts that fail one after another mean that the server is gone, not that it is busy.
FAILURES_IN_A_ROW = 8
SHORTEST_KEY = 8  # characters; a shorter one is made up for a server that wants none, and may be any word


class OpenAIEngine:
    """Asks a server, `concurrency` prompts at a time."""

    def __init__(self, config: InferenceConfig, _: Sequence[Prompt] = ()) -> None:
        assert isinstance(config.engine, OpenAIConfig)
        self.config, self.settings, self.place = config, config.engine, config.engine.base_url.rstrip("/")
        # The server applies its chat template, or takes the bare text.
        self.path = "/chat/completions" if config.chat_template else "/completions"
        self.has_answered = False
        self.n_failed_in_a_row = 0

    def __enter__(self) -> Self:
        settings, self.key = self.settings, read_key(self.settings)
        self.loop = asyncio.Runner()
        self.client = openai.AsyncOpenAI(
            api_key=self.key,
            base_url=self.place,
            timeout=settings.timeout_s,
            max_retries=settings.max_retries,
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
        )
        try:
            self.facts = self.loop.run(self.look())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.run(self.client.close())
        self.loop.close()

    def generate(self, prompts: Sequence[Prompt], further: Further = tuple) -> Iterator[Completion]:
        """Yield the completions of each prompt as they arrive, in any order; see Engine.

        After an error that every prompt would meet nothing new is asked; what is under way is awaited and yielded, and
        then ModelError is raised. Prompts over the context window are named by PromptsTooLong at the end.
        """
        warn_of_marks(prompts, LOOKS_SPECIAL, self.place)
        waiting, running, too_long = deque(prompts), set[asyncio.Task[list[Completion]]](), dict[Prompt, str]()
        fatal: ModelError | None = None
        try:
            while True:
                if not fatal:
                    waiting.extend(further())
                    while waiting and len(running) < self.settings.concurrency:
                        running.add(self.loop.get_loop().create_task(self.completions(waiting.popleft())))
                if not running:
                    break
                done, running = self.loop.run(asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED))
                for task in done:
                    try:
                        yield from task.result()
                    except PromptsTooLong as error:
                        too_long |= error.reasons
                    except ModelError as error:
                        fatal = fatal or error
        finally:
            for task in running:
                task.cancel()
            if running:
                self.loop.run(asyncio.wait(running))
        if fatal:
            raise fatal
        if too_long:
            raise PromptsTooLong(too_long)

    async def completions(self, prompt: Prompt) -> list[Completion]:
        """A prompt's completions, or as many errors. Raises PromptsTooLong, and ModelError where all would fail."""
        body = request_body(self.config, self.facts, prompt)
        try:
            reply = await self.ask(self.path, body)
            completions = read_reply(reply, self.config, self.facts, prompt)
            if all(completion.is_error for completion in completions):
                raise NoReply(f"the server ended it with '{completions[0].finish_reason}'")
        except NoReply as error:
            if isinstance(error, StatusError):
                self.raise_if_hopeless(error, prompt)
            self.n_failed_in_a_row += 1
            if self.n_failed_in_a_row >= max(FAILURES_IN_A_ROW, self.settings.concurrency):
                raise ModelError(
                    f"{self.place}: {self.n_failed_in_a_row} prompts in a row got no answer, the last one "
                    f"'error: {error}'. See to the server, then run the same command again to continue"
                ) from None
            return failed(prompt, self.config.sampling.n_for(prompt), str(error))
        if self.config.verdict == "margin":
            check_no_open_thought(completions[0].rendered or "", self.config.model.name)
        self.has_answered, self.n_failed_in_a_row = True, 0
        return completions

    def raise_if_hopeless(self, error: StatusError, prompt: Prompt) -> None:
        """Raise PromptsTooLong for a prompt over the context window, ModelError for what every prompt would meet."""
        message, place = str(error), self.place
        if error.status == 404 or error.status < 400:  # redirects are not followed
            raise ModelError(
                f"{place}: knows no model '{self.config.model.name}' or no {self.path} ({message}); see engine.base_url"
            ) from None
        # llama.cpp says "exceeds the available context size".
        if error.code == "context_length_exceeded" or "context length" in message or "context size" in message:
            raise PromptsTooLong({prompt: message}) from None
        # A server that has answered others refuses this prompt, not this kind of request.
        if error.status in (400, 422) and not self.has_answered and error.code != "content_filter":
            raise ModelError(
                f"{place}: refuses the request ({message}). Change what the config asks for; engine.extra_body sets a "
                "field of the request, or takes it out with null"
            ) from None

    async def ask(self, path: str, body: dict[str, Any] | None = None) -> str:
        """The body of a successful reply; GET where nothing is sent. Raises NoReply when there is none in the end, and
        ModelError where the key is refused.
        """
        at_most = self.settings.timeout_s + self.settings.total_timeout_s
        try:
            async with asyncio.timeout(at_most):
                post = self.client.post(path, cast_to=str, body=body) if body else self.client.get(path, cast_to=str)
                return self.without_key(str(await post))
        except TimeoutError:
            raise NoReply(f"no reply within {at_most:g} s, asked again or not") from None
        except openai.APITimeoutError:
            raise NoReply(f"no reply within {self.settings.timeout_s:g} s") from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise NoReply(f"connection: {excerpt(str(cause) or type(cause).__name__, 200)}") from None
        except openai.APIStatusError as error:
            if error.status_code in (401, 403):  # the server's words stay out: they may quote the key
                variable = self.settings.api_key_env
                state = "is not the right key" if os.environ.get(variable) else "is not set"
                raise ModelError(
                    f"{self.place}: refuses the key ({error.status_code}): ${variable} {state}; export a valid one, "
                    "or name another variable in engine.api_key_env"
                ) from None
            message, location = error.body, error.response.headers.get("Location")
            if isinstance(message, dict):
                message = message.get("message")
            words = f"moved to {location}" if location else message if isinstance(message, str) else ""
            raise StatusError(error.status_code, self.without_key(words), error.code) from None

    def without_key(self, text: str) -> str:
        """A server's words with the variable's name in the place of a key that they quote."""
        return text.replace(self.key, f"${self.settings.api_key_env}") if len(self.key) >= SHORTEST_KEY else text

    async def look(self) -> ServerFacts:
        """What the server is. Raises ModelError when it is absent, not ready, or wants another key or model."""
        place, model, models = self.place, self.config.model.name, dict[str, dict[str, Any]]()
        try:
            listing = parse_object(await self.ask("/models"))
            models = {str(entry["id"]): dict(entry) for entry in listing["data"]}
        except (NoReply, KeyError, TypeError, ValueError) as error:
            if getattr(error, "status", None) not in (404, 405, 501):  # it does not list its models, and need not
                reason = error if isinstance(error, NoReply) else "it lists no models"
                raise NotReached(
                    f"{place}: no OpenAI-compatible server is ready there ({reason}); start one, for example "
                    f"`vllm serve {model}`, or correct engine.base_url, which usually ends in /v1"
                ) from None
        if models and model not in models:
            raise ModelError(f"{place}: does not serve model '{model}'. It serves: {', '.join(sorted(models)[:10])}")
        is_vllm = models.get(model, {}).get("owned_by") == "vllm"
        is_read = is_vllm and self.config.verdict == "margin"
        return ServerFacts(is_vllm, await self.answer_tokens() if is_read else None)

    async def answer_tokens(self) -> AnswerTokens:
        """The answers' tokens by vLLM's /tokenize, beside /v1, with what the chat template writes before them.

        Raises ModelError when it cannot be asked.
        """
        url, model = self.place.removesuffix("/v1") + "/tokenize", self.config.model.name
        chat: dict[str, Any] = {"chat_template_kwargs": self.config.template_args()}
        user = {"role": "user", "content": "x"}

        async def tokens_of(**text: Any) -> tuple[int, ...]:
            body = {"model": model, "add_special_tokens": False, **text}
            return tuple(parse_object(await self.ask(url, body))["tokens"])

        try:
            tokens = {answer: await tokens_of(prompt=answer) for answer in ANSWERS}
        except (NoReply, KeyError, TypeError) as error:
            raise ModelError(
                f"{url}: does not give the answers' tokens ({excerpt(str(error))}); point engine.base_url at the vLLM "
                "server itself, or take `verdict: reason`"
            ) from None
        with suppress(NoReply, KeyError, TypeError):  # a template may refuse an assistant's turn
            prompt = await tokens_of(messages=[user], **chat)
            chats = {answer: [user, {"role": "assistant", "content": answer}] for answer in ANSWERS}
            chat |= {"add_generation_prompt": False, "continue_final_message": True}
            replies = {answer: await tokens_of(messages=turns, **chat) for answer, turns in chats.items()}
            if self.config.chat_template and all(ids[: len(prompt)] == prompt for ids in replies.values()):
                tokens = {answer: ids[len(prompt) :] for answer, ids in replies.items()}
        return single_tokens(tokens, f"{self.place}: {model}")


def read_key(server: OpenAIConfig) -> str:
    """The key in the environment; "none" where there is none, for a local server.

    Raises ConfigError for what no HTTP header can carry, without showing it.
    """
    key = os.environ.get(server.api_key_env, "")
    if wrong := re.search(r"[^\x21-\x7e]", key):
        what = f"character {wrong.start() + 1} of {len(key)} is none of a key"
        causes = "an accent, a blank, a line break, a typographic quote?"
        raise ConfigError(f"${server.api_key_env}: {what} ({causes}); export it again")
    return key or "none"
