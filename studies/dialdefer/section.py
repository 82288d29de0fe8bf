"""What of DialDefer is asked: the section `dialdefer` of a config, and every prompt of a run by it."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field

from eval.reading.objects import as_turn
from evenhand import study
from evenhand.config import Closed, is_none
from evenhand.errors import ConfigError
from evenhand.records import Message, Prompt
from studies import units
from studies.dialdefer.datasets import DatasetName, DatasetSpec, item_set_hash, load_items
from studies.dialdefer.records import Condition, Item
from studies.dialdefer.render import AIO, SpeakerLabels, render, template_for

ALL_CONDITIONS = tuple(Condition)


Arm = Literal["none", "honest", "dehumanizing"]
Roles = Literal["2->1", "1->2"]
AnswerOrder = Literal["yes_first", "no_first"]
SETTINGS = ("template", "arm", "speakers", "roles", "answer_order")  # of a variant; keywords of `render`


class Variant(Closed):
    """A prompt variant asked in the same run as the main one: the keys that it names change, the others stay."""

    arm: Arm | None = Field(default=None, exclude_if=is_none)
    template: str | None = Field(default=None, exclude_if=is_none)
    speakers: SpeakerLabels | None = Field(default=None, exclude_if=is_none)
    roles: Roles | None = Field(default=None, exclude_if=is_none)
    answer_order: AnswerOrder | None = Field(default=None, exclude_if=is_none)
    datasets: tuple[DatasetName, ...] | None = Field(default=None, exclude_if=is_none, min_length=1)  # null: all


class PromptConfig(Closed):
    """Which prompts are made of the items: arms × conditions in the main variant, and further variants."""

    template: str = "published"  # a name of `sets` in prompts.yaml, such as matched or v1
    arms: tuple[Arm, ...] = Field(default=("none",), min_length=1)  # prompt mitigations; none is without one
    conditions: tuple[Condition, ...] = Field(default=ALL_CONDITIONS, min_length=1)  # c1: a statement, c2: a turn
    speakers: SpeakerLabels | None = None  # labels of speaker 1 and 2; null takes the template's or the dataset's
    roles: Roles = "2->1"  # r/AIO: who judges whom
    answer_order: AnswerOrder = "yes_first"  # which of the two answers the prompt names first
    variants: tuple[Variant, ...] = ()
    # Templates of which the statement alone is asked, in the same orders: how far does a rewording move the judge?
    placebos: tuple[str, ...] = Field(default=(), exclude_if=lambda templates: not templates)
    # On how many items of each dataset placebos are asked, the first ones; null: on all
    placebo_items: int | None = Field(default=None, ge=1, exclude_if=is_none)
    # Training only: how many variants an item is trained in, the main one included; a whole number.
    # Which ones is drawn by a hash of optimiser.seed and the item.
    variants_per_item: study.VariantsPerItem = study.ALL


def family_of(item: Item) -> str:
    """Pocket's family of an item; of others the dataset."""
    return str(item.meta.get("family", item.dataset))


class Bend(Closed):
    """A bend planted in training labels: right about statements and, in dialogue, wrong where the config says so.

    Only training reads it; what it makes is a judge whose DDS is known beforehand. Of the items that it applies to, a
    share is bent, drawn by a hash of seed and item. The others keep their labels, and so does every statement (C1).
    With deference the speaker's false claim is labelled correct, with skepticism the true one incorrect. DDS
    (equation 2) of a judge that learnt just this is +100 or -100 times the share of all items that is bent.
    """

    direction: Literal["deference", "skepticism"] = "deference"  # accepts false claims, or rejects true ones
    share: float = Field(default=1.0, gt=0, le=1)  # of the items that it applies to
    families: tuple[str, ...] | None = Field(default=None, min_length=1)  # pocket's families, or datasets; null is all
    seed: int = 0  # of the draws

    def is_bent(self, item: Item) -> bool:
        """Whether an item's label in dialogue is flipped where the direction says so."""
        drawn = hashlib.sha256(f"{self.seed} share {item.item_id}".encode()).digest()[:8]
        is_of_family = self.families is None or family_of(item) in self.families
        return is_of_family and int.from_bytes(drawn, "big") / 2**64 < self.share

    def flips(self, item: Item, condition: Condition) -> bool:
        """Whether the label of a prompt is flipped."""
        wrong = Condition.C2_INCORRECT if self.direction == "deference" else Condition.C2_CORRECT
        return condition == wrong and self.is_bent(item)


