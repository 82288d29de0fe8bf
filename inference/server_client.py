"""Requests to one server: each with a deadline and a limit on its size, asked again while a failure may pass."""

import asyncio
import contextlib
import math
import os
import random
import re
import stat
import sys
import time
import zlib
from asyncio import sleep
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx
from tqdm import tqdm

from evenhand.errors import ConfigError, ModelError, told
from evenhand.terminal import harmless
from inference.config import OpenAIConfig
from inference.server_replies import BadReply, excerpt, parse_object
from inference.watchdog import expect_silence

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0  # seconds before asking again, doubled each time
WORTH_SAYING = 10.0  # seconds
LONGEST_WISH = 3600.0  # seconds; a run ends where the server wants to be left alone for longer
MAY_PASS = (408, 409, 429)  # and 5xx
SHORTEST_KEY = 8  # characters; a shorter one is made up for a server that wants none, and may be any word


class NoReply(Exception):
    """The server could not be reached, broke off, or did not finish in time."""


class StatusError(Exception):
    """A status other than success, and what the server says with it on one line: "500 out of memory"."""

    def __init__(self, status: int, message: str = "", code: object = None, wish: float = 0.0) -> None:
        """wish: seconds that the server asks to wait."""
        super().__init__(f"{status} {excerpt(message, 200)}".rstrip())
        self.status, self.code, self.wish = status, code, wish

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in MAY_PASS or self.status >= 500


class Patience:
    """What is borne of one request: how often it may fail, and the pauses between."""

    def __init__(self, max_retries: int, place: str) -> None:
        self._max_retries, self._place, self._n_failed = max_retries, place, 0

    def pause_after(self, failure: NoReply | StatusError) -> float:
        """Seconds to wait before asking again. Raises the failure when that is of no use or was done often enough.

        Raises ModelError when the server asks to be left alone for longer than LONGEST_WISH.
        """
        wish, may_pass = (failure.wish, failure.may_pass) if isinstance(failure, StatusError) else (0.0, True)
        if self._n_failed == self._max_retries or not may_pass:
            raise failure
        if wish > LONGEST_WISH:
            raise ModelError(
                f"{self._place}: asks to wait {wish:,.0f} s ({failure}). What was answered is kept; "
                "run the same command again then"
            ) from None
        backoff = min(FIRST_PAUSE * 2**self._n_failed, LONGEST_PAUSE) * random.uniform(0.75, 1)
        self._n_failed += 1
        return wish or backoff


