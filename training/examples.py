"""Training examples: prompts that inference asks, in tokens, the right verdict behind them, and nothing else learnt.

Prompt and answer are tokenised apart, so that no token can straddle them, and a prompt too long is left out whole.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.chat_templates import AnswerTokens, answer_tokens
from evenhand.errors import DataError, ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One prompt of a unit, in tokens.

    One token stands for each answer. Answers are in the order of their outcomes, which is the same for all prompts that
    should agree, whatever the tokens: (accept, reject) of a claim; the persons of a conversation, whoever is called Me.
    """

    item_id: str  # of the unit
    condition: str
    prompt_ids: tuple[int, ...]  # rendered as for inference, with the tokens that every answer starts with behind it
    choices: tuple[int, ...]  # the token of each answer, or its first
    right: int  # index of the right answer
    end: tuple[int, ...] = ()  # EOS if it is learnt
    rest: tuple[int, ...] = ()  # of the right answer, if that is learnt whole: its tokens behind the first
    group: str = ""  # prompts of one group should get the same verdict: an item's true claim in C1 and in C2
    is_anchor: bool = False  # the prompt whose verdict the group's others are compared with: C1; nobody called Me

    @property
    def right_ids(self) -> tuple[int, ...]:
        """The right answer as far as it is learnt, and EOS if that is."""
        return (self.choices[self.right], *self.rest, *self.end)

    @property
    def n_tokens(self) -> int:
        """How many tokens a judge reads and learns to write here."""
        return len(self.prompt_ids) + len(self.right_ids)


TOO_LONG = "longer than examples.max_prompt_length"


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded:
    """A prompt left out, and why."""

    item_id: str
    dataset: str
    condition: str
    prompt_tokens: int
    reason: str = TOO_LONG
    group: str = ""  # of prompts of a conversation, which may go for another's sake


def anchored(examples: Sequence[Example]) -> list[Example]:
    """The examples whose group's anchor is among them: the others have nothing to be compared with."""
    groups = {example.group for example in examples if example.is_anchor}
    return [example for example in examples if example.group in groups]


def verdict_tokens(tokenizer: Any, verdicts: Sequence[str]) -> AnswerTokens:
    """The tokens of one-digit verdicts. Raises ModelError when one has no token of its own: that alone is trained."""
    try:
        return answer_tokens(tokenizer, verdicts)
    except ModelError as error:
        problem = str(error).partition(";")[0]
        raise ModelError(
            f"{problem}, and what is trained is the verdict's one token. Take a model whose tokenizer has a token for "
            "each digit"
        ) from None


def end_of_answer(tokenizer: Any) -> tuple[int, ...]:
    """EOS as the end of an answer. Raises ModelError when padding could hide it from the loss."""
    if tokenizer.eos_token_id is None:
        raise ModelError(f"{tokenizer.name_or_path}: the tokenizer names no EOS token; set examples.loss_on_eos=false")
    if tokenizer.pad_token_id == tokenizer.eos_token_id:
        raise ModelError(
            f"{tokenizer.name_or_path}: the padding token is EOS, so EOS cannot be learnt; give it another"
        )
    return (tokenizer.eos_token_id,)


def set_padding(tokenizer: Any) -> None:
    """Give a tokenizer without padding (Llama-3.1, Mistral) a token for it that is not EOS. It is masked."""
    vocabulary = tokenizer.get_vocab()
    known = (tokenizer.pad_token, "<|finetune_right_pad_id|>", "<pad>", tokenizer.unk_token, tokenizer.bos_token)
    for token in known:
        if token in vocabulary and token != tokenizer.eos_token:
            tokenizer.pad_token = token
            return
    raise ModelError(f"{tokenizer.name_or_path}: no token but EOS can serve as padding; add a padding token to it")


def nothing_left(excluded: Sequence[Excluded], limit: int, others: str) -> DataError:
    """The error for data of which every prompt is left out. limit: examples.max_prompt_length, in tokens; others: what
    else could be taken.
    """
    counts = Counter(prompt.reason for prompt in excluded)
    reasons = "; ".join(f"{reason}: {count}" for reason, count in counts.most_common())
    return DataError(
        f"all {len(excluded)} prompts are left out ({reasons}); raise examples.max_prompt_length = {limit}, or take "
        f"other {others}"
    )


def by_item(examples: Sequence[Example]) -> list[list[Example]]:
    """The examples of each item together, items in the order of their first example."""
    return together(examples, lambda example: example.item_id)


def by_group(examples: Sequence[Example]) -> list[list[Example]]:
    """The examples that should agree together, in the order of their first."""
    return together(examples, lambda example: example.group)


def together(examples: Sequence[Example], key: Callable[[Example], str]) -> list[list[Example]]:
    """The examples of one key together, in their order."""
    groups: dict[str, list[Example]] = {}
    for example in examples:
        groups.setdefault(key(example), []).append(example)
    return list(groups.values())
