"""What a training run is: one YAML file with every number that matters in it, and what training needs from a study.

The methods share all but their loss. The registry names each study's part, which is loaded when it is asked for.
"""

import random
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, cast, get_args

from pydantic import Field, field_validator, model_validator

from evenhand.checkpoints import ModelConfig
from evenhand.config import config_tree, did_you_mean, parse_config, read_yaml
from evenhand.errors import ConfigError
from evenhand.records import Completion, Prompt
from evenhand.registry import STUDIES, load_part, study_in, with_section
from evenhand.run_directory import CONFIG_FILE
from evenhand.study import StudyRun, StudySection
from training.examples import Sifted, TrainingPrompt
from training.sections import (
    DevConfig,
    ExamplesConfig,
    GuardConfig,
    LoraSettings,
    OptimiserConfig,
    PairedConfig,
    QuantisationConfig,
    RunConfig,
)

Section = TypeVar("Section", bound=StudySection)
TrainedUnit = TypeVar("TrainedUnit")


class StudyTraining(Generic[Section, TrainedUnit]):
    """A study that can be trained on. Its units are opaque to everybody else, but for their `dataset`."""

    called: ClassVar[str]  # what its units are: "items"
    tag: ClassVar[str]  # the Hub's, for model cards

    def section_of(self, config: "TrainingConfig") -> Section:
        """The study's section of a run's config."""
        return cast(Section, config.study)

    @abstractmethod
    def validate(self, config: "TrainingConfig") -> None:
        """Raises ValueError when a run cannot train on what its section names, or not in this way."""

    def n_prompts(self, section: Section) -> int | None:
        """Prompts of a unit; None where their number varies: a batch then counts what `optimiser.batch_by` names."""
        return None

    @abstractmethod
    def load(self, section: Section) -> Sequence[TrainedUnit]:
        """The units. Raises DataError for data that are absent, damaged or too few."""

    @abstractmethod
    def content_hash(self, units: Sequence[TrainedUnit]) -> str:
        """16 hex digits over the content."""

    def unit_hash(self, unit: TrainedUnit) -> str:
        """By which `evenhand calibrate` knows a unit that was trained on, in whatever file it lies."""
        return self.content_hash([unit])

    @abstractmethod
    def check_test_data(self, units: Sequence[TrainedUnit], section: Section) -> None:
        """Raises DataError naming both when something to be trained on gives away what is held out for testing."""

    @abstractmethod
    def families(self, units: Sequence[TrainedUnit]) -> Sequence[str]:
        """Of each unit the name of what must lie on one side of training and dev split."""

    def facts(self, units: Sequence[TrainedUnit]) -> Mapping[str, Any]:
        """What else is to be known of the training data, for the merged checkpoint's DONE.json."""
        return {}

    def notes(self, units: Sequence[TrainedUnit]) -> Sequence[str]:
        """What a user should know before training on them."""
        return []

    @abstractmethod
    def examples(self, units: Sequence[TrainedUnit], config: "TrainingConfig", tokenizer: Any) -> Sifted:
        """The examples, and the prompts left out. Raises DataError when nothing is left."""

    def card_facts(self, config: "TrainingConfig", datasets: Sequence[str]) -> Mapping[str, Any]:
        """What its model card names; `hub` lists the datasets' ids on the Hub, `sources` holds licence and citation.

        The card is training_card.md beside the study's module, else the one of all studies.
        """
        return {}


class WritingStudy(StudyTraining[Section, TrainedUnit]):
    """A study whose judges can be trained on replies that they wrote: it reads them."""

    @abstractmethod
    def prompts(self, unit: TrainedUnit, config: "TrainingConfig") -> Iterator[TrainingPrompt]:
        """The prompts of a unit that are trained on."""

    @abstractmethod
    def place_in(self, prompt: Prompt, reply: Completion, config: "TrainingConfig") -> int | None:
        """The place in the prompt's answer space of the answer that a reply gives; None where it gives none."""

    @abstractmethod
    def outcomes(self, config: "TrainingConfig") -> Sequence[str]:
        """The names of the outcomes that Example.right counts."""


def check_split(split: str, where: str) -> None:
    """Raises ValueError for another split than `train`."""
    if split != "train":
        raise ValueError(f"{where}: split '{split}' must not be trained on; write split: train")


