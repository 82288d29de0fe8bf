"""Pairs of opinions of one thread, one of which has more votes → training examples: which of two is more popular.

A group is a pair in one order of its options: the neutral prompt, which is its anchor, and the one with a stated
belief. The label is the option with more votes. A pair is asked in both orders, so that "1" and "2" are right equally
often. It is left out whole where one of its prompts cannot be asked: an order or a framing alone would teach a
position, or the belief's side.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from evenhand.chat_templates import encode, render_chat
from evenhand.records import Prompt, normalised
from studies.pluraleval.records import Pairing, ReferenceSet, ResponseFactors
from studies.pluraleval.responses import CHOICES, Asker, ResponseSettings
from studies.pluraleval.section import PluralEvalSection
from studies.study import StudySection
from studies.unit_sets import set_hash
from training.config import TrainingConfig
from training.examples import TOO_LONG, Example, Excluded, end_of_answer, nothing_left, verdict_tokens

N_PROMPTS = 4  # of a pair: two framings in two orders
NO_BELIEF = "its pair has no belief, so it is asked in one framing alone"
OF_PAIR = "another prompt of its pair is left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two opinions of a thread with unequal votes, by their positions in the reference set."""

    thread_set: ReferenceSet
    more: int
    less: int
    pairing: Pairing  # that drew it; the first where both did

    @property
    def pair_id(self) -> str:
        """Unique within a folder of reference sets."""
        return f"{self.thread_set.thread.thread_id} {self.more}-{self.less}"

    @property
    def post(self) -> str:
        """The post's text, by which two threads count as the same."""
        return normalised(self.thread_set.thread.post)

    def groups(self, settings: ResponseSettings) -> Iterator[list[Prompt]]:
        """For each order of the two options the prompts that should get one answer: neutral, and biased if the less
        popular opinion has a belief."""
        asker = Asker(self.thread_set, settings)
        for is_swapped in (False, True):
            yield list(asker.pair(self.pairing, self.more, self.less, is_swapped))


def settings_of(section: StudySection) -> ResponseSettings:
    """Which pairs are asked about, and of which threads."""
    assert isinstance(section, PluralEvalSection)
    assert section.responses is not None
    return section.responses


def pairs_of(references: Iterable[ReferenceSet], settings: ResponseSettings) -> list[Pair]:
    """The pairs that a responses run with these settings asks about; those that two pairings draw count once."""
    pairs: dict[tuple[str, int, int], Pair] = {}
    for thread_set in references:
        asker = Asker(thread_set, settings)
        for pairing in settings.pairings:
            for more, less in asker.pairs_of(pairing):
                pair = Pair(thread_set=thread_set, more=more, less=less, pairing=pairing)
                pairs.setdefault((thread_set.thread.thread_id, more, less), pair)
    return list(pairs.values())


def pair_set_hash(pairs: Sequence[Pair]) -> str:
    """The hash of some pairs with their threads; see unit_sets."""
    by_thread = groupby(pairs, key=lambda pair: pair.thread_set)
    return set_hash([asdict(thread_set.thread), [opinions_of(pair) for pair in same]] for thread_set, same in by_thread)


def opinions_of(pair: Pair) -> list[object]:
    """Everything of a pair that its prompts and label are made of."""
    more, less = pair.thread_set.clusters[pair.more], pair.thread_set.clusters[pair.less]
    return [pair.pairing, pair.more, pair.less, more.summary, more.votes, less.summary, less.votes, less.belief]


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
        dataset=pair.thread_set.thread.dataset,
        condition=example.condition,
        prompt_tokens=len(example.prompt_ids),
        reason=reason,
        group=example.group,
    )
