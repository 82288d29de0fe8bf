"""A run on a tiny model: what it leaves, gradients that arrive, microbatches that do not fit memory."""

import math

import pytest
import torch
from peft import get_peft_model

from evenhand.errors import ConfigError, DataError
from evenhand.run_directory import DONE_FILE, ITEMS_FILE, read_json
from tests.made.one_batch import as_trained
from tests.made.places import cases
from tests.made.training_runs import adapter_of, logged, tiny_model, tiny_run
from training.qlora import kept, load_base, lora_config, multiply_at_rank, skeleton, trainable
from training.run_folder import ADAPTER_FILES
from training.sections import LoraSettings, QuantisationConfig
from training.train import inputs_of, open_training, train

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_a_run_leaves_adapter_metrics_provenance_and_done(method, model, tmp_path, capsys):
    run = train(tiny_run(method, model, tmp_path, optimiser={"warmup_ratio": 0.5}))
    assert "'train_runtime'" not in capsys.readouterr().out, "transformers prints its logs"
    assert {file.name for file in run.iterdir()} == {
        "config.yaml", "provenance.json", ITEMS_FILE, "excluded.jsonl", "metrics.jsonl", "adapter", DONE_FILE,
    }  # fmt: skip
    config = tiny_run(method, model, tmp_path)
    hashes = {config.training.unit_hash(unit) for unit in config.load_units()}
    assert {*read_json(run / ITEMS_FILE)["hashes"]} == hashes
    assert len(hashes) > 1
    assert {file.name for file in (run / "adapter").iterdir()} == set(ADAPTER_FILES)
    done = read_json(run / DONE_FILE)
    assert (done["method"], done["n_examples"], done["n_excluded"], done["n_steps"]) == (method, 32, 0, 4)
    losses = logged(run)
    assert list(losses) == [1, 2, 3, 4]
    # An untrained adapter changes nothing, so DPO's policy and reference agree: loss ln 2, no rewards.
    assert method != "dpo" or losses[1] == pytest.approx(math.log(2), abs=1e-5) != losses[3]
    rates = [5e-3 * factor for factor in (0, 0.5, 1, 0.5 + math.cos(math.pi / 2) / 2)]
    assert list(logged(run, "learning_rate").values()) == pytest.approx(rates), "rises for half of it, then a cosine"
    weights = adapter_of(run)
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}, "TRL casts them to bf16"
    first_layer = [tensor for name, tensor in weights.items() if ".layers.0." in name and "lora_B" in name]
    assert len(first_layer) == 7
    assert all(torch.count_nonzero(tensor) for tensor in first_layer), "the first layer has learnt nothing"


def test_a_second_process_that_starts_the_same_run_is_told_who_trains_it(model, tmp_path, monkeypatch):
    config = tiny_run("sft", model, tmp_path, optimiser={"max_steps": 1})
    run = inputs_of(config)
    with open_training(config, run):
        half_written = run.path / "checkpoints" / "checkpoint-1"
        half_written.mkdir(parents=True)
        with pytest.raises(DataError, match=r"is being trained by process \d+ on \S+; wait"):
            train(config)
        assert half_written.exists(), "the second one deleted what the first was writing"
    assert len(logged(train(config))) == 1


@pytest.mark.parametrize(("changes", "says"), cases(__file__)["refused"])
def test_a_run_that_is_refused_leaves_no_folder(changes, says, model, tmp_path):
    with pytest.raises(ConfigError, match=says):
        train(tiny_run("sft", model, tmp_path, **changes))
    assert [*tmp_path.iterdir()] == []


def test_an_adapter_on_tied_embeddings_is_refused_also_without_weights(tmp_path):
    folder = tiny_model(tmp_path / "model", "gemma3")
    for base in (load_base(folder, QuantisationConfig()), skeleton(folder, None)):
        with pytest.raises(ConfigError, match=r"lora\.target_modules: lm_head shares its weight with another layer"):
            lora_config(LoraSettings(target_modules=("q_proj", "lm_head")), base)


def test_an_evaluation_does_not_change_the_gradients_behind_it(model):
    """bitsandbytes would pack the weights of a 4-bit base for inference, which then pass no gradient on."""

    def gradients(evaluates):
        base = load_base(model, QuantisationConfig())
        judge = as_trained(get_peft_model(base, lora_config(LoraSettings(r=4, dropout=0.0), base)), tiny_run())
        ids = torch.arange(24, device=judge.device).reshape(2, 12)
        if evaluates:
            with torch.no_grad():
                judge.eval()(input_ids=ids)
        with torch.autocast(judge.device.type, torch.bfloat16):
            judge.train()(input_ids=ids, labels=ids).loss.backward()
        return {name: weight.grad for name, weight in trainable(judge)}

    before, behind = gradients(False), gradients(True)
    assert len(before) == 2 * 14
    for name, gradient in before.items():
        assert float((behind[name] - gradient).norm() / gradient.norm()) < 0.01, name


def test_the_base_is_asked_about_no_more_than_is_trained_on(model, tmp_path):
    train(tiny_run("label_free", model, tmp_path, optimiser={"batch_by": "item", "max_steps": 2}))
    (shard,) = (tmp_path / "reference").glob("*/*.jsonl")
    assert len(shard.read_text().splitlines()) == 2 * 4, "of 8 items under 4 conditions two"


def test_dropout_leaves_out_what_it_draws_and_makes_up_for_it(model):
    """Output and gradients are those of PEFT's sum over the same draws, which leave out a tenth of all numbers."""
    base = load_base(model, QuantisationConfig(kind="none", compute_dtype="float32"))
    judge = as_trained(get_peft_model(base, lora_config(LoraSettings(r=4, alpha=8, dropout=0.1), base)), tiny_run())
    multiply_at_rank(judge)
    layer = judge.train().base_model.model.model.layers[0].self_attn.q_proj
    x = torch.randn(4097, layer.in_features, generator=torch.Generator().manual_seed(1))
    a, b = layer.lora_A["default"].weight, layer.lora_B["default"].weight
    torch.manual_seed(0)
    mask = kept(x, 0.1)
    assert set(mask.unique().tolist()) == {0.0, 1.0}
    assert mask.mean().item() == pytest.approx(0.9, abs=0.003)
    torch.manual_seed(0)
    found, expected = layer(x), layer.base_layer(x) + 2 * (x * mask / 0.9) @ a.T @ b.T
    torch.testing.assert_close(found, expected)
    for ours, plain in zip(*(torch.autograd.grad(y.square().sum(), (a, b)) for y in (found, expected)), strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-3)
