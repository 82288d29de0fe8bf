"""What an OpenAI-compatible server is asked, and what its replies say. No network here: replies are untrusted text."""

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from evenhand.chat_templates import FIXED_DATE, AnswerTokens, render_chat
from evenhand.errors import ConfigError
from evenhand.records import Completion, Prompt
from evenhand.sources.record_fields import LONE_SURROGATE
from inference.config import InferenceConfig, OpenAIConfig

ANSWERS = ("1", "2")
# The longest list of alternatives that the API allows; an answer below it is missing, not improbable.
TOP_LOGPROBS = 20
# The largest that the API allows: nothing else is generated.
CERTAIN = 100.0
# vLLM writes this in the place of minus infinity, which JSON lacks.
NO_PROBABILITY = -9999.0


class NoReply(Exception):
    """No usable reply: not reached, too late, too large, not JSON, no text. Its words become the finish reason."""


class StatusError(NoReply):
    """A status other than success, and what the server says with it on one line: "500 out of memory"."""

    def __init__(self, status: int, message: str = "", code: str | None = None) -> None:
        super().__init__(f"{status} {excerpt(message, 200)}".rstrip())
        self.status, self.code = status, code


class ServerFacts(NamedTuple):
    """What decides how a server is asked."""

    is_vllm: bool  # it understands vLLM's own request fields
    answers: AnswerTokens | None  # the answers' token ids where a margin is read by them (vLLM only)


