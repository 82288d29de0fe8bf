"""Merging a run: the right sum rounded without bias, each merge measured, and no checkpoint that judges otherwise."""

import json
from functools import cache

import pytest
import torch
from safetensors.torch import load_file, save_file

from evenhand.checkpoints import ModelConfig, check_folder, checkpoint_hash, fingerprint, load_tokenizer
from evenhand.cli.doctor.training import examine
from evenhand.errors import ConfigError, DataError, ModelError
from evenhand.files import sha256_of
from evenhand.run_directory import DONE_FILE, read_json
from inference.sampling import model_facts
from studies.dialdefer.pocket import pocket_items
from tests.made.fuzz import more_families
from tests.made.made_merges import spoil, with_margins
from tests.made.places import ROOT
from tests.made.toy_prompts import toy_config
from tests.made.training_runs import adapter_of, tiny_model, tiny_run
from training import merged_checkpoint
from training.merge import main
from training.merged_checkpoint import compare, merge, round_to_bf16, sample_prompts, write_merged
from training.qlora import load_base
from training.run_folder import finished_config
from training.sections import QuantisationConfig
from training.train import train

pytestmark = pytest.mark.slow
BF16_BASE = QuantisationConfig(kind="none")
ITEMS = pocket_items("train")[:8]


def weights_of(folder):
    return {name: tensor for file in folder.glob("*.safetensors") for name, tensor in load_file(file).items()}


@pytest.fixture(scope="module")
def merges(tmp_path_factory):
    """Family → (a tiny model in shards, {what its run was merged onto: the folder}), each made once."""

    @cache
    def get(family):
        root = tmp_path_factory.mktemp(family)
        model = tiny_model(root / "model", family, max_shard_size="300KB")
        run = train(tiny_run("dpo" if family == "llama" else "sft", model, root, optimiser={"max_steps": 2}))
        return model, {onto: merge(run, onto, n_prompts=16, min_agreement=0.5) for onto in ("nf4", "bf16")}

    return get


@pytest.mark.parametrize("family", ["gemma3", "llama", *more_families("mistral", "qwen2")])
def test_every_family_goes_through_both_merges_in_shards(family, merges):
    model, merged = merges(family)
    checks = {onto: read_json(folder / DONE_FILE) for onto, folder in merged.items()}
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


def test_a_merge_is_measured_written_and_found_again(run, capsys):
    main([str(run), "--n-prompts", "4", "--min-agreement", "0"])
    printed = capsys.readouterr().out
    assert "--onto bf16: " in printed
    assert printed.splitlines()[-1] == str(run / "merged-bf16")
    assert [folder.name for folder in run.glob("merged-*")] == ["merged-bf16"]
    done = read_json(run / "merged-bf16" / DONE_FILE)
    assert (done["run"], done["onto"], done["n_prompts"]) == (run.name, "bf16", 4)
    assert (done["items"], done["n_published_test"], done["min_agreement"]) == ({"pocket": 8}, 0, 0)
    before = (run / "merged-bf16" / "model.safetensors").stat().st_mtime_ns
    main([str(run), "--n-prompts", "4", "--min-agreement", "0"])
    again = capsys.readouterr().out
    assert "merged and checked already" in again
    figures = [{line for line in text.splitlines() if "verdicts agree" in line} for text in (printed, again)]
    assert figures[0] == figures[1]
    assert (run / "merged-bf16" / "model.safetensors").stat().st_mtime_ns == before


def test_an_adapter_by_itself_is_checked_and_nothing_is_written(run, capsys):
    files = {*run.rglob("*")}
    main([str(run), "--onto", "nothing", "--n-prompts", "8"])
    assert "--onto nothing: 100.0% of 8 verdicts agree" in capsys.readouterr().out
    assert {*run.rglob("*")} == files


def test_a_checkpoint_that_judges_otherwise_never_appears(run, monkeypatch):
    with_margins(monkeypatch, -1.0)
    with pytest.raises(ModelError, match=r"--onto bf16: only 0\.0% of 4 verdicts agree.*Try `--onto nf4`"):
        merge(run, "bf16", n_prompts=4)
    assert not list(run.glob("merged-*"))


def test_among_several_answers_verdicts_agree_when_one_is_the_likeliest_in_both():
    # Three answers, the last at 0: the first, then the last, then the second leads.
    expected = [(2.0, 1.0, 0.0), (-1.0, -2.0, 0.0), (0.5, 3.0, 0.0)]
    merged = [(2.0, 1.5, 0.0), (0.5, -2.0, 0.0), (0.5, 2.0, 0.0)]
    check = compare(merged, expected, "bf16")
    assert check.agreement_rate == pytest.approx(2 / 3)
    assert (check.mean_margin_drift, check.max_margin_drift) == (pytest.approx((0.5 + 1.5 + 1.0) / 3), 1.5)


def test_margins_that_are_no_numbers_are_refused(run, model):
    broken = load_base(model, BF16_BASE)
    broken.model.norm.weight.data.fill_(float("nan"))
    config = tiny_run("sft", model, run)
    asked = sample_prompts(ITEMS, config, load_tokenizer(model), 4)
    with pytest.raises(ModelError, match="4 of 4 verdicts are not finite"):
        merged_checkpoint.judged(broken, asked, config)


def test_a_base_that_is_no_longer_the_one_trained_on_is_refused(run):
    facts = read_json(run / "provenance.json")
    facts["model"]["checkpoint_hash"] = "another"
    (run / "provenance.json").write_text(json.dumps(facts))
    recorded = read_json(run / DONE_FILE)
    (run / DONE_FILE).write_text(json.dumps({**recorded, "provenance_sha256": sha256_of(run / "provenance.json")}))
    with pytest.raises(DataError, match=r"was trained on .* but its base is .* bring back what it was trained on"):
        merge(run, "bf16")


