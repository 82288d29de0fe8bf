"""Merging: the right sum, the base's own tokenizer, and no checkpoint that judges otherwise than what was trained."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from benchmarks.checkpoints import check_folder
from benchmarks.errors import DataError, ModelError
from benchmarks.rundir import DONE_FILE
from tests.training_runs import tiny_model, tiny_run
from training import merged_checkpoint
from training.merge import main
from training.merged_checkpoint import compare, merge, round_to_bf16
from training.train import train

pytestmark = pytest.mark.slow
PROJECTION = "model.layers.1.mlp.up_proj.weight"
SCALE = 8 / 4  # alpha / r of the tiny runs


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def finished(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    optimiser = {"max_steps": 2, "learning_rate": 0.05}
    return train(tiny_run("sft", model, tmp_path_factory.mktemp("runs"), optimiser=optimiser))


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / finished.name))


def lora_product(run: Path) -> torch.Tensor:
    weights = load_file(run / "adapter" / "adapter_model.safetensors")
    name = f"base_model.model.{PROJECTION.removesuffix('.weight')}"
    return SCALE * weights[f"{name}.lora_B.weight"] @ weights[f"{name}.lora_A.weight"]


def test_merged_weights_are_the_bf16_base_plus_the_adapter(run: Path, model: Path) -> None:
    merged = load_file(merge(run, "bf16", n_prompts=4, min_agreement=0) / "model.safetensors")
    base = load_file(model / "model.safetensors")
    assert {tensor.dtype for tensor in merged.values()} == {torch.bfloat16}
    assert set(merged) == set(base)
    expected = (base[PROJECTION].float() + lora_product(run)).bfloat16()
    assert torch.allclose(merged[PROJECTION].float(), expected.float(), rtol=2**-7, atol=0)
    assert not torch.equal(merged[PROJECTION], base[PROJECTION])
    assert torch.equal(merged["model.norm.weight"], base["model.norm.weight"])


def test_updates_finer_than_bf16_survive_on_average() -> None:
    torch.manual_seed(0)
    base = (0.05 * torch.randn(512, 512)).bfloat16().float()
    update = 1e-5 * torch.randn(512, 4) @ torch.randn(4, 512)  # a tenth of a bf16 step of such weights

    def kept(rounded: torch.Tensor) -> float:
        return float(((rounded.float() - base) * update).sum() / (update * update).sum())

    assert kept((base + update).bfloat16()) < 0.5, "rounding to the nearest takes most of it back"
    assert kept(round_to_bf16(base + update, torch.Generator().manual_seed(0))) == pytest.approx(1, abs=0.1)


def test_weights_on_the_bf16_grid_stay_as_they_are() -> None:
    weights = torch.randn(4, 999).bfloat16()
    assert torch.equal(round_to_bf16(weights.float(), torch.Generator().manual_seed(0)), weights)


def test_onto_nf4_the_base_is_the_one_that_was_trained_with(run: Path, model: Path) -> None:
    merged = load_file(merge(run, "nf4", n_prompts=4, min_agreement=0) / "model.safetensors")
    base = load_file(model / "model.safetensors")[PROJECTION]
    rest = (merged[PROJECTION].float() - lora_product(run)).bfloat16()
    assert not torch.allclose(rest.float(), base.float(), rtol=0.05)
    blocks = rest.reshape(-1, 64)  # NF4 knows 16 values a block of 64
    assert max(len(block.unique()) for block in blocks) < 40 < max(len(b.unique()) for b in base.reshape(-1, 64))


@pytest.mark.parametrize("onto", ["bf16", "nf4"])
def test_the_merged_checkpoint_stands_alone(onto: str, run: Path, model: Path) -> None:
    merged = merge(run, onto, n_prompts=4, min_agreement=0)
    assert merged == run / f"merged-{onto}"
    check_folder(merged)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"):
        assert (merged / name).read_bytes() == (model / name).read_bytes()
    config = json.loads((merged / "config.json").read_text())
    assert "quantization_config" not in config
    assert config["dtype"] == "bfloat16"
    done = json.loads((merged / DONE_FILE).read_text())
    assert (done["run"], done["onto"], done["n_prompts"]) == (run.name, onto, 4)


def test_a_merge_onto_nf4_judges_as_what_was_trained(model: Path, tmp_path: Path) -> None:
    run = train(tiny_run("dpo", model, tmp_path))
    done = json.loads((merge(run, "nf4", n_prompts=16, min_agreement=0) / DONE_FILE).read_text())
    other = json.loads((merge(run, "bf16", n_prompts=16, min_agreement=0) / DONE_FILE).read_text())
    assert done["mean_margin_drift"] < 0.05 < other["mean_margin_drift"]


def test_a_checkpoint_that_judges_otherwise_never_appears(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = merged_checkpoint.margins
    turn = iter((1, -1))  # base + adapter is asked first, the merged checkpoint then
    monkeypatch.setattr(
        merged_checkpoint, "margins", lambda *a: [sign * m for sign in [next(turn)] for m in original(*a)]
    )
    with pytest.raises(ModelError, match=r"only 0\.0% of 4 verdicts agree.*--onto nf4"):
        merge(run, "bf16", n_prompts=4)
    assert not list(run.glob("merged-*"))


def test_verdicts_agree_when_margins_have_the_same_sign() -> None:
    check = compare([1.0, -2.0, 0.5, 3.0], [1.5, -1.0, -0.5, 3.0], "bf16")
    assert (check.agreement_rate, check.n_prompts) == (0.75, 4)
    assert (check.mean_margin_drift, check.max_margin_drift) == (0.625, 1.0)


def test_what_a_killed_merge_left_is_made_anew(run: Path) -> None:
    rest = run / "merged-bf16.partial"
    rest.mkdir()
    (rest / "rubbish.json").write_text("{")
    merged = merge(run, "bf16", n_prompts=4, min_agreement=0)
    assert not rest.exists()
    assert not (merged / "rubbish.json").exists()


def test_a_merge_is_done_once(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(run), "--n-prompts", "4", "--min-agreement", "0"])
    before = (run / "merged-bf16" / "model.safetensors").stat().st_mtime_ns
    main([str(run), "--n-prompts", "4", "--min-agreement", "0"])
    assert "merged and checked already" in capsys.readouterr().out
    assert (run / "merged-bf16" / "model.safetensors").stat().st_mtime_ns == before


def test_an_unfinished_run_is_refused(run: Path) -> None:
    (run / DONE_FILE).unlink()
    with pytest.raises(DataError, match="not finished; continue it with `evenhand train"):
        merge(run, "bf16")


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is no training run"):
        merge(tmp_path, "bf16")


def gemma_that_sees(folder: Path) -> Path:
    """A tiny Gemma-3 as the 4B to 27B models are: a language model beside an image encoder."""
    from transformers import Gemma3Config, Gemma3ForConditionalGeneration

    tiny_model(folder, "gemma3")
    text = {**json.loads((folder / "config.json").read_text()), "model_type": "gemma3_text"}
    vision = {
        "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 1,
        "image_size": 28, "patch_size": 14,
    }  # fmt: skip
    torch.manual_seed(0)
    config = Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4)
    (folder / "model.safetensors").unlink()
    Gemma3ForConditionalGeneration(config).to(torch.bfloat16).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_of_a_model_that_sees_only_the_language_half_is_trained(method: str, tmp_path: Path) -> None:
    folder = gemma_that_sees(tmp_path / "model")
    run = train(tiny_run(method, folder, tmp_path, optimiser={"max_steps": 2}))
    names = list(load_file(run / "adapter" / "adapter_model.safetensors"))
    assert len(names) == 2 * 7 * 2
    assert not [name for name in names if "vision" in name]
    merged = merge(run, "nf4", n_prompts=4, min_agreement=0)
    assert set(load_file(merged / "model.safetensors")) == set(load_file(folder / "model.safetensors"))
