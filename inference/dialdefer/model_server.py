"""One model behind an OpenAI-compatible server, asked about one post after the other, several at a time.

A post whose question fails for good is left for the next call; when many fail in a row, the stage ends.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Never

from tqdm import tqdm

from evenhand.errors import ModelError
from evenhand.records import Completion
from evenhand.terminal import say
from inference.config import OpenAIConfig
from inference.server_messages import BadReply, NoReply, StatusError, key_refused, read_reply

REPLY_BYTES = 4 * 2**20
FAILURES_IN_A_ROW = 8


class Unanswered(Exception):
    """A question about a post that got no answer; the words say why."""


class ModelServer:
    """A model on a server."""

    def __init__(self, server: OpenAIConfig, model: str) -> None:
        self.server, self.model = server, model

    async def ask(self, content: str | list[dict[str, Any]], max_tokens: int) -> Completion:
        """The greedy reply to one user message. Raises Unanswered, and ModelError where every question would fail."""
        body: dict[str, Any] = {
            "model": self.model,
            "temperature": 0.0,
            "max_tokens": max_tokens,
            "messages": [{"role": "user", "content": content}],
            **self.server.extra_body,
        }
        try:
            reply = read_reply(await self.client.post("/chat/completions", body), "", 1)[0]
        except (NoReply, BadReply) as error:
            raise Unanswered(str(error)) from None
        except StatusError as error:
            if error.status in (401, 403):
                raise key_refused(self.server.base_url, self.server.api_key_env, error.status) from None
            if error.status == 404:
                raise ModelError(f"{self.server.base_url}: knows no model '{self.model}' ({error})") from None
            raise Unanswered(str(error)) from None
        return reply

    def each(self, ids: Sequence[str], work: Callable[[str], Awaitable[bool]], doing: str) -> int:
        """Do the work for every post, `concurrency` at a time; how many got no answer. Raises ModelError.

        work: whether the model was asked. A post that needs no model says nothing about its server.
        """
        return asyncio.run(self._each(ids, work, doing)) if ids else 0

    async def _each(self, ids: Sequence[str], work: Callable[[str], Awaitable[bool]], doing: str) -> int:
        from inference.server import Server  # it loads the openai client

        self.client = Server(self.server, REPLY_BYTES)
        waiting, n_failed, n_silent = iter(ids), 0, 0  # n_silent: posts in a row without an answer

        async def worker(bar: "tqdm[Never]") -> None:
            nonlocal n_failed, n_silent
            for post_id in waiting:
                try:
                    if await work(post_id):
                        n_silent = 0
                except Unanswered as reason:
                    n_failed, n_silent = n_failed + 1, n_silent + 1
                    say(f"{doing}: {post_id}: no answer ({reason}); it is asked again by the next call", sys.stderr)
                    if n_silent >= max(FAILURES_IN_A_ROW, self.server.concurrency):
                        raise ModelError(
                            f"{self.server.base_url}: {n_silent} posts in a row got no answer, the last one "
                            f"'{reason}'. See to the server, then run the same command again to continue"
                        ) from None
                bar.update()

        try:
            await self.client.facts(self.model, margin=False)
            with tqdm(total=len(ids), desc=doing, unit="post", disable=None) as bar:
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(self.server.concurrency, len(ids))):
                        group.create_task(worker(bar))
        except ExceptionGroup as errors:  # of the workers
            raise errors.exceptions[0] from None
        finally:
            await self.client.close()
        return n_failed
