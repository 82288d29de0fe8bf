"""What a training run is: one YAML file with every number that matters in it. The methods share all but their loss."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from benchmarks.checkpoints import ModelConfig
from benchmarks.config import Closed, did_you_mean, load_config, read_yaml
from benchmarks.errors import ConfigError
from benchmarks.sources import EVALUATION_ONLY, DatasetSpec
from training.sections import (
    CONDITIONS,
    ConsistencyConfig,
    DevConfig,
    ExamplesConfig,
    GuardConfig,
    LoraSettings,
    OptimiserConfig,
    QuantisationConfig,
    RunConfig,
)


class TrainingConfig(Closed):
    """What runs of all methods have in common."""

    name: str = Field(pattern=r"^[A-Za-z0-9._-]+$")
    # verdict is ours: one forward pass, answer positions only, the same mathematics. trl is TRL's own SFTTrainer and
    # DPOTrainer as they come, to check ours against and to time it by.
    trainer: Literal["verdict", "trl"] = "verdict"
    model: ModelConfig
    benchmarks: tuple[DatasetSpec, ...] = Field(min_length=1)
    examples: ExamplesConfig = ExamplesConfig()
    consistency: ConsistencyConfig | None = None
    lora: LoraSettings = LoraSettings()
    quantisation: QuantisationConfig = QuantisationConfig()
    optimiser: OptimiserConfig
    dev: DevConfig | None = None
    guard: GuardConfig = GuardConfig()
    run: RunConfig = RunConfig()

    @property
    def needs_whole_groups(self) -> bool:
        """Whether the loss compares prompts with each other, which then must lie in one micro-batch."""
        return self.consistency is not None

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

    @model_validator(mode="after")
    def groups_are_together(self) -> Self:
        if not self.needs_whole_groups:
            return self
        if self.examples.conditions != "c1_and_c2":
            raise ValueError("the loss compares an item's C1 and C2 prompts: set examples.conditions=c1_and_c2")
        if self.optimiser.order != "whole_items":
            raise ValueError("the loss compares prompts of one item with each other: set optimiser.order=whole_items")
        return self

    @model_validator(mode="after")
    def stock_trl_can_do_it(self) -> Self:
        if self.trainer == "trl":
            for key in ("consistency", "dev"):
                if getattr(self, key) is not None:
                    raise ValueError(f"trainer: trl has no {key}; take it out, or set trainer=verdict")
            if self.quantisation.hold != "nf4":
                raise ValueError("trainer: trl is TRL as it comes; set quantisation.hold=nf4, or trainer=verdict")
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


class ReferencedRun(TrainingConfig):
    """What the methods that measure against the frozen base share."""

    beta: float = Field(default=0.1, gt=0)
    # One pass of the reference model over the data before training, instead of one in every step of every epoch.
    precompute_reference: bool = True


class DPORun(ReferencedRun):
    """Direct preference optimisation of the right verdict over the wrong one (DialDefer K.3, Tables 36 and 37)."""

    method: Literal["dpo"]


class IPORun(ReferencedRun):
    """Identity preference optimisation (Azar et al. 2024): the margin is drawn to 1 / (2 beta), not to infinity."""

    method: Literal["ipo"]
    trainer: Literal["verdict"] = "verdict"


class KTORun(ReferencedRun):
    """Prospect-theoretic preferences (after Ethayarajh et al. 2024), on pairs: each answer against the drift."""

    method: Literal["kto"]
    trainer: Literal["verdict"] = "verdict"


class SimPORun(TrainingConfig):
    """Simple preference optimisation (Meng et al. 2024): no reference, and a target margin."""

    method: Literal["simpo"]
    trainer: Literal["verdict"] = "verdict"
    beta: float = Field(default=2.0, gt=0)
    gamma: float = Field(default=1.0, ge=0)  # the margin, in units of beta x log-probability


class OwnC1Run(TrainingConfig):
    """Label-free consistency (ours): every verdict of an item is drawn to the base model's own verdict in C1."""

    method: Literal["own_c1"]
    trainer: Literal["verdict"] = "verdict"
    target: Literal["soft", "hard"] = "soft"  # soft: the base's probabilities; hard: its verdict alone

    @property
    def needs_whole_groups(self) -> bool:
        """The C1 prompt of an item stands for the others."""
        return True


AnyRun = SFTRun | DPORun | IPORun | KTORun | SimPORun | OwnC1Run
METHODS: dict[str, type[AnyRun]] = {
    "sft": SFTRun,
    "dpo": DPORun,
    "ipo": IPORun,
    "simpo": SimPORun,
    "kto": KTORun,
    "own_c1": OwnC1Run,
}


def load_training_config(words: Sequence[str]) -> AnyRun:
    """The run that words[0] (a YAML file) and its overrides describe. Raises ConfigError for an unknown `method`."""
    if not words:
        raise ConfigError("no config file given; say which one, for example configs/training/pocket-sft.yaml")
    method = str(read_yaml(Path(words[0])).get("method"))
    if method not in METHODS:
        raise ConfigError(f"{words[0]}: method: unknown '{method}'. {did_you_mean(method, sorted(METHODS))}")
    return load_config(METHODS[method], words)
