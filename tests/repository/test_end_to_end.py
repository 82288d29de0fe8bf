"""The whole loop on tiny models of four families: sample, QLoRA SFT, DPO and an arm of ours, merge, sample, compare."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch

from eval.__main__ import compare_main
from evenhand.completion_shards import read_completions
from evenhand.embedded import embedded_model_path
from evenhand.records import Completion
from evenhand.run_directory import is_done
from inference.config import InferenceConfig, TransformersConfig
from inference.engine import open_engine
from inference.sampling import sample
from inference.schedule import first_prompts
from studies.dialdefer.planned import read_plan
from tests.made.sampling_configs import sampling_config
from tests.made.tiny_families import TEMPLATES, save_family
from tests.made.training_configs import training_config
from training.merged_checkpoint import merge
from training.train import train

pytestmark = pytest.mark.slow

ARMS: dict[str, dict[str, Any]] = {
    "sft": {"method": "sft"},
    "dpo": {"method": "dpo"},
    "paired": {"method": "sft", "consistency": {"weight": 1.0}},
}
# Merged and sampled again, beside sft: further engine starts would show nothing that these do not show.
ALSO_SAMPLED = {"dpo": "llama", "paired": "gemma3"}


@pytest.fixture(autouse=True)
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    if not torch.cuda.is_available():  # on a GPU the engine is to run as it does for users
        monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")


def sampling(name: str, model: Path, root: Path) -> InferenceConfig:
    config = {
        "name": name,
        "model": {"name": str(model), "label": name},
        "benchmarks": [{"dataset": "pocket", "n_items": 4}],
        "prompts": {"template": "matched"},
        "verdict": "margin",
        "engine": {
            "dtype": "float32",
            "enforce_eager": True,
            "max_model_len": 512,
            "max_num_seqs": 16,
            "gpu_memory_utilization": 0.3,
        },
        "run": {"root": str(root)},
    }
    return sampling_config(config)


def margins(completions: Iterable[Completion]) -> dict[str, float]:
    return {c.prompt_hash: c.answer_logprobs["1"] - c.answer_logprobs["2"] for c in completions if c.answer_logprobs}


def margins_of_transformers(settings: InferenceConfig) -> dict[str, float]:
    plain = settings.model_copy(update={"engine": TransformersConfig(kind="transformers", dtype="float32")})
    with open_engine(plain) as engine:
        return margins(engine.generate(first_prompts(plain)))


def training(arm: str, model: Path, root: Path) -> Any:
    config: dict[str, Any] = {
        **ARMS[arm],
        "name": f"tiny-{arm}",
        "model": {"name": str(model)},
        "benchmarks": [{"dataset": "pocket", "split": "train", "n_items": 4}],
        "examples": {"template": "matched", "conditions": "c1_and_c2"},
        "quantisation": {"compute_dtype": "float32"},
        "lora": {"r": 4, "alpha": 8, "dropout": 0.0},
        "optimiser": {
            "mixed_precision": "no",
            "learning_rate": 5e-3,
            "per_device_batch_size": 4,
            "gradient_accumulation_steps": 1,
            "max_steps": 2,
            "gradient_checkpointing": False,
            "order": "whole_items",
        },
        "run": {"root": str(root), "logging_steps": 1},
    }
    return training_config(config)


def whole_loop(family: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = save_family(root / "model", family, embedded_model_path())
    runs = [sample(sampling("before", model, root))]
    trained = {arm: train(training(arm, model, root)) for arm in ARMS}
    for arm, run in trained.items():
        assert is_done(run)
        if ALSO_SAMPLED.get(arm, family) != family:
            continue
        merged = merge(run, "nf4", n_prompts=8, shard_size="2MB")  # several weight files, for vLLM to read
        assert (merged / "tokenizer_config.json").exists()
        assert (merged / "generation_config.json").exists()
        runs.append(sample(sampling(arm, merged, root)))
    before, *after = [margins(read_completions(run).values()) for run in runs]
    assert len(before) == len(read_plan(runs[0])) == 16
    assert before == pytest.approx(margins_of_transformers(sampling("before", model, root)), abs=1e-4)
    assert max(abs(margin) for margin in before.values()) > 0.01
    assert all(set(margin) == set(before) for margin in after), "before and after are asked the same prompts"
    assert all(margin != before for margin in after), "training changed nothing"
    compare_main([*map(str, runs), "--out", str(root / "report")])
    printed = capsys.readouterr().out
    assert "own C1" in printed
    assert "fixed C1" in printed
    assert (root / "report" / "report.html").stat().st_size > 10_000
    assert json.loads((root / "report" / "scores.json").read_text())


@pytest.mark.parametrize("family", sorted(TEMPLATES))
def test_the_loop_closes_on_a_tiny_model(family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole_loop(family, tmp_path, capsys)


@pytest.mark.gpu
@pytest.mark.parametrize("family", sorted(TEMPLATES))
def test_the_loop_closes_on_cuda(family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole_loop(family, tmp_path, capsys)