def request_body(config: InferenceConfig, facts: ServerFacts, prompt: Prompt) -> dict[str, Any]:
    """The fields of one request. engine.extra_body overrides them, and null there takes a field out."""
    assert isinstance(config.engine, OpenAIConfig)
    sampling, schema = config.sampling.for_prompt(prompt), prompt.drawing.json_schema
    body: dict[str, Any] = {"model": config.model.name, "temperature": sampling.temperature, "top_p": sampling.top_p}
    body["max_tokens"] = sampling.max_tokens
    if config.chat_template:
        body["messages"] = [{"role": m.role, "content": m.content} for m in prompt.messages]
    else:
        body["prompt"] = render_chat(None, prompt.messages, chat_template=False)
    if sampling.n > 1:
        body["n"] = sampling.n
    if config.engine.send_seed and sampling.temperature > 0:
        body["seed"] = sampling.seed
    if facts.is_vllm:
        body |= vllm_fields(config, prompt)
    elif config.patch and config.patch.thinking is not None:
        raise ConfigError(
            "patch.thinking is for vLLM servers; set engine.extra_body to what this one knows: {reasoning_effort: none}"
        )
    elif sampling.top_k or sampling.repetition_penalty != 1:
        raise ConfigError(
            "sampling.top_k and sampling.repetition_penalty are for vLLM servers; set engine.extra_body for this one"
        )
    if config.verdict == "margin":
        body |= margin_fields(config, facts.answers)
    elif schema and (config.is_structured or prompt.reads):
        named = {"name": "verdict", "strict": True, "schema": json.loads(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    body |= config.engine.extra_body
    return {key: value for key, value in body.items() if value is not None}


def vllm_fields(config: InferenceConfig, prompt: Prompt) -> dict[str, Any]:
    """What only vLLM understands, and needs to answer as the offline engines do."""
    # Left out, these would come from the model's generation_config.json (Qwen2.5: repetition_penalty 1.05, top_k 20),
    # and the same greedy question would get another answer.
    sampling = config.sampling
    fields: dict[str, Any] = {"top_k": sampling.top_k, "repetition_penalty": sampling.repetition_penalty, "min_p": 0.0}
    if config.chat_template:
        fields["chat_template_kwargs"] = {"date_string": FIXED_DATE, **config.template_args(prompt.reads)}
        fields["return_prompt_text"] = True
    return fields


def margin_fields(config: InferenceConfig, answers: AnswerTokens | None) -> dict[str, Any]:
    """One token, and the log-probabilities of the answers at it; by token id where the server is vLLM.

    vLLM's are those of the whole vocabulary, before temperature, bias and masks.
    """
    fields: dict[str, Any] = {"temperature": 0.0, "top_p": 1.0, "max_tokens": 1}
    if config.chat_template:
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


def read_reply(body: str, config: InferenceConfig, facts: ServerFacts, prompt: Prompt) -> list[Completion]:
    """The completions in the body of a chat or text completion response to a prompt.

    Raises NoReply when the body is no such response or holds another number of choices than were asked for.
    """
    reply, n = parse_object(body), config.sampling.n_for(prompt)
    choices = reply.get("choices")
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise NoReply(f"reply without choices: {excerpt(body)}")
    if len(choices) != n:
        raise NoReply(f"asked for {n} samples, got {len(choices)}")
    usage = reply.get("usage")
    counts = {key: n for key, n in usage.items() if isinstance(n, int)} if isinstance(usage, dict) else {}
    generated, rendered = counts.get("completion_tokens"), reply.get("prompt_text")  # the latter from vLLM only
    names = [reply.get("model"), reply.get("system_fingerprint")]
    answered_by = " ".join(excerpt(name) for name in names if isinstance(name, str) and name) or None
    return [
        Completion(
            prompt_hash=prompt.prompt_hash,
            sample_index=index,
            **read_text(choice, generated),
            finish_reason=excerpt(str(choice.get("finish_reason") or "unknown")),
            answer_logprobs=read_answers(choice, facts.answers) if config.verdict == "margin" else None,
            prompt_tokens=counts.get("prompt_tokens"),
            # The server counts all samples together; what one of them took is then not known.
            completion_tokens=generated if n == 1 else None,
            rendered=writable(rendered) if isinstance(rendered, str) and index == 0 else None,
            answered_by=answered_by if index == 0 else None,
        )
        for index, choice in enumerate(choices)
    ]


def parse_object(body: str) -> dict[str, Any]:
    """The JSON object in a body. Raises NoReply when it is something else."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        raise NoReply(f"reply is not JSON: {excerpt(body)}") from None
    if not isinstance(parsed, dict):
        raise NoReply(f"reply is no JSON object: {excerpt(body)}")
    return parsed


def read_text(choice: Mapping[str, Any], generated: int | None) -> dict[str, Any]:
    """A completion's `text` and `thought`, of a chat choice or a text choice.

    text: a refusal's words where the server keeps them apart. Empty text is an answer only when the server counts
    generated tokens: the model said nothing, or only thought. Raises NoReply otherwise. thought: what a server keeps
    apart, by either of the names in use.
    """
    message = choice.get("message")
    fields = message if isinstance(message, dict) else {"content": choice.get("text")}
    said = {key: writable(text) for key, text in fields.items() if isinstance(text, str) and text}
    text = said.get("content") or said.get("refusal")
    if not text and not generated:
        raise NoReply("reply without text")
    return {"text": text or "", "thought": said.get("reasoning_content") or said.get("reasoning")}


def read_answers(choice: Mapping[str, Any], answers: AnswerTokens | None) -> dict[str, float]:
    """Answer → natural log-probability, of the answers that the server listed at the answer position.

    answers: their tokens, where they are read by them. Else of several spellings the one that shows the most answers is
    taken for all of them: "1" beside " 2" are no pair. An answer that is not listed has a probability which is not
    known, so it is left out. Raises NoReply when there are no log-probabilities, one is none, or the lead is missing.
    """
    if answers:
        lead = [f"token_id:{token}" for token in answers.lead]
        spellings = [{answer: f"token_id:{token}" for answer, token in answers.ids.items()}]
    else:
        lead, spellings = [], [{answer: mark + answer for answer in ANSWERS} for mark in ("", " ", "▁")]
    logprobs: Any = choice.get("logprobs")
    position = len(lead)
    try:
        if "content" in logprobs:  # chat
            entries = logprobs["content"]
            tokens = [entry["token"] for entry in entries]
            top = {e["token"]: float(e["logprob"]) for e in [entries[position], *entries[position]["top_logprobs"]]}
        else:
            tokens = logprobs["tokens"]
            top = {token: float(value) for token, value in logprobs["top_logprobs"][position].items()}
    except (TypeError, KeyError, IndexError, ValueError, AttributeError, OverflowError):
        raise NoReply("reply without log-probabilities") from None
    if tokens[:position] != lead:
        raise NoReply(f"the answer's lead {lead} was not generated, but {tokens[:position]}")
    seen = {token: value for token, value in top.items() if math.isfinite(value) and value > NO_PROBABILITY}
    readings = [{answer: seen[t] for answer, t in spelled.items() if t in seen} for spelled in spellings]
    return max(readings, key=len)


def writable(text: str) -> str:
    """A text without halves of surrogate pairs, which no file can hold: a model may stop within a character."""
    return LONE_SURROGATE.sub("\ufffd", text)


def excerpt(text: str, limit: int = 80) -> str:
    """The beginning of a text on one line."""
    line = " ".join(writable(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
