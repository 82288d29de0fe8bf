"""What the OpenAI-compatible engine asks a server for, and how margins are read from the reply."""

import json

import pytest

from evenhand.chat_templates import FIXED_DATE
from evenhand.errors import ConfigError, ModelError
from inference.open_engine import open_engine
from tests.made.fake_server import FakeServer, Reply, answer, as_json
from tests.made.toy_runs import ask, config, echo, prompts


def test_a_request_holds_what_the_config_says_and_nothing_of_vllm() -> None:
    with FakeServer(echo) as server:
        ask(server, prompts(1))
    assert server.paths == ["/v1/chat/completions"]
    assert server.asked == [
        {
            "model": "judge",
            "messages": [{"role": "user", "content": "question 0"}],
            "temperature": 0.0,
            "top_p": 1.0,
            "max_tokens": 300,
        }
    ]


def test_what_only_vllm_servers_know_is_refused_by_others() -> None:
    for key, value in (("top_k", 20), ("repetition_penalty", 1.05)):
        with FakeServer(echo) as server, pytest.raises(ConfigError, match="known to vLLM servers only"):
            ask(server, prompts(1), sampling={key: value, "temperature": 0.5})


def test_extra_body_overrides_fields_and_null_takes_them_out() -> None:
    extra = {"max_tokens": None, "max_completion_tokens": 50, "temperature": 1}
    with FakeServer(echo) as server:
        ask(server, prompts(1), {"extra_body": extra})
    (body,) = server.asked
    assert "max_tokens" not in body
    assert (body["max_completion_tokens"], body["temperature"]) == (50, 1)


def test_json_schema_holds_the_server_to_the_two_keys() -> None:
    with FakeServer(echo) as server:
        ask(server, prompts(1), {"json_mode": "json_schema"}, sampling={"structured": "json"})
    schema = server.asked[0]["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["chosen_answer", "reasoning"]
    assert schema["properties"]["chosen_answer"]["enum"] == ["1", "2"]


@pytest.mark.parametrize(
    ("structured", "json_mode"), [("json", "none"), ("json", "json_object"), ("none", "json_schema")]
)
def test_structured_output_is_asked_for_in_both_places_or_in_none(structured: str, json_mode: str) -> None:
    with pytest.raises(ConfigError, match="json_mode: json_schema"):
        open_engine(config("http://x/v1", {"json_mode": json_mode}, sampling={"structured": structured}))


def margins(top: dict[str, float], token: str = "1") -> Reply:
    """A chat reply with log-probabilities at one generated token."""
    listed = [{"token": t, "logprob": value} for t, value in top.items()]
    entry = {"token": token, "logprob": top.get(token, -0.1), "top_logprobs": listed}
    return answer(token, logprobs={"content": [entry]})


@pytest.mark.parametrize(
    ("top", "read"),
    [
        ({"1": -0.25, "2": -1.5, "Yes": -4.0}, {"1": -0.25, "2": -1.5}),
        ({"1": -0.25, "Yes": -4.0}, {"1": -0.25}),
        ({"1": -0.25, "2": -9999.0}, {"1": -0.25}),
        ({" 1": -0.25, " 2": -1.5, "1": -8.0}, {"1": -0.25, "2": -1.5}),
        ({"1": -0.25, " 2": -1.5}, {"1": -0.25}),
    ],
    ids=[
        "both",
        "one not listed",
        "one at minus infinity",
        "spelled with a space",
        "spellings that are no pair",
    ],
)
def test_a_margin_holds_only_what_the_server_listed(top: dict[str, float], read: dict[str, float]) -> None:
    with FakeServer(lambda body, n: margins(top, next(iter(top)))) as server:
        (found,) = ask(server, prompts(1), verdict="margin")
    assert found.answer_logprobs == read
    (body,) = server.asked
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (1, True, 20)


def test_a_raw_prompt_goes_as_it_is_to_the_text_endpoint_and_its_margin_is_read_there() -> None:
    listed = {"tokens": ["1"], "top_logprobs": [{"1": -0.5, "2": -2.0}]}
    with FakeServer(lambda body, n: as_json({"choices": [{"text": "1", "logprobs": listed}]})) as server:
        (found,) = ask(server, prompts(1), verdict="margin", chat_template=False)
    assert (server.paths, server.asked[0]["prompt"]) == (["/v1/completions"], "question 0")
    assert found.answer_logprobs == {"1": -0.5, "2": -2.0}


VLLM = as_json({"data": [{"id": "judge", "owned_by": "vllm"}]})


def test_vllm_is_told_what_its_defaults_would_change_and_shows_the_rendered_prompt() -> None:
    reply = {"choices": [{"message": {"content": "1"}, "finish_reason": "stop"}], "prompt_text": "<user>question 0"}
    model = {"name": "judge", "chat_template_args": {"enable_thinking": False}}
    with FakeServer(lambda body, n: as_json(reply), models=VLLM) as server:
        (found,) = ask(server, prompts(1), model=model)
    (body,) = server.asked
    assert found.rendered == "<user>question 0"
    assert (body["top_k"], body["min_p"], body["repetition_penalty"]) == (0, 0.0, 1.0)
    assert body["chat_template_kwargs"] == {"date_string": FIXED_DATE, "enable_thinking": False}


def test_vllm_margins_are_read_by_token_id() -> None:
    top = {"token_id:33": -0.5, "token_id:34": -30.0}
    with FakeServer(lambda body, n: margins(top, "token_id:33"), VLLM, {"1": [33], "2": [34]}) as server:
        (found,) = ask(server, prompts(1), verdict="margin")
    (body,) = server.asked
    assert found.answer_logprobs == {"1": -0.5, "2": -30.0}
    assert (body["logprob_token_ids"], body["allowed_token_ids"], body["max_tokens"]) == ([33, 34], [33, 34], 1)


def test_vllm_margins_in_a_thought_are_refused() -> None:
    reply = as_json({**json.loads(margins({"token_id:33": -0.5}, "token_id:33").body), "prompt_text": "0?<think>\n"})
    with (
        FakeServer(lambda body, n: reply, VLLM, {"1": [33], "2": [34]}) as server,
        pytest.raises(ModelError, match="judge: its chat template opens a thought"),
    ):
        ask(server, prompts(1), verdict="margin")


def with_lead(first: str) -> Reply:
    """A vLLM reply of two tokens, the answers listed at both, as for a Mistral tokenizer."""
    noise, reading = {"token_id:33": -20.0, "token_id:34": -9.0}, {"token_id:33": -1.0, "token_id:34": -2.0}
    content = [
        {"token": token, "logprob": -1.0, "top_logprobs": [{"token": t, "logprob": v} for t, v in top.items()]}
        for token, top in [(first, noise), ("token_id:33", reading)]
    ]
    return answer("1", logprobs={"content": content})


def test_vllm_margins_are_read_behind_the_lead_that_all_answers_share() -> None:
    with FakeServer(lambda body, n: with_lead("token_id:9"), VLLM, {"1": [9, 33], "2": [9, 34]}) as server:
        (found,) = ask(server, prompts(1), verdict="margin")
    (body,) = server.asked
    assert found.answer_logprobs == {"1": -1.0, "2": -2.0}
    assert (body["max_tokens"], body["logit_bias"]) == (2, {"9": 100.0})
    assert "allowed_token_ids" not in body
