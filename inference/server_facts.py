"""What an OpenAI-compatible server is, found out before anything is asked: its models, if it is vLLM, its tokens."""

import os
from dataclasses import dataclass
from typing import Any, NamedTuple

from evenhand.chat_templates import AnswerTokens, answer_tokens
from evenhand.errors import ModelError
from inference.config import OpenAIConfig
from inference.server_client import NoReply, ServerClient, StatusError
from inference.server_replies import BadReply, excerpt, parse_object

ANSWERS = ("1", "2")


class ServerFacts(NamedTuple):
    """What decides how a server is asked."""

    is_vllm: bool  # it understands vLLM's own request fields
    answers: AnswerTokens | None  # the answers' token ids where a margin is read by them (vLLM only)


async def find_facts(client: ServerClient, server: OpenAIConfig, model: str, *, margin: bool) -> ServerFacts:
    """The server's facts. Raises ModelError when it is absent, or wants another key or model."""
    entry = await find_listed(client, server, model)
    is_vllm = entry.get("owned_by") == "vllm"
    answers = await find_answer_tokens(client, model) if is_vllm and margin else None
    return ServerFacts(is_vllm, answers)


async def find_listed(client: ServerClient, server: OpenAIConfig, model: str) -> dict[str, Any]:
    """What the server's list says of the model; nothing where the server has no list. Raises as find_facts."""
    place = client.base_url
    try:
        listing = parse_object(await client.get(address(client, "/models")))
        models = {str(entry["id"]): dict(entry) for entry in listing["data"]}
    except (BadReply, KeyError, TypeError, ValueError):
        raise ModelError(f"{place}: is no OpenAI-compatible server; engine.base_url usually ends in /v1") from None
    except NoReply as error:
        raise ModelError(
            f"{place}: no server answers there ({error}); start one, for example "
            f"`vllm serve {model}`, or set engine.base_url"
        ) from None
    except StatusError as error:
        if error.status in (401, 403):
            raise key_refused(place, server.api_key_env, error.status) from None
        if error.status in (404, 405, 501):  # it does not list its models, and need not
            return {}
        if error.status < 400:
            raise ModelError(f"{place}: is not where the server is ({error}); correct engine.base_url") from None
        raise ModelError(f"{place}: the server is not ready ({error}); try again later") from None
    if models and model not in models:
        raise ModelError(f"{place}: does not serve model '{model}'. It serves: {', '.join(sorted(models)[:10])}")
    return models.get(model, {})


@dataclass(frozen=True, slots=True)
class ServerTokenizer:
    """As much of a tokenizer as `answer_tokens` needs."""

    name_or_path: str
    encoded: dict[str, list[int]]

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """The ids the server gave for a text, without special tokens."""
        assert not add_special_tokens
        return self.encoded[text]


async def find_answer_tokens(client: ServerClient, model: str) -> AnswerTokens:
    """The answers' tokens by vLLM's /tokenize, which lies beside /v1. Raises ModelError when it cannot be asked."""
    url = client.base_url.removesuffix("/v1") + "/tokenize"
    encoded: dict[str, list[int]] = {}
    for answer in ANSWERS:
        body = {"model": model, "prompt": answer, "add_special_tokens": False}
        try:
            encoded[answer] = parse_object(await client.post(url, body))["tokens"]
        except (NoReply, StatusError, BadReply, KeyError) as error:
            raise ModelError(
                f"{url}: does not give the tokens of '{answer}' ({excerpt(str(error))}), and without them a margin may "
                "be missing; point engine.base_url at the vLLM server itself, or take `verdict: reason`"
            ) from None
    return answer_tokens(ServerTokenizer(f"{client.base_url}: {model}", encoded), ANSWERS)


def address(client: ServerClient, path: str) -> str:
    """Where an endpoint of the server is."""
    return client.base_url + path


def key_refused(place: str, variable: str, status: int) -> ModelError:
    """For 401 and 403. The server's words stay out: they may quote the key."""
    is_set = any(os.environ.get(name) for name in (variable, f"{variable}_FILE"))
    state = "is not the right key" if is_set else "is not set"
    return ModelError(
        f"{place}: refuses the key ({status}): ${variable} {state}; export a valid one, "
        "or name another variable in engine.api_key_env"
    )
