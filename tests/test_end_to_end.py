"""The whole loop on tiny models of four families: sample, QLoRA SFT and DPO, merge, sample again, compare."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.embedded import embedded_model_path
from benchmarks.rundir import is_done, read_completions, read_plan
from eval.__main__ import compare_main
from inference.config import InferenceConfig
from inference.sampling import sample
from tests.tiny_families import TEMPLATES, save_family
from training.config import METHODS
from training.dpo import train_dpo
from training.merged_checkpoint import merge
from training.sft import train_sft

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    if not torch.cuda.is_available():  # on a GPU the engine is to run as it does for users
        monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")


def sampled(name: str, model: Path, root: Path) -> Path:
    config = {
        "name": name,
        "model": {"name": str(model), "label": name},
        "benchmarks": [{"dataset": "pocket", "n_items": 4}],
        "prompts": {"template": "matched"},
        "verdict": "margin",
        "engine": {"enforce_eager": True, "max_model_len": 512, "max_num_seqs": 16, "gpu_memory_utilization": 0.3},
        "run": {"root": str(root)},
    }
    return sample(InferenceConfig.model_validate(config))


def training(method: str, model: Path, root: Path) -> Any:
    config = {
        "method": method,
        "name": f"tiny-{method}",
        "model": {"name": str(model)},
        "benchmarks": [{"dataset": "pocket", "split": "train", "n_items": 4}],
        "examples": {"template": "matched", "conditions": "c1_and_c2"},
        "lora": {"r": 4, "alpha": 8, "dropout": 0.0},
        "optimiser": {
            "learning_rate": 5e-3,
            "per_device_batch_size": 4,
            "gradient_accumulation_steps": 1,
            "max_steps": 2,
            "gradient_checkpointing": False,
        },
        "run": {"root": str(root), "logging_steps": 1},
    }
    return METHODS[method].model_validate(config)


def whole_loop(family: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = save_family(root / "model", family, embedded_model_path())
    runs = [sampled("before", model, root)]
    for method, train in (("sft", train_sft), ("dpo", train_dpo)):
        run = train(training(method, model, root))
        assert is_done(run)
        merged = merge(run, "nf4", n_prompts=8)
        assert (merged / "tokenizer_config.json").exists()
        assert (merged / "generation_config.json").exists()
        runs.append(sampled(method, merged, root))
    for run in runs:
        margins = [
            c.answer_logprobs["1"] - c.answer_logprobs["2"] for c in read_completions(run).values() if c.answer_logprobs
        ]
        assert len(margins) == len(read_plan(run)) == 16
    before, *after = [{k[0]: c.answer_logprobs for k, c in read_completions(run).items()} for run in runs]
    assert all(set(answers) == set(before) for answers in after), "before and after are asked the same prompts"
    assert all(answers != before for answers in after), "training changed nothing"
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
