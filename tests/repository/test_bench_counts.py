"""What `make bench` counts as needed: operations of a training step."""

from statistics import fmean

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForCausalLM, LlamaConfig

from evenhand.checkpoints import load_tokenizer, resolve
from evenhand.model_size import PROJECTIONS, model_size
from tests.bench.necessary import Tokens, training_flops, training_tokens
from tests.bench.training import PARTS, SIZE, config
from training.batches import Collator, groups_of, schedule
from training.config import AnyRun, parse_training_config
from training.data import examples_of, load_data
from training.objectives import objective_of

SHAPE = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
CONFIG = LlamaConfig(**SHAPE, num_key_value_heads=2, vocab_size=50, attn_implementation="eager")
RANK = 8


def test_a_steps_operations_are_those_that_torch_counts() -> None:
    with torch.device("meta"):
        adapter = LoraConfig(r=RANK, lora_dropout=0.1, target_modules=list(PROJECTIONS))
        model = get_peft_model(AutoModelForCausalLM.from_config(CONFIG), adapter)
    model.enable_input_require_grads()  # the first layer's input takes a gradient too
    with FlopCounterMode(display=False) as counter:
        model(torch.zeros(3, 40, dtype=torch.long, device="meta")).logits.sum().backward()
    # eager attention also multiplies what the mask hides, so every token sees all 40
    size = model_size(CONFIG.to_dict())
    assert training_flops(size, Tokens(3 * 40, 40, 3 * 40), size.n_lora(RANK)) == pytest.approx(
        counter.get_total_flops(), abs=0
    )


def test_what_is_counted_of_a_step_is_what_ours_computes() -> None:
    run: AnyRun = parse_training_config(config("dpo"), "bench")
    tokenizer = load_tokenizer(resolve(run.model, weights=False))
    groups = groups_of(examples_of(load_data(run), run, tokenizer)[0], run.optimiser.order)
    collate = Collator(pad=0, branches=objective_of(run).branches, row_tokens=run.optimiser.row_tokens)
    step = schedule(groups, run).microbatches[:PARTS]
    batches = [collate([groups[index] for index in microbatch]) for microbatch in step]
    counted = training_tokens(run)
    assert counted.n == fmean(batch["input_ids"].numel() for batch in batches)  # one row each, without padding
    assert counted.n_scored == SIZE * 3
