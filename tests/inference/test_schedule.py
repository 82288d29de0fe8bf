"""Units are begun a few at a time and forgotten when they are over; each prompt is handed out once all the same."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from evenhand.errors import ModelError
from evenhand.records import Completion, Prompt
from evenhand.run_directory import is_done
from inference import sampling, schedule
from inference.engine import Further, PromptsTooLong, nothing_further
from inference.sampling import sample
from studies.study import LazyUnits, OneRound
from tests.made.scripted_engine import config, scripted

N_ITEMS, N_PROMPTS = 60, 240


class Counting:
    """Answers in order, and counts the prompts that are alive while it does."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.handed_out: list[int] = []  # how many at a time
        self.most_alive = 0

    def generate(self, prompts: Sequence[Prompt], further: Further = nothing_further) -> Iterator[Completion]:
        while prompts:
            self.handed_out.append(len(prompts))
            for prompt in prompts:
                self.asked.append(prompt.prompt_hash)
                yield Completion(prompt_hash=prompt.prompt_hash, sample_index=0, text="1", finish_reason="stop")
            gc.collect()
            self.most_alive = max(self.most_alive, sum(isinstance(one, Prompt) for one in gc.get_objects()))
            prompts = further()


def test_a_run_holds_few_of_its_prompts_and_asks_each_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "AHEAD", 16)
    monkeypatch.setattr(sampling, "model_facts", lambda config: {"name": "counting"})
    gc.collect()
    others = sum(isinstance(one, Prompt) for one in gc.get_objects())
    engine = Counting()
    monkeypatch.setattr(sampling, "open_engine", lambda config, prompts: nullcontext(engine))
    path = sample(config(tmp_path, benchmarks=[{"dataset": "pocket", "n_items": N_ITEMS}]))
    assert is_done(path)
    assert len(engine.asked) == len(set(engine.asked)) == N_PROMPTS
    assert max(engine.handed_out) == 16
    assert engine.most_alive - others <= 32


def test_prompts_that_got_no_reply_do_not_keep_the_others_from_being_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "AHEAD", 8)
    engine = scripted(monkeypatch)
    settings = config(tmp_path)
    engine.errors = {prompt.prompt_hash for prompt in schedule.first_prompts(settings)[:24]}
    with pytest.raises(ModelError, match="24 prompts got no reply"):
        sample(settings)
    assert len(engine.asked) == len(set(engine.asked)) == 40


class ShortWindow(Counting):
    """Takes no prompt of some items, and says so when it is done with the others, as engines do."""

    def __init__(self, too_long: set[str]) -> None:
        super().__init__()
        self.too_long = too_long

    def generate(self, prompts: Sequence[Prompt], further: Further = nothing_further) -> Iterator[Completion]:
        refused: dict[Prompt, str] = {}

        def fit(some: Sequence[Prompt]) -> list[Prompt]:
            refused.update({prompt: "long" for prompt in some if prompt.item_id in self.too_long})
            return [prompt for prompt in some if prompt.item_id not in self.too_long]

        yield from super().generate(fit(prompts), lambda: fit(further()))
        if refused:
            raise PromptsTooLong(refused)


def test_many_prompts_that_are_too_long_do_not_keep_the_others_from_being_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "AHEAD", 8)
    monkeypatch.setattr(sampling, "model_facts", lambda config: {"name": "counting"})
    settings = config(tmp_path, benchmarks=[{"dataset": "pocket", "n_items": N_ITEMS}])
    items = list(dict.fromkeys(prompt.item_id for prompt in schedule.first_prompts(settings)))
    engine = ShortWindow(set(items[:20]))
    monkeypatch.setattr(sampling, "open_engine", lambda config, prompts: nullcontext(engine))
    with pytest.raises(PromptsTooLong, match="80 prompts do not fit"):
        sample(settings)
    assert len(engine.asked) == len(set(engine.asked)) == N_PROMPTS - 80


def test_an_error_while_a_unit_is_made_is_not_the_end_of_the_units() -> None:
    with pytest.raises(IndexError):
        list(LazyUnits(["kiwi", ""], lambda name: OneRound(name[0], ())))
