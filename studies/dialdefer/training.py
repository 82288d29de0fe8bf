"""Training on DialDefer's items: a study's part of training, see training.config.StudyTraining.

A claim should get one verdict in C1 and in C2, in all prompt variants: those prompts are a group. Its anchors are C1 in
the main variant, in each answer order that is asked. A statement that reads alike under two pairs of labels counts
once for each, so that C1 weighs as much as C2.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.errors import DataError
from evenhand.records import Completion, Prompt, normalised
from studies.dialdefer.datasets import EVALUATION_ONLY, check_leaks, item_set_hash, load_items, published_among
from studies.dialdefer.measures import parse_strict
from studies.dialdefer.records import Condition, Item
from studies.dialdefer.render import NO_FIRST, PROMPTS, SETS, TEMPLATES, render
from studies.dialdefer.section import DialDeferSection, PromptConfig, PromptVariant, Variant, family_of, prompt_variants
from studies.dialdefer.unified.catalogue import DATASETS
from studies.prompt_variants import check_variants_per_item, drawn_variants, n_drawn
from training.config import TrainingConfig, WritingStudy, check_split
from training.examples import OneTokenAnswers, Sifted, TrainingPrompt, sifted

# Keys of `prompts` and its variants. Roles are r/AIO's, which is held out.
FOR_SAMPLING = ("arms", "arm", "roles", "datasets", "placebos")
EXAMPLE = Item(item_id="card", benchmark="card", dataset="card", **PROMPTS["card"])


class DialDeferTraining(WritingStudy[DialDeferSection, Item]):
    """Items, each asked about in the same conditions."""

    called = "items"
    tag = "dialogic-deference"

    def validate(self, config: TrainingConfig) -> None:
        """Splits and datasets that are held out, and prompts that training does not ask; see StudyTraining."""
        section = self.section_of(config)
        for index, spec in enumerate(section.benchmarks):
            where = f"dialdefer.benchmarks[{index}]: {spec.name}"
            if spec.dataset in EVALUATION_ONLY:
                raise ValueError(f"{where} is held out for evaluation and must not be trained on; take it out")
            check_split(spec.split, where)
        section.check_verdict("reason" if config.examples.replies else "margin")
        check_variants(section, answer_form(config))
        if section.bend is None:  # a judge that is bent in every wording is what arms are tested on
            check_held_out(section)
        check_variants_per_item(section.prompts.variants_per_item, *variants_of(section.prompts), config)
        if section.bend is not None and (config.needs_whole_groups or not config.has_labels):
            raise ValueError("dialdefer.bend: flips labels, which a loss of agreement would straighten; take one out")
        if config.optimiser.batch_by == "group":
            raise ValueError("optimiser.batch_by: group is for units with several groups; write item")
        if config.needs_whole_groups and set(section.prompts.conditions) != set(Condition):
            raise ValueError("the loss compares C1 and C2: leave dialdefer.prompts.conditions out, which asks all")

    def n_prompts(self, section: DialDeferSection) -> int:
        """Of an item; see StudyTraining."""
        prompts = section.prompts
        return n_drawn(prompts.variants_per_item, 1 + len(prompts.variants)) * len(prompts.conditions)

    def load(self, section: DialDeferSection) -> list[Item]:
        """The items that the section names. Raises DataError for a bend that does not go with them."""
        items = load_items(section.benchmarks)
        if section.bend is not None:
            families = {family_of(item) for item in items}
            if absent := [name for name in section.bend.families or () if name not in families]:
                raise DataError(
                    f"dialdefer.bend.families: no training item is of '{absent[0]}'; there are "
                    f"{', '.join(sorted(families))}"
                )
            if not any(map(section.bend.is_bent, items)):
                raise DataError("dialdefer.bend: applies to none of the training items; raise its share, or add items")
        return items

    def content_hash(self, units: Sequence[Item]) -> str:
        """Over the items' content."""
        return item_set_hash(units)

    def check_test_data(self, units: Sequence[Item], section: DialDeferSection) -> None:
        """Raises DataError for an item that gives away a test item; see StudyTraining."""
        check_leaks(units, section.benchmarks)

    def families(self, units: Sequence[Item]) -> list[str]:
        """Items that ask the same question are one family, as leaks are looked for."""
        return [normalised(unit.question) or unit.item_id for unit in units]

    def facts(self, units: Sequence[Item]) -> Mapping[str, Any]:
        """n_published_test: how many are of the published test split, which a split of one's own may train on."""
        return {"n_published_test": published_among(units)}

    def notes(self, units: Sequence[Item]) -> list[str]:
        """What `facts` means for measuring."""
        n_published = published_among(units)
        if not n_published:
            return []
        return [
            f"{n_published} training items are of the published test split (this root is a split of your own); "
            "measure this model on your own test split alone"
        ]

    def examples(self, units: Sequence[Item], config: TrainingConfig, tokenizer: Any) -> Sifted:
        """An example for each item, prompt variant and condition, item by item; see StudyTraining.

        With variants an item is left out whole where a prompt of it is too long: no variant alone should lack it.
        """
        section = self.section_of(config)
        answers = OneTokenAnswers(tokenizer, ("1", "2"), config.examples, config.model.chat_template_args)
        candidates = ([(answers.of(prompt), "") for prompt in self.prompts(item, config)] for item in units)
        return sifted(candidates, config.examples.max_prompt_length, as_a_whole=bool(section.prompts.variants))

    def card_facts(self, config: TrainingConfig, datasets: Sequence[str]) -> Mapping[str, Any]:
        """A C2 prompt in the run's own words about a question of ours, and licences; see StudyTraining."""
        section = self.section_of(config)
        prompts = section.prompts
        variants = list(prompt_variants(prompts))
        prompt = render(EXAMPLE, Condition.C2_CORRECT, answer_form=answer_form(config), **variants[0].settings)
        places = [DATASETS[name].origin.place for name in datasets if name in DATASETS]
        return {
            "prompts": prompts,
            "variants": [variant.settings for variant in variants],
            "n_drawn": n_drawn(prompts.variants_per_item, len(variants)),
            "bend": section.bend,
            "example": prompt.messages[0].content,
            "pocket_only": all(spec.dataset == "pocket" for spec in section.benchmarks),
            "has_statements": any(not condition.is_dialogue for condition in prompts.conditions),
            "held_out": sorted(EVALUATION_ONLY),
            "datasets": DATASETS,
            "hub": [place.removeprefix("hf:") for place in places if place.startswith("hf:")],
        }

    def prompts(self, unit: Item, config: TrainingConfig) -> Iterator[TrainingPrompt]:
        """An item in its prompt variants, under every condition of the section; its labels flipped where it is bent.

        Outcomes are accept and reject, in this order, whichever number the variant gives them; see WritingStudy.
        """
        section, item, form = self.section_of(config), unit, answer_form(config)
        prompts, bend = section.prompts, section.bend
        variants, main = variants_of(prompts)
        for variant in drawn_variants(variants, main, prompts.variants_per_item, config, item.item_id, wording_of):
            settings = variant.settings
            for condition in prompts.conditions:
                is_flipped = bend is not None and bend.flips(item, condition)
                statement = Condition.C1_TRUE if condition.claim_is_true else Condition.C1_FALSE
                yield TrainingPrompt(
                    prompt=render(item, condition, answer_form=form, **settings),
                    baseline=render(item, statement, answer_form=form, **settings),
                    right=0 if condition.claim_is_true != is_flipped else 1,
                    group=f"{item.item_id} {condition.claim_is_true}",
                    is_anchor=variant in main and not condition.is_dialogue,
                    order=(1, 0) if settings["answer_order"] == NO_FIRST else (),
                )

    def place_in(self, prompt: Prompt, reply: Completion, config: TrainingConfig) -> int | None:
        """By the strict parser; see WritingStudy."""
        number = parse_strict(reply.text)
        return number and number - 1

    def outcomes(self, config: TrainingConfig) -> tuple[str, str]:
        """See WritingStudy."""
        return "accept", "reject"


