"""Merging a run: each merge measured, the base's own tokenizer, and no checkpoint that judges otherwise."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from evenhand.checkpoints import check_folder, load_tokenizer
from evenhand.errors import ConfigError, DataError, ModelError
from evenhand.run_directory import DONE_FILE
from studies.dialdefer.pocket import pocket_items
from tests.made.fuzz import more_families
from tests.made.made_merges import spoil, with_margins
from tests.made.places import ROOT
from tests.made.training_runs import tiny_model, tiny_run
from training import merge_check, merged_checkpoint
from training.data import TrainingData
from training.dialdefer.study import TRAINING
from training.estimate import examine
from training.merge import main
from training.merge_check import compare, sample_prompts
from training.merged_checkpoint import merge
from training.qlora import load_base
from training.sections import QuantisationConfig
from training.train import train

pytestmark = pytest.mark.slow
BF16_BASE = QuantisationConfig(kind="none")
ITEMS = TrainingData(study=TRAINING, units=list(pocket_items("train"))[:8])


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


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    return {name: tensor for file in sorted(folder.glob("*.safetensors")) for name, tensor in load_file(file).items()}


def facts_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / DONE_FILE).read_text()))


@pytest.mark.parametrize("family", ["gemma3", "llama", *more_families("mistral", "qwen2")])
def test_every_family_goes_through_both_merges_in_shards(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merged_checkpoint, "SHARD_SIZE", "2MB")
    model = tiny_model(tmp_path / "model", family)
    run = train(tiny_run("dpo" if family == "llama" else "sft", model, tmp_path, optimiser={"max_steps": 2}))
    merged = {onto: merge(run, onto, n_prompts=16, min_agreement=0.5) for onto in ("nf4", "bf16")}
    checks = {onto: facts_of(folder) for onto, folder in merged.items()}
    assert checks["nf4"]["agreement_rate"] >= 0.9
    assert checks["nf4"]["mean_margin_drift"] < 0.05 < checks["bf16"]["mean_margin_drift"]
    for folder in merged.values():
        check_folder(folder)
        for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
            assert (folder / name).read_bytes() == (model / name).read_bytes()
        config = json.loads((folder / "config.json").read_text())
        assert "quantization_config" not in config
        assert config["dtype"] == "bfloat16"
        shards = set(json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"].values())
        assert len(shards) >= 2
        assert {tensor.dtype for tensor in weights_of(folder).values()} == {torch.bfloat16}
        assert set(weights_of(folder)) == set(weights_of(model)), "no weight is new, none is lost, tied ones stay tied"


def test_a_merge_is_measured_written_and_found_again(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(run), "--n-prompts", "4", "--min-agreement", "0"])
    printed = capsys.readouterr().out
    assert "merged onto bf16: " in printed
    assert printed.splitlines()[-1] == str(run / "merged-bf16")
    assert [folder.name for folder in run.glob("merged-*")] == ["merged-bf16"]
    done = facts_of(run / "merged-bf16")
    assert (done["run"], done["onto"], done["n_prompts"]) == (run.name, "bf16", 4)
    assert (done["items"], done["n_published_test"], done["min_agreement"]) == ({"pocket": 8}, 0, 0)
    before = (run / "merged-bf16" / "model.safetensors").stat().st_mtime_ns
    main([str(run), "--n-prompts", "4", "--min-agreement", "0"])
    again = capsys.readouterr().out
    assert "merged and checked already" in again
    figures = [{line for line in text.splitlines() if "verdicts agree" in line} for text in (printed, again)]
    assert figures[0] == figures[1]
    assert (run / "merged-bf16" / "model.safetensors").stat().st_mtime_ns == before


def test_a_checkpoint_that_judges_otherwise_never_appears(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_margins(monkeypatch, -1.0)
    with pytest.raises(ModelError, match=r"onto bf16, only 0\.0% of 4 verdicts agree.*Try `--onto nf4`"):
        merge(run, "bf16", n_prompts=4)
    assert not list(run.glob("merged-*"))


def test_a_checkpoint_accepted_with_less_agreement_is_not_taken_for_more(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_margins(monkeypatch, -1.0)
    merge(run, "bf16", n_prompts=4, min_agreement=0)
    with pytest.raises(ModelError, match=r"onto bf16, only 0\.0%"):
        merge(run, "bf16", n_prompts=4)


def test_verdicts_agree_when_margins_have_the_same_sign() -> None:
    check = compare([(1.0,), (-2.0,), (0.5,), (3.0,)], [(1.5,), (-1.0,), (-0.5,), (3.0,)], "bf16")
    assert (check.agreement_rate, check.n_prompts) == (0.75, 4)
    assert (check.mean_margin_drift, check.max_margin_drift) == (0.625, 1.0)


def test_among_several_answers_verdicts_agree_when_one_is_the_likeliest_in_both() -> None:
    # Three answers, the last at 0: the first, then the last, then the second leads.
    expected = [(2.0, 1.0), (-1.0, -2.0), (0.5, 3.0)]
    merged = [(2.0, 1.5), (0.5, -2.0), (0.5, 2.0)]
    check = compare(merged, expected, "bf16")
    assert check.agreement_rate == pytest.approx(2 / 3)
    assert (check.mean_margin_drift, check.max_margin_drift) == (pytest.approx((0.5 + 1.5 + 1.0) / 3), 1.5)


def test_what_a_killed_merge_left_is_made_anew(run: Path) -> None:
    rest = run / "merged-bf16.partial"
    rest.mkdir()
    (rest / "rubbish.json").write_text("{")
    merged = merge(run, "bf16", n_prompts=4, min_agreement=0)
    assert not rest.exists()
    assert not (merged / "rubbish.json").exists()


def test_two_merges_at_once_left_a_folder_without_weights(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = merged_checkpoint.judged

    def during(*words: Any) -> Any:
        monkeypatch.setattr(merged_checkpoint, "judged", first)
        with pytest.raises(DataError, match=r"is being merged by process \d+ on \S+ since"):
            merge(run, "nf4", n_prompts=4, min_agreement=0)
        return first(*words)

    monkeypatch.setattr(merged_checkpoint, "judged", during)
    merged = merge(run, "nf4", n_prompts=4, min_agreement=0)
    assert weights_of(merged)
    assert [path.name for path in run.glob("merg*")] == ["merged-nf4"]
    assert merge(run, "nf4", n_prompts=4, min_agreement=0) == merged


def test_margins_that_are_no_numbers_are_refused(run: Path, model: Path) -> None:
    broken = load_base(model, BF16_BASE)
    broken.model.norm.weight.data.fill_(float("nan"))
    config = tiny_run("sft", model, run)
    question = sample_prompts(ITEMS, config, load_tokenizer(model), 4)
    with pytest.raises(ModelError, match="4 of 4 margins are no finite numbers"):
        merge_check.margins(broken, question)


def test_a_run_without_quantisation_has_one_merge(model: Path, tmp_path: Path) -> None:
    run = train(tiny_run("sft", model, tmp_path, quantisation={"kind": "none"}, optimiser={"max_steps": 2}))
    with pytest.raises(ConfigError, match="there are no NF4 ones to merge onto; take --onto bf16"):
        merge(run, "nf4")
    done = facts_of(merge(run, "bf16", n_prompts=8))
    assert done["agreement_rate"] == 1
    assert done["mean_margin_drift"] < 0.05


def test_a_base_that_is_no_longer_the_one_trained_on_is_refused(tmp_path: Path) -> None:
    model = tiny_model(tmp_path / "model")
    run = train(tiny_run("sft", model, tmp_path, optimiser={"max_steps": 1}))
    spoil(model / "model.safetensors")
    with pytest.raises(DataError, match=r"was trained on .* but its base is .* an adapter fits no other"):
        merge(run, "bf16")


def test_a_full_disk_is_told_before_anything_is_written(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_checkpoint.shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(DataError, match=r"merged-nf4\.\w+\.partial: needs 0\.0 GB, 0\.0 GB are free"):
        merge(run, "nf4", n_prompts=4)
    assert not list(run.glob("merged-*"))


def test_an_unfinished_run_is_refused(run: Path) -> None:
    (run / DONE_FILE).unlink()
    with pytest.raises(DataError, match="not finished; continue it with `evenhand train"):
        merge(run, "bf16")


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


def test_of_a_model_that_sees_only_the_language_half_is_trained(tmp_path: Path) -> None:
    folder = gemma_that_sees(tmp_path / "model")
    run = train(tiny_run("dpo", folder, tmp_path, optimiser={"max_steps": 2}))
    names = list(load_file(run / "adapter" / "adapter_model.safetensors"))
    assert len(names) == 2 * 7 * 2
    assert not [name for name in names if "vision" in name]
    merged = merge(run, "nf4", n_prompts=4, min_agreement=0)
    assert set(load_file(merged / "model.safetensors")) == set(load_file(folder / "model.safetensors"))


def test_a_checkpoint_merged_onto_nf4_is_not_quantised_again(run: Path) -> None:
    """It would be its own base: what the adapter added is less than half a step of the grid."""
    merged = merge(run, "nf4", n_prompts=16, min_agreement=0.5)
    with pytest.raises(ConfigError, match="quantising it to NF4 again rounds away what it has learnt"):
        load_base(merged, QuantisationConfig())
    words = [str(ROOT / "configs" / "training" / "pocket-sft.yaml"), f"model.name={merged}"]
    (wrong,) = (check for check in examine(words, None).checks if check.state == "wrong")
    assert wrong.subject == "quantisation"
    assert wrong.says.endswith("merged with --onto bf16")
    assert not [c for c in examine([*words, "quantisation.kind=none"], None).checks if c.state == "wrong"]
    load_base(merged, BF16_BASE)
    load_base(merge(run, "bf16", n_prompts=16, min_agreement=0.5), QuantisationConfig())
