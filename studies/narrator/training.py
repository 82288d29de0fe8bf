"""Training on conversations of the narrator study: a study's part of training, see training.config.StudyTraining.

A group is a conversation under one task and visibility, in all option orders and names: in each of them the neutral
prompt and one of each speaker as Me. With the attack hidden a judge reads other evidence, so that is another claim. The
anchors are the neutral prompts under the main names, in the main option order and, where it is asked, the reversed one.

A verdict is read at one token: the first that tells the options apart, behind what they all begin with. Example.choices
are these tokens in the order of the speakers' first turns, whoever of them is Me, so that the verdicts of a group
compare person by person; in detection Yes and No.

With labels the right option is learnt to its last token (Example.rests). Names have several and Me has one: a judge
that forgot how to write names out would write Me more often than them, which would look like a change of
perspective.

Labels are the annotated attacker's. Where the attack is hidden that is only a proxy, for nobody has done it
yet, and a speaker who says nothing else is found by elimination. In detection the label is Yes in every conversation.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from evenhand import chat_templates
from evenhand.files import shipped_yaml
from evenhand.records import Prompt
from evenhand.study import check_no_repeats
from studies.narrator import corpus
from studies.narrator.names import under
from studies.narrator.prompts import ME, NO, YES
from studies.narrator.records import Conversation, NarratorFactors
from studies.narrator.section import NarratorSection
from studies.prompt_variants import check_variants_per_item, drawn_variants, n_drawn
from training.config import StudyTraining, TrainingConfig, check_split
from training.examples import Candidate, Example, Sifted, sifted

SHARED = "one token does not tell its options apart"


def example_of(
    prompt: Prompt, conversation: Conversation, config: TrainingConfig, tokenizer: Any, before: str, *, is_main: bool
) -> Example:
    """A prompt as an engine would read its options behind it; without choices where one token does not tell them apart.

    With labels the right option's tokens are learnt to the last. before: see ReplyContract. is_main: of a main variant.
    """
    factors, chat_template = prompt.factors, config.examples.chat_template
    assert isinstance(factors, NarratorFactors)
    text = chat_templates.render_chat(tokenizer, prompt.messages, chat_template, config.model.chat_template_args)
    options = chat_templates.encode_options(tokenizer, prompt.answer_space, text, chat_template, before)
    answers = chat_templates.own_tokens(options)
    outcomes = [ME if who == factors.narrator else conversation.names[who] for who in conversation.speakers]
    if factors.task == "detection":
        outcomes = [YES, NO]
    lead = answers.lead if answers else ()
    return Example(
        item_id=prompt.item_id,
        dataset=prompt.dataset,
        condition=prompt.condition,
        prompt_ids=(*chat_templates.encode(tokenizer, text, chat_template), *lead),
        choices=tuple(answers.ids[option] for option in outcomes) if answers else (),
        right=outcomes.index(factors.target),
        rests=tuple(
            options[who][len(lead) + 1 :] if who == factors.target and config.has_labels else () for who in outcomes
        ),
        group=" ".join((prompt.item_id, factors.task, factors.visibility)),
        is_anchor=is_main and not factors.narrator,
    )


class NarratorTraining(StudyTraining[NarratorSection, Conversation]):
    """Conversations, with as many prompts as they have speakers."""

    called = "conversations"
    tag = "narrator-perspective"

    def validate(self, config: TrainingConfig) -> None:
        """Test conversations, and losses that conversations cannot have; see StudyTraining."""
        section = self.section_of(config)
        check_split(section.corpus.split, f"narrator.corpus: {section.corpus.dataset}")
        check_variants_per_item(section.variants_per_item, section.variants, section.main_variants, config)
        if config.prefers_one_of_two:
            raise ValueError(
                "method: its loss prefers one of two answers, and conversations have a speaker for each answer; take "
                "sft, paired or label_free"
            )
        if config.examples.loss_on_eos:
            raise ValueError("conversations teach which option to write: set examples.loss_on_eos=false")
        if config.has_labels and "detection" in section.tasks:
            raise ValueError(
                "narrator.tasks: of detection every label is Yes, which a judge learns without reading; set "
                "narrator.tasks=[identification, blame], or take method label_free, which needs no labels"
            )

    def load(self, section: NarratorSection) -> list[Conversation]:
        """The conversations that the section names."""
        return corpus.load_conversations(section.corpus)

    def content_hash(self, units: Sequence[Conversation]) -> str:
        """Over the conversations' content."""
        return corpus.conversation_set_hash(units)

    def check_test_data(self, units: Sequence[Conversation], section: NarratorSection) -> None:
        """Raises DataError for a conversation of a test page; see StudyTraining."""
        test = corpus.of_split(section.corpus.model_copy(update={"split": "test"}))
        corpus.check_no_shared_pages(units, test)
        check_no_repeats((talk.conversation_id for talk in [*units, *test]), section.corpus.dataset)

    def families(self, units: Sequence[Conversation]) -> list[str]:
        """A page, and what shares its text, is one family."""
        return corpus.groups_of_pages(units)

    def examples(self, units: Sequence[Conversation], config: TrainingConfig, tokenizer: Any) -> Sifted:
        """The examples conversation by conversation, neighbours sharing the longest beginnings; see StudyTraining.

        A group goes whole where one token does not tell a prompt's options apart, and where a prompt is too long for a
        loss that compares prompts.
        """
        contract = chat_templates.reply_contract(
            tokenizer, config.examples.chat_template, config.model.chat_template_args
        )
        chat_templates.check_answers_at_once(contract, tokenizer.name_or_path)
        groups = (group for unit in units for group in self.groups_of(unit, config, tokenizer, contract.before))
        limit = config.examples.max_prompt_length
        examples, excluded = sifted(groups, limit, as_a_whole=config.needs_whole_groups)
        place = {unit.conversation_id: n for n, unit in enumerate(units)}
        return sorted(examples, key=lambda e: (place[e.item_id], e.prompt_ids, e.group)), excluded

    def groups_of(
        self, conversation: Conversation, config: TrainingConfig, tokenizer: Any, before: str
    ) -> Iterable[list[Candidate]]:
        """The prompts of a conversation, group by group."""
        groups: dict[str, list[Candidate]] = {}
        section = self.section_of(config)
        main = section.main_variants
        unit_id, alike = conversation.conversation_id, attrgetter("visibility", "names")
        drawn = drawn_variants(section.variants, main, section.variants_per_item, config, unit_id, alike)
        for variant in drawn:
            named = under(variant.names, conversation)
            for prompt in section.prompts_of(conversation, variant):
                example = example_of(prompt, named, config, tokenizer, before, is_main=variant in main)
                groups.setdefault(example.group, []).append((example, "" if example.choices else SHARED))
        return groups.values()

    def card_facts(self, config: TrainingConfig, datasets: Sequence[str]) -> Mapping[str, Any]:
        """A prompt with a narrator about a quarrel of ours, and licences; see StudyTraining."""
        section = self.section_of(config)
        # A card shows nothing of a corpus.
        (ours,) = corpus.load_conversations(corpus.CorpusSpec(dataset=corpus.POCKET, n_conversations=1))
        prompt = next(p for p in section.prompts_of(ours, section.variants[0]) if p.condition == "non_attacker")
        return {
            "section": section,
            "n_variants": len(section.variants),
            "n_drawn": n_drawn(section.variants_per_item, len(section.variants)),
            "example": prompt.messages[0].content,
            "pocket_only": section.corpus.dataset == corpus.POCKET,
            "sources": shipped_yaml(Path(__file__).with_name("sources.yaml")),
        }


TRAINING = NarratorTraining()
