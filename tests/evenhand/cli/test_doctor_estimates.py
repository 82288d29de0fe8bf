"""What doctor estimates: counted as the runs count, and by formulas that can be followed on paper."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from evenhand.checkpoints import ModelConfig, load_tokenizer, resolve
from evenhand.cli.doctor import sampling, training
from evenhand.cli.doctor.sampling import RunSize, memory_check, run_size
from evenhand.cli.doctor.speeds import GPU_SHARES, gpu_speed
from evenhand.model_size import PUBLISHED, model_size
from inference.config import InferenceConfig, VllmConfig, load_sampling_config
from inference.encoding import Encoder
from inference.schedule import first_prompts, in_prefix_order
from tests.made.places import CONFIGS
from training.config import load_training_config
from training.data import load_data
from training.step_size import MicroBatch, StepSize, step_size

QWEN = model_size(PUBLISHED["Qwen/Qwen2.5-7B-Instruct"])
A100 = gpu_speed("NVIDIA A100-SXM4-80GB", "bfloat16", memory_gib=80.0, is_here=True)
GIB = 2**30


def sampled(name: str, *words: str) -> InferenceConfig:
    return load_sampling_config([str(CONFIGS / name), *words])


@cache
def tokenizer() -> object:
    return load_tokenizer(resolve(ModelConfig(name="embedded")))


def test_a_small_run_is_counted_whole_as_the_engine_will_read_it() -> None:
    config = sampled("inference/pocket-reason.yaml", "dialdefer.benchmarks[0].n_items=20")
    prompts = first_prompts(config)
    found = run_size(prompts, config, tokenizer())
    encoded = [one.token_ids for one in Encoder(tokenizer(), config).encode(in_prefix_order(prompts))]
    assert found.n_prompts == 160
    assert found.mean_tokens == pytest.approx(sum(map(len, encoded)) / 160)
    assert found.longest == max(map(len, encoded)) + 120
    assert found.n_generated == 160 * 120
    cached: set[tuple[int, ...]] = set()
    computed = 0
    for ids in encoded:  # blocks of 32 that an earlier prompt has begun with
        blocks = [tuple(ids[: end + 32]) for end in range(0, len(ids) - 31, 32)]
        computed += len(ids) - 32 * sum(block in cached for block in blocks)
        cached.update(blocks)
    assert found.n_computed == pytest.approx(computed, rel=0.02)


def test_of_a_run_that_grows_the_first_round_is_estimated_by_each_prompts_own_length_and_it_is_said() -> None:
    config = sampled("pluraleval/pocket-references.yaml")
    prompts, check = sampling.planned(config)
    found = run_size(prompts, config, tokenizer())
    assert found.n_generated == 512 * found.n_prompts, "the longest reply of an extraction, not of the run"
    assert f"{len(prompts):,} prompts at first, and more that depend on the replies" in check.says
    assert "at first" not in sampling.planned(sampled("pluraleval/pocket-responses.yaml"))[1].says


def margins(n_prompts: int) -> RunSize:
    return RunSize(
        n_prompts=n_prompts,
        mean_tokens=200,
        longest=400,
        n_computed=100 * n_prompts,
        n_requests=n_prompts,
        n_generated=0,
    )


def test_prompts_take_their_products_at_the_stated_share_of_the_gpus_speed() -> None:
    config = sampled("inference/qwen2.5-7b-margin.yaml")
    start, prompts, replies = sampling.seconds(config, QWEN, margins(12_000), A100)
    flops = 12_000 * (100 * 2 * QWEN.n_linear + 2 * QWEN.n_head)
    assert prompts == pytest.approx(flops / (312e12 * GPU_SHARES.prefill), rel=0.05)  # and a little attention
    assert (start, replies) == (120, 0)
    halved = sampling.seconds(
        sampled("inference/qwen2.5-7b-margin.yaml", "engine.tensor_parallel_size=2"), QWEN, margins(12_000), A100
    )
    assert halved[1] == prompts / 2


def test_replies_wait_for_the_weights_to_be_read_where_few_are_written_at_once() -> None:
    config = sampled("inference/qwen2.5-7b.yaml")
    one = replace(margins(1), n_generated=300)
    seconds = sampling.seconds(config, QWEN, one, A100)[2]
    assert seconds == pytest.approx(300 * QWEN.weight_bytes("bfloat16") / 2039e9 / GPU_SHARES.decode, rel=0.01)
    many = replace(margins(256), n_generated=300 * 256)
    assert sampling.seconds(config, QWEN, many, A100)[2] < 2 * seconds


def test_a_prompt_over_the_context_window_is_wrong_and_of_conversations_it_is_left_out() -> None:
    def window_of(name: str, *words: str) -> tuple[str, str]:
        (check,) = (c for c in sampling.examine([str(CONFIGS / name), *words], None).checks if c.subject == "context")
        return check.state, check.says

    state, says = window_of("inference/pocket.yaml", "engine.max_model_len=130")
    assert (state, says) == ("wrong", "longest prompt with answer 147 of 130 tokens")
    few = "narrator.corpus.n_conversations=3"
    assert window_of("narrator/pocket-exact.yaml", few, "engine.max_model_len=130")[0] == "ok"
    assert window_of("inference/pocket.yaml", "engine.max_model_len=9000")[0] == "wrong", "the model has 8,192"
    absent = ("model.name=embedded", "dialdefer.benchmarks[0].root=absent")
    assert window_of("inference/server.yaml", *absent, "engine={kind: transformers}")[0] == "unknown"


def test_a_model_that_a_gpu_cannot_hold_is_wrong_there_and_unknown_of_a_gpu_that_is_elsewhere() -> None:
    engine = VllmConfig(max_model_len=4096)
    assert memory_check(engine, QWEN, A100).state == "ok"
    a10 = gpu_speed("NVIDIA A10", "bfloat16", memory_gib=16.0, is_here=True)
    assert memory_check(engine, QWEN, a10).state == "wrong"
    assert memory_check(engine, QWEN, replace(a10, is_here=False)).state == "unknown"
    assert memory_check(engine, QWEN, replace(a10, memory_gib=None)).state == "unknown"
    assert memory_check(VllmConfig(max_model_len=4096, tensor_parallel_size=2), QWEN, a10).state == "ok"


def trained(name: str, *words: str) -> StepSize:
    config = load_training_config([str(CONFIGS / "training" / name), *words])
    return step_size(load_data(config), config, tokenizer())


def test_steps_and_examples_are_those_of_the_run() -> None:
    found = trained("pocket-sft.yaml")
    assert (found.n_examples, found.n_steps, found.n_micro) == (512, 128, 1)
    assert found.reference_tokens == 0
    assert found.scored_a_step == 8, "four prompts, the verdict and EOS behind it"
    assert trained("pocket-sft.yaml", "optimiser.max_steps=7").n_steps == 7
    over = trained("pocket-sft.yaml", "examples.max_prompt_length=125")
    assert 0 < over.excluded_share < 1
    assert over.n_examples < 512


def test_a_run_that_asks_the_base_first_has_a_pass_more() -> None:
    found = trained("pocket-dpo.yaml")
    assert 0 < found.reference_tokens < found.n_examples * found.mean_tokens
    assert training.reference_seconds(QWEN, found, A100) > 0
    assert trained("pocket-dpo.yaml", "precompute_reference=false").reference_tokens == 0


STEP = StepSize(
    n_examples=160_000,
    excluded_share=0.0,
    n_steps=20_000,
    n_micro=1,
    mean_tokens=200,
    tokens_a_step=3200,
    computed_share=1.0,
    scored_a_step=16,
    largest=MicroBatch(rows=1, width=3200, n_scored=16, is_tree=False),
    largest_alone=MicroBatch(rows=1, width=400, n_scored=1, is_tree=False),
    reference_tokens=0.0,
)
BIG = ("optimiser.per_device_batch_size=16", "optimiser.gradient_accumulation_steps=1")


def test_a_step_takes_its_products_at_the_stated_share_and_checkpointing_a_forward_pass_more() -> None:
    name = str(CONFIGS / "training" / "qwen2.5-7b-sft.yaml")
    plain = load_training_config([name, *BIG, "optimiser.gradient_checkpointing=false"])
    again = load_training_config([name, *BIG, "optimiser.gradient_checkpointing=true"])
    seconds = training.step_seconds(plain, QWEN, STEP, A100)
    flops = 3200 * (4 * QWEN.n_linear + 6 * QWEN.n_lora(64))
    assert seconds == pytest.approx(flops / (312e12 * GPU_SHARES.training), rel=0.08)  # attention, and the head
    assert training.step_seconds(again, QWEN, STEP, A100) / seconds == pytest.approx(1.5, abs=0.03)


def test_memory_is_weights_adapter_and_what_the_largest_microbatch_keeps() -> None:
    name = str(CONFIGS / "training" / "qwen2.5-7b-sft.yaml")
    config = load_training_config([name, *BIG, "optimiser.gradient_checkpointing=false"])
    parts = training.memory_parts(config, QWEN, STEP.largest, A100)
    assert parts["weights"] == pytest.approx(QWEN.weight_bytes("bfloat16") / GIB)
    assert parts["adapter and optimiser"] == pytest.approx(QWEN.n_lora(64) * (4 * 4 + 2) / GIB)
    assert parts["activations"] * 1024 / 3200 == pytest.approx(8, abs=0.4), "MiB a token"
    nf4 = load_training_config([name, *BIG, "quantisation.hold=nf4", "optimiser.gradient_checkpointing=true"])
    small = training.memory_parts(nf4, QWEN, STEP.largest, A100)
    assert small["weights"] < parts["weights"] / 2
    assert small["activations"] < parts["activations"] / 8
    tree = training.memory_parts(config, QWEN, replace(STEP.largest, is_tree=True), A100)
    assert tree["masks"] == pytest.approx(3200**2 * 2 / GIB)


def test_too_little_memory_is_told_with_the_settings_that_take_less_unless_cutting_will_do() -> None:
    name = str(CONFIGS / "training" / "qwen2.5-7b-sft.yaml")
    config = load_training_config([name, "optimiser.gradient_checkpointing=false"])
    huge = MicroBatch(rows=2, width=8192, n_scored=48, is_tree=True)
    cut = training.memory_check(config, QWEN, replace(STEP, largest=huge), A100)
    assert cut.state == "ok"
    assert "what does not fit is cut, down to 21.6 GiB" in cut.says
    two = load_training_config([name, "optimiser.gradient_checkpointing=false", "optimiser.n_processes=2"])
    whole = replace(STEP, largest=huge, largest_alone=huge)
    for found in (
        training.memory_check(two, QWEN, replace(STEP, largest=huge), A100),
        training.memory_check(config, QWEN, whole, A100),
    ):
        assert found.state == "wrong"
        assert found.fix.startswith("optimiser.gradient_checkpointing=true, quantisation.hold=nf4")
    assert training.memory_check(config, QWEN, whole, replace(A100, is_here=False)).state == "unknown"
    small = replace(A100, memory_gib=18.0)
    assert training.memory_check(config, QWEN, None, small).state == "unknown", "no more than a bound is known"
    assert "cut" not in training.memory_check(config, QWEN, STEP, A100).says
    assert "at most" in training.memory_check(config, QWEN, None, A100).says


def test_without_its_data_a_config_is_tried_on_our_own_and_nothing_is_estimated_from_them(tmp_path: Path) -> None:
    words = [
        str(CONFIGS / "training" / "qwen2.5-7b-sft.yaml"),
        "model.name=embedded",
        f"dialdefer.benchmarks[0].root={tmp_path}",
    ]
    found = {check.subject.partition(",")[0]: check for check in training.examine(words, "a100").checks}
    assert found["data"].state == "wrong"
    assert found["examples"].says.startswith("our own render")
    assert "at most" in found["memory"].says
    assert found["time"].state == "unknown"
