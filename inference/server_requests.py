"""Prompt → the body of a request to an OpenAI-compatible server. Pure: what is asked depends on its arguments alone."""

import json
from typing import Any

from evenhand.chat_templates import FIXED_DATE, AnswerTokens, render_chat
from evenhand.errors import ConfigError
from evenhand.records import Prompt
from inference.config import InferenceConfig, OpenAIConfig
from inference.drawing import drawn_as
from inference.server_facts import ANSWERS, ServerFacts
from inference.server_replies import Spellings

# The longest list of alternatives that the API allows; an answer below it is missing, not improbable.
TOP_LOGPROBS = 20
# The largest that the API allows: nothing else is generated.
CERTAIN = 100.0
# Bytes of a reply beside its texts (the rendered prompt, log-probabilities, counts), and of a generated token, which
# takes some five: room for any reply that is one, and no more memory than that for what is none.
REPLY_BYTES, TOKEN_BYTES = 4 * 2**20, 64


def path_for(config: InferenceConfig) -> str:
    """The endpoint: the server applies its chat template, or takes the bare text."""
    return "/chat/completions" if config.format == "chat" else "/completions"


def request_body(config: InferenceConfig, facts: ServerFacts, prompt: Prompt) -> dict[str, Any]:
    """The fields of one request. engine.extra_body overrides them, and null there takes a field out."""
    assert isinstance(config.engine, OpenAIConfig)
    sampling, schema = drawn_as(prompt, config.sampling), prompt.drawing.json_schema
    body: dict[str, Any] = {"model": config.model.name, "temperature": sampling.temperature, "top_p": sampling.top_p}
    body["max_tokens"] = sampling.max_tokens
    if config.format == "chat":
        body["messages"] = [{"role": m.role, "content": m.content} for m in prompt.messages]
    else:
        body["prompt"] = render_chat(None, prompt.messages, "raw")
    if sampling.n > 1:
        body["n"] = sampling.n
    if config.engine.send_seed and sampling.temperature > 0:
        body["seed"] = sampling.seed
    if facts.is_vllm:
        body |= vllm_fields(config)
    elif sampling.top_k or sampling.repetition_penalty != 1:
        raise ConfigError(
            "sampling.top_k and sampling.repetition_penalty are known to vLLM servers only; leave them out here, or "
            "set engine.extra_body to what this server calls them"
        )
    if config.verdict == "margin":
        body |= margin_fields(config, facts.answers)
    elif config.engine.json_mode == "json_schema" and schema:
        named = {"name": "verdict", "strict": True, "schema": json.loads(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    elif config.engine.json_mode == "json_object" and schema:
        body["response_format"] = {"type": "json_object"}
    body |= config.engine.extra_body
    return {key: value for key, value in body.items() if value is not None}


def largest_reply(config: InferenceConfig) -> int:
    """Bytes that a reply may have."""
    return REPLY_BYTES + TOKEN_BYTES * config.sampling.n * config.sampling.max_tokens


def vllm_fields(config: InferenceConfig) -> dict[str, Any]:
    """What only vLLM understands, and needs to answer as the offline engines do."""
    # Left out, these would come from the model's generation_config.json (Qwen2.5: repetition_penalty 1.05, top_k 20),
    # and the same greedy question would get another answer.
    fields: dict[str, Any] = {
        "top_k": config.sampling.top_k,
        "min_p": 0.0,
        "repetition_penalty": config.sampling.repetition_penalty,
    }
    if config.format == "chat":
        fields["chat_template_kwargs"] = {"date_string": FIXED_DATE, **config.model.chat_template_args}
        fields["return_prompt_text"] = True
    return fields


def margin_fields(config: InferenceConfig, answers: AnswerTokens | None) -> dict[str, Any]:
    """One token, and the log-probabilities of the answers at it; by token id where the server is vLLM.

    vLLM's are those of the whole vocabulary, before temperature, bias and masks.
    """
    fields: dict[str, Any] = {"temperature": 0.0, "top_p": 1.0, "max_tokens": 1}
    if config.format == "chat":
        fields |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
    else:
        fields["logprobs"] = TOP_LOGPROBS
    if answers is None:
        return fields
    ids = list(answers.ids.values())
    fields |= {"logprob_token_ids": ids, "return_tokens_as_token_ids": True}
    if not answers.lead:
        return fields | {"allowed_token_ids": ids}
    # The lead (Mistral's word-start mark) is generated first; what it adds to the probabilities cancels in the margin.
    fields["max_tokens"] = len(answers.lead) + 1
    return fields | {"logit_bias": {str(token): CERTAIN for token in answers.lead}}


def spellings_for(config: InferenceConfig, facts: ServerFacts) -> Spellings | None:
    """How the reply will write the answers' tokens; None when no margin is asked for."""
    if config.verdict != "margin":
        return None
    if facts.answers is None:
        return Spellings((), tuple({answer: mark + answer for answer in ANSWERS} for mark in ("", " ", "▁")))
    named = {answer: f"token_id:{token}" for answer, token in facts.answers.ids.items()}
    return Spellings(tuple(f"token_id:{token}" for token in facts.answers.lead), (named,))
