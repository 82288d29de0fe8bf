"""The next micro-batches are made beside the computing of the present one: shown by each waiting for the other."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.made.training_runs import tiny_model, tiny_run
from training import trainer
from training.batches import Bundle, Collator
from training.prefetch import made_ahead, same_gpu
from training.train import train

LONG = 60  # seconds after which nobody comes any more


def test_while_one_is_in_use_the_next_n_are_made_and_no_more() -> None:
    made, in_use = [Event() for _ in range(9)], [Event() for _ in range(9)]

    def source() -> Iterator[int]:
        for number in range(6):
            assert number < 3 or in_use[number - 3].is_set(), "made before it was asked for"
            made[number].set()
            yield number

    found = []
    for number in made_ahead(source(), 2):
        assert all(later.wait(LONG) for later in made[number + 1 : min(number + 3, 6)])
        in_use[number].set()
        found.append(number)
    assert found == list(range(6))


def test_an_error_comes_when_its_micro_batch_would() -> None:
    def source() -> Iterator[int]:
        yield 0
        yield 1
        raise ValueError("the third is broken")

    coming = made_ahead(source(), 2)
    assert [next(coming), next(coming)] == [0, 1]
    with pytest.raises(ValueError, match="the third is broken"):
        next(coming)


def test_the_thread_works_for_the_gpu_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    assert list(made_ahead(iter("ab"), 1)) == ["a", "b"]
    assert chosen == [3]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert same_gpu() is None


@pytest.mark.slow
def test_training_lays_rows_out_while_it_computes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """accelerate takes one micro-batch ahead by itself, so it is the one after the next whose turn it is."""
    laid_out: dict[int, Event] = defaultdict(Event)
    computing: dict[int, Event] = defaultdict(Event)
    numbers = {"laid out": 0, "computed": 0}
    lay_out, compute = Collator.__call__, trainer.answers_of

    def laying_out(self: Collator, bundles: Sequence[Bundle]) -> dict[str, Tensor]:
        number = numbers["laid out"]
        numbers["laid out"] += 1
        assert number < 2 or computing[number - 2].wait(LONG), "laid out before its time"
        batch = lay_out(self, bundles)
        laid_out[number].set()
        return batch

    def computed(*arguments: Any) -> Any:
        number = numbers["computed"]
        numbers["computed"] += 1
        computing[number].set()
        assert number + 2 >= 4 or laid_out[number + 2].wait(LONG), "computing does not go beside laying out"
        return compute(*arguments)

    monkeypatch.setattr(Collator, "__call__", laying_out)
    monkeypatch.setattr(trainer, "answers_of", computed)
    train(tiny_run("sft", tiny_model(tmp_path / "model"), tmp_path))
    assert numbers == {"laid out": 4, "computed": 4}
