"""The OpenAI-compatible engine against a scripted server: what it asks for, and what it makes of each kind of reply."""

import json
import threading
import time
from pathlib import Path

import pytest

from evenhand.chat_templates import FIXED_DATE
from evenhand.errors import ConfigError, ModelError
from evenhand.files import shipped_yaml
from evenhand.run_directory import is_done
from inference.openai_engine import FAILURES_IN_A_ROW
from inference.sampling import sample
from tests.made.fake_server import FakeServer, Reply, answer, as_json, echo, refusal
from tests.made.read_back import completions_of
from tests.made.toy_runs import ask, ask_until_error, config, prompts

CASES = shipped_yaml(Path(__file__).with_name("servers.yaml"))


def only(question, script):
    """The script for one question, the echo for all others."""
    return lambda body, n: (script if body["messages"][-1]["content"] == question else echo)(body, n)


def test_the_concurrency_limit_is_reached_and_never_exceeded_and_every_reply_goes_to_its_prompt():
    together, asked = threading.Barrier(3), prompts(30)  # a reply comes only when three requests are there at once

    def meet(body, n):
        together.wait(timeout=30)
        return echo(body, n)

    with FakeServer(meet) as server:
        found = {c.prompt_hash: c.text for c in ask(server, asked, {"concurrency": 3})}
    assert server.most_at_once == 3
    assert found == {p.prompt_hash: f"answer to {p.messages[0].content}" for p in asked}


def test_a_prompt_that_fails_for_good_is_an_error_completion_and_the_others_stay():
    broken = refusal(500, "out of memory")
    with FakeServer(only("question 3", lambda body, n: broken)) as server:
        found = ask(server, prompts(6))
    errors = [c for c in found if c.is_error]
    assert [(c.prompt_hash, c.text, c.finish_reason) for c in errors] == [
        (prompts(6)[3].prompt_hash, "", "error: 500 out of memory")
    ]
    assert len(found) == 6
    assert server.texts().count("question 3") == 3  # once and two retries


def test_a_server_that_fails_everybody_is_left_after_some_prompts():
    with FakeServer(lambda body, n: refusal(503, "")) as server:
        kept, words = ask_until_error(server, prompts(100))
    assert f"{FAILURES_IN_A_ROW} prompts in a row got no answer" in words
    assert "error: 503" in words
    assert all(c.is_error for c in kept)
    assert len(kept) < 20


def test_a_reply_that_never_comes_is_an_error_completion():
    over = threading.Event()
    try:
        with FakeServer(only("question 1", lambda body, n: Reply(504) if over.wait(30) else Reply())) as server:
            found = ask(server, prompts(3), {"timeout_s": 2, "max_retries": 0})
    finally:
        over.set()
    assert [c.finish_reason for c in found if c.is_error] == ["error: no reply within 2 s"]
    assert len(found) == 3


@pytest.mark.parametrize(("garbage", "reason"), CASES["garbage"])
def test_garbage_is_an_error_with_its_reason_and_never_an_answer(garbage, reason):
    with FakeServer(only("question 0", lambda body, n: Reply(body=garbage))) as server:
        found = ask(server, prompts(2))
    assert {c.finish_reason for c in found} == {"stop", f"error: {reason}"}


def test_a_thought_that_a_server_sends_in_a_field_of_its_own_stands_beside_the_reply():
    message = {"role": "assistant", "content": "1", "reasoning_content": "Hm."}
    with FakeServer(lambda body, n: answer("1", message=message)) as server:
        assert {(c.thought, c.text) for c in ask(server, prompts(2))} == {("Hm.", "1")}