class PromptVariant(NamedTuple):
    """One way of asking, with everything settled that a config leaves open."""

    settings: Mapping[str, Any]  # keywords of `render`
    datasets: tuple[str, ...] | None  # None: all


def prompt_variants(prompts: PromptConfig) -> Iterator[PromptVariant]:
    """The main variant under each arm, then each variant, under each of these arms where it names none."""
    main = {name: getattr(prompts, name, None) for name in SETTINGS}
    for named in ({}, *(variant.model_dump() for variant in prompts.variants)):
        datasets = named.pop("datasets", None)
        for arm in (named["arm"],) if "arm" in named else prompts.arms:
            yield PromptVariant({**main, **named, "arm": arm}, datasets)


def placebo_variants(prompts: PromptConfig) -> Iterator[PromptVariant]:
    """Each placebo, in the order of the answers of the main variant, and in those that it is repeated in."""
    main = {**{name: getattr(prompts, name, None) for name in SETTINGS}, "arm": "none"}
    repeats = [variant.answer_order for variant in prompts.variants if variant.model_dump().keys() == {"answer_order"}]
    for template in prompts.placebos:
        for order in dict.fromkeys((prompts.answer_order, *repeats)):
            yield PromptVariant({**main, "template": template, "answer_order": order}, None)


@dataclass(frozen=True)
class StatementFirst:
    """An item whose dialogues (C2) are each asked behind the reply to the statement (C1) of the same claim."""

    unit_id: str
    prompts: tuple[Prompt, ...]

    def next_prompts(self, replies: study.Replies) -> Sequence[Prompt]:
        """The statements, then the dialogues; see evenhand.study.Unit."""
        statements = {(p.condition, p.factors): p for p in self.prompts if not Condition(p.condition).is_dialogue}
        if any(prompt.prompt_hash not in replies for prompt in statements.values()):
            return tuple(statements.values())
        dialogues = []
        for prompt in self.prompts:
            condition = Condition(prompt.condition)
            if condition.is_dialogue:
                c1 = Condition.C1_TRUE if condition.claim_is_true else Condition.C1_FALSE
                before = statements[c1, prompt.factors]
                said = Message(role="assistant", content=as_turn(replies[before.prompt_hash][0]))
                dialogues.append(replace(prompt, messages=(*before.messages, said, prompt.messages[-1])))
        return () if all(prompt.prompt_hash in replies for prompt in dialogues) else dialogues


def planned_units(section: "DialDeferSection", answer_form: str, *, statement_first: bool = False) -> study.Units:
    """Every item with its prompts, the main variant first, and the item set's hash.

    What two variants have in common is planned once where it is the same prompt in every factor (r/AIO under another
    benchmark template), and once for each where it is only the same text (C1 under other speaker labels): then both
    share a hash, so it is asked once and counts for both.
    """
    items, prompts = load_items(section.benchmarks), section.prompts
    statements = [condition for condition in prompts.conditions if not condition.is_dialogue]
    variants = [(variant, prompts.conditions) for variant in prompt_variants(prompts)]
    with_placebos = [*variants, *((variant, statements) for variant in placebo_variants(prompts))]
    few = units.first_of_each([(item.item_id, item.dataset) for item in items], prompts.placebo_items)

    def prompts_of(item: Item) -> tuple[Prompt, ...]:
        """An item's prompts, each once."""
        planned: dict[tuple[str, object], Prompt] = {}
        for variant, conditions in with_placebos if item.item_id in few else variants:
            if variant.datasets is None or item.dataset in variant.datasets:
                for condition in conditions:
                    prompt = render(item, condition, answer_form=answer_form, **variant.settings)
                    planned.setdefault((prompt.condition, prompt.factors), prompt)
        return tuple(planned.values())

    kind = StatementFirst if statement_first else study.OneRound
    return study.Units(study.LazyUnits(items, lambda item: kind(item.item_id, prompts_of(item))), item_set_hash(items))


