"""Training examples: prompts that inference asks, in tokens, the right verdict behind them, and nothing else learnt.

Prompt and answer are tokenised apart, so that no token can straddle them, and a prompt too long is left out whole.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from evenhand.chat_templates import answer_tokens, check_answers_at_once, encode, render_chat, reply_contract
from evenhand.errors import DataError
from evenhand.records import Prompt
from training.sections import ExamplesConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One prompt of a unit, in tokens.

    One token stands for each answer. Answers are in the order of their outcomes, which is the same for all prompts that
    should agree, whatever the tokens: (accept, reject) of a claim; the persons of a conversation, whoever is called Me.
    """

    item_id: str  # of the unit
    dataset: str = ""
    condition: str
    prompt_ids: tuple[int, ...]  # rendered as for inference, with the tokens that every answer starts with behind it
    choices: tuple[int, ...]  # the token of each answer, or its first
    right: int  # index of the right answer
    end: tuple[int, ...] = ()  # the token that ends the turn, if it is learnt
    # Of each answer the tokens behind its first, where they are learnt: of a name that is right, of written replies
    rests: tuple[tuple[int, ...], ...] = ()
    group: str = ""  # prompts of one group should get the same verdict: an item's true claim in C1 and in C2
    is_anchor: bool = False  # the prompt whose verdict the group's others are compared with: C1; nobody called Me
    verdict: str = ""  # of a written reply that is learnt

    def answer_ids(self, place: int) -> tuple[int, ...]:
        """An answer as far as it is learnt, without EOS."""
        return (self.choices[place], *(self.rests[place] if self.rests else ()))

    @property
    def right_ids(self) -> tuple[int, ...]:
        """The right answer as far as it is learnt, and EOS if that is."""
        return (*self.answer_ids(self.right), *self.end)

    @property
    def n_tokens(self) -> int:
        """How many tokens a judge reads and learns to write here."""
        return len(self.prompt_ids) + 1 + sum(map(len, self.rests)) + len(self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPrompt:
    """A prompt of a unit that a study trains on."""

    prompt: Prompt
    right: int | None  # see Example; None where no label says it
    group: str
    is_anchor: bool
    baseline: Prompt  # the group's anchor in the same order of the answers
    order: Sequence[int] = ()  # the place of the answer that stands for each outcome; (): outcomes are in their order


def prompt_tokens(
    tokenizer: Any, prompt: Prompt, settings: ExamplesConfig, template_args: Mapping[str, Any]
) -> tuple[int, ...]:
    """A prompt in tokens, as an engine reads it."""
    text = render_chat(tokenizer, prompt.messages, settings.chat_template, template_args)
    return tuple(encode(tokenizer, text, settings.chat_template))


class OneTokenAnswers:
    """Makes the examples of prompts that are answered with one token. Raises ModelError where an answer takes more.

    template_args: of the config's model.
    """

    def __init__(
        self, tokenizer: Any, answers: Sequence[str], settings: ExamplesConfig, template_args: Mapping[str, Any]
    ) -> None:
        self.tokenizer, self.settings, self.template_args = tokenizer, settings, template_args
        contract = reply_contract(tokenizer, settings.chat_template, template_args)
        check_answers_at_once(contract, tokenizer.name_or_path)
        self.lead, ids = answer_tokens(tokenizer, answers, contract)
        self.choices = tuple(ids[answer] for answer in answers)
        self.end = (contract.end,) if settings.loss_on_eos and contract.end is not None else ()

    def of(self, asked: TrainingPrompt) -> Example:
        """A prompt of a study as the token ids that an engine would read a margin behind."""
        prompt = asked.prompt
        return Example(
            item_id=prompt.item_id,
            dataset=prompt.dataset,
            condition=prompt.condition,
            prompt_ids=(*prompt_tokens(self.tokenizer, prompt, self.settings, self.template_args), *self.lead),
            choices=tuple(self.choices[place] for place in asked.order) or self.choices,
            right=asked.right or 0,
            end=self.end,
            group=asked.group,
            is_anchor=asked.is_anchor,
        )


TOO_LONG = "longer than examples.max_prompt_length"
WITH_ANOTHER = "another prompt of its group is left out"
Candidate = tuple[Example, str]  # and why it cannot be trained on, whatever its length; "" for one that can


class Excluded(NamedTuple):
    """A prompt left out, and why."""

    example: Example
    reason: str

    @property
    def line(self) -> dict[str, Any]:
        """It as a line of excluded.jsonl."""
        names = ("item_id", "dataset", "condition", "group")
        facts = {"prompt_tokens": len(self.example.prompt_ids), "reason": self.reason}
        return {**{name: getattr(self.example, name) for name in names}, **facts}


Sifted = tuple[list[Example], list[Excluded]]


def sifted(bundles: Iterable[Sequence[Candidate]], limit: int, *, as_a_whole: bool = False) -> Sifted:
    """What is trained on, and the prompts left out: those longer than `limit` tokens, and those with a reason of their
    own, which takes the whole bundle along; as_a_whole: so does a prompt's length.

    Raises DataError when nothing is left.
    """
    examples: list[Example] = []
    excluded: list[Excluded] = []
    for bundle in bundles:
        reasons = [reason or (TOO_LONG if len(example.prompt_ids) > limit else "") for example, reason in bundle]
        goes_whole = any(reasons if as_a_whole else (reason for _, reason in bundle))
        for (example, _), reason in zip(bundle, reasons, strict=True):
            if reason or goes_whole:
                excluded.append(Excluded(example, reason or WITH_ANOTHER))
            else:
                examples.append(example)
    if not examples:
        raise DataError(
            f"all {len(excluded)} prompts are left out ({reasons_in(excluded)}); raise examples.max_prompt_length = "
            f"{limit}, or take other data"
        )
    return examples, excluded


def reasons_in(excluded: Sequence[Excluded]) -> str:
    """How many prompts are left out for which reason."""
    return "; ".join(f"{reason}: {n}" for reason, n in Counter(prompt.reason for prompt in excluded).most_common())


def anchored(examples: Sequence[Example]) -> list[Example]:
    """The examples whose group's anchor is among them: the others have nothing to be compared with."""
    groups = {example.group for example in examples if example.is_anchor}
    return [example for example in examples if example.group in groups]


def set_padding(tokenizer: Any) -> None:
    """Give a tokenizer without padding (Llama-3.1, Mistral) a token for it that is not EOS. It is masked."""
    vocabulary = tokenizer.get_vocab()
    known = (tokenizer.pad_token, "<|finetune_right_pad_id|>", "<pad>", tokenizer.unk_token, tokenizer.bos_token)
    candidates = (*known, *sorted(vocabulary, key=vocabulary.__getitem__, reverse=True))
    tokenizer.pad_token = next(token for token in candidates if token in vocabulary and token != tokenizer.eos_token)
