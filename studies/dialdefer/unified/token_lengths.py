"""How long the items' prompts are in a model's tokens, counted in batches."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.chat_templates import render_chat
from evenhand.checkpoints import ModelConfig, load_tokenizer, resolve
from studies.dialdefer.records import Condition, Item
from studies.dialdefer.render import render

LIMIT = 768  # tokens that a prompt may have
QUANTILES = {"p50": 50, "p90": 90, "p99": 99, "max": 100}  # per cent


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruler:
    """A tokenizer, the prompts whose length is counted in its tokens, and the length that is still allowed."""

    name: str  # of the model, as configs name it
    tokenizer: Any
    template: str = "published"
    answer_form: str = "one_token"
    limit: int = LIMIT

    def lengths(self, items: Sequence[Item]) -> list[int]:
        """Tokens of each item's longest prompt, in one call of the tokenizer.

        Raises ConfigError for an unknown template, ModelError when the tokenizer has no chat template.
        """
        texts = [self.longest_prompt(item) for item in items]
        encoded = self.tokenizer(texts, add_special_tokens=False, return_attention_mask=False, verbose=False)
        return [len(ids) for ids in encoded["input_ids"]]

    def longest_prompt(self, item: Item) -> str:
        """The item's C2 prompt with the longer of its two answers, chat template applied."""
        is_correct_longer = len(item.correct_answer) > len(item.incorrect_answer)
        condition = Condition.C2_CORRECT if is_correct_longer else Condition.C2_INCORRECT
        prompt = render(item, condition, template=self.template, answer_form=self.answer_form)
        return render_chat(self.tokenizer, prompt.messages)


def load_rulers(
    names: Iterable[str], *, template: str = "published", answer_form: str = "one_token", limit: int = LIMIT
) -> list[Ruler]:
    """A ruler for each model; only its tokenizer is fetched. Raises ModelError saying what to do."""
    tokenizers = {name: load_tokenizer(resolve(ModelConfig(name=name), weights=False)) for name in names}
    return [
        Ruler(name=name, tokenizer=tokenizer, template=template, answer_form=answer_form, limit=limit)
        for name, tokenizer in tokenizers.items()
    ]


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
    """The lengths that a ruler has found so far in one dataset."""

    def __init__(self, ruler: Ruler) -> None:
        self.ruler = ruler
        self.lengths = array("L")
        self.ids_over: list[str] = []

    def add(self, items: Sequence[Item]) -> None:
        """Measure some more items."""
        found = self.ruler.lengths(items)
        self.lengths.extend(found)
        self.ids_over += [item.item_id for item, n in zip(items, found, strict=True) if n > self.ruler.limit]

    def result(self) -> TokenLengths:
        """What was found; there must have been items."""
        return TokenLengths(
            tokenizer=self.ruler.name,
            template=self.ruler.template,
            answer_form=self.ruler.answer_form,
            limit=self.ruler.limit,
            quantiles=quantiles(self.lengths),
            n_over=len(self.ids_over),
            ids_over=tuple(self.ids_over),
        )


def quantiles(lengths: Sequence[int]) -> dict[str, int]:
    """The quantiles by nearest rank, so that each is the length of some item."""
    ordered = sorted(lengths)
    return {name: ordered[-(-percent * len(ordered) // 100) - 1] for name, percent in QUANTILES.items()}
