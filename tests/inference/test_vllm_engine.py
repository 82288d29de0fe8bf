"""vLLM itself on a tiny model, against plain transformers. Margins of four families: test_end_to_end.py."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from evenhand.chat_templates import FIXED_DATE
from evenhand.checkpoints import load_tokenizer
from evenhand.embedded import embedded_model_path
from evenhand.errors import ModelError
from evenhand.records import Completion, Prompt
from inference.config import InferenceConfig
from inference.engine import open_engine
from inference.schedule import first_prompts
from tests.made.sampling_configs import sampling_config
from tests.made.tiny_families import save_family

pytestmark = pytest.mark.slow

VLLM = {"kind": "vllm", "enforce_eager": True, "max_model_len": 512, "dtype": "float32", "max_num_seqs": 16}


@pytest.fixture(autouse=True)
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")  # the same engine without a worker's start
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_family(tmp_path_factory.mktemp("llama"), "llama", embedded_model_path())


def config(checkpoint: Path, engine: dict[str, Any], **changes: Any) -> InferenceConfig:
    return sampling_config(
        {
            "name": "tiny",
            "model": {"name": str(checkpoint)},
            "benchmarks": [{"dataset": "pocket", "n_items": 3}],
            "prompts": {"template": "matched"},
            "engine": engine,
            **changes,
        }
    )


def answers(settings: InferenceConfig, prompts: list[Prompt] | None = None) -> Iterator[Completion]:
    with open_engine(settings) as engine:
        yield from engine.generate(prompts or first_prompts(settings))


def whole(text: str) -> str:
    """Without the mark of a character that the last token leaves unfinished, which vLLM drops."""
    return text.rstrip("\ufffd")


def test_reasoning_samples_grammar_and_the_context_window(llama: Path) -> None:
    greedy = config(llama, VLLM, sampling={"max_tokens": 12})
    prompts = first_prompts(greedy)
    plain = {
        c.prompt_hash: whole(c.text)
        for c in answers(config(llama, {"kind": "transformers"}, sampling={"max_tokens": 12}))
    }
    with open_engine(greedy) as engine:
        completions = list(engine.generate(prompts))
        assert {c.prompt_hash: whole(c.text) for c in completions} == plain
        assert all(FIXED_DATE in (c.rendered or "") for c in completions)  # the date of the day never gets in
        assert {c.finish_reason for c in completions} <= {"stop", "length"}
        with_n = greedy.model_copy(update={"sampling": greedy.sampling.model_copy(update={"n": 3, "temperature": 1.0})})
        engine.config = with_n  # type: ignore[attr-defined]
        sampled = list(engine.generate(prompts[:4]))
        assert sorted((c.prompt_hash, c.sample_index) for c in sampled) == sorted(
            (p.prompt_hash, index) for p in prompts[:4] for index in range(3)
        )
        assert len({c.text for c in sampled}) > 4
        grammar = {"structured": "json", "max_tokens": 400}
        engine.config = greedy.model_copy(update={"sampling": greedy.sampling.model_copy(update=grammar)})  # type: ignore[attr-defined]
        with pytest.raises(
            ModelError, match=r"do not fit the context window of 512 tokens; the longest is pocket-test-"
        ):
            list(engine.generate(prompts))
        grammar["max_tokens"] = 300
        engine.config = greedy.model_copy(update={"sampling": greedy.sampling.model_copy(update=grammar)})  # type: ignore[attr-defined]
        for completion in engine.generate(prompts[:2]):
            if completion.finish_reason == "stop":
                assert json.loads(completion.text)["chosen_answer"] in ("1", "2")
            else:  # a random model need not end its string, but it starts as the grammar says
                assert completion.text.lstrip().startswith("{")


def with_answers_alike(checkpoint: Path) -> Path:
    """The checkpoint with answers whose logits are large and nearly equal: in bf16 they differ by whole steps of it."""
    tokenizer, weights = load_tokenizer(checkpoint), load_file(checkpoint / "model.safetensors")
    head = weights.get("lm_head.weight", weights["model.embed_tokens.weight"])
    one, two = (tokenizer.convert_tokens_to_ids(answer) for answer in "12")
    head[two] = head[one] + 0.01 * head[two]
    head[[one, two]] *= 20
    save_file(weights, checkpoint / "model.safetensors", metadata={"format": "pt"})
    return checkpoint


@pytest.mark.parametrize("family", ["llama", "gemma3"])
def test_margins_in_bf16_are_those_of_a_float32_head(family: str, tmp_path: Path) -> None:
    folder = with_answers_alike(save_family(tmp_path, family, embedded_model_path()))
    assert ("lm_head.weight" in load_file(folder / "model.safetensors")) == (family == "llama"), "gemma3's is tied"
    found, plain = (
        {c.prompt_hash: c.answer_logprobs["1"] - c.answer_logprobs["2"] for c in completions if c.answer_logprobs}
        for completions in (
            answers(config(folder, {**VLLM, "dtype": "bfloat16"}, verdict="margin")),
            answers(config(folder, {"kind": "transformers", "dtype": "bfloat16"}, verdict="margin")),
        )
    )
    assert len(found) == 12
    assert found == pytest.approx(plain, abs=0.01)  # a step of bf16 is 0.03 or more at these logits


def test_a_checkpoint_vllm_cannot_load_is_one_sentence_not_a_traceback(tmp_path: Path, llama: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in llama.iterdir():
        content = file.read_bytes()
        (broken / file.name).write_bytes(content[:100] if file.suffix == ".safetensors" else content)
    with pytest.raises(ModelError, match="could not start"):
        list(answers(config(broken, VLLM, verdict="margin")))
