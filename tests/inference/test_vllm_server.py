"""The OpenAI-compatible engine through a real vLLM server gives what the transformers engine gives."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from evenhand.embedded import embedded_model_path
from evenhand.errors import ModelError
from evenhand.records import Completion, Message, Prompt
from inference.config import InferenceConfig
from inference.open_engine import open_engine
from studies.dialdefer.pocket import pocket_items
from studies.dialdefer.records import Condition, Factors
from studies.dialdefer.render import render
from tests.made.sampling_configs import sampling_config
from tests.made.tiny_families import save_family
from tests.made.vllm_server import serve

pytestmark = [pytest.mark.campaign, pytest.mark.slow]
WINDOW = 512


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with sampling habits such as Qwen2.5's, which must not leak into the answers."""
    folder = save_family(tmp_path_factory.mktemp("habits"), "qwen2", embedded_model_path())
    own = json.loads((folder / "generation_config.json").read_text())
    habits = {"repetition_penalty": 1.5, "temperature": 0.7, "top_k": 20, "do_sample": True}
    (folder / "generation_config.json").write_text(json.dumps({**own, **habits}))
    return folder


@pytest.fixture(scope="module")
def base_url(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve(checkpoint, tmp_path_factory.mktemp("server") / "log.txt", window=WINDOW) as url:
        yield url


def pocket_prompts(n_items: int, answer_form: str) -> list[Prompt]:
    return [
        render(item, condition, template="matched", answer_form=answer_form)
        for item in islice(pocket_items("test"), n_items)
        for condition in Condition
    ]


def config(engine: dict[str, Any], model: str, verdict: str, **keys: Any) -> InferenceConfig:
    return sampling_config(
        {
            "name": "toy",
            "model": {"name": model},
            "benchmarks": [{"dataset": "pocket"}],
            "prompts": {"template": "matched"},
            "verdict": verdict,
            "engine": engine,
            **keys,
        }
    )


def through_server(base_url: str, prompts: list[Prompt], verdict: str, **keys: Any) -> dict[str, Completion]:
    engine = {"kind": "openai", "base_url": base_url, "timeout_s": 300, "json_mode": keys.pop("json_mode", "none")}
    with open_engine(config(engine, "judge", verdict, **keys)) as opened:
        return {c.prompt_hash: c for c in opened.generate(prompts)}


def through_transformers(checkpoint: Path, prompts: list[Prompt], verdict: str, **keys: Any) -> dict[str, Completion]:
    with open_engine(config({"kind": "transformers"}, str(checkpoint), verdict, **keys)) as opened:
        return {c.prompt_hash: c for c in opened.generate(prompts)}


def assert_same_margins(served: dict[str, Completion], plain: dict[str, Completion]) -> None:
    assert served.keys() == plain.keys()
    for key, found in served.items():
        assert found.answer_logprobs == pytest.approx(plain[key].answer_logprobs, abs=2e-3)
        assert found.prompt_tokens == plain[key].prompt_tokens


def test_margins_through_the_server_are_those_of_transformers(base_url: str, checkpoint: Path) -> None:
    prompts = pocket_prompts(2, "one_token")
    served, plain = through_server(base_url, prompts, "margin"), through_transformers(checkpoint, prompts, "margin")
    assert len(served) == 8
    assert_same_margins(served, plain)
    assert {c.text for c in served.values()} <= {"1", "2"}
    assert {k: c.rendered for k, c in served.items()} == {k: c.rendered for k, c in plain.items()}


def test_greedy_answers_through_the_server_are_those_of_transformers(base_url: str, checkpoint: Path) -> None:
    prompts, sampling = pocket_prompts(1, "json"), {"max_tokens": 16}
    served = through_server(base_url, prompts, "reason", sampling=sampling)
    plain = through_transformers(checkpoint, prompts, "reason", sampling=sampling)
    said, expected = (
        {k: (c.text.rstrip("\ufffd"), c.finish_reason, c.completion_tokens) for k, c in found.items()}
        for found in (served, plain)  # vLLM leaves out a character that the last token does not finish
    )
    assert said == expected


def test_the_servers_words_for_a_long_prompt_are_understood(base_url: str) -> None:
    long = Prompt(
        item_id="toy-long",
        benchmark="toy",
        dataset="toy",
        condition=Condition.C1_TRUE,
        factors=Factors(),
        messages=(Message(role="user", content="word " * 2 * WINDOW),),
    )
    prompts = [long, *pocket_prompts(1, "one_token")]
    engine = {"kind": "openai", "base_url": base_url, "timeout_s": 300}
    kept: list[Completion] = []
    with open_engine(config(engine, "judge", "margin")) as opened, pytest.raises(ModelError, match="toy-long"):
        kept.extend(opened.generate(prompts))
    assert {c.prompt_hash for c in kept} == {p.prompt_hash for p in prompts[1:]}
