"""Items → training examples. A claim should get one verdict in C1 and in C2: the two prompts are a group."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from evenhand.chat_templates import AnswerTokens, encode, render_chat
from evenhand.errors import DataError
from studies.dialdefer.records import Condition, Item
from studies.dialdefer.render import render
from studies.dialdefer.section import DialDeferSection
from training.config import TrainingConfig
from training.examples import Example, Excluded, end_of_answer, verdict_tokens

ACCEPT, REJECT = "1", "2"


def section_of(config: TrainingConfig) -> DialDeferSection:
    """The run's section."""
    assert isinstance(config.study, DialDeferSection)
    return config.study


def make_examples(
    items: Sequence[Item], config: TrainingConfig, tokenizer: Any
) -> tuple[list[Example], list[Excluded]]:
    """The examples in the order of the items, and the prompts over max_prompt_length.

    Raises ModelError when a verdict takes more than one token or EOS serves as padding, DataError when nothing is left.
    """
    bend = section_of(config).bend
    answers = verdict_tokens(tokenizer, (ACCEPT, REJECT))
    end = end_of_answer(tokenizer) if config.examples.loss_on_eos else ()
    examples, excluded = [], []
    for item, condition, prompt_ids in encoded_prompts(items, config, tokenizer, answers):
        if len(prompt_ids) > config.examples.max_prompt_length:
            excluded.append(
                Excluded(item_id=item.item_id, dataset=item.dataset, condition=condition, prompt_tokens=len(prompt_ids))
            )
            continue
        is_flipped = bend is not None and bend.flips(item, condition)
        examples.append(
            Example(
                item_id=item.item_id,
                condition=condition,
                prompt_ids=prompt_ids,
                choices=(answers.ids[ACCEPT], answers.ids[REJECT]),
                right=0 if condition.claim_is_true != is_flipped else 1,
                end=end,
                group=f"{item.item_id} {condition.claim_is_true}",
                is_anchor=not condition.is_dialogue,
            )
        )
    if not examples:
        raise DataError(
            f"all {len(excluded)} prompts are longer than examples.max_prompt_length = "
            f"{config.examples.max_prompt_length} tokens; raise it or take other data"
        )
    return examples, excluded


def encoded_prompts(
    items: Iterable[Item], config: TrainingConfig, tokenizer: Any, answers: AnswerTokens
) -> Iterator[tuple[Item, Condition, tuple[int, ...]]]:
    """Every item under every condition of the config, as the token ids that an engine would read a margin behind."""
    asked, bend, chat_format = section_of(config).prompts, section_of(config).bend, config.examples.format
    for item in items:
        is_bent_label = bend is not None and bend.speakers is not None and bend.is_asked_under_labels(item)
        speakers = bend.speakers if bend is not None and is_bent_label else asked.speakers
        for condition in asked.conditions:
            prompt = render(item, condition, template=asked.template, answer_form="one_token", speakers=speakers)
            text = render_chat(tokenizer, prompt.messages, chat_format, config.model.chat_template_args)
            yield item, condition, (*encode(tokenizer, text, chat_format), *answers.lead)