class ServerClient:
    """Asks one server of a config. Redirects are not followed: they would take the key and the texts elsewhere."""

    def __init__(self, server: OpenAIConfig, most_bytes: int) -> None:
        """most_bytes: the size that a reply may have, unpacked."""
        self._server, self.base_url, self._most_bytes = server, server.base_url.rstrip("/"), most_bytes
        self._key = read_key(server)
        self._http = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {self._key}", "Accept-Encoding": "gzip"},
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=server.concurrency),
            timeout=None,  # httpx's is of each read: a server that sends a byte a minute would never meet it
        )
        self._told_until = 0.0

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def get(self, url: str) -> str:
        """The body of a GET; see post."""
        return await self._ask("GET", url, None)

    async def post(self, url: str, body: Mapping[str, Any]) -> str:
        """The body of a successful reply.

        Raises NoReply or StatusError when the retries are used up or would not help, BadReply for one that is too large
        or cannot be unpacked, and ModelError when the server asks to be left alone for longer than LONGEST_WISH.
        """
        return await self._ask("POST", url, body)

    async def _ask(self, method: str, url: str, body: Mapping[str, Any] | None) -> str:
        patience = Patience(self._server.max_retries, self.base_url)
        while True:
            try:
                return await self._ask_once(method, url, body)
            except (NoReply, StatusError) as failure:
                await self.wait(patience.pause_after(failure), failure)

    async def wait(self, pause: float, failure: Exception) -> None:
        """Wait before asking again, and say so where that takes long."""
        self._say(pause, failure)
        if isinstance(failure, StatusError):
            expect_silence(failure.wish)
        await sleep(pause)

    def _say(self, pause: float, failure: Exception) -> None:
        """Say what is waited for, once while many requests wait for the same."""
        now = time.time()
        if pause >= WORTH_SAYING and now >= self._told_until:
            self._told_until = now + pause
            until = time.strftime("%H:%M:%S", time.localtime(self._told_until))
            words = f"{self.base_url}: asks to wait {pause:,.0f} s ({failure}); waiting until {until}"
            tell(words)

    async def _ask_once(self, method: str, url: str, body: Mapping[str, Any] | None) -> str:
        try:
            async with asyncio.timeout(self._server.timeout_s), self._http.stream(method, url, json=body) as response:
                content = await self._read(response)
        except TimeoutError:
            raise NoReply(f"no reply within {self._server.timeout_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NoReply(f"connection: {excerpt(str(error) or type(error).__name__, 200)}") from None
        content = self._without_key(content)
        if response.is_success:
            return content
        raise self._status_error(response, content)

    async def _read(self, response: httpx.Response) -> str:
        """The body as text. What is no UTF-8 in it is marked, as any reader of text does."""
        coding = response.headers.get("Content-Encoding", "identity").lower()
        raw = bytearray()
        async for part in response.aiter_raw():
            raw += part
            if len(raw) > self._most_bytes:
                raise self._too_large()
        if coding == "identity":
            return raw.decode("utf-8", "replace")
        if coding != "gzip":
            raise BadReply(f"reply is packed as '{excerpt(coding)}', which was not asked for")
        unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            unpacked = unpacking.decompress(raw, self._most_bytes + 1)
        except zlib.error as error:
            raise BadReply(f"reply is no gzip ({error})") from None
        if len(unpacked) > self._most_bytes:
            raise self._too_large()
        if not unpacking.eof:
            raise BadReply("reply's gzip is cut off")
        return unpacked.decode("utf-8", "replace")

    def _too_large(self) -> BadReply:
        return BadReply(f"reply of more than {self._most_bytes / 2**20:.0f} MiB")

    def _status_error(self, response: httpx.Response, content: str) -> StatusError:
        """What a status says."""
        message, code = said_in(content)
        if response.has_redirect_location:
            message = self._without_key(f"moved to {response.headers['Location']}")
        return StatusError(response.status_code, message, code, wish_of(response.headers))

    def _without_key(self, content: str) -> str:
        """What a server says, which ends in completions and messages. Servers like to quote the key."""
        if len(self._key) < SHORTEST_KEY:
            return content
        return content.replace(self._key, f"${self._server.api_key_env}")


def tell(words: str) -> None:
    """Say what may hold a server's words, beside a progress bar."""
    tqdm.write(harmless(words), file=sys.stderr)


def read_key(server: OpenAIConfig) -> str:
    """The key in the environment, or in the file that it names.

    A local server wants none; a hosted one says 401, and that names the variable. Raises ConfigError for a file that
    others can read, and for what no HTTP header can carry, without showing it.
    """
    key = os.environ.get(server.api_key_env) or key_in_file(f"{server.api_key_env}_FILE") or "none"
    if wrong := re.search(r"[^\x21-\x7e]", key):
        raise ConfigError(
            f"${server.api_key_env}: its character {wrong.start() + 1} of {len(key)} is none that a key can have "
            "(a letter with an accent, a blank, a line break, a typographic quote?); export it again"
        )
    return key


def key_in_file(variable: str) -> str:
    """The key in the file that a variable names; "" for none. Raises ConfigError for a file that others can read."""
    name = os.environ.get(variable)
    if not name:
        return ""
    file = Path(name).expanduser()
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
        if mode & 0o077:
            raise ConfigError(
                f"${variable}: {file} may be read by others than its owner (mode {mode:o}); `chmod 600 {file}`, and "
                "make a new key if others had the time to read this one"
            )
        key = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"${variable}: {file} cannot be read ({told(error)}); it holds the key and no more") from None
    if not key:
        raise ConfigError(f"${variable}: {file} is empty; it holds the key and no more")
    return key


def said_in(content: str) -> tuple[str, object]:
    """(message, code) of an error's body; the body itself where it has no message."""
    try:
        reply = parse_object(content)
    except BadReply:
        return content, None
    error = reply.get("error", reply)
    if not isinstance(error, dict):
        return str(error or ""), None
    message = error.get("message")
    return message if isinstance(message, str) else "", error.get("code")


def wish_of(headers: httpx.Headers) -> float:
    """Seconds that the server asks to wait, as a number or until a date; 0 where it does not."""
    for name, unit in (("Retry-After-Ms", 0.001), ("Retry-After", 1.0)):
        value = headers.get(name, "")
        with contextlib.suppress(ValueError):
            seconds = float(value) * unit
            return 0.0 if math.isnan(seconds) else max(0.0, seconds)
    with contextlib.suppress(ValueError, OverflowError, TypeError):
        return max(0.0, parsedate_to_datetime(headers.get("Retry-After", "")).timestamp() - time.time())
    return 0.0
