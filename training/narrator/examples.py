"""Conversations → training examples: groups of prompts that differ in who is called Me, and should blame one person.

A group is a conversation under one task, visibility and option order: the neutral prompt, which is its anchor, and one
of each speaker. A verdict is read at one token: the first that tells the options apart, behind what they all begin
with. Example.choices are these tokens in the order of the speakers' first turns, whoever of them is Me, so that the
verdicts of a group compare person by person; in detection Yes and No.

With labels the right option is learnt to its last token (Example.rest). Names have several and Me has one: a judge that
forgot how to write names out would write Me more often than them, and that would look like a change of perspective.

Labels are the annotated attacker's. Where the attack is hidden that is no more than a proxy, for nobody has done it
yet, and a speaker who says nothing else is found by elimination. In detection the label is Yes in every conversation.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.chat_templates import AnswerTokens, Tokens, encode, encode_options, own_tokens, render_chat
from evenhand.records import Prompt
from studies.narrator.prompts import ME, NO, YES
from studies.narrator.records import Conversation, NarratorFactors
from studies.narrator.section import NarratorSection
from training.config import TrainingConfig
from training.examples import TOO_LONG, Example, Excluded, nothing_left

SHARED = "one token does not tell its options apart"
OF_GROUP = "another prompt of its group is left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """A prompt in tokens."""

    prompt: Prompt
    factors: NarratorFactors
    ids: tuple[int, ...]
    options: dict[str, Tokens]
    answers: AnswerTokens | None  # None: one token does not tell the options apart

    @property
    def prompt_ids(self) -> tuple[int, ...]:
        """The prompt with what all options begin with behind it."""
        return (*self.ids, *(self.answers.lead if self.answers else ()))

    @property
    def group(self) -> str:
        """The name of what should get one verdict, whoever is Me."""
        return " ".join((self.prompt.item_id, self.factors.task, self.factors.visibility, self.factors.option_order))


def section_of(config: TrainingConfig) -> NarratorSection:
    """The run's section."""
    assert isinstance(config.study, NarratorSection)
    return config.study


def make_narrator_examples(
    conversations: Iterable[Conversation], config: TrainingConfig, tokenizer: Any
) -> tuple[list[Example], list[Excluded]]:
    """The examples conversation by conversation, neighbours sharing the longest beginnings, and the prompts left out.

    A group goes whole where one token does not tell a prompt's options apart, and where a prompt is too long for a loss
    that compares prompts. Raises DataError when nothing is left.
    """
    examples: list[Example] = []
    excluded: list[Excluded] = []
    for conversation in conversations:
        kept = []
        for group in groups_of(conversation, config, tokenizer):
            for encoded, reason in zip(group, reasons_of(group, config), strict=True):
                if reason:
                    excluded.append(excluded_of(encoded, reason))
                else:
                    kept.append(example_of(encoded, conversation, has_labels=config.has_labels))
        examples += sorted(kept, key=lambda example: (example.prompt_ids, example.group))
    if not examples:
        raise nothing_left(excluded, config.examples.max_prompt_length, "conversations")
    return examples, excluded


def groups_of(conversation: Conversation, config: TrainingConfig, tokenizer: Any) -> Iterator[list[Encoded]]:
    """The prompts of a conversation, group by group."""
    groups: dict[str, list[Encoded]] = {}
    for prompt in section_of(config).prompts_of(conversation):
        encoded = encoded_prompt(prompt, config, tokenizer)
        groups.setdefault(encoded.group, []).append(encoded)
    yield from groups.values()


def encoded_prompt(prompt: Prompt, config: TrainingConfig, tokenizer: Any) -> Encoded:
    """A prompt as an engine would read its options behind it."""
    assert isinstance(prompt.factors, NarratorFactors)
    chat_format = config.examples.format
    text = render_chat(tokenizer, prompt.messages, chat_format, config.model.chat_template_args)
    options = encode_options(tokenizer, prompt.answer_space, text, chat_format)
    return Encoded(
        prompt=prompt,
        factors=prompt.factors,
        ids=tuple(encode(tokenizer, text, chat_format)),
        options=options,
        answers=own_tokens(options),
    )


def reasons_of(group: Sequence[Encoded], config: TrainingConfig) -> list[str]:
    """Why each prompt of a group is left out; empty for one that is trained on."""
    limit = config.examples.max_prompt_length
    own = [
        SHARED if encoded.answers is None else TOO_LONG if len(encoded.prompt_ids) > limit else "" for encoded in group
    ]
    goes_whole = SHARED in own or (TOO_LONG in own and config.needs_whole_groups)
    return [reason or (OF_GROUP if goes_whole else "") for reason in own]


def excluded_of(encoded: Encoded, reason: str) -> Excluded:
    """A prompt's line in excluded.jsonl."""
    return Excluded(
        item_id=encoded.prompt.item_id,
        dataset=encoded.prompt.dataset,
        condition=encoded.prompt.condition,
        prompt_tokens=len(encoded.prompt_ids),
        reason=reason,
        group=encoded.group,
    )


def example_of(encoded: Encoded, conversation: Conversation, *, has_labels: bool) -> Example:
    """A prompt that is trained on; with labels the right option's tokens are learnt to the last."""
    assert encoded.answers is not None
    outcomes, target = outcomes_of(encoded.factors, conversation), encoded.factors.target
    first = len(encoded.answers.lead)
    return Example(
        item_id=encoded.prompt.item_id,
        condition=encoded.prompt.condition,
        prompt_ids=encoded.prompt_ids,
        choices=tuple(encoded.answers.ids[option] for option in outcomes),
        right=outcomes.index(target),
        rest=encoded.options[target][first + 1 :] if has_labels else (),
        group=encoded.group,
        is_anchor=not encoded.factors.narrator,
    )


def outcomes_of(factors: NarratorFactors, conversation: Conversation) -> list[str]:
    """The options in the order of whom they mean: the speakers by their first turns, in detection Yes and No."""
    if factors.task == "detection":
        return [YES, NO]
    return [ME if speaker == factors.narrator else conversation.names[speaker] for speaker in conversation.speakers]
