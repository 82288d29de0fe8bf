"""What `make bench` counts: operations that a step and a prefill need, and which part of a model an operation is of."""

from collections import Counter
from collections.abc import Iterator
from statistics import fmean
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForCausalLM, LlamaConfig

from evenhand import float32_products
from evenhand.checkpoints import load_tokenizer, resolve
from evenhand.model_size import PROJECTIONS, ModelSize, model_size
from studies.dialdefer.datasets import load_items
from tests.bench import matmul
from tests.bench.contenders import PARTS, SIZE, config
from tests.bench.necessary import (
    Tokens,
    prefill_flops,
    prompt_tokens,
    training_flops,
    training_tokens,
    tree_tokens,
)
from tests.bench.operations import StepProfile, group_of, part_numbers
from tests.made.training_configs import training_config
from training.batches import Collator, bundles_of, schedule
from training.config import AnyRun
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


def test_what_prompts_begin_with_alike_is_needed_once() -> None:
    tokens = tree_tokens([(1, 2, 3, 4), (1, 2, 9)], n_scored=2)
    assert tokens == Tokens(5, (1 + 2 + 3 + 4 + 3) / 5, 2)


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_what_is_counted_of_a_step_is_what_ours_computes(method: str) -> None:
    run: AnyRun = training_config(config(method, "verdict"))
    tokenizer = load_tokenizer(resolve(run.model, weights=False))
    bundles = bundles_of(make_examples(load_items(run.study.benchmarks), run, tokenizer)[0], run.optimiser.order)
    collate = Collator(pad=0, branches=objective_of(run).branches, row_tokens=run.optimiser.row_tokens)
    step = schedule(bundles, run).micro_batches[:PARTS]
    batches = [collate([bundles[index] for index in micro_batch]) for micro_batch in step]
    counted = training_tokens(run)
    assert counted.n == fmean(batch["input_ids"].numel() for batch in batches)  # one row each, without padding
    assert counted.n_scored == SIZE * (3 if method == "dpo" else 2)


def test_what_the_prefix_cache_serves_is_not_computed_but_seen(size: ModelSize) -> None:
    tokens = prompt_tokens([(4, 0), (5, 3)])
    assert tokens == Tokens(6, (1 + 2 + 3 + 4 + 4 + 5) / 6, 2)
    assert prefill_flops(size, tokens) == size.forward_flops(6, 19 / 6, 2)


def test_every_product_of_a_step_is_told_by_the_part_that_it_is_of() -> None:
    model = judge("cpu")
    profile = StepProfile(model)
    profile.start()
    step(model, "cpu")
    profile.profile.stop()
    events = profile.profile.events()
    numbers = part_numbers(events)
    products = Counter(group_of(event, numbers) for event in events if event.name in ("aten::mm", "aten::bmm"))
    n_linear = 7 * CONFIG.num_hidden_layers
    assert products == {
        "base matrices": 2 * n_linear,  # forward, and the gradient of the input
        "adapters' matrices": 2 * 3 * n_linear,  # of the weights as well
        "attention": 2 * 3 * CONFIG.num_hidden_layers,
        "head": 2,
    }


def test_shares_of_a_step_add_up_to_one() -> None:
    model = judge("cpu")
    profile = StepProfile(model)
    profile.start()
    step(model, "cpu")
    shares = profile.shares(seconds=1000)
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["between operations (Python, launches, waiting)"] > 0.9
    assert {"dropout", "norms", "activation", "attention"} <= shares.keys()


@pytest.fixture
def own_precision() -> Iterator[None]:
    kept = torch.backends.mkldnn.matmul.fp32_precision
    yield
    torch.backends.mkldnn.matmul.fp32_precision = kept


@pytest.mark.usefixtures("own_precision")
@pytest.mark.parametrize("is_exact", [True, False])
def test_the_faster_library_is_taken_only_where_it_computes_float32(
    is_exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = precision()
    monkeypatch.setattr(matmul, "seconds_of", lambda *_: 1.0 if precision() == default else 0.5)
    monkeypatch.setattr(float32_products, "computes_float32", lambda: is_exact)
    matmul.choose_library(lambda: None)
    assert precision() == ("bf16" if is_exact else default)


def test_a_product_that_rounds_to_bf16_is_told() -> None:
    assert float32_products.computes_float32()
    with torch.autocast("cpu", torch.bfloat16):
        assert not float32_products.computes_float32()


def precision() -> str:
    return str(torch.backends.mkldnn.matmul.fp32_precision)
