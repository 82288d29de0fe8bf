"""Runs of a judge that writes, several replies a prompt, and trainings on them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.records import Prompt
from inference.config import parse_sampling_config
from inference.sampling import sample
from tests.made.framing_runs import claims, study
from tests.made.scripted_engine import Answer, AnsweringEngine, scripted
from tests.made.training_runs import tiny_run
from training.config import AnyRun

Writer = Callable[[Prompt], list[Answer]]


def says(prompt: Prompt, outcome: str, why: str = "I looked it up.") -> str:
    """A reply with a reason before its verdict, an outcome such as "accept"."""
    return f"{why} Answer: {prompt.answer_space[prompt.factors.names.index(outcome)]}"


def other(outcome: str) -> str:
    return "reject" if outcome == "accept" else "accept"


def written_run(
    root: Path, judge: Writer, monkeypatch: pytest.MonkeyPatch, n_items: int = 12, model: str = "m", **keys: Any
) -> tuple[Path, dict[str, Any]]:
    """(a finished run of four samples a prompt on the train split of so many items, its section)."""
    root.mkdir(parents=True, exist_ok=True)
    items = claims(root / "items.jsonl", n_items)
    section = {**study(items), "columns": {}, "items": {"file": str(items), "split": "train"}}
    section |= {"framings": {"statement": "Statement: {{ claim }}", "expert": "A professor says: {{ claim }}"}, **keys}
    scripted(monkeypatch, AnsweringEngine(judge, room=64))
    sampling = {"n": 4, "temperature": 1.0, "max_tokens": 40}
    tree = {"name": "train", "model": {"name": model}, "verdict": "answer", "sampling": sampling}
    config = parse_sampling_config({**tree, "framing": section, "run": {"root": str(root)}}, "made.yaml")
    return sample(config), section


def training_on(run: Path, section: dict[str, Any], method: str, model: str = "m", **sections: Any) -> AnyRun:
    """A run of a method on the replies of a sampling run."""
    examples = {"replies": str(run), "loss_on_eos": True}
    return tiny_run(method, model, root=run.parents[1], study="framing", framing=section, examples=examples, **sections)
