"""The sections of a training config, each with the papers' values as its defaults."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from evenhand.config import Closed, is_none

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class ExamplesConfig(Closed):
    """What examples look like: one for each prompt that the study's section asks."""

    chat_template: bool = True  # false is the published way: bare text
    # Also on the token that ends the turn. K.2 puts SFT's loss on the verdict alone: nothing teaches the model to stop.
    loss_on_eos: bool = True
    max_prompt_length: int = Field(default=768, ge=1)  # tokens; longer prompts are left out and listed, never cut
    # Of a judge that writes: a finished sampling run of the train split, whose replies are learnt whole
    replies: Path | None = Field(default=None, exclude_if=is_none)
    thoughts: bool = Field(default=False, exclude_if=lambda is_set: not is_set)  # learn what stands before them, too


class LoraSettings(Closed):
    """The adapter (Tables 34 and 36)."""

    r: int = Field(default=64, ge=1)  # rank
    alpha: int = Field(default=16, ge=1)  # the update is scaled by alpha / r
    dropout: float = Field(default=0.05, ge=0, lt=1)  # of the adapter's input
    target_modules: tuple[str, ...] = PROJECTIONS  # the linear layers that get an adapter
    # TRL casts the adapters of a quantised model to bf16, where an update of 1e-4 of a weight is rounded away.
    dtype: Literal["float32", "bfloat16"] = "float32"


class QuantisationConfig(Closed):
    """How the frozen base is held and computed with."""

    kind: Literal["nf4", "none"] = "nf4"  # none keeps it in compute_dtype: plain LoRA
    double_quant: bool = True  # quantise the block scales too
    compute_dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"  # of the products with the frozen weights
    # How the quantised weights lie in memory while training. `dequantised` computes their values once, instead of in
    # every forward and backward pass: the same numbers, faster, at the memory of an unquantised model.
    weights: Literal["nf4", "dequantised"] = "nf4"


class OptimiserConfig(Closed):
    """The optimiser and the order of the examples."""

    learning_rate: float = Field(gt=0)  # the highest, after the warm-up
    schedule: Literal["cosine", "linear", "constant", "constant_with_warmup"] = "cosine"  # of the learning rate
    warmup_ratio: float = Field(default=0.03, ge=0, lt=1)  # of all optimiser steps
    weight_decay: float = Field(default=0.01, ge=0)  # AdamW's
    max_grad_norm: float = Field(default=1.0, gt=0)  # longer gradients are clipped
    # Prompts. Where units have unequally many (conversations), it counts what batch_by names: items, groups or (random)
    # prompts. A step's loss is the mean over its prompts all the same.
    per_device_batch_size: int = Field(default=4, ge=1)
    gradient_accumulation_steps: int = Field(default=4, ge=1)  # microbatches of an optimiser step
    n_processes: int = Field(default=1, ge=1)  # GPUs that train together; the three multiply to the effective batch
    epochs: float = Field(default=1.0, gt=0)  # passes over the data
    max_steps: int | None = Field(default=None, ge=1)  # optimiser steps; null goes by epochs
    # item keeps an item's conditions together in a microbatch, shuffled item by item: what two prompts share cancels
    # in the gradient, what tells true from false stays, and the tokens they begin with are computed once. group keeps
    # only the prompts together that should agree, in a conversation one of each narrator: less memory, but what a
    # unit's groups share is computed anew.
    batch_by: Literal["random", "item", "group"] = "random"
    mixed_precision: Literal["bf16", "fp16", "no"] = "bf16"  # of the trainer; no is float32
    gradient_checkpointing: bool = True  # less memory, slower; changes no number
    # A microbatch's prompts share a row, and what they begin with is computed once, while it has at most this many
    # tokens; 0: a row for each prompt. Changes no loss, but rows that share a token share what dropout does to it.
    row_tokens: int = Field(default=2048, ge=0)
    seed: int = 0  # of the order of the examples, the adapter's start, dropout and drawn prompt variants


class PairedConfig(Closed):
    """The term that draws the verdicts on prompts that should agree towards each other (training.objectives)."""

    weight: float = Field(gt=0)  # lambda: the loss is SFT's + weight x Jensen-Shannon divergence in nats


class DevConfig(Closed):
    """Training items set aside to choose the checkpoint by. They are never trained on, and are no test items."""

    # families of units (items with one question, a page's conversations), drawn over all datasets alike
    n_items: int = Field(ge=1)
    every_steps: int = Field(ge=1)  # optimiser steps between two evaluations: sparse, they cost a forward pass each
    seed: int = 0  # of which items are set aside


class GuardConfig(Closed):
    """When a run is stopped because it no longer learns (training.guard). Changes no number of a run that is not."""

    patience_steps: int = Field(default=200, ge=1)  # so many without verdicts better than chance, after the warm-up
    # In nats of log P(right) - log P(wrong): the mean loss must come as far under chance as this gain takes it.
    chance_margin: float = Field(default=0.04, ge=0)


class RunConfig(Closed):
    """Where results go and how often. Changes no number, so it is no part of a run's digest."""

    root: Path = Path("runs")  # folder of the run directories
    save_steps: int = Field(default=1000, ge=1)  # optimiser steps between two checkpoints to continue from
    keep_checkpoints: int = Field(default=2, ge=2)  # two, so that one is whole if the run is killed while it saves
    logging_steps: int = Field(default=10, ge=1)  # optimiser steps between two lines of metrics.jsonl
    report_to: tuple[str, ...] = ()  # trackers that transformers knows: wandb, tensorboard, mlflow, trackio, ...