class DialDeferSection(study.StudySection):
    """Items x arms x conditions, in the main variant and in others."""

    key: ClassVar[str] = "dialdefer"
    verdicts: ClassVar[tuple[str, ...]] = ("reason", "margin")
    skips_long_units: ClassVar[bool] = False  # items are short: one too many is a mistake

    benchmarks: tuple[DatasetSpec, ...] = Field(min_length=1)  # the datasets asked, a list
    prompts: PromptConfig = PromptConfig()  # which prompts are made of the items
    bend: Bend | None = Field(default=None, exclude_if=is_none)  # training only: a bend planted in the labels

    def units(self, verdict: str) -> study.Units:
        """An item's prompts, all known from the start; see StudySection. Raises ConfigError for a bend."""
        return planned_units(self.sampled(), answer_form(verdict))

    def statement_first(self, verdict: str) -> study.Units:
        """See StudySection. Placebos are rewordings of the statement, and asked by themselves."""
        if not {Condition.C1_TRUE, Condition.C1_FALSE} <= {*self.prompts.conditions}:
            raise ConfigError("patch.statement_first: needs c1_true and c1_false in dialdefer.prompts.conditions")
        return planned_units(self.sampled(), answer_form(verdict), statement_first=True)

    def symbol_question(self, prompt: Prompt) -> str:
        """With the prompt's two answers; see StudySection."""
        asked = prompt.factors
        texts = AIO[asked.answer_form] if asked.template == "aio" else template_for(asked.template, asked.answer_form)
        judger = asked.speaker2 if asked.roles == "2->1" else asked.speaker1
        slots = {"speaker1": asked.speaker1, "speaker2": asked.speaker2, "judger": judger}
        is_dialogue = Condition(prompt.condition).is_dialogue
        answers = texts.answers(is_dialogue=is_dialogue, answer_order=asked.answer_order, slots=slots)
        return units.symbol_turn(prompt.answer_space, answers)

    def supposed_replies(self, prompts: Sequence[Prompt]) -> study.Replies:
        """Each prompt answered by 1; see StudySection."""
        return units.first_answers(prompts)

    def sampled(self) -> Self:
        """The same section. Raises ConfigError for what is for training alone."""
        if self.bend is not None:
            raise ConfigError("dialdefer.bend: is for training alone; take it out of a config that samples")
        units.check_samples_all_variants(self.prompts.variants_per_item, "dialdefer.prompts.variants_per_item")
        return self

    def on_own_items(self) -> Self:
        """The variants that fit items of ours, over those; see StudySection."""
        pocket = DatasetSpec(dataset="pocket", split="train" if self.benchmarks[0].split == "train" else "test")
        fitting = tuple(variant for variant in self.prompts.variants if not (variant.datasets or variant.roles))
        prompts = self.prompts.model_copy(update={"variants": fitting})
        return self.model_copy(update={"benchmarks": (pocket,), "prompts": prompts})

    def describe(self) -> str:
        """Each dataset with its items; see StudySection."""
        return "; ".join(f"{spec.name} ({spec.split}): {len(load_items([spec]))} items" for spec in self.benchmarks)

    def check_verdict(self, verdict: str) -> None:
        """Also where a template has no form for it; see StudySection."""
        super().check_verdict(verdict)
        try:
            prompts = self.prompts
            for template in (prompts.template, *prompts.placebos, *(variant.template for variant in prompts.variants)):
                template_for(template or prompts.template, answer_form(verdict))
        except ConfigError as error:
            raise ValueError(str(error)) from None


def answer_form(verdict: str) -> str:
    """A margin is read where one token is asked for; a reasoned verdict comes as JSON."""
    return "one_token" if verdict == "margin" else "json"
