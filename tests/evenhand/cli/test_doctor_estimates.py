"""What doctor estimates: counted as the runs count, and by formulas that can be followed on paper."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from evenhand.checkpoints import ModelConfig, load_tokenizer, resolve
from evenhand.cli.doctor import sampling, training
from evenhand.cli.doctor.machine import GIB, SHARE, gpu_device, memory_check, sheet_of, time_check
from evenhand.cli.doctor.model import PUBLISHED, FoundModel, find_model, model_size
from evenhand.cli.doctor.training import ExampleCount, count_examples
from evenhand.files import shipped_yaml
from inference import vllm_engine
from inference.config import VllmConfig, load_sampling_config
from inference.encoding import Encoder
from inference.schedule import first_prompts
from tests.made.places import CONFIGS
from training.config import load_training_config

QWEN = model_size(PUBLISHED["Qwen/Qwen2.5-7B-Instruct"])
A100 = gpu_device("NVIDIA A100-SXM4-80GB", "bfloat16", memory_gib=80.0, is_here=True)
CPU = replace(A100, is_gpu=False)


@pytest.mark.parametrize(("name", "memory_gib", "key"), shipped_yaml(Path(__file__).with_name("doctor.yaml"))["names"])
def test_a_gpu_is_known_by_the_names_that_drivers_slurm_and_people_give_it(name, memory_gib, key):
    assert sheet_of(name, memory_gib) == key


def test_a_model_that_a_gpu_cannot_hold_is_wrong_there_and_unknown_of_a_gpu_that_is_elsewhere():
    parts = {"weights": 14.0, "other": 3.0}
    small = replace(A100, memory_gib=16.0)
    assert memory_check(A100, parts, "").state == "ok"
    assert memory_check(small, parts, "").state == "wrong"
    assert memory_check(replace(small, is_here=False), parts, "").state == "unknown"
    assert memory_check(replace(small, memory_gib=None), parts, "").state == "unknown"
    assert memory_check(replace(small, memory_gib=18.0), parts, "", share=0.9).state == "wrong"
    two, three = (VllmConfig(max_model_len=4096, tensor_parallel_size=n) for n in (2, 3))
    model = FoundModel(checks=[], size=QWEN)
    assert [sampling.engine_check(engine, None, model).state for engine in (two, three)] == ["ok", "wrong"]
    assert sampling.engine_memory(VllmConfig(max_model_len=4096), QWEN, small).state == "wrong"
    assert sampling.engine_memory(two, QWEN, small).state == "ok"
    assert "engine.tensor_parallel_size=4," in sampling.engine_memory(two, QWEN, replace(small, memory_gib=4.0)).fix


@pytest.mark.parametrize(("is_installed", "state"), [(False, "wrong"), (True, "ok")])
def test_vllm_runs_an_image_encoder_only_beside_torchvision_and_an_adapter_only_on_a_gpu(
    tmp_path, monkeypatch, is_installed, state
):
    monkeypatch.setattr(vllm_engine, "find_spec", lambda name: is_installed or None)
    monkeypatch.setattr(sampling, "start", lambda *_, **__: None)
    (tmp_path / "config.json").write_text('{"vision_config": {}}')
    model = FoundModel(checks=[], folder=tmp_path)
    assert sampling.engine_check(VllmConfig(), None, model).state == state
    (tmp_path / "config.json").write_text("{}")
    assert sampling.engine_check(VllmConfig(), None, model).state == "ok"
    for gpus, state in ((), "wrong"), (("A100",), "ok"):
        monkeypatch.setattr(vllm_engine, "visible_gpus", lambda gpus=gpus: gpus)
        assert sampling.engine_check(VllmConfig(), None, model, Path("run")).state == state


def test_time_is_operations_at_the_stated_share():
    assert time_check(A100, 312e12 * SHARE * 100, 2).says.startswith("a guess: 50 s at 30%")
    assert time_check(A100, None, 1).state == "unknown"
    assert time_check(replace(A100, flops=None), 1.0, 1).state == "unknown"


def sampled(name, *words):
    return load_sampling_config([str(CONFIGS / name), *words])


@cache
def tokenizer():
    return load_tokenizer(resolve(ModelConfig(name="embedded")))


def test_a_small_run_is_counted_whole_as_the_engine_will_read_it():
    config = sampled("inference/pocket-reason.yaml", "dialdefer.benchmarks[0].n_items=20")
    prompts = first_prompts(config)
    count = sampling.count_tokens(prompts, config, tokenizer())
    lengths = [len(one.token_ids) for one in Encoder(tokenizer(), config).encode(prompts)]
    assert count == (160, pytest.approx(sum(lengths) / 160), max(lengths) + 120, 160 * 120)
    assert count.n_computed == pytest.approx(sum(lengths) + 160 * 120)


def test_a_prompt_over_the_context_window_is_wrong_and_of_conversations_it_is_left_out(monkeypatch):
    embedded = find_model(ModelConfig(name="embedded"))  # which takes a second
    stand_ins = {"start": lambda *_, **__: None, "ASKED_GIB": 0.0, "find_model": lambda _: embedded}
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(sampling, name, stand_in)

    def window_of(name, *words):
        (check,) = (c for c in sampling.examine([str(CONFIGS / name), *words], None) if c.subject == "context")
        return check.state, check.says

    state, says = window_of("inference/pocket.yaml", "engine.max_model_len=130", "dialdefer.benchmarks[0].n_items=40")
    assert (state, says) == ("wrong", "longest prompt with answer 202 of 130 tokens")
    few = "narrator.corpus.n_conversations=3"
    assert window_of("narrator/pocket-exact.yaml", few, "engine.max_model_len=130")[0] == "ok"
    one = "dialdefer.benchmarks[0].n_items=1"
    assert window_of("inference/pocket.yaml", one, "engine.max_model_len=9000")[0] == "wrong", "the model has 8,192"
    absent = ("model.name=embedded", "dialdefer.benchmarks[0].root=absent")
    assert window_of("inference/server.yaml", *absent, "engine={kind: transformers}")[0] == "unknown"


def trained(name, *words):
    return load_training_config([str(CONFIGS / "training" / name), *words])


def test_steps_and_examples_are_those_of_the_run():
    config = trained("pocket-sft.yaml")
    count = count_examples(config.load_units(), config, tokenizer(), CPU)
    assert (count.n_examples, count.n_steps) == (512, 128)
    assert 0.2 < count.step_tokens / (4 * count.mean_tokens) < 1, "four prompts, what they share once"
    few = trained("pocket-sft.yaml", "optimiser.max_steps=7", "examples.max_prompt_length=125")
    count = count_examples(few.load_units(), few, tokenizer(), CPU)
    assert count.n_steps == 7
    assert count.n_examples < 512, "longer ones are left out"
    variants = trained("pocket-variants-sft.yaml").on_own_items()  # as where the data are absent
    count = count_examples(variants.load_units(), variants, tokenizer(), CPU)
    assert count.n_examples == 16 * len(variants.load_units())
    asked = ("pocket-narrator-sft.yaml", "narrator.names=[own, letters]", "narrator.corpus.n_conversations=8")
    every, half = (
        count_examples(one.load_units(), one, tokenizer(), CPU) for one in (trained(*asked), trained(*asked, DRAW))
    )
    assert (half.n_examples, half.n_steps) == (every.n_examples / 2, every.n_steps)
    assert half.step_tokens < every.step_tokens


COUNT = ExampleCount(
    n_examples=160_000, n_steps=20_000, mean_tokens=200, step_tokens=3200, rows=1, width=3200, n_scored=16
)
DRAW = "narrator.variants_per_item=2"
BIG = ("qwen2.5-7b-sft.yaml", "optimiser.per_device_batch_size=16", "optimiser.gradient_accumulation_steps=1")


def test_a_step_takes_its_products_and_checkpointing_a_forward_pass_more():
    plain, again = (trained(*BIG, f"optimiser.gradient_checkpointing={word}") for word in ("false", "true"))
    flops = training.step_flops(plain, QWEN, COUNT)
    assert flops == 3200 * 4 * QWEN.n_linear
    assert training.step_flops(again, QWEN, COUNT) / flops == 1.5


def test_memory_is_weights_adapter_and_what_the_largest_microbatch_keeps():
    config = trained(*BIG, "optimiser.gradient_checkpointing=false")
    parts = training.memory_parts(config, QWEN, COUNT, A100)
    assert parts["weights"] == pytest.approx(QWEN.weight_bytes("bfloat16") / GIB)
    assert parts["adapter and optimiser"] == pytest.approx(QWEN.n_lora(64) * (4 * 4 + 2) / GIB)
    assert parts["activations"] * 1024 / 3200 == pytest.approx(8, abs=0.4), "MiB a token"
    dry = trained(*BIG, "optimiser.gradient_checkpointing=false", "lora.dropout=0")
    assert training.memory_parts(dry, QWEN, COUNT, A100)["activations"] < parts["activations"], "no masks of dropout"
    nf4 = trained(*BIG, "quantisation.weights=nf4", "optimiser.gradient_checkpointing=true")
    small = training.memory_parts(nf4, QWEN, COUNT, A100)
    assert small["weights"] < parts["weights"] / 2
    assert small["activations"] < parts["activations"] / 8
    longest = training.memory_parts(config, QWEN, training.longest_batch(config), A100)
    assert longest["activations"] / parts["activations"] == pytest.approx(16 * 768 / 3200, rel=0.01)


@pytest.mark.parametrize(("mixed", "held", "n_bytes"), [("bf16", "bfloat16", 2), ("no", "float32", 4)])
def test_logits_are_vocabulary_by_scored_tokens_as_computed_and_three_times_in_float32(mixed, held, n_bytes):
    config = trained(*BIG, f"optimiser.mixed_precision='{mixed}'", f"quantisation.compute_dtype={held}")
    logits = training.memory_parts(config, QWEN, COUNT, A100)["logits"]
    assert logits == pytest.approx(16 * 152_064 * (n_bytes + 3 * 4) / GIB)


def test_fp16_holds_no_second_copy_of_the_weights_unless_they_are_held_in_bf16():
    fp16 = (*BIG, "optimiser.mixed_precision=fp16", "optimiser.gradient_checkpointing=false")
    same, other = (
        training.memory_parts(trained(*fp16, f"quantisation.compute_dtype={dtype}"), QWEN, COUNT, A100)
        for dtype in ("float16", "bfloat16")
    )
    assert same["copies of weights"] == 0
    assert other["copies of weights"] == pytest.approx(12.2, abs=0.1)
