"""What a training run is: one YAML file with every number that matters in it. The methods share all but their loss."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from evenhand.checkpoints import ModelConfig
from evenhand.config import config_tree, did_you_mean, parse_config
from evenhand.errors import ConfigError
from studies.registry import study_in, with_section
from studies.study import StudyRun
from training.sections import (
    ConsistencyConfig,
    DevConfig,
    ExamplesConfig,
    GuardConfig,
    LoraSettings,
    OptimiserConfig,
    QuantisationConfig,
    RunConfig,
)
from training.study import StudyTraining, training_of


class TrainingConfig(StudyRun):
    """What runs of all methods have in common. The study is told by the key of its section: see training_schema."""

    prefers_one_of_two: ClassVar[bool] = False  # whether the loss is of one answer over the other
    has_labels: ClassVar[bool] = True  # whether the loss knows which answer is right

    name: str = Field(pattern=r"^[A-Za-z0-9._-]+$")  # of the run directory, before the digest: letters, digits, ._-
    model: ModelConfig
    examples: ExamplesConfig = ExamplesConfig()
    consistency: ConsistencyConfig | None = None
    lora: LoraSettings = LoraSettings()
    quantisation: QuantisationConfig = QuantisationConfig()
    optimiser: OptimiserConfig
    dev: DevConfig | None = None
    guard: GuardConfig = GuardConfig()
    run: RunConfig = RunConfig()

    @property
    def training(self) -> StudyTraining:
        """The study's part of training."""
        return training_of(self.study)

    @property
    def needs_whole_groups(self) -> bool:
        """Whether the loss compares prompts with each other, which then must lie in one microbatch."""
        return self.consistency is not None

    @property
    def bundle_size(self) -> int:
        """What the examples that share a microbatch count as in `optimiser.per_device_batch_size`.

        A unit's prompts, where all units have equally many; else each bundle counts as one.
        """
        if self.optimiser.order != "whole_items" or not self.training.has_equal_units:
            return 1
        return self.training.n_prompts(self.study)

    @model_validator(mode="after")
    def study_can_do_it(self) -> Self:
        """First of all: every other rule hangs on it."""
        self.training.refuse(self)
        return self

    @model_validator(mode="after")
    def batches_hold_whole_items(self) -> Self:
        size = self.optimiser.per_device_batch_size
        if size % self.bundle_size:
            raise ValueError(
                f"optimiser.order is whole_items, but a batch of {size} holds no whole items of {self.bundle_size}: "
                f"set optimiser.per_device_batch_size to a multiple of {self.bundle_size}"
            )
        return self

    @model_validator(mode="after")
    def groups_are_together(self) -> Self:
        if self.needs_whole_groups and self.optimiser.order == "random":
            raise ValueError("the loss compares prompts of one item with each other: set optimiser.order=whole_items")
        return self


class SFTRun(TrainingConfig):
    """Supervised fine-tuning on one-token verdicts (DialDefer K.2, Tables 34 and 35)."""

    method: Literal["sft"]


class ReferencedRun(TrainingConfig):
    """What the methods that measure against the frozen base share."""

    prefers_one_of_two: ClassVar[bool] = True

    beta: float = Field(default=0.1, gt=0)  # how closely the base is kept to
    # One pass of the reference model over the data before training, instead of one in every step of every epoch.
    precompute_reference: bool = True


class DPORun(ReferencedRun):
    """Direct preference optimisation of the right verdict over the wrong one (DialDefer K.3, Tables 36 and 37)."""

    method: Literal["dpo"]


class IPORun(ReferencedRun):
    """Identity preference optimisation (Azar et al. 2024): the margin is drawn to 1 / (2 beta), not to infinity."""

    method: Literal["ipo"]


class KTORun(ReferencedRun):
    """Prospect-theoretic preferences (after Ethayarajh et al. 2024), on pairs: each answer against the drift."""

    method: Literal["kto"]


class SimPORun(TrainingConfig):
    """Simple preference optimisation (Meng et al. 2024): no reference, and a target margin."""

    prefers_one_of_two: ClassVar[bool] = True

    method: Literal["simpo"]
    beta: float = Field(default=2.0, gt=0)  # scales the difference of log-probabilities
    gamma: float = Field(default=1.0, ge=0)  # the margin, in units of beta x log-probability


class OwnC1Run(TrainingConfig):
    """Label-free consistency (ours): every verdict of a group is drawn to the base model's own verdict on the group's
    unframed prompt. Compares prompts with each other: set optimiser.order to whole_items.
    """

    has_labels: ClassVar[bool] = False

    method: Literal["own_c1"]
    target: Literal["soft", "hard"] = "soft"  # soft: the base's probabilities; hard: its verdict alone

    @property
    def needs_whole_groups(self) -> bool:
        """The C1 prompt of an item, the neutral one of a conversation, stands for the others."""
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
    tree = config_tree(words)
    if "method" not in tree:
        raise ConfigError(
            f"{words[0]}: names no `method`, so it is no training config; those lie under configs/training"
        )
    method = str(tree["method"])
    if method not in METHODS:
        raise ConfigError(f"{words[0]}: method: unknown '{method}'. {did_you_mean(method, sorted(METHODS))}")
    return parse_training_config(tree, str(Path(words[0])))


def parse_training_config(tree: dict[str, Any], where: str) -> AnyRun:
    """The tree as a config of the method and study that it names; `where` heads the message of a ConfigError."""
    return parse_config(training_schema(tree["method"], study_in(tree, where)), tree, where)


@cache
def training_schema(method: str, study: str) -> type[AnyRun]:
    """The schema of a method's configs on a study: its section is a key beside those of every run."""
    return with_section(METHODS[method], study)
