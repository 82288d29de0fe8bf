"""What a training run is: one YAML file with every number that matters in it. The methods share all but their loss."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from evenhand.checkpoints import ModelConfig
from evenhand.config import Closed, config_tree, did_you_mean, parse_config
from evenhand.errors import ConfigError
from studies.dialdefer.datasets import EVALUATION_ONLY, DatasetSpec
from studies.narrator.section import NarratorSection
from training.sections import (
    CONDITIONS,
    NOT_OF_NARRATOR,
    ConsistencyConfig,
    DevConfig,
    ExamplesConfig,
    GuardConfig,
    LoraSettings,
    OptimiserConfig,
    QuantisationConfig,
    RunConfig,
)


# Keys that came after the first runs are left out of the resolved config where they are unused: a run's directory is
# named by its config's digest, and the configs of those runs are to find theirs.
class TrainingConfig(Closed):
    """What runs of all methods have in common: DialDefer's `benchmarks`, or conversations of the `narrator` study."""

    prefers_one_of_two: ClassVar[bool] = False  # whether the loss is of one answer over the other
    has_labels: ClassVar[bool] = True  # whether the loss knows which answer is right

    name: str = Field(pattern=r"^[A-Za-z0-9._-]+$")  # of the run directory, before the digest: letters, digits, ._-
    # verdict is ours: one forward pass, answer positions only, the same mathematics. trl is TRL's own SFTTrainer and
    # DPOTrainer as they come, to check ours against and to time it by.
    trainer: Literal["verdict", "trl"] = "verdict"
    model: ModelConfig
    # The datasets trained on, a list. A run has these or `narrator`.
    benchmarks: tuple[DatasetSpec, ...] = Field(default=(), exclude_if=lambda specs: not specs)
    # Conversations of the narrator study, in place of `benchmarks`.
    narrator: NarratorSection | None = Field(default=None, exclude_if=lambda section: section is None)
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

    @property
    def bundle_size(self) -> int:
        """What the examples that share a micro-batch count as in `optimiser.per_device_batch_size`.

        An item's conditions are as many prompts; conversations are unequal, and each bundle of theirs counts as one.
        """
        if self.narrator or self.optimiser.order != "whole_items":
            return 1
        return len(CONDITIONS[self.examples.conditions])

    @model_validator(mode="after")
    def one_study(self) -> Self:
        """First of all: every other rule hangs on it."""
        if (self.narrator is None) != bool(self.benchmarks):
            found = "both are given" if self.benchmarks else "neither is"
            raise ValueError(f"a run trains on either `benchmarks` or `narrator`: {found}; give one of them")
        return self

    @model_validator(mode="after")
    def narrator_can_do_it(self) -> Self:
        if self.narrator is None:
            return self
        if self.prefers_one_of_two:
            raise ValueError(
                "method: its loss prefers one of two answers, and conversations have a speaker for each answer; for "
                "`narrator` take sft or own_c1"
            )
        if given := [key for key in NOT_OF_NARRATOR if key in self.examples.model_fields_set]:
            raise ValueError(f"examples.{given[0]}: is for `benchmarks`; what is asked of `narrator` is its section's")
        if self.examples.loss_on_eos:
            raise ValueError(
                "conversations teach which option to write, not where a reply ends: set examples.loss_on_eos=false"
            )
        if self.has_labels and "detection" in self.narrator.tasks:
            raise ValueError(
                "narrator.tasks: of detection every label is Yes, which a judge learns without reading; set "
                "narrator.tasks=[identification, blame], or take method own_c1, which needs no labels"
            )
        if self.trainer == "trl":
            raise ValueError("trainer: trl is for `benchmarks`; set trainer=verdict")
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
        order = self.optimiser.order
        if order == "whole_groups" and not self.narrator:
            raise ValueError("optimiser.order: whole_groups is for `narrator`; write whole_items")
        if not self.needs_whole_groups:
            return self
        if not self.narrator and self.examples.conditions != "c1_and_c2":
            raise ValueError("the loss compares an item's C1 and C2 prompts: set examples.conditions=c1_and_c2")
        if self.narrator and order == "random":
            raise ValueError(
                "the loss compares a conversation's prompts with each other: set optimiser.order=whole_items, or "
                "whole_groups"
            )
        if order == "random":
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

    @field_validator("narrator")
    @classmethod
    def only_training_conversations(cls, section: NarratorSection | None) -> NarratorSection | None:
        if section and section.corpus.split != "train":
            corpus = section.corpus
            raise ValueError(f"{corpus.dataset}: split '{corpus.split}' must not be trained on; write split: train")
        return section

    @model_serializer(mode="wrap")
    def without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What is DialDefer's is not in the resolved config of another study, as it must be to be read again."""
        tree: dict[str, Any] = handler(self)
        if self.narrator is not None:
            for key in NOT_OF_NARRATOR:
                tree["examples"].pop(key, None)
        return tree


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
    trainer: Literal["verdict"] = "verdict"


class KTORun(ReferencedRun):
    """Prospect-theoretic preferences (after Ethayarajh et al. 2024), on pairs: each answer against the drift."""

    method: Literal["kto"]
    trainer: Literal["verdict"] = "verdict"


class SimPORun(TrainingConfig):
    """Simple preference optimisation (Meng et al. 2024): no reference, and a target margin."""

    prefers_one_of_two: ClassVar[bool] = True

    method: Literal["simpo"]
    trainer: Literal["verdict"] = "verdict"
    beta: float = Field(default=2.0, gt=0)  # scales the difference of log-probabilities
    gamma: float = Field(default=1.0, ge=0)  # the margin, in units of beta x log-probability


class OwnC1Run(TrainingConfig):
    """Label-free consistency (ours): every verdict of an item is drawn to the base model's own verdict in C1. Compares
    prompts with each other: set examples.conditions to c1_and_c2 and optimiser.order to whole_items.
    """

    has_labels: ClassVar[bool] = False

    method: Literal["own_c1"]
    trainer: Literal["verdict"] = "verdict"
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
    return parse_config(METHODS[method], tree, str(Path(words[0])))
