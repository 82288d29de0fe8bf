"""A task that a tiny random model can learn in seconds: right claims say one word, wrong ones another."""

from pathlib import Path
from typing import Any

import pytest

from studies.dialdefer.records import Item
from tests.made.training_runs import tiny_run
from training.config import AnyRun


def easy_items(n: int, start: int = 0) -> list[Item]:
    """n items that all have the same two answers; their questions differ."""
    return [
        Item(
            item_id=f"easy-{number}",
            benchmark="pocket",
            dataset="pocket",
            question=f"What is number {number}?",
            correct_answer="red",
            incorrect_answer="blue",
        )
        for number in range(start, start + n)
    ]


def plant(items: list[Item], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have training runs take these items, whatever their config asks for."""
    monkeypatch.setattr("training.dialdefer.study.load_items", lambda _: items)


def easy_run(model: Path, root: Path, **sections: Any) -> AnyRun:
    """SimPO (one pass, no reference; a tiny model's logits are too small for SFT's loss over the whole vocabulary) on
    planted items, at a learning rate at which it learns them within 20 steps.
    """
    optimiser = {"learning_rate": 1e-2, "schedule": "constant", "max_steps": 40, "per_device_batch_size": 8}
    wanted: dict[str, Any] = {
        "examples": {"format": "raw", "loss_on_eos": False},
        "quantisation": {"kind": "none"},
        "lora": {"r": 8, "alpha": 16},
        **sections,
    }
    wanted["optimiser"] = {**optimiser, **sections.get("optimiser", {})}
    return tiny_run("simpo", model, root, **wanted)