def test_a_wrong_key_stops_before_any_prompt_and_never_shows_the_key(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret")
    wrong = refusal(401, "Incorrect API key provided: sk-secret")
    with FakeServer(echo, models=wrong) as server, pytest.raises(ModelError) as caught:
        ask(server, prompts(3), {"api_key_env": "MY_KEY"})
    assert "$MY_KEY is not the right key" in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert server.asked == []


@pytest.mark.parametrize("said", CASES["too long"])
def test_prompts_over_the_context_window_are_named_after_the_others_were_answered(said):
    long = refusal(400, said)
    with FakeServer(only("question 0", lambda body, n: long)) as server:
        kept, words = ask_until_error(server, prompts(6))
    assert {c.prompt_hash for c in kept} == {p.prompt_hash for p in prompts(6)[1:]}
    assert "1 prompts do not fit" in words
    assert f"toy-0 (c2_correct): 400 {said}" in words
    assert server.texts().count("question 0") == 1


def test_a_request_that_the_server_does_not_understand_stops_the_run():
    with FakeServer(lambda body, n: refusal(400, "Unsupported parameter: 'max_tokens'")) as server:
        kept, words = ask_until_error(server, prompts(50))
    assert kept == []
    assert "Unsupported parameter: 'max_tokens'" in words
    assert "engine.extra_body" in words
    assert len(server.asked) <= 8


def dripping(part=b" "):
    """A byte now and then, for ever: no single read takes long."""
    while True:
        time.sleep(0.02)
        yield part


def answered(reply, *server, **keys):
    """The one completion that a reply to one prompt gives, and the request."""
    with FakeServer(lambda body, n: reply, *server) as place:
        (found,) = ask(place, prompts(1), **keys)
    return found, place.asked[0]


def test_a_body_that_drips_for_ever_ends_at_the_deadline_of_the_request():
    patience = {"timeout_s": 0.2, "total_timeout_s": 0.1, "max_retries": 0}
    found, _ = answered(Reply(body='{"choices": ', more=dripping()), engine=patience)
    assert found.finish_reason.startswith("error: no reply within 0.3 s")


def test_a_redirect_is_not_followed_and_named():
    moved = Reply(307, "", {"Location": "http://elsewhere/v1"})
    with FakeServer(lambda body, n: moved) as server:
        _, words = ask_until_error(server, prompts(1))
    assert "moved to http://elsewhere/v1" in words


HALF = '{"choices": [{"message": {"content": "1 \\ud83d"}, "finish_reason": "st\\ud83dop"}], "model": "m\\ude00"}'


def test_half_a_surrogate_pair_in_one_reply_loses_nothing_and_the_run_finishes(tmp_path):
    keys = {"benchmarks": [{"dataset": "pocket", "n_items": 2}], "run": {"root": str(tmp_path)}}
    with FakeServer(lambda body, n: Reply(body=HALF) if len(server.asked) == 3 else answer("2")) as server:
        path = sample(config(server.base_url, **keys))
    found = completions_of(path).values()
    assert sorted(c.text for c in found) == ["1 \ufffd", *["2"] * 7]
    assert {(c.finish_reason, c.answered_by) for c in found} == {("st\ufffdop", "m\ufffd"), ("stop", None)}
    assert is_done(path)


def test_where_no_server_is_ready_that_is_said_and_no_folder_is_left(tmp_path):
    with pytest.raises(ModelError, match="no OpenAI-compatible server is ready there"):
        sample(config("http://127.0.0.1:9/v1", {"max_retries": 0}, run={"root": str(tmp_path)}))
    assert [*tmp_path.iterdir()] == []


def test_a_request_holds_what_the_config_says_and_nothing_of_vllm():
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


def test_what_only_vllm_servers_know_is_refused_by_others():
    drawn = [
        {"sampling": {key: value, "temperature": 0.5}} for key, value in (("top_k", 20), ("repetition_penalty", 2))
    ]
    for keys in (*drawn, {"patch": {"thinking": True}}):
        with FakeServer(echo) as server, pytest.raises(ConfigError, match="for vLLM servers"):
            ask(server, prompts(1), **keys)


def test_extra_body_overrides_fields_and_null_takes_them_out():
    extra = {"max_tokens": None, "max_completion_tokens": 50, "temperature": 1}
    with FakeServer(echo) as server:
        ask(server, prompts(1), {"extra_body": extra})
    (body,) = server.asked
    assert "max_tokens" not in body
    assert (body["max_completion_tokens"], body["temperature"]) == (50, 1)


def test_json_schema_holds_the_server_to_the_two_keys():
    with FakeServer(echo) as server:
        ask(server, prompts(1), {}, sampling={"structured": "json"})
    schema = server.asked[0]["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["chosen_answer", "reasoning"]


def margins(*positions):
    """A chat reply with log-probabilities at each of its tokens, (token, what is listed there)."""
    content = [
        {"token": token, "logprob": top[token], "top_logprobs": [{"token": t, "logprob": v} for t, v in top.items()]}
        for token, top in positions
    ]
    return answer("1", logprobs={"content": content})


@pytest.mark.parametrize(("top", "read"), CASES["margins"])
def test_a_margin_holds_only_what_the_server_listed(top, read):
    found, body = answered(margins((next(iter(top)), top)), verdict="margin")
    assert found.answer_logprobs == read
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (1, True, 20)


def test_a_raw_prompt_goes_as_it_is_to_the_text_endpoint_and_its_margin_is_read_there():
    listed = {"tokens": ["1"], "top_logprobs": [{"1": -0.5, "2": -2.0}]}
    with FakeServer(lambda body, n: as_json({"choices": [{"text": "1", "logprobs": listed}]})) as server:
        (found,) = ask(server, prompts(1), verdict="margin", chat_template=False)
    assert (server.paths, server.asked[0]["prompt"]) == (["/v1/completions"], "question 0")
    assert found.answer_logprobs == {"1": -0.5, "2": -2.0}


VLLM = as_json({"data": [{"id": "judge", "owned_by": "vllm"}]})


def test_vllm_is_told_what_its_defaults_would_change_and_shows_the_rendered_prompt():
    reply = {"choices": [{"message": {"content": "1"}, "finish_reason": "stop"}], "prompt_text": "<user>question 0"}
    model = {"name": "judge", "chat_template_args": {"enable_thinking": False}}
    found, body = answered(as_json(reply), VLLM, model=model, patch={"thinking": True})
    assert found.rendered == "<user>question 0"
    assert (body["top_k"], body["min_p"], body["repetition_penalty"]) == (0, 0.0, 1.0)
    assert body["chat_template_kwargs"] == {"date_string": FIXED_DATE, "enable_thinking": True, "thinking": True}


def test_vllm_margins_are_read_by_token_id():
    top = {"token_id:33": -0.5, "token_id:34": -30.0}
    found, body = answered(margins(("token_id:33", top)), VLLM, {"1": [33], "2": [34]}, verdict="margin")
    assert found.answer_logprobs == {"1": -0.5, "2": -30.0}
    assert (body["logprob_token_ids"], body["allowed_token_ids"], body["max_tokens"]) == ([33, 34], [33, 34], 1)


def test_vllm_margins_in_a_thought_are_refused():
    reply = as_json({**json.loads(margins(("token_id:33", {"token_id:33": -0.5})).body), "prompt_text": "0?<think>\n"})
    with pytest.raises(ModelError, match="judge: by its chat template a thought comes"):
        answered(reply, VLLM, {"1": [33], "2": [34]}, verdict="margin")


SPACED = {"1": [33], "2": [34], "x": [5, 6], "x 1": [5, 6, 9, 33], "x 2": [5, 6, 9, 34]}  # by the chat template


@pytest.mark.parametrize("tokens", [{"1": [9, 33], "2": [9, 34]}, SPACED])
def test_vllm_margins_are_read_behind_the_lead_that_all_answers_share(tokens):
    noise = {"token_id:33": -20.0, "token_id:34": -9.0, "token_id:9": -1.0}
    reading = {"token_id:33": -1.0, "token_id:34": -2.0}
    reply = margins(("token_id:9", noise), ("token_id:33", reading))
    found, body = answered(reply, VLLM, tokens, verdict="margin")
    assert found.answer_logprobs == {"1": -1.0, "2": -2.0}
    assert (body["max_tokens"], body["logit_bias"]) == (2, {"9": 100.0})
    assert "allowed_token_ids" not in body
