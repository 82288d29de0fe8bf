"""Pairs → training examples: which of two opinions is more popular, with and without a stated belief.

A group is a pair in one order of its options: the neutral prompt, which is its anchor, and the biased one. The label is
the option with more votes. A pair is asked in both orders, so that "1" and "2" are right equally often. It goes whole
where one of its prompts cannot be asked: an order or a framing alone would teach a position, or the belief's side.
"""

from collections.abc import Iterable
from typing import Any

from evenhand.chat_templates import encode, render_chat
from evenhand.records import Prompt
from studies.pluraleval.records import ResponseFactors
from studies.pluraleval.responses import CHOICES
from training.config import TrainingConfig
from training.examples import TOO_LONG, Example, Excluded, end_of_answer, nothing_left, verdict_tokens
from training.pluraleval.pairs import N_PROMPTS, Pair, settings_of

NO_BELIEF = "its pair has no belief, so it is asked in one framing alone"
OF_PAIR = "another prompt of its pair is left out"


def make_pair_examples(
    pairs: Iterable[Pair], config: TrainingConfig, tokenizer: Any
) -> tuple[list[Example], list[Excluded]]:
    """The examples pair by pair, and the prompts left out.

    Raises ModelError when a choice takes more than one token or EOS serves as padding, DataError when nothing is left.
    """
    settings = settings_of(config.study)
    examples: list[Example] = []
    excluded: list[Excluded] = []
    for pair in pairs:
        asked = [prompt for group in pair.groups(settings) for prompt in group]
        made = [example_of(prompt, pair, config, tokenizer) for prompt in asked]
        reasons = reasons_of(made, config.examples.max_prompt_length)
        if any(reasons):
            excluded += [excluded_of(one, pair, reason or OF_PAIR) for one, reason in zip(made, reasons, strict=True)]
        else:
            examples += made
    if not examples:
        raise nothing_left(excluded, config.examples.max_prompt_length, "reference sets")
    return examples, excluded


def example_of(prompt: Prompt, pair: Pair, config: TrainingConfig, tokenizer: Any) -> Example:
    """A prompt as the token ids that an engine would read a margin behind, and the option with more votes."""
    factors, chat_format = prompt.factors, config.examples.format
    assert isinstance(factors, ResponseFactors)
    answers = verdict_tokens(tokenizer, CHOICES)
    text = render_chat(tokenizer, prompt.messages, chat_format, config.model.chat_template_args)
    return Example(
        item_id=pair.pair_id,
        condition=prompt.condition,
        prompt_ids=(*encode(tokenizer, text, chat_format), *answers.lead),
        choices=tuple(answers.ids[choice] for choice in CHOICES),
        right=factors.votes.index(max(factors.votes)),
        end=end_of_answer(tokenizer) if config.examples.loss_on_eos else (),
        group=f"{pair.pair_id} {'swapped' if factors.is_swapped else 'as it is'}",
        is_anchor=factors.framing == "neutral",
    )


def reasons_of(made: list[Example], limit: int) -> list[str]:
    """Why each prompt of a pair is left out; empty for one that could be trained on."""
    if len(made) < N_PROMPTS:
        return [NO_BELIEF] * len(made)
    return [TOO_LONG if len(example.prompt_ids) > limit else "" for example in made]


def excluded_of(example: Example, pair: Pair, reason: str) -> Excluded:
    """A prompt's line in excluded.jsonl."""
    return Excluded(
        item_id=example.item_id,
        dataset=pair.found.thread.dataset,
        condition=example.condition,
        prompt_tokens=len(example.prompt_ids),
        reason=reason,
        group=example.group,
    )
