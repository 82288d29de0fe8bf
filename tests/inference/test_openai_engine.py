"""The OpenAI-compatible engine against a scripted server on loopback: what it makes of every kind of reply."""

import threading
from typing import Any

import pytest

from evenhand.errors import ModelError
from inference import server_client
from inference.engine import open_engine
from inference.openai_engine import FAILURES_IN_A_ROW
from tests.made.fake_server import FakeServer, Reply, Script, answer, as_json, refusal
from tests.made.toy_runs import ask, ask_until_error, config, echo, prompts


def only(question: str, script: Script) -> Script:
    """The script for one question, the echo for all others."""
    return lambda body, n: (script if body["messages"][-1]["content"] == question else echo)(body, n)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that the client would have waited before asking again; here it does not wait."""
    seconds: list[float] = []

    async def note(delay: float) -> None:
        seconds.append(delay)

    monkeypatch.setattr(server_client, "sleep", note)
    return seconds


def test_every_completion_carries_the_hash_of_the_prompt_that_it_answers() -> None:
    asked = prompts(40)
    with FakeServer(echo) as server:
        found = {c.prompt_hash: c.text for c in ask(server, asked)}
    assert found == {p.prompt_hash: f"answer to {p.messages[0].content}" for p in asked}


def test_the_concurrency_limit_is_reached_and_never_exceeded() -> None:
    together = threading.Barrier(3)  # a reply comes only when three requests are there at once

    def meet(body: dict[str, Any], n: int) -> Reply:
        together.wait(timeout=30)
        return answer("1")

    with FakeServer(meet) as server:
        found = ask(server, prompts(30), {"concurrency": 3})
    assert server.most_at_once == 3
    assert not any(c.is_error for c in found)


def test_n_samples_come_from_one_request_and_are_numbered() -> None:
    three = [{"message": {"content": text}, "finish_reason": "stop"} for text in "abc"]
    with FakeServer(lambda body, n: as_json({"choices": three, "usage": {"completion_tokens": 9}})) as server:
        found = ask(server, prompts(1), sampling={"n": 3, "temperature": 0.7})
    assert [(c.sample_index, c.text) for c in found] == [(0, "a"), (1, "b"), (2, "c")]
    assert {c.completion_tokens for c in found} == {None}  # of nine, who knows how many each
    assert server.asked[0]["n"] == 3


def test_a_server_that_ignores_n_is_an_error_and_not_a_missing_sample() -> None:
    with FakeServer(echo) as server:
        found = ask(server, prompts(1), sampling={"n": 2, "temperature": 0.7})
    assert [c.finish_reason for c in found] == ["error: asked for 2 samples, got 1"] * 2


def test_a_busy_server_is_asked_again_when_retry_after_says_so(waits: list[float]) -> None:
    busy = refusal(429, "slow down", retry_after="17")
    with FakeServer(lambda body, n: busy if n == 0 else echo(body, n)) as server:
        found = ask(server, prompts(1))
    assert found[0].text == "answer to question 0"
    assert waits == [17]


def test_a_prompt_that_fails_for_good_is_an_error_completion_and_the_others_stay(waits: list[float]) -> None:
    broken = refusal(500, "out of memory")
    with FakeServer(only("question 3", lambda body, n: broken)) as server:
        found = ask(server, prompts(6))
    errors = [c for c in found if c.is_error]
    assert [(c.prompt_hash, c.text, c.finish_reason) for c in errors] == [
        (prompts(6)[3].prompt_hash, "", "error: 500 out of memory")
    ]
    assert len(found) == 6
    assert server.texts().count("question 3") == 3  # once and two retries


def test_a_server_that_fails_everybody_is_left_after_some_prompts(waits: list[float]) -> None:
    with FakeServer(lambda body, n: Reply(503)) as server:
        kept, words = ask_until_error(server, prompts(100))
    assert f"{FAILURES_IN_A_ROW} prompts in a row got no answer" in words
    assert "error: 503" in words
    assert all(c.is_error for c in kept)
    assert len(kept) < 20


def test_a_reply_that_never_comes_is_an_error_completion() -> None:
    over = threading.Event()
    try:
        with FakeServer(only("question 1", lambda body, n: Reply(504) if over.wait(30) else Reply())) as server:
            found = ask(server, prompts(3), {"timeout_s": 2, "max_retries": 0})
    finally:
        over.set()
    assert [c.finish_reason for c in found if c.is_error] == ["error: no reply within 2 s"]
    assert len(found) == 3


@pytest.mark.parametrize(
    ("garbage", "reason"),
    [
        (Reply(body="<html>Welcome</html>"), "reply is not JSON: <html>Welcome</html>"),
        (as_json({"object": "error"}), 'reply without choices: {"object": "error"}'),
        (as_json({"choices": []}), "asked for 1 samples, got 0"),
        (answer(""), "reply without text"),
    ],
)
def test_garbage_is_an_error_with_its_reason_and_never_an_answer(garbage: Reply, reason: str) -> None:
    with FakeServer(only("question 0", lambda body, n: garbage)) as server:
        found = ask(server, prompts(2))
    assert {c.finish_reason for c in found} == {"stop", f"error: {reason}"}


def test_a_wrong_key_stops_before_any_prompt_and_never_shows_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    wrong = refusal(401, "Incorrect API key provided: sk-secret")
    with FakeServer(echo, models=wrong) as server, pytest.raises(ModelError) as caught:
        ask(server, prompts(3), {"api_key_env": "MY_KEY"})
    assert "$MY_KEY is not the right key" in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert server.asked == []


def test_the_key_of_the_named_variable_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    with FakeServer(echo) as server:
        ask(server, prompts(1), {"api_key_env": "MY_KEY"})
    assert server.keys == ["Bearer sk-secret"]


def test_a_key_that_is_refused_mid_run_stops_the_run_and_keeps_what_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with FakeServer(lambda body, n: refusal(403, "no") if len(server.asked) > 8 else echo(body, n)) as server:
        kept, words = ask_until_error(server, prompts(100))
    assert "$OPENAI_API_KEY is not set" in words
    assert len(kept) == 8
    assert len(server.asked) < 20


def test_a_model_that_the_server_lacks_is_named_with_those_that_it_has() -> None:
    listing = as_json({"data": [{"id": "qwen"}, {"id": "gemma"}]})
    with FakeServer(echo, models=listing) as server, pytest.raises(ModelError, match="It serves: gemma, qwen"):
        ask(server, prompts(1))


def test_a_place_that_is_no_such_server_says_so() -> None:
    with (
        FakeServer(echo, models=Reply(body="<html>")) as server,
        pytest.raises(ModelError, match="usually ends in /v1"),
    ):
        ask(server, prompts(1))


def test_a_place_where_nobody_answers_says_so(waits: list[float]) -> None:
    with FakeServer(echo) as server:
        gone = server.base_url
    with pytest.raises(ModelError, match="no server answers there"), open_engine(config(gone)):
        pass


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 10 tokens. However, your prompt contains 12 input tokens",
        "request (12 tokens) exceeds the available context size (10 tokens), try increasing it",
    ],
    ids=["vLLM", "llama.cpp"],
)
def test_prompts_over_the_context_window_are_named_after_the_others_were_answered(said: str) -> None:
    long = refusal(400, said)
    with FakeServer(only("question 0", lambda body, n: long)) as server:
        kept, words = ask_until_error(server, prompts(6))
    assert {c.prompt_hash for c in kept} == {p.prompt_hash for p in prompts(6)[1:]}
    assert "1 of 6 prompts do not fit" in words
    assert f"toy-0 (c1_true): 400 {said}" in words
    assert server.texts().count("question 0") == 1


def test_a_request_that_the_server_does_not_understand_stops_the_run() -> None:
    with FakeServer(lambda body, n: refusal(400, "Unsupported parameter: 'max_tokens'")) as server:
        kept, words = ask_until_error(server, prompts(50))
    assert kept == []
    assert "Unsupported parameter: 'max_tokens'" in words
    assert "engine.extra_body" in words
    assert len(server.asked) <= 8


def test_one_prompt_that_a_working_server_refuses_is_an_error_completion() -> None:
    with FakeServer(only("question 9", lambda body, n: refusal(400, "flagged"))) as server:
        found = ask(server, prompts(10), {"concurrency": 1})
    assert [c.finish_reason for c in found if c.is_error] == ["error: 400 flagged"]
