"""SFT and DPO through TRL on tiny models: what is learnt, what continues, what is stopped."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import get_peft_model
from safetensors.torch import load_file

from evenhand import float32 as float32_head
from evenhand.errors import ConfigError, DataError, ModelError
from evenhand.float32 import by_copy
from evenhand.run_directory import DONE_FILE
from tests.made.disturbed_training import killed_at
from tests.made.places import CONFIGS
from tests.made.training_runs import tiny_model, tiny_run
from training.__main__ import main
from training.callbacks import read_metrics
from training.qlora import load_base, lora_config, refuse_blocked_gradients, set_adapter_dtype, trainable
from training.run import ADAPTER_FILES, open_training
from training.sections import LoraSettings, QuantisationConfig
from training.train import train

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


def adapter_of(run: Path) -> dict[str, torch.Tensor]:
    return dict(load_file(run / "adapter" / "adapter_model.safetensors"))


def metrics_of(run: Path) -> list[dict[str, Any]]:
    return [record for record in read_metrics(run / "metrics.jsonl") if "loss" in record]


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_a_run_leaves_adapter_metrics_provenance_and_done(
    method: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = train(tiny_run(method, model, tmp_path))
    assert {file.name for file in run.iterdir()} == {
        "config.yaml", "provenance.json", "excluded.jsonl", "metrics.jsonl", "adapter", DONE_FILE,
    }  # fmt: skip
    assert {file.name for file in (run / "adapter").iterdir()} == set(ADAPTER_FILES)
    done = json.loads((run / DONE_FILE).read_text())
    assert (done["method"], done["n_examples"], done["n_excluded"], done["n_steps"]) == (method, 32, 0, 4)
    padded, saved = done["computed_per_needed_token"], done["saved_by_shared_beginnings"]
    assert (padded, saved > 0.2) == (1.0, True), "four prompts share a row"
    told = f"rows: {padded:.2f} tokens computed for each needed one; shared beginnings save {saved:.0%} of all\n"
    assert told in capsys.readouterr().out
    assert [record["step"] for record in metrics_of(run)] == [1, 2, 3, 4]
    weights = adapter_of(run)
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}, "TRL casts them to bf16"
    first_layer = [tensor for name, tensor in weights.items() if ".layers.0." in name and "lora_B" in name]
    assert len(first_layer) == 7
    assert all(torch.count_nonzero(tensor) for tensor in first_layer), "the first layer has learnt nothing"


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_the_first_layer_learns_under_the_papers_memory_saving(method: str, model: Path, tmp_path: Path) -> None:
    saving = {"gradient_checkpointing": True, "gradient_accumulation_steps": 2, "max_steps": 2}
    run = train(tiny_run(method, model, tmp_path, optimiser=saving, lora={"dropout": 0.05}))
    first_layer = [tensor for name, tensor in adapter_of(run).items() if ".layers.0." in name and "lora_B" in name]
    assert all(torch.count_nonzero(tensor) for tensor in first_layer)


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_an_interrupted_run_continues_to_the_same_adapter(
    method: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = train(tiny_run(method, model, tmp_path / "undisturbed"))
    config = tiny_run(method, model, tmp_path / "killed", run={"save_steps": 2})
    with monkeypatch.context() as patch:
        killed_at(4, patch)
        with pytest.raises(KeyboardInterrupt):
            train(config)
    path = tmp_path / "killed" / "training" / undisturbed.name
    assert not (path / DONE_FILE).exists()
    half_written = path / "checkpoints" / "checkpoint-3"  # killed while saving
    half_written.mkdir()
    (half_written / "trainer_state.json").write_text('{"global_st')
    with (path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "lo')  # torn
    assert train(config) == path
    expected, found = adapter_of(undisturbed), adapter_of(path)
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
    assert [record["step"] for record in metrics_of(path)] == [1, 2, 3, 4]


def test_a_second_process_that_starts_the_same_run_is_told_who_trains_it(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_run("sft", model, tmp_path)
    with open_training(config) as run:
        half_written = run.path / "checkpoints" / "checkpoint-1"
        half_written.mkdir(parents=True)
        with pytest.raises(DataError, match=r"is being trained by process \d+ on \S+ since"):
            train(config)
        assert half_written.exists(), "the second one deleted what the first was writing"
    assert len(metrics_of(train(config))) == 4


@pytest.mark.parametrize("precompute", [True, False])
def test_dpo_starts_at_its_reference_the_base_model(precompute: bool, model: Path, tmp_path: Path) -> None:
    config = tiny_run("dpo", model, tmp_path, optimiser={"max_steps": 2})
    first, second = metrics_of(train(config.model_copy(update={"precompute_reference": precompute})))
    # An untrained adapter changes nothing, so policy and reference agree: loss ln 2, no rewards.
    assert first["loss"] == pytest.approx(math.log(2), abs=1e-5)
    assert second["loss"] != pytest.approx(math.log(2), abs=1e-5)


def adapted(model: Path, *, packing: bool = False) -> Any:
    base = load_base(model, QuantisationConfig())
    if packing:
        for module in base.modules():
            if hasattr(module, "support_avx512bf16_for_cpu"):
                module.support_avx512bf16_for_cpu = True
    settings = LoraSettings(r=4)
    with_adapter = get_peft_model(base, lora_config(settings, base))
    set_adapter_dtype(with_adapter, settings)
    return with_adapter


def evaluate_then_backward(with_adapter: Any) -> None:
    ids = torch.arange(24, device=with_adapter.device).reshape(2, 12)
    with_adapter.eval()
    with torch.no_grad():
        with_adapter(input_ids=ids)
    with_adapter.train()
    with torch.autocast(with_adapter.device.type, torch.bfloat16):
        with_adapter(input_ids=ids, labels=ids).loss.backward()


def test_gradients_reach_the_first_layer_after_an_evaluation(model: Path) -> None:
    with_adapter = adapted(model)
    evaluate_then_backward(with_adapter)
    refuse_blocked_gradients(with_adapter, step=1)
    gradients = {name: p.grad for name, p in trainable(with_adapter) if "lora_B" in name}
    assert len(gradients) == 14
    assert all(torch.count_nonzero(gradient) for gradient in gradients.values())


def test_weights_packed_by_an_evaluation_would_be_noticed(model: Path) -> None:
    from bitsandbytes.functional import has_avx512bf16

    if torch.cuda.is_available() or not has_avx512bf16():
        pytest.skip("bitsandbytes packs weights only on CPUs with AVX512-BF16")
    with_adapter = adapted(model, packing=True)
    evaluate_then_backward(with_adapter)
    with pytest.raises(ModelError, match=r"step 3: no gradient reaches .*packed"):
        refuse_blocked_gradients(with_adapter, step=3)


@pytest.mark.parametrize(("method", "n_scored"), [("sft", 8), ("dpo", 12)])
def test_the_head_sees_the_answers_positions_alone(
    method: str, n_scored: int, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = []

    def count(head: torch.nn.Linear, hidden: torch.Tensor) -> torch.Tensor:
        scored.append(len(hidden))
        return by_copy(head, hidden)

    monkeypatch.setattr(float32_head, "by_copy", count)
    train(tiny_run(method, model, tmp_path, optimiser={"max_steps": 2}))
    assert scored[-2:] == [n_scored] * 2, "four examples: a verdict, and EOS behind the right answer or behind both"


def test_a_loss_that_is_no_number_stops_the_run(model: Path, tmp_path: Path) -> None:
    config = tiny_run("sft", model, tmp_path, optimiser={"learning_rate": 1e30, "schedule": "constant"})
    with pytest.raises(
        ModelError,
        match=r"stopped at step 2: the gradient is no number.*Lower optimiser\.learning_rate from 1e\+30 to 1e\+29",
    ):
        train(config)
    assert not list(tmp_path.rglob(DONE_FILE))


def test_a_target_module_the_model_does_not_have_is_named(model: Path, tmp_path: Path) -> None:
    config = tiny_run("sft", model, tmp_path, lora={"target_modules": ["qproj"]})
    with pytest.raises(ConfigError, match=r"the model has no 'qproj'. Did you mean 'q_proj'"):
        train(config)


def test_fp16_is_refused_on_cpu(model: Path, tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("fp16 is fine on a GPU")
    with pytest.raises(ConfigError, match="fp16 needs a GPU"):
        train(tiny_run("sft", model, tmp_path, optimiser={"mixed_precision": "fp16"}))


def test_the_command_line_trains_what_its_config_says(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = CONFIGS / "training" / "pocket-dpo.yaml"
    words = [
        f"model.name={model}",
        f"run.root={tmp_path}",
        "optimiser.max_steps=1",
        "dialdefer.benchmarks[0].n_items=1",
    ]
    main([str(config), *words])
    run = Path(capsys.readouterr().out.splitlines()[-1])
    assert run.parent == tmp_path / "training"
    assert json.loads((run / DONE_FILE).read_text())["method"] == "dpo"
