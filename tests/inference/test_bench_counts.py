"""What `make bench` counts: operations that a step and a prefill need."""

from statistics import fmean
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForCausalLM, LlamaConfig

from evenhand.checkpoints import load_tokenizer, resolve
from evenhand.model_size import PROJECTIONS, ModelSize, model_size
from inference.config import load_sampling_config
from studies.dialdefer.datasets import load_items
from tests.bench.contenders import PARTS, SIZE, config
from tests.bench.necessary import (
    Tokens,
    training_flops,
    training_tokens,
)
from tests.bench.pluraleval import FOLDER, Stub, made_threads, seconds_for
from training.batches import Collator, groups_of, schedule
from training.config import AnyRun, parse_training_config
from training.dialdefer.examples import make_examples
from training.objectives import objective_of

CONFIG = LlamaConfig(
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=50,
    attn_implementation="eager",
)
RANK = 8


@pytest.fixture
def size() -> ModelSize:
    return model_size(CONFIG.to_dict())


def judge(device: str) -> Any:
    """A model with an adapter on every projection; its first layer's input takes a gradient too."""
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(CONFIG)
        adapter = LoraConfig(r=RANK, lora_dropout=0.1, target_modules=list(PROJECTIONS))
        found = get_peft_model(model, adapter)
    found.enable_input_require_grads()
    return found


def step(model: Any, device: str) -> None:
    model(torch.zeros(3, 40, dtype=torch.long, device=device)).logits.sum().backward()


def test_a_steps_operations_are_those_that_torch_counts(size: ModelSize) -> None:
    model = judge("meta")
    with FlopCounterMode(display=False) as counter:
        step(model, "meta")
    # eager attention also multiplies what the mask hides, so every token sees all 40
    needed = training_flops(size, Tokens(3 * 40, 40, 3 * 40), size.n_lora(RANK))
    assert needed == counter.get_total_flops()


def test_what_is_counted_of_a_step_is_what_ours_computes() -> None:
    run: AnyRun = parse_training_config(config("dpo", "verdict"), "bench")
    tokenizer = load_tokenizer(resolve(run.model, weights=False))
    groups = groups_of(make_examples(load_items(run.study.benchmarks), run, tokenizer)[0], run.optimiser.order)
    collate = Collator(pad=0, branches=objective_of(run).branches, row_tokens=run.optimiser.row_tokens)
    step = schedule(groups, run).microbatches[:PARTS]
    batches = [collate([groups[index] for index in microbatch]) for microbatch in step]
    counted = training_tokens(run)
    assert counted.n == fmean(batch["input_ids"].numel() for batch in batches)  # one row each, without padding
    assert counted.n_scored == SIZE * 3


def test_the_bench_asks_as_a_run_asks() -> None:
    settings = load_sampling_config([str(FOLDER / "pocket-references.yaml"), "sampling.structured=none"])
    engine = Stub(0.0)
    assert seconds_for(engine, made_threads(2, longest=4), settings) > 0
    assert {prompt.condition for prompt in engine.asked} >= {"extraction", "summary"}