def test_of_a_model_that_sees_only_the_language_half_is_trained(tmp_path):
    folder = tiny_model(tmp_path / "model", "gemma3 that sees")
    run = train(tiny_run("dpo", folder, tmp_path, optimiser={"max_steps": 2}))
    names = list(load_file(run / "adapter" / "adapter_model.safetensors"))
    assert len(names) == 2 * 7 * 2
    assert not [name for name in names if "vision" in name]
    merged = merge(run, "nf4", n_prompts=4, min_agreement=0)
    assert set(load_file(merged / "model.safetensors")) == set(load_file(folder / "model.safetensors"))


def test_a_checkpoint_merged_onto_nf4_is_not_quantised_again(merges):
    """It would be its own base: what the adapter added is less than half a step of the grid."""
    _, merged = merges("llama")
    with pytest.raises(ConfigError, match="NF4 again rounds away what it has learnt"):
        load_base(merged["nf4"], QuantisationConfig())
    words = [str(ROOT / "configs" / "training" / "pocket-sft.yaml"), f"model.name={merged['nf4']}"]
    (wrong,) = (check for check in examine(words, None) if check.state == "wrong")
    assert wrong.subject == "quantisation"
    assert wrong.says.endswith("merged with --onto bf16")
    assert not [c for c in examine([*words, "quantisation.kind=none"], None) if c.state == "wrong"]
    load_base(merged["nf4"], BF16_BASE)
    load_base(merged["bf16"], QuantisationConfig())


def test_a_merged_checkpoint_whose_bytes_have_changed_is_neither_found_again_nor_sampled(
    run, model, monkeypatch, capsys
):
    with_margins(monkeypatch, 1.0)
    merged = merge(run, "bf16", n_prompts=4)
    facts = fingerprint(ModelConfig(name=str(merged)), merged)
    assert facts["training_run"] == run.name
    assert facts["base_hash"] == checkpoint_hash(model)
    assert facts["checkpoint_hash"] == read_json(merged / DONE_FILE)["checkpoint_hash"]
    spoil(merged / "model.safetensors")
    capsys.readouterr()
    with pytest.raises(DataError, match=r"merged-bf16: its files have changed .* delete the folder and merge again"):
        merge(run, "bf16", n_prompts=4)
    assert "agree" not in capsys.readouterr().out
    with pytest.raises(DataError, match=r"merged-bf16: its files have changed .* merge it anew"):
        model_facts(toy_config(str(merged)))


def test_an_adapter_that_is_not_as_trained_is_not_merged(run):
    spoil(run / "adapter" / "adapter_model.safetensors")
    with pytest.raises(DataError, match=r"adapter: its files have changed .* delete the run and train again"):
        merge(run, "bf16")


PROJECTION = "model.layers.1.mlp.up_proj.weight"
SCALE = 8 / 4  # alpha / r


def lora_product(run):
    weights = load_file(run / "adapter" / "adapter_model.safetensors")
    name = f"base_model.model.{PROJECTION.removesuffix('.weight')}"
    return SCALE * weights[f"{name}.lora_B.weight"] @ weights[f"{name}.lora_A.weight"]


@pytest.mark.parametrize("onto", ["bf16", "nf4"])
def test_merged_weights_are_the_base_as_it_is_merged_onto_plus_the_adapter(onto, run, model, tmp_path):
    write_merged(run, finished_config(run), model, onto, tmp_path / "merged")
    merged, plain = weights_of(tmp_path / "merged"), load_base(model, BF16_BASE).state_dict()
    base = plain
    if onto == "nf4":
        base = load_base(model, QuantisationConfig()).dequantize(dtype=torch.bfloat16).state_dict()
    assert torch.allclose(base[PROJECTION], plain[PROJECTION], rtol=0.05) == (onto == "bf16")
    assert {tensor.dtype for tensor in merged.values()} == {torch.bfloat16}
    assert merged.keys() == plain.keys()
    expected = base[PROJECTION].float() + lora_product(run)
    assert torch.allclose(merged[PROJECTION].float(), expected, rtol=2**-7, atol=0)
    assert not torch.equal(merged[PROJECTION], base[PROJECTION])
    assert torch.equal(merged["model.norm.weight"], plain["model.norm.weight"])


def test_updates_finer_than_bf16_survive_on_average():
    torch.manual_seed(0)
    base = (0.05 * torch.randn(512, 512)).bfloat16().float()
    update = 1e-5 * torch.randn(512, 4) @ torch.randn(4, 512)  # a tenth of a bf16 step of such weights

    def kept(rounded):
        return float(((rounded.float() - base) * update).sum() / (update * update).sum())

    assert kept((base + update).bfloat16()) < 0.5, "rounding to the nearest takes most of it back"
    rounded = round_to_bf16(base + update, torch.Generator().manual_seed(0))
    assert kept(rounded) == pytest.approx(1, abs=0.1)
    errors = (rounded.double() - (base + update).double()) * base.sign()
    assert abs(errors.mean()) < 4 * errors.std() / len(errors.flatten()) ** 0.5, "and no bias"


def test_an_adapter_that_diverged_is_refused_by_the_layers_name(run, model, tmp_path):
    weights = adapter_of(run)
    weights["base_model.model.model.layers.1.mlp.up_proj.lora_B.weight"][0, 0] = float("inf")
    save_file(weights, run / "adapter" / "adapter_model.safetensors")
    with pytest.raises(ModelError, match=r"model\.layers\.1\.mlp\.up_proj: base \+ adapter is not finite"):
        write_merged(run, finished_config(run), model, "bf16", tmp_path / "merged")
