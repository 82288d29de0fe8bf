"""What the studies have alike: lists in their sections, a hash of their units, the first ones, a last question."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Annotated, TypeVar

from pydantic import AfterValidator

from evenhand.errors import ConfigError, DataError
from evenhand.records import Completion, Prompt, digest
from evenhand.sources.record_fields import shown
from evenhand.study import ALL, Replies, VariantsPerItem

Value = TypeVar("Value")


def each_once(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """The values of a config's list as they are. Raises ValueError where one occurs twice."""
    if len({*values}) < len(values):
        raise ValueError("a value occurs twice; give each once")
    return values


Distinct = Annotated[tuple[Value, ...], AfterValidator(each_once)]


def symbol_turn(symbols: Sequence[str], texts: Sequence[str] = ()) -> str:
    """What asks for one of some symbols alone, below the answers that they stand for. Without these a small judge that
    has written "No, it is incorrect" hardly knows whether that is 1 or 2.
    """
    *rest, last = symbols
    listed = "".join(f"{symbol}. {text}\n" for symbol, text in zip(symbols, texts, strict=bool(texts)))
    return f"So which answer is it?{chr(10) if listed else ' '}{listed}Answer with {', '.join(rest)} or {last} alone."


def first_answers(prompts: Sequence[Prompt]) -> Replies:
    """Each prompt answered by the first of its answers, which is also the likeliest."""
    replies = dict[str, list[Completion]]()
    for prompt in prompts:
        answer, *rest = prompt.answer_space
        logs, hash_ = {answer: 0.0, **dict.fromkeys(rest, -1.0)}, prompt.prompt_hash
        reply = Completion(prompt_hash=hash_, sample_index=0, text=answer, finish_reason="stop", answer_logprobs=logs)
        replies[hash_] = [reply]
    return replies


def first_of_each(units: Iterable[tuple[str, str]], n: int | None) -> set[str]:
    """The first n units of each dataset; None: all. units: (id, dataset)."""
    by_dataset: dict[str, list[str]] = {}
    for unit_id, dataset in units:
        by_dataset.setdefault(dataset, []).append(unit_id)
    return {unit_id for of_dataset in by_dataset.values() for unit_id in of_dataset[:n]}


def set_hash(contents: Iterable[object]) -> str:
    """16 hex digits over every unit's content, so that a run notices when its data has changed under it."""
    total = hashlib.sha256()
    for content in contents:
        total.update(digest(content).encode())
    return total.hexdigest()[:16]


def check_samples_all_variants(number: VariantsPerItem, where: str) -> None:
    """Raises ConfigError where a config that samples draws prompt variants."""
    if number != ALL:
        raise ConfigError(f"{where}: is for training alone; a config that samples asks all variants")


def table_name(text: str) -> str:
    """A name for tables. Raises DataError for one in brackets, as tables' own rows have, such as (all)."""
    if text.startswith("(") and text.endswith(")"):
        raise DataError(f"is {shown(text)}, and names in brackets are those of our own rows; rename it")
    return text
