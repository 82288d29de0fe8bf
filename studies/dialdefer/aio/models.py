"""The stage `transcribe`, which asks a vision model behind an OpenAI-compatible server (B.1.3).

Images are held in memory alone: none is written to a file. A post whose question fails for good is left for the next
call; when many fail in a row, the stage ends. The `openai` client repeats what may pass: 429, 5xx, broken connections.
"""

import base64
import io
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from tqdm import tqdm

from evenhand.errors import ConfigError, ModelError
from evenhand.files import shipped_yaml
from evenhand.terminal import say
from studies.dialdefer.aio.folder import POSTS, TRANSCRIPTS, RawFolder
from studies.dialdefer.aio.replies import transcript_in

TRANSCRIPT_TOKENS = 4096  # 37 turns of chat take some 1,000
PROMPT: str = shipped_yaml(Path(__file__).with_name("prompts.yaml"))["transcription"]
TIMEOUT_S, MAX_RETRIES = 600.0, 6
FAILURES_IN_A_ROW = 8
MOST_BYTES = 20 * 2**20  # of an image
LONGEST_SIDE = 4096  # pixels that are sent; what is larger is made smaller


class Unanswered(Exception):
    """A post that got no answer; the words say why. The next call asks again."""


class BrokenImage(Exception):
    """An image that is gone or cannot be read; the words say why."""


@dataclass
class Model:
    """A model on a server."""

    address: str  # to /v1
    name: str
    key_variable: str  # of the environment
    concurrency: int

    def __post_init__(self) -> None:
        from openai import OpenAI

        key = os.environ.get(self.key_variable) or "none"
        self.client = OpenAI(base_url=self.address, api_key=key, timeout=TIMEOUT_S, max_retries=MAX_RETRIES)

    def ask(self, content: list[dict[str, Any]]) -> tuple[str, bool]:
        """(the greedy reply to one user message, whether it was cut off at TRANSCRIPT_TOKENS).

        Raises Unanswered, and ConfigError or ModelError where every question would fail.
        """
        import openai

        try:
            reply = self.client.chat.completions.create(
                model=self.name,
                messages=[{"role": "user", "content": content}],
                temperature=0.0,
                max_tokens=TRANSCRIPT_TOKENS,
            )
        except (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError):
            problem = f"knows no model '{self.name}', refuses the key in {self.key_variable}, or lacks /v1"
            raise ConfigError(f"{self.address}: {problem}") from None
        except openai.OpenAIError as error:
            raise Unanswered(" ".join(str(error).split())[:200]) from None
        choice = reply.choices[0] if reply.choices else None
        if choice is None or choice.message.content is None:
            raise Unanswered("reply without text")
        return choice.message.content, choice.finish_reason == "length"


def transcribe(folder: RawFolder, model: Model, ids: Iterable[str]) -> int:
    """Transcribe the posts that have no transcript yet, `concurrency` at a time; how many got no answer.

    Raises ModelError where many in a row got none.
    """
    owed = folder.owed(TRANSCRIPTS, POSTS, ids)
    n_failed, n_in_a_row = 0, 0
    with ThreadPoolExecutor(model.concurrency) as pool:
        futures = {pool.submit(transcribe_post, folder, model, post_id): post_id for post_id in owed}
        try:
            for done in tqdm(as_completed(futures), total=len(owed), desc="transcribe", unit="post", disable=None):
                if (reason := done.exception()) is None:
                    n_in_a_row = 0
                    continue
                if not isinstance(reason, Unanswered):
                    raise reason
                n_failed, n_in_a_row = n_failed + 1, n_in_a_row + 1
                problem = f"no answer ({reason}); it is asked again by the next call"
                say(f"transcribe: {futures[done]}: {problem}", sys.stderr)
                if n_in_a_row >= max(FAILURES_IN_A_ROW, model.concurrency):
                    raise ModelError(
                        f"{model.address}: {n_in_a_row} posts in a row got no answer, the last one '{reason}'. "
                        "See to the server, then run the same command again to continue"
                    )
        finally:  # those under way are finished and kept
            pool.shutdown(cancel_futures=True)
    return n_failed


def transcribe_post(folder: RawFolder, model: Model, post_id: str) -> None:
    """Keep what the model reads in a post's images, or why that is no conversation. Raises Unanswered."""
    try:
        images = [image_at(url) for url in folder.read(POSTS, post_id)["images"]]
    except BrokenImage as reason:
        folder.write(TRANSCRIPTS, post_id, {"dropped": str(reason)})
        return
    parts: list[dict[str, Any]] = [{"type": "text", "text": PROMPT}]
    parts += [{"type": "image_url", "image_url": {"url": image}} for image in images]
    reply, is_cut = model.ask(parts)
    cut = {"dropped": f"transcript of more than {TRANSCRIPT_TOKENS} tokens"}
    folder.write(TRANSCRIPTS, post_id, {**(cut if is_cut else transcript_in(reply)), "model": model.name})


def image_at(url: str) -> str:
    """An image as data:image/png, decoded and encoded anew, so without what a camera wrote beside it.

    Raises BrokenImage for what is gone, cut off or huge, and Unanswered where the host may answer later.
    """
    from PIL import Image

    raw = b""
    try:
        with httpx.stream("GET", url, timeout=60.0, follow_redirects=True) as response:
            if response.status_code in (404, 410):
                raise BrokenImage("image is gone")
            if response.status_code != 200 or response.headers.get("Content-Type", "").startswith("text/html"):
                raise Unanswered(f"{url.partition('?')[0]}: its host answered {response.status_code}, and no image")
            for part in response.iter_bytes():
                raw += part
                if len(raw) > MOST_BYTES:
                    raise BrokenImage(f"image of more than {MOST_BYTES >> 20} MiB")
    except httpx.RequestError as error:
        raise Unanswered(f"{url.partition('?')[0]}: {type(error).__name__}") from None
    try:
        with Image.open(io.BytesIO(raw)) as image:
            pixels = image.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        raise BrokenImage("image cannot be read") from None
    pixels.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    encoded = io.BytesIO()
    pixels.save(encoded, "PNG")
    return f"data:image/png;base64,{base64.b64encode(encoded.getvalue()).decode()}"
