"""A model behind an OpenAI-compatible server, through the `openai` client: bounded requests, and what the server is.

The client asks again after 408, 409, 429, 5xx, timeouts and broken connections, with pauses that double, or after the
time that Retry-After gives, up to two minutes. Redirects are not followed: they would take the key and the texts along.
"""

import asyncio
import os
import re
import stat
from pathlib import Path
from typing import Any

import openai

from evenhand.chat_templates import AnswerTokens, single_tokens
from evenhand.errors import ConfigError, ModelError, one_line
from inference.config import OpenAIConfig
from inference.server_messages import (
    ANSWERS,
    NoReply,
    ServerFacts,
    StatusError,
    excerpt,
    key_refused,
    parse_object,
)

SHORTEST_KEY = 8  # characters; a shorter one is made up for a server that wants none, and may be any word
HEADERS = ("retry-after", "retry-after-ms", "x-should-retry", "location")  # of a reply, that are read


class BoundedClient(openai.DefaultAsyncHttpxClient):  # type: ignore[misc]
    """The HTTP client below: limits the size of replies, and puts the variable's name in the place of a quoted key."""

    def __init__(self, most_bytes: int, key: str, variable: str) -> None:
        super().__init__(follow_redirects=False)
        self.most_bytes, self.key, self.variable = most_bytes, key.encode(), f"${variable}".encode()

    async def send(self, request: Any, **options: Any) -> Any:
        """The whole response. Raises NoReply for one that is too large."""
        response, content = await super().send(request, **{**options, "stream": True}), bytearray()
        try:
            async for part in response.aiter_raw():
                content += part
                if len(content) > self.most_bytes:
                    raise NoReply(f"reply of more than {self.most_bytes / 2**20:.0f} MiB")
        finally:
            await response.aclose()
        headers = {name: response.headers[name] for name in HEADERS if name in response.headers}
        body = bytes(content)
        if len(self.key) >= SHORTEST_KEY:
            body = body.replace(self.key, self.variable)
            headers = {
                name: value.replace(self.key.decode(), self.variable.decode()) for name, value in headers.items()
            }
        return type(response)(response.status_code, headers=headers, content=body, request=request)


class Server:
    """Asks the server of a config."""

    def __init__(self, settings: OpenAIConfig, most_bytes: int) -> None:
        """most_bytes: the size that a reply may have. Raises ConfigError for a key that cannot be sent."""
        self.settings, self.place = settings, settings.base_url.rstrip("/")
        key = read_key(settings)
        self.client = openai.AsyncOpenAI(
            api_key=key,
            base_url=self.place,
            timeout=settings.timeout_s,
            max_retries=settings.max_retries,
            default_headers={"Accept-Encoding": "identity"},
            http_client=BoundedClient(most_bytes, key, settings.api_key_env),
        )

    async def ask(self, path: str, body: dict[str, Any] | None = None) -> str:
        """The body of a successful reply; GET where nothing is sent. Raises NoReply when there is none in the end."""
        at_most = self.settings.timeout_s + self.settings.give_up_s
        try:
            async with asyncio.timeout(at_most):
                post = self.client.post(path, cast_to=str, body=body) if body else self.client.get(path, cast_to=str)
                return str(await post)
        except TimeoutError:
            raise NoReply(f"no reply within {at_most:g} s, asked again or not") from None
        except openai.APITimeoutError:
            raise NoReply(f"no reply within {self.settings.timeout_s:g} s") from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise NoReply(f"connection: {excerpt(str(cause) or type(cause).__name__, 200)}") from None
        except openai.APIStatusError as error:
            message, location = error.body, error.response.headers.get("Location")
            if isinstance(message, dict):
                message = message.get("message")
            words = f"moved to {location}" if location else message if isinstance(message, str) else ""
            raise StatusError(error.status_code, words, error.code) from None

    async def facts(self, model: str, *, margin: bool) -> ServerFacts:
        """What the server is. Raises ModelError when it is absent, not ready, or wants another key or model."""
        place, models = self.place, dict[str, dict[str, Any]]()
        try:
            listing = parse_object(await self.ask("/models"))
            models = {str(entry["id"]): dict(entry) for entry in listing["data"]}
        except (NoReply, KeyError, TypeError, ValueError) as error:
            status = error.status if isinstance(error, StatusError) else None
            if status in (401, 403):
                raise key_refused(place, self.settings.api_key_env, status) from None
            if status not in (404, 405, 501):  # it does not list its models, and need not
                reason = error if isinstance(error, NoReply) else "it lists no models"
                raise ModelError(
                    f"{place}: no OpenAI-compatible server is ready there ({reason}); start one, for example "
                    f"`vllm serve {model}`, or correct engine.base_url, which usually ends in /v1"
                ) from None
        if models and model not in models:
            raise ModelError(f"{place}: does not serve model '{model}'. It serves: {', '.join(sorted(models)[:10])}")
        is_vllm = models.get(model, {}).get("owned_by") == "vllm"
        return ServerFacts(is_vllm, await self.answer_tokens(model) if is_vllm and margin else None)

    async def answer_tokens(self, model: str) -> AnswerTokens:
        """The answers' tokens by vLLM's /tokenize, which lies beside /v1. Raises ModelError when it cannot be asked."""
        url = self.place.removesuffix("/v1") + "/tokenize"
        tokens: dict[str, list[int]] = {}
        for answer in ANSWERS:
            body = {"model": model, "prompt": answer, "add_special_tokens": False}
            try:
                tokens[answer] = parse_object(await self.ask(url, body))["tokens"]
            except (NoReply, KeyError) as error:
                raise ModelError(
                    f"{url}: does not give the tokens of '{answer}' ({excerpt(str(error))}), and without them a margin "
                    "may be missing; point engine.base_url at the vLLM server itself, or take `verdict: reason`"
                ) from None
        return single_tokens(tokens, f"{self.place}: {model}")


def read_key(server: OpenAIConfig) -> str:
    """The key in the environment, or in the file that it names; "none" where there is none, for a local server.

    Raises ConfigError for a file that others can read, and for what no HTTP header can carry, without showing it.
    """
    variable = server.api_key_env
    key = os.environ.get(variable, "")
    if not key and (name := os.environ.get(f"{variable}_FILE")):
        file = Path(name).expanduser()
        place = f"${variable}_FILE: {file}"
        try:
            mode = stat.S_IMODE(file.stat().st_mode)
            if mode & 0o077:
                raise ConfigError(
                    f"{place} may be read by others than its owner (mode {mode:o}); `chmod 600 {file}`, and "
                    "make a new key if others had the time to read this one"
                )
            key = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{place} cannot be read ({one_line(error)}); it holds the key and no more") from None
        if not key:
            raise ConfigError(f"{place} is empty; it holds the key and no more")
    if wrong := re.search(r"[^\x21-\x7e]", key):
        raise ConfigError(
            f"${variable}: its character {wrong.start() + 1} of {len(key)} is none that a key can have "
            "(a letter with an accent, a blank, a line break, a typographic quote?); export it again"
        )
    return key or "none"