class TrainingConfig(StudyRun):
    """What runs of all methods have in common. The key of its section names the study: see training_schema."""

    prefers_one_of_two: ClassVar[bool] = False  # whether the loss is of one answer over the other
    needs_whole_groups: ClassVar[bool] = False  # whether the loss compares prompts, which then share a microbatch
    learns_replies: ClassVar[tuple[bool, ...]] = (False,)  # whether whole replies are its targets, or may be
    knows_labels: ClassVar[bool] = True

    name: str = Field(pattern=r"^[A-Za-z0-9._-]+$")  # of the run directory, before the digest: letters, digits, ._-
    model: ModelConfig
    examples: ExamplesConfig = ExamplesConfig()
    lora: LoraSettings = LoraSettings()
    quantisation: QuantisationConfig = QuantisationConfig()
    optimiser: OptimiserConfig
    dev: DevConfig | None = None
    guard: GuardConfig = GuardConfig()
    run: RunConfig = RunConfig()

    @field_validator("model")
    @classmethod
    def has_no_adapter(cls, model: ModelConfig) -> ModelConfig:
        if model.adapter:
            raise ValueError("adapter: is of sampling; to train on, merge it and name the merged checkpoint")
        return model

    @property
    def training(self) -> StudyTraining[Any, Any]:
        """The study's part of training. Raises ConfigError where nothing can be trained on it."""
        where = STUDIES[self.study_key].training
        if not where:
            able = ", ".join(key for key, study in STUDIES.items() if study.training)
            raise ConfigError(f"nothing can be trained on `{self.study_key}`; take one of {able}")
        part: StudyTraining[Any, Any] = load_part(self.study_key, where)
        return part

    def load_units(self) -> Sequence[Any]:
        """The units that the section names. Raises DataError for data that are absent, damaged or too few."""
        return self.training.load(self.study)

    def split(self, units: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """(the units that are trained on, those that the checkpoint is chosen by). A family of units goes to one side.

        Raises ConfigError when the dev split would take half of the families or more.
        """
        if self.dev is None:
            return [*units], []
        names = self.training.families(units)
        families = list(dict.fromkeys(names))
        if 2 * self.dev.n_items >= len(families):
            raise ConfigError(
                f"dev.n_items is {self.dev.n_items}, but there are only {len(families)} families of "
                f"{self.training.called}; leave more than half of them to train on"
            )
        in_dev = set(random.Random(f"dev {self.dev.seed}").sample(families, self.dev.n_items))
        sides: tuple[list[Any], list[Any]] = ([], [])
        for unit, name in zip(units, names, strict=True):
            sides[name in in_dev].append(unit)
        return sides

    @cached_property
    def sampled(self) -> dict[str, Any]:
        """The config of the run that examples.replies names; empty where it names none."""
        return read_yaml(self.examples.replies / CONFIG_FILE) if self.examples.replies else {}

    @property
    def has_labels(self) -> bool:
        """Whether the method knows which answer is right."""
        return self.knows_labels and getattr(self, "labels", True)

    @property
    def group_size(self) -> int:
        """What a group counts as in `optimiser.per_device_batch_size`: a unit's prompts, where all units have equally
        many; else 1.
        """
        if self.examples.replies:
            return 1
        return self.training.n_prompts(self.study) or 1 if self.optimiser.batch_by == "item" else 1

    @model_validator(mode="after")
    def study_allows_it(self) -> Self:
        """Before every other rule, which depends on it."""
        self.training.validate(self)
        return self

    @model_validator(mode="after")
    def replies_fit_the_method(self) -> Self:
        replies, method = self.examples.replies, getattr(self, "method", "")
        if bool(replies) not in self.learns_replies:
            way_out = "leave it out" if replies else "name a finished sampling run of the train split, sampling.n=4"
            raise ValueError(
                f"examples.replies: method {method} learns {'one token' if replies else 'them'}; {way_out}"
            )
        if replies and not self.examples.loss_on_eos:
            raise ValueError("examples.loss_on_eos: a judge that writes must learn to stop; set it to true")
        if replies and not isinstance(self.training, WritingStudy):
            raise ValueError(f"examples.replies: `{self.study_key}` is trained on one token alone; leave it out")
        return self

    @model_validator(mode="after")
    def batches_hold_whole_items(self) -> Self:
        size = self.optimiser.per_device_batch_size
        if size % self.group_size:
            raise ValueError(
                f"optimiser.batch_by is item, but a batch of {size} holds no whole items of {self.group_size}: "
                f"set optimiser.per_device_batch_size to a multiple of {self.group_size}"
            )
        if self.needs_whole_groups and self.optimiser.batch_by == "random":
            raise ValueError("the loss compares prompts of one item with each other: set optimiser.batch_by=item")
        return self


class SFTRun(TrainingConfig):
    """Supervised fine-tuning on one-token verdicts (DialDefer K.2, Tables 34 and 35)."""

    method: Literal["sft"]


class PairedRun(TrainingConfig):
    """SFT, and a term that draws the verdicts on prompts that should agree towards each other (ours). Compares prompts
    with each other: set optimiser.batch_by to item.
    """

    needs_whole_groups: ClassVar[bool] = True

    method: Literal["paired"]
    paired: PairedConfig


class DPORun(TrainingConfig):
    """Direct preference optimisation of the right verdict over the wrong one (DialDefer K.3, Tables 36 and 37)."""

    prefers_one_of_two: ClassVar[bool] = True
    learns_replies: ClassVar[tuple[bool, ...]] = (False, True)

    method: Literal["dpo"]
    beta: float = Field(default=0.1, gt=0)  # how closely the base is kept to
    # Of replies: which of two is preferred, the right one (true), or the one with the judge's verdict in the baseline
    labels: bool = Field(default=True, exclude_if=lambda has_labels: has_labels)

    @model_validator(mode="after")
    def labels_of_tokens(self) -> Self:
        if not (self.labels or self.examples.replies):
            raise ValueError("labels: false is for written replies; set examples.replies, or take method label_free")
        return self


class BCTRun(TrainingConfig):
    """Bias-augmented consistency training (Chua et al. 2403.05518): in every framing the judge learns its own reply to
    the baseline of the same claim, right or wrong. No labels.
    """

    learns_replies: ClassVar[tuple[bool, ...]] = (True,)
    knows_labels: ClassVar[bool] = False

    method: Literal["bct"]


class RightRepliesRun(TrainingConfig):
    """Rejection sampling: the judge learns its own right replies, evenly over framings, claims and verdicts."""

    learns_replies: ClassVar[tuple[bool, ...]] = (True,)

    method: Literal["right_replies"]


class LabelFreeRun(TrainingConfig):
    """Label-free consistency (ours): every verdict of a group is drawn to the base model's own verdict on the group's
    unframed prompt. Compares prompts with each other: set optimiser.batch_by to item.
    """

    needs_whole_groups: ClassVar[bool] = True
    knows_labels: ClassVar[bool] = False

    method: Literal["label_free"]


AnyRun = SFTRun | PairedRun | DPORun | LabelFreeRun | BCTRun | RightRepliesRun
METHODS: dict[str, type[AnyRun]] = {get_args(run.__annotations__["method"])[0]: run for run in get_args(AnyRun)}


def load_training_config(arguments: Sequence[str]) -> AnyRun:
    """The run that a YAML file, arguments[0], and its overrides describe. Raises ConfigError for an unknown method."""
    tree = config_tree(arguments)
    if "method" not in tree:
        raise ConfigError(
            f"{arguments[0]}: names no `method`, so it is no training config; those lie under configs/training"
        )
    method = str(tree["method"])
    if method not in METHODS:
        raise ConfigError(f"{arguments[0]}: method: unknown '{method}'. {did_you_mean(method, sorted(METHODS))}")
    return parse_training_config(tree, str(Path(arguments[0])))


def parse_training_config(tree: dict[str, Any], where: str) -> AnyRun:
    """The tree as a config of the method and study that it names; `where` heads the message of a ConfigError."""
    return parse_config(training_schema(tree["method"], study_in(tree, where)), tree, where)


@cache
def training_schema(method: str, study: str) -> type[AnyRun]:
    """The schema of a method's configs on a study: its section is a key beside those of every run."""
    return with_section(METHODS[method], study)
