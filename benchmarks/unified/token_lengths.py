"""How long the items' prompts are in a model's tokens, counted in batches."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from benchmarks.chat import render_chat
from benchmarks.checkpoints import ModelConfig, load_tokenizer, resolve
from benchmarks.records import Condition, Item
from benchmarks.render import render

QUANTILES = {"p50": 50, "p90": 90, "p99": 99, "max": 100}  # per cent


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The prompts whose length is counted, and the length from which they are too long."""

    template: str = "published"
    answer_form: str = "one_token"
    limit: int = 768  # tokens that a prompt may have

    def longest(self, item: Item, tokenizer: Any) -> str:
        """The item's C2 prompt with the longer of its two answers, chat template applied."""
        is_correct_longer = len(item.correct_answer) > len(item.incorrect_answer)
        condition = Condition.C2_CORRECT if is_correct_longer else Condition.C2_INCORRECT
        prompt = render(item, condition, template=self.template, answer_form=self.answer_form)
        return render_chat(tokenizer, prompt.messages)


DEFAULT_PROMPTS = Measured()


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLengths:
    """How long one dataset's longest prompts are for one tokenizer."""

    tokenizer: str
    template: str
    answer_form: str
    limit: int
    quantiles: Mapping[str, int]  # keys of QUANTILES → tokens
    n_over: int
    ids_over: tuple[str, ...]  # items whose longest prompt has more tokens than the limit


class Tally:
    """The lengths found so far in one dataset."""

    def __init__(self, name: str, tokenizer: Any, prompts: Measured) -> None:
        self.name, self.tokenizer, self.prompts = name, tokenizer, prompts
        self.lengths = array("L")
        self.ids_over: list[str] = []

    def add(self, items: Sequence[Item]) -> None:
        """Measure some more items in one call of the tokenizer."""
        texts = [self.prompts.longest(item, self.tokenizer) for item in items]
        encoded = self.tokenizer(texts, add_special_tokens=False, return_attention_mask=False, verbose=False)
        for item, ids in zip(items, encoded["input_ids"], strict=True):
            self.lengths.append(len(ids))
            if len(ids) > self.prompts.limit:
                self.ids_over.append(item.item_id)

    def result(self) -> TokenLengths:
        """What was found; there must have been items."""
        return TokenLengths(
            tokenizer=self.name,
            template=self.prompts.template,
            answer_form=self.prompts.answer_form,
            limit=self.prompts.limit,
            quantiles=quantiles(self.lengths),
            n_over=len(self.ids_over),
            ids_over=tuple(self.ids_over),
        )


@cache
def load(name: str) -> Any:
    """A model's tokenizer, kept: it is asked for once for each dataset. Raises ModelError saying what to do."""
    return load_tokenizer(resolve(ModelConfig(name=name), weights=False))


def quantiles(lengths: Sequence[int]) -> dict[str, int]:
    """The quantiles by nearest rank, so that each is the length of some item."""
    ordered = sorted(lengths)
    return {name: ordered[-(-percent * len(ordered) // 100) - 1] for name, percent in QUANTILES.items()}
