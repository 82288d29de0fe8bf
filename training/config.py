"""What a training run is: one YAML file with every number that matters in it. SFT and DPO share all but their loss."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from benchmarks.checkpoints import ModelConfig
from benchmarks.config import Closed, did_you_mean, load_config, read_yaml
from benchmarks.errors import ConfigError
from benchmarks.records import Condition
from benchmarks.sources import EVALUATION_ONLY, DatasetSpec
from benchmarks.templates import template_for

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
CONDITIONS = {
    "c2_only": (Condition.C2_CORRECT, Condition.C2_INCORRECT),
    "c1_and_c2": tuple(Condition),
}


class ExamplesConfig(Closed):
    """Which examples are made of the items: one for each item and condition."""

    template: str = "matched"  # must have a one-token form
    conditions: Literal["c2_only", "c1_and_c2"] = "c2_only"  # c2_only is the paper's (K.2)
    format: Literal["chat", "raw"] = "chat"  # raw is the published way: bare text without a chat template
    speakers: tuple[str, str] | None = None  # labels of speaker 1 and 2; null takes the dataset's own
    loss_on_eos: bool = True  # K.2 puts SFT's loss on the verdict alone; then nothing teaches the model to stop
    max_prompt_length: int = Field(default=768, ge=1)  # tokens; longer prompts are left out and listed, never cut

    @field_validator("template")
    @classmethod
    def has_one_token_form(cls, name: str) -> str:
        try:
            template_for(name, "one_token")
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return name


class LoraSettings(Closed):
    """The adapter (Tables 34 and 36)."""

    r: int = Field(default=64, ge=1)
    alpha: int = Field(default=16, ge=1)
    dropout: float = Field(default=0.05, ge=0, lt=1)
    target_modules: tuple[str, ...] = PROJECTIONS
    # TRL casts the adapters of a quantised model to bf16, where an update of 1e-4 of a weight is rounded away.
    dtype: Literal["float32", "bfloat16"] = "float32"


class QuantisationConfig(Closed):
    """How the frozen base is held and computed with."""

    kind: Literal["nf4", "none"] = "nf4"  # none keeps it in bf16: plain LoRA
    double_quant: bool = True  # quantise the block scales too
    compute_dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"


class OptimiserConfig(Closed):
    """The optimiser and the order of the examples."""

    learning_rate: float = Field(gt=0)
    schedule: Literal["cosine", "linear", "constant", "constant_with_warmup"] = "cosine"
    warmup_ratio: float = Field(default=0.03, ge=0, lt=1)  # of all optimiser steps
    weight_decay: float = Field(default=0.01, ge=0)
    max_grad_norm: float = Field(default=1.0, gt=0)
    per_device_batch_size: int = Field(default=4, ge=1)
    gradient_accumulation_steps: int = Field(default=4, ge=1)
    n_processes: int = Field(default=1, ge=1)  # GPUs that train together; the three multiply to the effective batch
    epochs: float = Field(default=1.0, gt=0)
    max_steps: int | None = Field(default=None, ge=1)  # optimiser steps; null goes by epochs
    # whole_items keeps an item's conditions together in a batch, shuffled item by item: what two prompts share cancels
    # in the gradient, and what tells true from false stays.
    order: Literal["random", "whole_items"] = "random"
    mixed_precision: Literal["bf16", "fp16", "no"] = "bf16"
    gradient_checkpointing: bool = True
    seed: int = 0


class GuardConfig(Closed):
    """When a run is stopped because it no longer learns."""

    patience_steps: int = Field(default=200, ge=1)  # this many steps without a verdict better than chance
    chance_margin: float = Field(default=0.02, ge=0)  # in nats: how far under ln 2 the mean loss must come


class RunConfig(Closed):
    """Where results go and how often. Changes no number, so it is no part of a run's digest."""

    root: Path = Path("runs")
    save_steps: int = Field(default=200, ge=1)  # optimiser steps between two checkpoints to continue from
    keep_checkpoints: int = Field(default=2, ge=2)  # two, so that one is whole if the run is killed while it saves
    logging_steps: int = Field(default=10, ge=1)
    report_to: tuple[str, ...] = ()  # trackers that transformers knows: wandb, tensorboard, mlflow, trackio, ...


class TrainingConfig(Closed):
    """What SFT and DPO runs have in common."""

    name: str = Field(pattern=r"^[A-Za-z0-9._-]+$")
    model: ModelConfig
    benchmarks: tuple[DatasetSpec, ...] = Field(min_length=1)
    examples: ExamplesConfig = ExamplesConfig()
    lora: LoraSettings = LoraSettings()
    quantisation: QuantisationConfig = QuantisationConfig()
    optimiser: OptimiserConfig
    guard: GuardConfig = GuardConfig()
    run: RunConfig = RunConfig()

    @model_validator(mode="after")
    def batches_hold_whole_items(self) -> Self:
        n_conditions = len(CONDITIONS[self.examples.conditions])
        size = self.optimiser.per_device_batch_size
        if self.optimiser.order == "whole_items" and size % n_conditions:
            raise ValueError(
                f"optimiser.order is whole_items, but a batch of {size} holds no whole items of {n_conditions}: "
                f"set optimiser.per_device_batch_size to a multiple of {n_conditions}"
            )
        return self

    @field_validator("benchmarks")
    @classmethod
    def only_training_data(cls, specs: tuple[DatasetSpec, ...]) -> tuple[DatasetSpec, ...]:
        for spec in specs:
            if spec.dataset in EVALUATION_ONLY:
                raise ValueError(f"{spec.dataset} is held out for evaluation and must not be trained on; take it out")
            if spec.split != "train":
                raise ValueError(f"{spec.dataset}: split '{spec.split}' must not be trained on; write split: train")
        return specs


class SFTRun(TrainingConfig):
    """Supervised fine-tuning on one-token verdicts (DialDefer K.2, Tables 34 and 35)."""

    method: Literal["sft"]


class DPORun(TrainingConfig):
    """Direct preference optimisation of the right verdict over the wrong one (DialDefer K.3, Tables 36 and 37)."""

    method: Literal["dpo"]
    beta: float = Field(default=0.1, gt=0)
    # One pass of the reference model over the data before training, instead of one in every step of every epoch.
    precompute_reference: bool = True


METHODS: dict[str, type[SFTRun] | type[DPORun]] = {"sft": SFTRun, "dpo": DPORun}


def load_training_config(words: Sequence[str]) -> SFTRun | DPORun:
    """The run that words[0] (a YAML file) and its overrides describe. Raises ConfigError when `method` is neither."""
    if not words:
        raise ConfigError("no config file given; say which one, for example configs/training/pocket-sft.yaml")
    method = str(read_yaml(Path(words[0])).get("method"))
    if method not in METHODS:
        raise ConfigError(f"{words[0]}: method: unknown '{method}'. {did_you_mean(method, sorted(METHODS))}")
    return load_config(METHODS[method], words)