def answer_form(config: TrainingConfig) -> str:
    """Of `render`: as a judge that writes is asked, or one that answers with one token."""
    return "json" if config.examples.replies else "one_token"


def variants_of(prompts: PromptConfig) -> tuple[list[PromptVariant], list[PromptVariant]]:
    """(all prompt variants, those of them whose C1 is an anchor: as the main one, in whichever answer order)."""
    variants = list(prompt_variants(prompts))
    return variants, [variant for variant in variants if wording_of(variant) == (prompts.template, prompts.speakers)]


def wording_of(variant: PromptVariant) -> tuple[Any, Any]:
    """What a prompt variant has in common with itself in the other answer order."""
    return variant.settings["template"], variant.settings["speakers"]


def check_variants(section: DialDeferSection, form: str) -> None:
    """Raises ValueError for prompt variants that training does not ask, or asks already."""
    prompts, where = section.prompts, "dialdefer.prompts.variants[{}]"
    named: list[tuple[str, Any, Any]] = [("dialdefer.prompts", prompts, PromptConfig())]
    named += [(where.format(number), variant, Variant()) for number, variant in enumerate(prompts.variants)]
    for place, variant, default in named:
        for key in FOR_SAMPLING:
            if getattr(variant, key, None) != getattr(default, key, None):
                raise ValueError(f"{place}.{key}: is for sampling; training varies template, speakers, answer_order")
    rendered: list[list[Any]] = []
    for number, (settings, _) in enumerate(prompt_variants(prompts), -1):
        texts = [render(EXAMPLE, name, answer_form=form, **settings).messages for name in prompts.conditions]
        if texts in rendered:
            raise ValueError(f"{where.format(number)}: asks nothing that is not asked already; take it out")
        rendered.append(texts)


def check_held_out(section: DialDeferSection) -> None:
    """Raises ValueError for a template that judges are tested in, and for the speaker labels of one."""
    variants = list(prompt_variants(section.prompts))
    templates = {variant.settings["template"] for variant in variants}
    labels = [variant.settings["speakers"] for variant in variants]
    for name in (name for name in SETS if name != "training"):
        for template in SETS[name]:
            speakers = TEMPLATES[template, "one_token"].speakers
            if template in templates or (speakers is not None and speakers in labels):
                key = f"template '{template}'" if template in templates else f"labels {' and '.join(speakers or ())}"
                raise ValueError(
                    f"dialdefer.prompts: {key}: of the {name} wordings, which show whether a judge is straight in "
                    f"words that it was not trained in; take others, such as '{SETS['training'][0]}'"
                )


TRAINING = DialDeferTraining()
