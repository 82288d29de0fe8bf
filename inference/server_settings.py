"""What a config may say of a server. It is written into config.yaml, reports and errors, so it must hold no secret."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from evenhand.config import HiddenError

WAY = "export it (OPENAI_API_KEY=...) and name the variable in engine.api_key_env; it is sent as a bearer token"
SECRET_NAME = re.compile(
    r"api[_-]?key|access[_-]?(key|token)|auth[_-]?token|authorization|bearer|credential|passw(or)?d|secret"
    r"|^(token|key)$",
    re.IGNORECASE,
)
SECRET_VALUE = re.compile(r"\b(Bearer|Basic) +\S{8}|\b(sk|hf|gsk|xai|nvapi|ghp)[-_]\w[\w-]{15}")


def checked_address(url: object) -> str:
    """The address as it is. Raises ValueError where it is none, or where a password or a key may stand in it."""
    if not isinstance(url, str):
        raise ValueError(
            "takes one address. Ask several servers as several shards: each process takes `engine.base_url=...` of one "
            "server and `--shard i/n`"
        )
    if "@" in url:
        raise HiddenError(f"has an @, as behind a user's name and password. A key has no place in a config: {WAY}")
    if "?" in url or "#" in url:
        raise HiddenError(f"has a ? or #, and no path of a server can follow that. If it leads in a key: {WAY}")
    shape = "write http://HOST:PORT/v1"
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  a property that raises
    except ValueError as error:
        raise ValueError(f"is no address ({error}); {shape}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not re.fullmatch(r"[\x21-\x7e]+", url):
        raise ValueError(f"is no address; {shape}")
    return url


def checked_body(body: dict[str, Any]) -> dict[str, Any]:
    """The fields as they are. Raises ValueError where JSON cannot hold them or one looks like a secret."""
    try:
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise HiddenError("cannot be sent as JSON: quote dates, leave .nan, .inf and cycles out") from None
    for name, value in leaves(body):
        if SECRET_NAME.search(name) or (isinstance(value, str) and SECRET_VALUE.search(value)):
            raise HiddenError(f"its '{name}' looks like a secret. A key has no place in a config: {WAY}")
    return body


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """(name, value) of everything in nested lists and mappings, the mappings too; an element has its list's name."""
    yield name, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, name)
