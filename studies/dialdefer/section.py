"""What of DialDefer is asked: the section `dialdefer` of a config."""

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from evenhand.config import Closed, did_you_mean
from evenhand.errors import ConfigError
from studies.dialdefer.bend import Bend
from studies.dialdefer.datasets import SOURCES, DatasetSpec, load_items
from studies.dialdefer.records import Condition
from studies.dialdefer.render import SpeakerLabels
from studies.dialdefer.templates import template_for
from studies.study import Shown, StudySection, Units

ALL_CONDITIONS = tuple(Condition)


Arm = Literal["none", "honest", "dehumanizing"]
Roles = Literal["2->1", "1->2"]
AnswerOrder = Literal["yes_first", "no_first"]


def is_none(value: object) -> bool:
    """Whether a key is not set, so that it is left out of the resolved config."""
    return value is None


class Variant(Closed):
    """A wording asked beside the main one, in the same run: the keys that it names are changed, the others kept."""

    arm: Arm | None = Field(default=None, exclude_if=is_none)
    template: str | None = Field(default=None, exclude_if=is_none)
    speakers: SpeakerLabels | None = Field(default=None, exclude_if=is_none)
    roles: Roles | None = Field(default=None, exclude_if=is_none)
    answer_order: AnswerOrder | None = Field(default=None, exclude_if=is_none)
    datasets: tuple[str, ...] | None = Field(default=None, exclude_if=is_none, min_length=1)  # null is all of the run's

    @model_validator(mode="after")
    def changes_something(self) -> "Variant":
        if set(self.model_dump()) <= {"datasets"}:
            raise ValueError("names nothing to change; say which arm, template, speakers, roles or answer_order")
        return self

    @field_validator("datasets")
    @classmethod
    def known(cls, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for name in names or ():
            if name not in SOURCES:
                raise ValueError(f"unknown dataset '{name}'. {did_you_mean(name, sorted(SOURCES))}")
        return names


class PromptConfig(Closed):
    """Which prompts are made of the items: arms × conditions in the main wording, and the variants beside it."""

    template: str = "published"  # published, paper, published-dpo, matched, v1, v2, v3
    arms: tuple[Arm, ...] = Field(default=("none",), min_length=1)  # prompt mitigations; none is without one
    conditions: tuple[Condition, ...] = Field(default=ALL_CONDITIONS, min_length=1)  # c1: a statement, c2: a turn
    speakers: SpeakerLabels | None = None  # labels of speaker 1 and 2; null takes the dataset's own
    roles: Roles = "2->1"  # r/AIO: who judges whom
    answer_order: AnswerOrder = "yes_first"  # which of the two answers the prompt names first
    variants: tuple[Variant, ...] = ()


class DialDeferSection(StudySection):
    """Items x arms x conditions, in the main wording and in variants of it."""

    key: ClassVar[str] = "dialdefer"
    verdicts: ClassVar[tuple[str, ...]] = ("reason", "margin")
    skips_long_units: ClassVar[bool] = False  # items are short: one too many is a mistake

    benchmarks: tuple[DatasetSpec, ...] = Field(min_length=1)  # the datasets asked, a list
    prompts: PromptConfig = PromptConfig()  # which prompts are made of the items
    bend: Bend | None = Field(default=None, exclude_if=is_none)  # training only: a bend planted in the labels

    def units(self, verdict: str) -> Units:
        """An item's prompts, all known from the start; see StudySection. Raises ConfigError for a bend."""
        if self.bend is not None:
            raise ConfigError("dialdefer.bend: is for training alone; take it out of a config that samples")
        from studies.dialdefer.plan import planned_units

        return planned_units(self, answer_form(verdict))

    @classmethod
    def shown(cls) -> Mapping[str, Shown]:
        """The datasets; see StudySection."""
        keys = ("template", "speakers", "roles", "answer_order")
        options = {"root": "benchmarks[0].root", "split": "benchmarks[0].split", "arm": "prompts.arms[0]"}
        options |= {key: f"prompts.{key}" for key in keys}
        prompts = {"arms": ["none"]}
        return {name: Shown({"benchmarks": [{"dataset": name}], "prompts": prompts}, options) for name in SOURCES}

    def on_own_items(self) -> Self:
        """The main wording over items of ours; see StudySection."""
        prompts = self.prompts.model_copy(update={"variants": ()})
        return self.model_copy(
            update={"benchmarks": (DatasetSpec(dataset="pocket", split=self.benchmarks[0].split),), "prompts": prompts}
        )

    def describe(self) -> str:
        """Each dataset with its items; see StudySection."""
        return "; ".join(f"{spec.dataset} ({spec.split}): {len(load_items([spec]))} items" for spec in self.benchmarks)

    def refuse_verdict(self, verdict: str) -> None:
        """Also where a template has no form for it; see StudySection."""
        super().refuse_verdict(verdict)
        try:
            for template in (self.prompts.template, *(variant.template for variant in self.prompts.variants)):
                template_for(template or self.prompts.template, answer_form(verdict))
        except ConfigError as error:
            raise ValueError(str(error)) from None


def answer_form(verdict: str) -> str:
    """A margin is read where one token is asked for; a reasoned verdict comes as JSON."""
    return "one_token" if verdict == "margin" else "json"
