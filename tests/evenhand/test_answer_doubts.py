"""What a run says of its own answers: two models behind one server, answers that a judge hardly ever gives."""

import math
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from eval.__main__ import score_main
from evenhand.completions import answer_doubts
from evenhand.records import Completion
from inference.sampling import sample
from tests.made.fake_server import FakeServer, Reply, as_json
from tests.made.read_back import completions_of
from tests.made.toy_runs import config

TWO = "answered by 2 models or versions of a server"


def completions(*fields: dict[str, Any]) -> list[Completion]:
    """A completion of a prompt each."""
    common = {"sample_index": 0, "text": "1", "finish_reason": "stop"}
    return [Completion(prompt_hash=f"{i:016x}", **{**common, **one}) for i, one in enumerate(fields)]


def test_one_model_or_an_engine_that_names_none_is_no_reason_to_doubt_and_a_name_beside_none_is() -> None:
    one, none = {"answered_by": "a fp1"}, dict[str, Any]()
    later = {"sample_index": 1}  # who answered stands with sample 0
    for undoubted in ([one, one, later], [none, none]):
        assert answer_doubts(completions(*undoubted), "reason") == []
    (sentence,) = answer_doubts(completions(one, none), "reason")
    assert f"{TWO}: a" in sentence


def margin(*logprobs: dict[str, float]) -> list[str]:
    return answer_doubts(completions(*({"answer_logprobs": of_prompt} for of_prompt in logprobs)), "margin")


def test_answers_that_are_hardly_ever_given_are_said_with_median_and_mean() -> None:
    rare, sure = {"1": math.log(0.01), "2": math.log(0.02)}, {"1": math.log(0.9), "2": math.log(0.03)}
    assert "median probability of 0.03 (mean 0.33)" in margin(rare, rare, sure)[0]
    assert margin(rare, sure, sure) == []


def speaking(models: list[dict[str, str]]) -> Any:
    """A script whose replies name each of the models in turn, and list both answers."""
    turn = count()

    def reply(body: dict[str, Any], n: int) -> Reply:
        top = [{"token": "1", "logprob": -0.1}, {"token": "2", "logprob": -3.1}]
        choice = {
            "message": {"content": "1"},
            "finish_reason": "length",
            "logprobs": {"content": [{**top[0], "top_logprobs": top}]},
        }
        return as_json({"choices": [choice], **models[next(turn) % len(models)]})

    return reply


def sampled(root: Path, script: Any, **keys: Any) -> Path:
    with FakeServer(script) as server:
        benchmarks = [{"dataset": "pocket", "n_items": 2}]
        return sample(config(server.base_url, benchmarks=benchmarks, run={"root": str(root)}, **keys))


def test_which_model_answered_is_in_every_shard_and_a_run_of_two_says_so_at_its_end_and_where_it_is_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models = [{"model": "judge-0613", "system_fingerprint": fingerprint} for fingerprint in ("fp_1", "fp_2")]
    path = sampled(tmp_path, speaking(models))
    named = {c.answered_by for c in completions_of(path).values()}
    assert named == {"judge-0613 fp_1", "judge-0613 fp_2"}
    assert f"{path}: warning: its prompts were {TWO}: judge-0613" in capsys.readouterr().err
    score_main([str(path), "--draws", "10", "--all"])
    assert f"Warning: judge: its prompts were {TWO}" in " ".join(capsys.readouterr().out.split())
